"""The REST API: datasets with their tasks, runs and what can be done with them, results, metrics."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api import filters, serializers
from benchmarks.api.pagination import ResultPages
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Dataset, Result, Run, Task
from benchmarks.services.runs import control, estimate
from benchmarks.services.runs.start import RunRequest, start_run, start_run_once

REFUSED = OpenApiResponse(description="What is wrong, field by field, with the valid choices")
NOT_NOW = OpenApiResponse(description="Why this cannot be done in the run's present status")


class DatasetViewSet(viewsets.ReadOnlyModelViewSet[Dataset]):
    """Datasets that can be run, each with its current version."""

    queryset = Dataset.objects.filter(current_version__isnull=False).select_related("current_version").order_by("slug")
    lookup_field = "slug"
    lookup_value_regex = "[-a-zA-Z0-9_]{1,100}"
    filterset_class = filters.DatasetFilter

    def get_serializer_class(self) -> type[serializers.DatasetSerializer]:
        return serializers.DatasetDetailSerializer if self.action == "retrieve" else serializers.DatasetSerializer


class TaskList(ListAPIView[Task]):
    """The tasks of a dataset's current version, in order."""

    queryset = Task.objects.none()
    serializer_class = serializers.TaskSerializer
    filterset_class = filters.TaskFilter

    def get_queryset(self) -> QuerySet[Task]:
        dataset = get_object_or_404(DatasetViewSet.queryset, slug=self.kwargs["slug"])
        return Task.objects.filter(version=dataset.current_version_id).order_by("position")


class RunViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Run]):
    """Runs: start one, follow it, stop it, continue it."""

    queryset = Run.objects.select_related("dataset", "dataset_version").order_by("-id")
    serializer_class = serializers.RunSerializer
    lookup_value_regex = "[0-9]{1,18}"
    filterset_class = filters.RunFilter

    def get_queryset(self) -> QuerySet[Run]:
        queryset = super().get_queryset()
        return queryset.defer("breakdown", "environment") if self.action in ("list", "retrieve") else queryset

    @extend_schema(
        request=RunRequest,
        parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
        responses={201: serializers.RunSerializer, 400: REFUSED, 409: NOT_NOW},
    )
    def create(self, request: Request) -> Response:
        """Start a run. It is queued; workers take it up at once.

        A request with the same ``Idempotency-Key`` within a day starts no other run and is answered with the first.
        """
        key = request.headers.get("Idempotency-Key")
        if key is None:
            run = start_run(request.data, request.user)
        else:
            run, _ = start_run_once(key, request.data, request.user)
        answer = self.get_serializer(run).data
        location = request.build_absolute_uri(f"/api/v1/benchmarks/runs/{run.pk}")
        return Response(answer, status=status.HTTP_201_CREATED, headers={"Location": location})

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a run that is not live, with its results."""
        control.delete_run(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=RunRequest, responses={200: serializers.PlanSerializer, 400: REFUSED})
    @action(detail=False, methods=["post"])
    def plan(self, request: Request) -> Response:
        """What a run would take (requests, tokens, a cost range), without starting it."""
        return Response(serializers.PlanSerializer(estimate.plan_run(request.data)).data)

    @extend_schema(request=None, responses={200: serializers.RunSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Stop sending; what was answered is kept."""
        run = self.get_object()
        control.cancel_run(run, request.user)
        return self._now(run)

    @extend_schema(request=None, responses={200: serializers.CountSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Continue a cancelled, failed or paused run with what it has not asked yet."""
        return Response({"results": control.resume_run(self.get_object(), request.user)})

    @extend_schema(request=None, responses={200: serializers.CountSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"], url_path="retry-failed")
    def retry_failed(self, request: Request, pk: str) -> Response:
        """Try again only what ended in an error."""
        return Response({"results": control.retry_failed(self.get_object(), request.user)})

    @extend_schema(request=serializers.BudgetSerializer, responses={200: serializers.RunSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def budget(self, request: Request, pk: str) -> Response:
        """Raise the budget; a run that is paused for it goes on."""
        asked = serializers.BudgetSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        run = self.get_object()
        control.raise_budget(run, asked.validated_data["budget_usd"], request.user)
        return self._now(run)

    def _now(self, run: Run) -> Response:
        run.refresh_from_db()
        return Response(self.get_serializer(run).data)


class ResultList(ListAPIView[Result]):
    """A run's results, in the order of the dataset."""

    queryset = Result.objects.none()
    serializer_class = serializers.ResultSerializer
    filterset_class = filters.ResultFilter
    pagination_class = ResultPages

    def get_queryset(self) -> QuerySet[Result]:
        run = get_object_or_404(Run.objects.only("id"), pk=self.kwargs["pk"])
        listed = Result.objects.filter(run=run).order_by("position")
        return listed.select_related("task", "transcript", "run").prefetch_related("scores")

    def filter_queryset(self, queryset: Any) -> Any:
        """The chosen results. A list that nothing narrows is as long as the run, and is not counted."""
        chosen: Any = super().filter_queryset(queryset)
        asked = {name for name in filters.ResultFilter.base_filters if self.request.query_params.get(name)}
        if not asked - {"ordering"}:
            chosen.known_count = Run.objects.values_list("total", flat=True).get(pk=self.kwargs["pk"])
            chosen.by_position = not asked
        return chosen


class MetricList(APIView):
    """The metrics that a run can choose from."""

    @extend_schema(responses=serializers.MetricSerializer(many=True))
    def get(self, request: Request) -> Response:
        return Response(serializers.MetricSerializer(list(REGISTERED_METRICS.values()), many=True).data)
