"""The state of the installation, as JSON and for Prometheus.

The figures come from the database, so every web process reports the same.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.resources import answer, serializer_of
from benchmarks.queries.operations import installation
from benchmarks.queries.resources.operations import FIGURES, InstallationResource


class InstallationView(APIView):
    """Live workers, and the length and age of the queue."""

    @extend_schema(responses=serializer_of(InstallationResource))
    def get(self, request: Request) -> Response:
        return answer(request, InstallationResource, installation())


class _PlainText(BaseRenderer):
    media_type = "text/plain"
    format = "txt"
    charset = "utf-8"

    def render(self, data: bytes, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        return data if isinstance(data, bytes) else str(data).encode()


class PrometheusView(APIView):
    """The same figures in the text format of Prometheus. Everyone who may read may scrape, with a token if needed."""

    renderer_classes = (_PlainText,)
    schema = None

    def get(self, request: Request) -> Response:
        registry, figures = CollectorRegistry(), installation()
        # Gauges only: deleting a run deletes its results, so even the number of finished results can fall.
        for name, text in FIGURES.items():
            Gauge(f"codeforge_{name}", text, registry=registry).set(getattr(figures, name))
        runs = Gauge("codeforge_runs", "Runs by status", ["status"], registry=registry)
        for status, count in figures.runs.items():
            runs.labels(status).set(count)
        return Response(generate_latest(registry))
