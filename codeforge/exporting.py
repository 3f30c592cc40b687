"""Export spans to the OpenTelemetry collector that the environment names, if any."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from django.core.exceptions import ImproperlyConfigured

from benchmarks import __version__, tracing
from benchmarks.extras import how_to_install

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def export_spans(environ: Mapping[str, str]) -> bool:
    """Export by OTLP over HTTP if an endpoint is set; returns whether. The SDK reads its other variables itself.

    Raises ``ImproperlyConfigured`` if the exporter is not installed, because spans would be lost silently.
    """
    if not any(environ.get(name) for name in ENDPOINTS):
        return False
    try:
        otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        resources = importlib.import_module("opentelemetry.sdk.resources")
        trace = importlib.import_module("opentelemetry.sdk.trace")
        export = importlib.import_module("opentelemetry.sdk.trace.export")
    except ImportError as error:
        raise ImproperlyConfigured(
            f"OTEL_EXPORTER_OTLP_ENDPOINT is set, but the exporter is not installed ({error}). "
            f"Run `{how_to_install('opentelemetry')}`."
        ) from None
    about = {"service.name": environ.get("OTEL_SERVICE_NAME") or "codeforge", "service.version": __version__}
    provider = trace.TracerProvider(resource=resources.Resource.create(about))
    provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    tracing.take_spans(provider)
    return True
