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
from benchmarks.api.resources import reader_of, serializer_of
from benchmarks.models import DatasetVersion
from benchmarks.queries.datasets import dataset_detail, version_of
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.task_analysis import TaskAnalysisResource
from benchmarks.queries.task_analysis.analysis import task_analysis_if_ready
from benchmarks.queries.task_analysis.pages import DOUBTFUL, PAGE_SIZE, AnalysisFilters, analysis_page
from benchmarks.services.datasets.versions import mark_doubtful
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.requests import StrictRequest, validated_by

MOST_TASKS = 10_000
COMPUTING = OpenApiResponse(description="The analysis is being computed; ask again after Retry-After")
NO_VERSION = OpenApiResponse(description="The dataset has no such task, or no valid version")


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
        responses={200: serializer_of(TaskAnalysisResource), 202: COMPUTING, 409: NO_VERSION},
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
        given = {"dataset": slug, "version": version.number, "page": page}
        return Response(json_of(TaskAnalysisResource.of(analysis, reader_of(request), **given)))


class DoubtfulTasksView(APIView):
    permission_classes = (ReadOrEdit, KnownParameters)

    @extend_schema(request=DoubtfulTasksRequest, responses={200: MarkedSerializer, 409: NO_VERSION})
    def post(self, request: Request, slug: str) -> Response:
        """Mark expected answers as doubtful, so that their scores count in no number, or as sound again."""
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
