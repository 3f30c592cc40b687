"""The REST API of the leaderboard over several datasets."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.resources import REFUSED
from benchmarks.queries.overall_leaderboard import overall_leaderboard


class MeanRankSerializer(serializers.Serializer[Any]):
    mean = serializers.FloatField(help_text="Average of the ranks on each dataset")
    low = serializers.FloatField()
    high = serializers.FloatField()
    best = serializers.FloatField(help_text="Chance that it is the lowest")


class OverallCellSerializer(serializers.Serializer[Any]):
    """The latest full run of a model on a dataset."""

    dataset = serializers.CharField()
    run = serializers.IntegerField()
    metric = serializers.CharField()
    mean = serializers.FloatField(allow_null=True, help_text="Strict mean")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True, help_text="Results that the metric applies to")


class OverallRowSerializer(serializers.Serializer[Any]):
    """A model, by how it answers, over all datasets; it has a rank or a reason why not."""

    model = serializers.CharField()
    differs = serializers.CharField(
        allow_blank=True, help_text="The parameters of its answers in which the rows differ; empty if they do not"
    )
    rank = serializers.IntegerField(allow_null=True)
    mean_rank = MeanRankSerializer(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    scores = OverallCellSerializer(many=True)


class OverallSerializer(serializers.Serializer[Any]):
    datasets = serializers.ListField(child=serializers.CharField())
    results = OverallRowSerializer(many=True)


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
        responses={200: OverallSerializer, 400: REFUSED},
    )
    def get(self, request: Request) -> Response:
        board = overall_leaderboard(list(filter(None, request.query_params.get("datasets", "").split(","))))
        if board.problem:
            raise ValidationError({"datasets": [board.problem]})
        slugs = [column.dataset.slug for column in board.columns]
        metrics = [column.metric for column in board.columns]
        results = [
            {
                **{name: getattr(row, name) for name in ("model", "differs", "rank", "mean_rank", "reason")},
                "scores": [
                    {
                        "dataset": slug,
                        "metric": metric,
                        "run": cell.run.pk,
                        **{name: getattr(cell, name) for name in ("mean", "low", "high", "n", "total")},
                    }
                    for slug, metric, cell in zip(slugs, metrics, row.cells, strict=True)
                    if cell is not None
                ],
            }
            for row in board.rows
        ]
        return Response(OverallSerializer({"datasets": slugs, "results": results}).data)
