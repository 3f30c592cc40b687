"""How the installation does, as JSON and for Prometheus.

The figures come from the database, so that every web process tells the same, whichever is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.queries.operations import Installation, installation


class InstallationSerializer(serializers.Serializer[Any]):
    workers_alive = serializers.IntegerField()
    workers_busy = serializers.IntegerField(help_text="Processes that work on some run now")
    worker_threads = serializers.IntegerField(help_text="Jobs that the workers alive run at a time")
    runs = serializers.DictField(child=serializers.IntegerField(), help_text="Status → how many runs")
    queue_depth = serializers.IntegerField(help_text="Results of live runs that are not done")
    queue_age_seconds = serializers.FloatField(help_text="How long the oldest queued run waits; 0 where none does")
    results_done = serializers.IntegerField()
    results_failed = serializers.IntegerField()
    cost_usd = serializers.FloatField(help_text="What is known of all costs")


class InstallationView(APIView):
    """Workers alive, how much waits, and for how long."""

    @extend_schema(responses=InstallationSerializer)
    def get(self, request: Request) -> Response:
        return Response(InstallationSerializer(asdict(installation())).data)


class _PlainText(BaseRenderer):
    media_type = "text/plain"
    format = "txt"
    charset = "utf-8"

    def render(self, data: bytes, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        return data if isinstance(data, bytes) else str(data).encode()


class PrometheusView(APIView):
    """The same figures in Prometheus' text format. Whoever may read may scrape: give it a token with the scope read."""

    renderer_classes = (_PlainText,)
    schema = None

    def get(self, request: Request) -> Response:
        registry = CollectorRegistry()
        registry.register(_Figures(installation()))
        return Response(generate_latest(registry))


class _Figures(Collector):
    def __init__(self, found: Installation) -> None:
        self.found = found

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Gauges throughout: a deleted run takes its results along, so that even what is done may sink."""
        for name, help_text, value in (
            ("workers_alive", "Worker processes that beat", self.found.workers_alive),
            ("workers_busy", "Worker processes that work on some run", self.found.workers_busy),
            ("worker_threads", "Jobs that the workers alive run at a time", self.found.worker_threads),
            ("queue_depth", "Results of live runs that are not done", self.found.queue_depth),
            ("queue_age_seconds", "How long the oldest queued run waits", self.found.queue_age_seconds),
            ("results_done", "Results with an answer or an error", self.found.results_done),
            ("results_failed", "Results that ended in an error", self.found.results_failed),
            ("cost_usd", "Known costs of models and judges", self.found.cost_usd),
        ):
            yield GaugeMetricFamily(f"codeforge_{name}", help_text, value=value)
        runs = GaugeMetricFamily("codeforge_runs", "Runs by status", labels=["status"])
        for status, count in self.found.runs.items():
            runs.add_metric([status], count)
        yield runs
