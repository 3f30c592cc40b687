"""The REST API of datasets with their tasks, of runs and what can be done with them, of results and of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api import filters, serializers
from benchmarks.api.pagination import ResultPages
from benchmarks.api.resources import NOT_NOW, ResourceViewSet, answer, created, serializer_of
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import HIDDEN_KINDS, Dataset, Result, Run, StoredStep, Task
from benchmarks.queries.datasets import full_datasets, full_tasks
from benchmarks.queries.resources.datasets import DatasetDetail, DatasetResource, TaskResource
from benchmarks.queries.resources.plans import Plan
from benchmarks.queries.resources.runs import ResultResource, RunResource, StepResource
from benchmarks.queries.results import full_results, result_of_any_run
from benchmarks.queries.runs import full_runs, listed_kinds, run_detail, run_status, scorings
from benchmarks.queries.steps import Steps
from benchmarks.services.runs import control
from benchmarks.services.runs.control import RunEdit, edit_run
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.exports import CONTENT_TYPES, export_name, export_results
from benchmarks.services.runs.requests import RunRequest
from benchmarks.services.runs.rescoring import RescoringRequest, plan_rescoring, start_rescoring
from benchmarks.services.runs.start import start_run, start_run_once

RunSerializer, PlanSerializer = serializer_of(RunResource), serializer_of(Plan)


def created_run(request: Request, run: Run) -> Response:
    return created(request, f"runs/{run.pk}", RunResource, run)


class DatasetViewSet(ResourceViewSet[Dataset]):
    """Datasets that can be run, each with its current version."""

    queryset = full_datasets()
    listed, shown = DatasetResource, DatasetDetail
    lookup_field = "slug"
    lookup_value_regex = "[-a-zA-Z0-9_]{1,100}"
    filterset_class = filters.DatasetFilter

    def get_queryset(self) -> QuerySet[Dataset]:
        """Every dataset by its slug; the list leaves out the hidden ones of calibrations and preference runs."""
        datasets = super().get_queryset()
        return datasets.exclude(kind__in=HIDDEN_KINDS) if self.action == "list" else datasets


class TaskList(ListAPIView[Task]):
    """The tasks of a dataset's current version, in order."""

    queryset = Task.objects.none()
    serializer_class = serializer_of(TaskResource)
    filterset_class = filters.TaskFilter

    def get_queryset(self) -> QuerySet[Task]:
        return full_tasks(self.kwargs["slug"])


class RunViewSet(ResourceViewSet[Run]):
    """Runs: start, follow, edit, cancel, resume and retry."""

    queryset = full_runs()
    listed = shown = RunResource
    filterset_class = filters.RunFilter

    def get_queryset(self) -> QuerySet[Run]:
        """Every run by its number; the list leaves judge calibrations to theirs, and trials out."""
        runs, tag = super().get_queryset(), self.request.query_params.get("tag", "")
        return runs.filter(listed_kinds(tag)) if self.action == "list" else runs

    @extend_schema(
        request=RunRequest,
        parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
        responses={201: RunSerializer, 409: NOT_NOW},
    )
    def create(self, request: Request) -> Response:
        """Start a run. Workers pick it up at once.

        A request with the same ``Idempotency-Key`` within a day starts no other run; the first run is returned.
        """
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return created_run(request, start_run(request.data, request.user))
        return created_run(request, start_run_once(key, request.data, request.user))

    @extend_schema(request=RunEdit, responses={200: RunSerializer})
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the name, tags, notes or pin of a run, or make it the reference run of its dataset."""
        edit_run(self.get_object(), request.data, request.user)
        return self.retrieve(request, pk)

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a run that is not live, with its results."""
        control.delete_run(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=RunRequest, responses={200: PlanSerializer})
    @action(detail=False, methods=["post"])
    def plan(self, request: Request) -> Response:
        """Estimate a run (requests, tokens, a cost range, a duration) without starting it."""
        return answer(request, Plan, plan_run(request.data))

    @extend_schema(request=None, responses={200: RunSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Stop sending requests. Stored answers are kept."""
        control.cancel_run(self.get_object(), request.user)
        return self.retrieve(request, pk)

    @extend_schema(request=None, responses={200: serializers.CountSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Continue a canceled, failed or paused run with the results that have no answer yet."""
        return Response({"results": control.resume_run(self.get_object(), request.user)})

    @extend_schema(request=None, responses={200: serializers.CountSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"], url_path="retry-failed")
    def retry_failed(self, request: Request, pk: str) -> Response:
        """Repeat only the results that ended in an error."""
        return Response({"results": control.retry_failed(self.get_object(), request.user)})

    @extend_schema(request=RescoringRequest, responses={201: RunSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def rescore(self, request: Request, pk: str) -> Response:
        """Score the stored answers again, as a run of its own: other metrics, judge, or expected answers."""
        return created_run(request, start_rescoring(self.get_object(), request.data, request.user))

    @extend_schema(request=RescoringRequest, responses={200: PlanSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"], url_path="rescore/plan")
    def plan_rescoring(self, request: Request, pk: str) -> Response:
        """Estimate what judging the stored answers again takes, without starting it."""
        return answer(request, Plan, plan_rescoring(self.get_object(), request.data))

    @extend_schema(responses={200: RunSerializer(many=True)})
    @action(detail=True, pagination_class=None, filterset_class=None)
    def scorings(self, request: Request, pk: str) -> Response:
        """All runs that score the answers of this one, itself included, oldest first; empty if it is the only one."""
        runs = scorings(self.get_object())
        return Response(RunSerializer(runs, many=True, context={"request": request}).data)

    @extend_schema(request=serializers.BudgetSerializer, responses={200: RunSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def budget(self, request: Request, pk: str) -> Response:
        """Raise the budget. A run that is paused resumes."""
        budget = serializers.BudgetSerializer(data=request.data)
        budget.is_valid(raise_exception=True)
        control.raise_budget(self.get_object(), budget.validated_data["budget_usd"], request.user)
        return self.retrieve(request, pk)

    @extend_schema(request=serializers.DoubtfulSerializer, responses={200: RunSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"], url_path="doubtful-references")
    def doubtful_references(self, request: Request, pk: str) -> Response:
        """Count tasks whose expected answer the audit finds wrong or undetermined, or leave them out again."""
        chosen = serializers.DoubtfulSerializer(data=request.data)
        chosen.is_valid(raise_exception=True)
        control.include_doubtful(self.get_object(), chosen.validated_data["include"], request.user)
        return self.retrieve(request, pk)


class ResultList(ListAPIView[Result]):
    """A run's results, in the order of the dataset."""

    queryset = Result.objects.none()
    serializer_class = serializer_of(ResultResource)
    filterset_class = filters.ResultFilter
    pagination_class = ResultPages

    def get_queryset(self) -> QuerySet[Result]:
        return full_results(self.kwargs["pk"])

    def filter_queryset(self, queryset: Any) -> Any:
        """The selected results. An unfiltered list is as long as the run, so its rows are not counted."""
        selected: Any = super().filter_queryset(queryset)
        given = {name for name in filters.ResultFilter.base_filters if self.request.query_params.get(name)}
        if not given - {"ordering"}:
            selected.known_count = run_status(self.kwargs["pk"]).total
            selected.by_position = not given
        return selected


class StepList(ListAPIView[StoredStep]):
    """What an agent did for a result, step by step."""

    queryset = StoredStep.objects.none()
    serializer_class = serializer_of(StepResource)
    filter_backends = ()
    pagination_class = ResultPages

    def get_queryset(self) -> Any:
        return Steps(result_of_any_run(self.kwargs["pk"])).rows


class MetricList(APIView):
    """The metrics that a run can use."""

    @extend_schema(responses=serializers.MetricSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(serializers.MetricSerializer(list(REGISTERED_METRICS.values()), many=True).data)


class ExportView(APIView):
    """All results of a run: ``csv`` for spreadsheets, ``jsonl`` with every score, reason and tool call, ``parquet``
    for data frames if pyarrow is installed."""

    @extend_schema(
        responses={
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "application/jsonl"): OpenApiTypes.STR,
            (200, CONTENT_TYPES["parquet"]): OpenApiTypes.BINARY,
            409: NOT_NOW,
        }
    )
    def get(self, request: Request, pk: str, form: str) -> StreamingHttpResponse:
        return file_of([run_detail(int(pk))], form)


def file_of(runs: Sequence[Run], form: str) -> StreamingHttpResponse:
    """The results of runs as a file."""
    headers = {"Content-Disposition": f'attachment; filename="{export_name(runs, form)}"'}
    return StreamingHttpResponse(export_results(runs, form), content_type=CONTENT_TYPES[form], headers=headers)
