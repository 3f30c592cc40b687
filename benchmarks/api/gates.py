"""The REST API of gates: a run held against an earlier one, and the series that count such checks."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.resources import NOT_NOW, answer, reader_of, serializer_of
from benchmarks.models import GateSeries
from benchmarks.queries.gates import gate_series, series_named
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.gates import GateResource, GateSeriesResource, SelfCheckResource
from benchmarks.queries.runs import run_detail
from benchmarks.services import gates as services
from benchmarks.services.comparisons import read_margin
from benchmarks.services.gates import GateRequest


class GateView(APIView):
    """Whether a run is no worse than an earlier one by a margin."""

    @extend_schema(request=GateRequest, responses={200: serializer_of(GateResource), 409: NOT_NOW})
    def post(self, request: Request, pk: str) -> Response:
        """Hold the run against an earlier one, and count the check if a series is named."""
        return answer(request, GateResource, services.gate(run_detail(int(pk)), request.data, request.user))


class SelfCheckQuery(serializers.Serializer[Any]):
    margin = serializers.CharField(required=False, help_text="Points that a run may lose; by default 2")
    nightly = serializers.BooleanField(default=False, help_text="With the bound of a series")


class SelfCheckView(APIView):
    """What a gate makes of a system that has not changed."""

    @extend_schema(parameters=[SelfCheckQuery], responses={200: serializer_of(SelfCheckResource), 409: NOT_NOW})
    def get(self, request: Request, pk: str) -> Response:
        """Hold the repeats of the run against each other: flips, verdicts, and what other repeats would do."""
        query = SelfCheckQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        margin = read_margin(query.validated_data.get("margin"))
        check = services.self_check(run_detail(int(pk)), margin, nightly=query.validated_data["nightly"])
        resource = SelfCheckResource.of(check, reader_of(request), run=int(pk), margin=margin)
        return Response(json_of(resource))


class GateSeriesList(ListAPIView[GateSeries]):
    """All series of gates by name, those of schedules too, each with its latest checks."""

    queryset = GateSeries.objects.none()
    serializer_class = serializer_of(GateSeriesResource)

    def get_queryset(self) -> QuerySet[GateSeries]:
        return gate_series()


class GateSeriesView(APIView):
    """The checks of a series."""

    @extend_schema(responses=serializer_of(GateSeriesResource), operation_id="benchmarks_gates_retrieve_one")
    def get(self, request: Request, slug: str) -> Response:
        """A series with its latest checks."""
        return answer(request, GateSeriesResource, _series(slug))


class GateSeriesReset(APIView):
    """A series that begins anew."""

    @extend_schema(request=None, responses=serializer_of(GateSeriesResource))
    def post(self, request: Request, slug: str) -> Response:
        """Count the checks of the series from 1 again."""
        services.reset_series(_series(slug), request.user)
        return answer(request, GateSeriesResource, _series(slug))


def _series(name: str) -> GateSeries:
    try:
        return series_named(name)
    except GateSeries.DoesNotExist:
        raise Http404(f"Series {name} does not exist.") from None
