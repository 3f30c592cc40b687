"""The REST API of scores over time: what the charts on the pages of datasets and models show."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.resources import REFUSED, reader_of, serializer_of
from benchmarks.queries.history import histories, latest_runs
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.history import HistoryResource
from benchmarks.services.requests import StrictRequest, StrictText, validated_by


class HistoryQuery(StrictRequest):
    """Which histories to return."""

    dataset = StrictText(required=False, help_text="Slug; by default all")
    model = StrictText(required=False, help_text="provider/model; by default all")
    format = serializers.CharField(required=False)


class HistoryList(APIView):
    @extend_schema(
        operation_id="history_list",
        parameters=[HistoryQuery],
        responses={200: serializer_of(HistoryResource)(many=True), 400: REFUSED},
    )
    def get(self, request: Request) -> Response:
        """Scores over time, of models with at least two full runs among the latest 200 completed ones."""
        given = validated_by(HistoryQuery(data=request.query_params.dict()))
        columns = {"dataset": "dataset__slug", "model": "model"}
        runs = latest_runs(**{column: given[name] for name, column in columns.items() if name in given})
        reader = reader_of(request)
        return Response(json_of([HistoryResource.of(history, reader) for history in histories(runs)]))
