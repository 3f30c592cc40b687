"""The REST API of the task analysis: what the runs on a dataset say of its tasks, and marks of doubtful references."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.analysis.task_analysis import FLAGS
from benchmarks.api.access import ReadOrEdit
from benchmarks.api.parameters import KnownParameters
from benchmarks.api.resources import REFUSED
from benchmarks.models import DatasetVersion
from benchmarks.queries.datasets import dataset_detail, version_of
from benchmarks.queries.task_analysis.analysis import task_analysis_if_ready
from benchmarks.queries.task_analysis.pages import DOUBTFUL, PAGE_SIZE, AnalysisFilters, analysis_page, as_mapping
from benchmarks.services.datasets.versions import mark_doubtful
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.requests import StrictRequest, validated_by

MOST_TASKS = 10_000
COMPUTING = OpenApiResponse(description="The analysis is being computed; ask again after Retry-After")
NO_VERSION = OpenApiResponse(description="The dataset has no such task, or no valid version")


class AnalyzedModelSerializer(serializers.Serializer[Any]):
    model = serializers.CharField()
    mean = serializers.FloatField(help_text="Over its tasks, each averaged over repeats and runs")
    strong = serializers.BooleanField(help_text="Whether it belongs to the better half of the models")


class EffectiveSerializer(serializers.Serializer[Any]):
    tasks = serializers.FloatField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class SeparationSerializer(serializers.Serializer[Any]):
    better = serializers.CharField()
    worse = serializers.CharField()
    difference = serializers.FloatField(
        allow_null=True, help_text="Smallest difference between the two detected with 80% power; null: none"
    )


class FlagSerializer(serializers.Serializer[Any]):
    flag = serializers.ChoiceField(choices=list(FLAGS))
    detail = serializers.CharField()


class AnalyzedTaskSerializer(serializers.Serializer[Any]):
    task = serializers.CharField(help_text="The task's id")
    name = serializers.CharField()
    doubtful = serializers.BooleanField(help_text="Whether its reference is marked as doubtful")
    right = serializers.DictField(child=serializers.FloatField(allow_null=True), help_text="Model → mean score")
    discrimination = serializers.FloatField(
        allow_null=True, help_text="Correlation over models with the score on all other tasks; null: too few models"
    )
    flags = FlagSerializer(many=True)
    duplicate_of = serializers.CharField(allow_null=True, help_text="Id of an earlier task of equal or similar text")


class TaskAnalysisSerializer(serializers.Serializer[Any]):
    """The analysis of a version with one page of its tasks, flagged ones first."""

    dataset = serializers.CharField()
    version = serializers.IntegerField()
    metric = serializers.CharField(allow_blank=True, help_text="Empty without a comparable run")
    runs = serializers.IntegerField(help_text="Comparable runs: the latest of each model and variant, no baselines")
    models = AnalyzedModelSerializer(many=True)
    effective_tasks = EffectiveSerializer(allow_null=True)
    detectable_differences = SeparationSerializer(many=True)
    flagged = serializers.DictField(child=serializers.IntegerField(), help_text="Flag → number of tasks")
    count = serializers.IntegerField(help_text="Tasks that match")
    page = serializers.IntegerField()
    pages = serializers.IntegerField()
    tasks = AnalyzedTaskSerializer(many=True)


class AnalysisQuery(StrictRequest):
    """Which version, metric and tasks to return."""

    version = serializers.IntegerField(default=None, min_value=1, max_value=10**9, help_text="By default the current")
    metric = serializers.CharField(default="", help_text="By default the headline of most runs")
    flag = serializers.ChoiceField(choices=[*FLAGS, DOUBTFUL], default="", allow_blank=True)
    page = serializers.IntegerField(default=1, min_value=1)
    format = serializers.CharField(required=False)


class DoubtfulTasksRequest(StrictRequest):
    """Tasks of a version to mark."""

    version = serializers.IntegerField(default=None, min_value=1, max_value=10**9, help_text="By default the current")
    tasks = serializers.ListField(child=serializers.CharField(), allow_empty=False, max_length=MOST_TASKS)
    doubtful = serializers.BooleanField(default=True, help_text="false removes the marks")


class MarkedSerializer(serializers.Serializer[Any]):
    tasks = serializers.IntegerField(help_text="Number of tasks marked")


class TaskAnalysisView(APIView):
    @extend_schema(
        parameters=[AnalysisQuery],
        responses={200: TaskAnalysisSerializer, 202: COMPUTING, 400: REFUSED, 409: NO_VERSION},
    )
    def get(self, request: Request, slug: str) -> Response:
        """What the answers of all comparable runs say of the tasks of a version: 50 tasks to a page."""
        query = validated_by(AnalysisQuery(data=request.query_params.dict()))
        version = _version(slug, query["version"])
        analysis = task_analysis_if_ready(version, query["metric"])
        if analysis is None:
            seconds = {"Retry-After": "2"}
            return Response({"detail": "The analysis is being computed. Ask again in 2 seconds."}, 202, headers=seconds)
        if (metric := query["metric"]) and metric not in analysis.metrics:
            known = ", ".join(analysis.metrics) or "(none)"
            raise InvalidRequest({"metric": [f"No comparable run has the metric {metric}. Choose from: {known}."]})
        page = analysis_page(version, analysis, AnalysisFilters(query["flag"]), query["page"], size=PAGE_SIZE)
        data = {"dataset": slug, "version": version.number, **as_mapping(page, analysis)}
        return Response(TaskAnalysisSerializer(data).data)


class DoubtfulTasksView(APIView):
    permission_classes = (ReadOrEdit, KnownParameters)

    @extend_schema(request=DoubtfulTasksRequest, responses={200: MarkedSerializer, 400: REFUSED, 409: NO_VERSION})
    def post(self, request: Request, slug: str) -> Response:
        """Mark references as doubtful, so that their scores count in no number, or as sound again."""
        given = validated_by(DoubtfulTasksRequest(data=request.data))
        version = _version(slug, given["version"])
        count = mark_doubtful(version, given["tasks"], request.user, doubtful=given["doubtful"])
        return Response({"tasks": count})


def _version(slug: str, number: int | None) -> DatasetVersion:
    dataset = dataset_detail(slug)
    version = dataset.current_version if number is None else version_of(dataset, number)
    if version is None:
        raise NotPossible(f"{slug} has no valid version.")
    return version
