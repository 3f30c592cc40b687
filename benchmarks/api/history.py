"""The REST API of scores over time: what the charts on the pages of datasets and models show."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.resources import REFUSED
from benchmarks.queries.history import MOST_POINTS, histories, latest_runs
from benchmarks.services.requests import StrictRequest, StrictText, validated_by


class HistoryQuery(StrictRequest):
    """Which histories to return."""

    dataset = StrictText(required=False, help_text="Slug; by default all")
    model = StrictText(required=False, help_text="provider/model; by default all")
    format = serializers.CharField(required=False)


class PointSerializer(serializers.Serializer[Any]):
    run = serializers.IntegerField(source="run.pk")
    created_at = serializers.DateTimeField(source="run.created_at")
    version = serializers.CharField(source="run.version_label", help_text="Of the dataset")
    is_new_version = serializers.BooleanField(help_text="Whether the run before asked another version")
    mean = serializers.FloatField(help_text="Strict mean")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    n_expected = serializers.IntegerField(allow_null=True)


class HistorySerializer(serializers.Serializer[Any]):
    """The full runs of one model on one dataset, asked in the same way, oldest first."""

    dataset = serializers.CharField(source="dataset.slug")
    model = serializers.CharField()
    metric = serializers.CharField(help_text="The first of each run")
    setting = serializers.CharField(help_text="How the model was asked; empty if in one way only")
    points = PointSerializer(many=True, help_text=f"At most {MOST_POINTS}")


class HistoryList(APIView):
    @extend_schema(
        operation_id="history_list",
        parameters=[HistoryQuery],
        responses={200: HistorySerializer(many=True), 400: REFUSED},
    )
    def get(self, request: Request) -> Response:
        """Scores over time, of models with at least two full runs among the latest 200 completed ones."""
        given = validated_by(HistoryQuery(data=request.query_params.dict()))
        columns = {"dataset": "dataset__slug", "model": "model"}
        runs = latest_runs(**{column: given[name] for name, column in columns.items() if name in given})
        return Response(HistorySerializer(histories(runs), many=True).data)
