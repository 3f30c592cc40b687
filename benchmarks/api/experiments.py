"""The REST API of experiments: launch, estimate, follow, read as one, and act on all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.resources import NOT_NOW, ResourceViewSet, answer, created, reader_of, serializer_of
from benchmarks.api.serializers import BudgetSerializer
from benchmarks.api.views import file_of
from benchmarks.models import Experiment, Outcome, Run
from benchmarks.queries import experiments as reads
from benchmarks.queries.matrix import UnknownChoice, unknown_choices
from benchmarks.queries.matrix_export import MATRIX_TYPES, matrix_file
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.experiments import ExperimentDetail, ExperimentResource
from benchmarks.queries.resources.plans import ExperimentPlan
from benchmarks.queries.resources.task_grid import TEXT_LENGTH, TaskPageResource
from benchmarks.queries.runs import runs_named
from benchmarks.queries.task_grid import MOST_RUNS, SHOWN, SORTS, TaskGridFilters, task_page
from benchmarks.services.comparisons import read_margin
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments import control
from benchmarks.services.experiments.requests import ExperimentRequest
from benchmarks.services.experiments.start import add_model, plan_experiment, start_experiment
from benchmarks.services.requests import StrictRequest, validated_by
from benchmarks.services.runs.exports import CONTENT_TYPES


@dataclass(frozen=True, kw_only=True)
class Started(ExperimentResource):
    estimate: ExperimentPlan


class ModelSerializer(StrictRequest):
    """A further model of an experiment."""

    model = serializers.CharField(max_length=200)


class RunsSerializer(serializers.Serializer[Any]):
    runs = serializers.IntegerField(help_text="Number of runs that the action changed")


class TaskQuery(StrictRequest):
    """Which tasks to return."""

    dataset = serializers.CharField(required=False, help_text="By default the first of the experiment")
    metric = serializers.CharField(default="", help_text="By default the first of each run")
    show = serializers.ChoiceField(choices=list(SHOWN), default="", allow_blank=True)
    sort = serializers.ChoiceField(choices=list(SORTS), default="", allow_blank=True)
    run = serializers.IntegerField(
        default=None,
        help_text="Of show=only, only_wrong, lost and worse, and of outcome and reason; by default the first that is "
        "not the reference run, for outcome and reason any",
    )
    baseline = serializers.IntegerField(
        default=None,
        help_text="The reference run, with which show=lost and show=worse compare; by default the oldest run",
    )
    text = serializers.CharField(default="", allow_blank=True, max_length=500, help_text="In the name or the input")
    group = serializers.CharField(default="", allow_blank=True, max_length=500, help_text="Group or task class")
    outcome = serializers.ChoiceField(choices=Outcome.choices, default="", allow_blank=True)
    reason = serializers.CharField(default="", allow_blank=True, max_length=500, help_text="A reason of the failures")
    runs = serializers.CharField(default="", help_text=f"IDs, separated by commas; by default the first {MOST_RUNS}")
    page = serializers.IntegerField(default=1, min_value=1)
    format = serializers.CharField(required=False)


@extend_schema_view(
    retrieve=extend_schema(
        parameters=[
            OpenApiParameter("dataset", str, description="Matrix of this dataset only; its slug"),
            OpenApiParameter("metric", str, description="Matrix by this metric; by default by the first of each run"),
            OpenApiParameter("margin", float, description="Points within which rows are the same; by default 2"),
            OpenApiParameter(
                "variants",
                str,
                enum=[reads.EACH, reads.AVERAGE],
                description="Whether models are averaged over the variants; by default as the experiment says",
            ),
        ]
    )
)
class ExperimentViewSet(ResourceViewSet[Experiment]):
    """Experiments: datasets × models × variants, launched once and read as one."""

    queryset = reads.experiments()
    listed, shown = ExperimentResource, ExperimentDetail

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """An experiment with its matrix."""
        experiment = self.get_object()
        chosen = {name: request.query_params.get(name, "") for name in ("metric", "dataset")}
        _require_known(reads.experiment_runs(experiment), **chosen)
        variants = request.query_params.get("variants", "")
        if variants not in ("", reads.EACH, reads.AVERAGE):
            raise InvalidRequest({"variants": [f"Choose {reads.EACH} or {reads.AVERAGE}."]})
        margin = read_margin(request.query_params.get("margin"))
        detail = ExperimentDetail.of(experiment, reader_of(request), variants=variants, margin=margin, **chosen)
        return Response(json_of(detail))

    @extend_schema(request=ExperimentRequest, responses={201: serializer_of(Started)})
    def create(self, request: Request) -> Response:
        """Start all runs of an experiment, or none."""
        estimate = ExperimentPlan.of(plan_experiment(request.data), reader_of(request))
        experiment = start_experiment(request.data, request.user)
        return created(request, f"experiments/{experiment.pk}", Started, experiment, estimate=estimate)

    @extend_schema(request=control.ExperimentEdit, responses={200: serializer_of(ExperimentResource)})
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the name, the description or the tags."""
        experiment = self.get_object()
        control.edit_experiment(experiment, request.data, request.user)
        return answer(request, ExperimentResource, experiment)

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete an experiment that has ended. Its runs stay, as single runs."""
        control.delete_experiment(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=ExperimentRequest, responses={200: serializer_of(ExperimentPlan)})
    @action(detail=False, methods=["post"])
    def plan(self, request: Request) -> Response:
        """Estimate an experiment without starting it."""
        return answer(request, ExperimentPlan, plan_experiment(request.data))

    @extend_schema(parameters=[TaskQuery], responses={200: serializer_of(TaskPageResource)})
    @action(detail=True, methods=["get"], filter_backends=[], pagination_class=None)
    def tasks(self, request: Request, pk: str) -> Response:
        """The tasks of one dataset, each with the outcome, score and answer of up to 12 runs."""
        query = validated_by(TaskQuery(data=request.query_params.dict()))
        runs = reads.experiment_runs(self.get_object())
        _require_known(runs, query["metric"], query.get("dataset", ""))
        dataset = query.get("dataset") or (runs[0].dataset.slug if runs else "")
        wanted = set(filter(None, query["runs"].split(",")))
        columns = [run for run in runs if run.dataset.slug == dataset and (not wanted or str(run.pk) in wanted)]
        filters = TaskGridFilters(**{name: query[name] for name in TaskGridFilters.__slots__})
        page = task_page(columns, query["metric"], filters, query["page"], preview=TEXT_LENGTH)
        given = {"dataset": dataset, "columns": columns}
        return Response(json_of(TaskPageResource.of(page, reader_of(request), **given)))

    @extend_schema(request=None, responses={200: RunsSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        """Stop sending until the experiment is resumed."""
        return Response({"runs": control.pause_experiment(self.get_object(), request.user)})

    @extend_schema(request=None, responses={200: RunsSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Continue the paused, canceled and failed runs."""
        return Response({"runs": control.resume_experiment(self.get_object(), request.user)})

    @extend_schema(request=None, responses={200: RunsSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel the runs that have not ended. Stored answers are kept."""
        return Response({"runs": control.cancel_experiment(self.get_object(), request.user)})

    @extend_schema(request=None, responses={200: RunsSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"], url_path="retry-failed")
    def retry_failed(self, request: Request, pk: str) -> Response:
        """Repeat the results that ended in an error."""
        return Response({"runs": control.retry_experiment(self.get_object(), request.user)})

    @extend_schema(request=BudgetSerializer, responses={200: serializer_of(ExperimentResource), 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def budget(self, request: Request, pk: str) -> Response:
        """Raise the budget of all runs together. Runs that are paused resume."""
        budget = BudgetSerializer(data=request.data)
        budget.is_valid(raise_exception=True)
        control.raise_budget(self.get_object(), budget.validated_data["budget_usd"], request.user)
        return answer(request, ExperimentResource, self.get_object())

    @extend_schema(request=ModelSerializer, responses={200: RunsSerializer})
    @action(detail=True, methods=["post"])
    def models(self, request: Request, pk: str) -> Response:
        """Add a model: its runs use the dataset versions of the others."""
        added = ModelSerializer(data=request.data)
        added.is_valid(raise_exception=True)
        runs = add_model(self.get_object(), added.validated_data["model"], request.user)
        return Response({"runs": len(runs)})


class RunsQuery(StrictRequest):
    """Which runs to export."""

    runs = serializers.CharField(help_text="IDs, separated by commas")
    format = serializers.CharField(required=False)

    def validate_runs(self, text: str) -> list[int]:
        parts = list(filter(None, text.split(",")))
        if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
            raise serializers.ValidationError("List IDs of runs, separated by commas, such as 3,4.")
        return [int(part) for part in parts]


class MatrixQuery(RunsQuery):
    """Which matrix to export: that of an experiment, or of runs."""

    experiment = serializers.IntegerField(default=None)
    runs = serializers.CharField(default="", help_text="IDs, separated by commas")
    metric = serializers.CharField(default="", help_text="By default the first of each run")
    dataset = serializers.CharField(default="", help_text="By default all")
    margin = serializers.FloatField(default=None, help_text="Points within which rows are the same; by default 2")


class RunsExport(APIView):
    """All results of several runs in one file. Each row names its run, model, dataset and prompt."""

    @extend_schema(
        operation_id="benchmarks_runs_export_of_several",
        parameters=[RunsQuery],
        responses={
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "application/jsonl"): OpenApiTypes.STR,
            (200, CONTENT_TYPES["parquet"]): OpenApiTypes.BINARY,
            409: NOT_NOW,
        },
    )
    def get(self, request: Request, form: str) -> StreamingHttpResponse:
        query = validated_by(RunsQuery(data=request.query_params.dict()))
        try:
            return file_of(runs_named(query["runs"]), form)
        except Run.DoesNotExist as missing:
            raise InvalidRequest({"runs": [str(missing)]}) from None


class MatrixExport(APIView):
    """The matrix of an experiment or of runs: ``csv`` for spreadsheets, ``md`` and ``tex`` for documents, ``png``."""

    @extend_schema(
        parameters=[MatrixQuery],
        responses={
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "text/markdown"): OpenApiTypes.STR,
            (200, "application/x-tex"): OpenApiTypes.STR,
            (200, "image/png"): OpenApiTypes.BINARY,
        },
    )
    def get(self, request: Request, form: str) -> HttpResponse:
        query = validated_by(MatrixQuery(data=request.query_params.dict()))
        chosen = {name: query[name] for name in ("experiment", "metric", "dataset")}
        try:
            margin = read_margin(query["margin"])
            content, name = matrix_file(form, runs=query["runs"] or [], margin=margin, **chosen)
        except ObjectDoesNotExist:
            raise NotFound from None
        except UnknownChoice as unknown:
            raise InvalidRequest(unknown.problems) from None
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return HttpResponse(content, content_type=MATRIX_TYPES[form], headers=headers)


def _require_known(members: Sequence[Run], metric: str, dataset: str) -> None:
    """Raise ``InvalidRequest`` for a metric or a dataset that none of the runs has."""
    if problems := unknown_choices(members, metric, dataset):
        raise InvalidRequest(problems)
