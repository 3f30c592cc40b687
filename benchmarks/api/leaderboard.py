"""The REST API of models ranked over several datasets, and of scores over time, which the pages of datasets and models
show as charts.
"""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.resources import answer, reader_of, serializer_of
from benchmarks.queries.history import histories, latest_runs
from benchmarks.queries.overall_leaderboard import overall_leaderboard
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.history import HistoryResource
from benchmarks.queries.resources.leaderboard import OverallResource
from benchmarks.services.requests import StrictRequest, StrictText, validated_by


class OverallLeaderboard(APIView):
    """Models ranked over several datasets by the average of their ranks."""

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "datasets",
                str,
                description="Slugs, separated by commas; by default all, or the most that two models share",
            )
        ],
        responses={200: serializer_of(OverallResource)},
    )
    def get(self, request: Request) -> Response:
        board = overall_leaderboard(list(filter(None, request.query_params.get("datasets", "").split(","))))
        if board.problem:
            raise ValidationError({"datasets": [board.problem]})
        return answer(request, OverallResource, board)


class HistoryQuery(StrictRequest):
    """Which histories to return."""

    dataset = StrictText(required=False, help_text="Slug; by default all")
    model = StrictText(required=False, help_text="provider/model; by default all")
    format = serializers.CharField(required=False)


class HistoryList(APIView):
    @extend_schema(
        operation_id="history_list",
        parameters=[HistoryQuery],
        responses={200: serializer_of(HistoryResource)(many=True)},
    )
    def get(self, request: Request) -> Response:
        """Scores over time, of models with at least two full runs among the latest 200 completed ones."""
        given = validated_by(HistoryQuery(data=request.query_params.dict()))
        columns = {"dataset": "dataset__slug", "model": "model"}
        runs = latest_runs(**{column: given[name] for name, column in columns.items() if name in given})
        reader = reader_of(request)
        return Response(json_of([HistoryResource.of(history, reader) for history in histories(runs)]))
