"""The REST API of experiments: launch, estimate, follow, read as one, and act on all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.serializers import BudgetSerializer, OutlookSerializer, PlanTotalsSerializer, ProgressSerializer
from benchmarks.api.views import NOT_NOW, REFUSED, created
from benchmarks.models import Experiment, Run
from benchmarks.queries import experiments as reads
from benchmarks.queries.matrix import Matrix, UnknownChoice, matrix, matrix_rows, unknown_choices
from benchmarks.queries.matrix_export import MATRIX_TYPES, matrix_file
from benchmarks.queries.task_grid import MOST_RUNS, SHOWN, SORTS, TaskGridFilters, TaskRow, task_page
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments import control
from benchmarks.services.experiments.requests import ExperimentRequest
from benchmarks.services.experiments.start import add_model, plan_experiment, start_experiment
from benchmarks.services.requests import StrictRequest, validated_by

TEXT_LENGTH = 2_000


class ExperimentPlanSerializer(PlanTotalsSerializer):
    """The estimate of an experiment."""

    runs = serializers.IntegerField()
    candidates = serializers.IntegerField(help_text="Models × variants")
    detectable = serializers.DictField(
        child=serializers.FloatField(allow_null=True),
        help_text="Dataset → the difference between two candidates that it shows with 80% power; null: none",
    )
    subsets = serializers.DictField(child=OutlookSerializer(), help_text="With ``subset``: dataset → what a run shows")
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Prompts that may exceed the context window of a model"
    )


class CellSerializer(serializers.Serializer[Any]):
    """A run in the matrix. Rank and group are those of its model and variant over all datasets of the matrix."""

    model = serializers.CharField()
    variant = serializers.CharField()
    differs = serializers.CharField(help_text="The parameters in which its row differs from others; empty if in none")
    dataset = serializers.CharField()
    run = serializers.IntegerField()
    status = serializers.CharField()
    mean = serializers.FloatField(allow_null=True, help_text="Strict mean")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True, help_text="Results that the metric applies to")
    coverage = serializers.FloatField(allow_null=True)
    rank = serializers.ListField(
        child=serializers.IntegerField(), allow_null=True, help_text="Lowest and highest rank that the tests allow"
    )
    group = serializers.CharField(
        allow_null=True, help_text="Letters; candidates that share one are not significantly different"
    )
    best = serializers.FloatField(allow_null=True, help_text="Chance of being the best")
    cost_usd = serializers.FloatField(allow_null=True)
    latency_ms = serializers.FloatField(allow_null=True, help_text="Median")


class ExperimentSerializer(serializers.ModelSerializer[Experiment]):
    url = serializers.SerializerMethodField()
    status = serializers.SerializerMethodField()
    progress = serializers.SerializerMethodField()
    cost_usd = serializers.SerializerMethodField()
    runs = serializers.SerializerMethodField(help_text="IDs")

    class Meta:
        model = Experiment
        fields: tuple[str, ...] = (
            *("id", "url", "name", "description", "tags", "status", "progress", "budget_usd", "cost_usd", "runs"),
            *("request", "created_at"),
        )

    @extend_schema_field(serializers.URLField())
    def get_url(self, experiment: Experiment) -> str:
        request = self.context.get("request")
        path = f"/experiments/{experiment.pk}"
        return request.build_absolute_uri(path) if request else path

    def get_status(self, experiment: Experiment) -> str:
        return self._progress(experiment).status

    @extend_schema_field(ProgressSerializer)
    def get_progress(self, experiment: Experiment) -> dict[str, int]:
        progress = self._progress(experiment)
        return {"total": progress.total, "done": progress.done, "errors": progress.errors}

    def get_cost_usd(self, experiment: Experiment) -> float | None:
        return self._progress(experiment).cost_usd

    @extend_schema_field(serializers.ListField(child=serializers.IntegerField()))
    def get_runs(self, experiment: Experiment) -> list[int]:
        return sorted(run.pk for run in experiment.runs.all())

    def _progress(self, experiment: Experiment) -> reads.Progress:
        return reads.progress(list(experiment.runs.all()))


class ExperimentDetailSerializer(ExperimentSerializer):
    verdict = serializers.SerializerMethodField(
        help_text="Who leads, by how much, and which differences are not significant"
    )
    matrix = serializers.SerializerMethodField()
    _read: Matrix | None = None

    class Meta(ExperimentSerializer.Meta):
        fields = (*ExperimentSerializer.Meta.fields, "verdict", "matrix")

    def get_verdict(self, experiment: Experiment) -> str:
        return self._matrix(experiment).verdict

    @extend_schema_field(CellSerializer(many=True))
    def get_matrix(self, experiment: Experiment) -> list[dict[str, Any]]:
        return matrix_rows(self._matrix(experiment))

    def _matrix(self, experiment: Experiment) -> Matrix:
        if self._read is None:
            query = self.context["request"].query_params
            chosen = query.get("metric", ""), query.get("dataset", "")
            members = reads.experiment_runs(experiment)
            _require_known(members, *chosen)
            self._read = matrix(members, *chosen)
        return self._read


class StartedSerializer(ExperimentSerializer):
    estimate = ExperimentPlanSerializer()

    class Meta(ExperimentSerializer.Meta):
        fields = (*ExperimentSerializer.Meta.fields, "estimate")


class ModelSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(max_length=200)


class RunsSerializer(serializers.Serializer[Any]):
    runs = serializers.IntegerField(help_text="Number of runs that the action changed")


class AnswerSerializer(serializers.Serializer[Any]):
    """The first answer of a run to a task, at most 2,000 characters of it."""

    run = serializers.IntegerField()
    model = serializers.CharField()
    variant = serializers.CharField()
    result = serializers.IntegerField(allow_null=True)
    outcome = serializers.CharField()
    score = serializers.FloatField(allow_null=True, help_text="Mean over repeats")
    answer = serializers.CharField(allow_null=True)


class ExperimentTaskSerializer(serializers.Serializer[Any]):
    task_id = serializers.CharField()
    name = serializers.CharField()
    input = serializers.CharField(help_text="At most 2,000 characters")
    expected_output = serializers.CharField(help_text="At most 2,000 characters")
    right = serializers.IntegerField(help_text="Number of runs with the full score")
    answers = AnswerSerializer(many=True)


class TaskPageSerializer(serializers.Serializer[Any]):
    """One page of 50 tasks of a dataset; ``disagree`` to ``all_wrong`` count all its tasks."""

    dataset = serializers.CharField()
    count = serializers.IntegerField(help_text="Tasks that match")
    page = serializers.IntegerField()
    pages = serializers.IntegerField()
    disagree = serializers.IntegerField()
    all_right = serializers.IntegerField()
    all_wrong = serializers.IntegerField()
    results = ExperimentTaskSerializer(many=True)


class TaskQuery(StrictRequest):
    """Which tasks to return."""

    dataset = serializers.CharField(required=False, help_text="By default the first of the experiment")
    metric = serializers.CharField(default="", help_text="By default the first of each run")
    show = serializers.ChoiceField(choices=list(SHOWN), default="", allow_blank=True)
    sort = serializers.ChoiceField(choices=list(SORTS), default="", allow_blank=True)
    run = serializers.IntegerField(
        default=None, help_text="Of show=only and show=worse; by default the first that is not the baseline"
    )
    baseline = serializers.IntegerField(
        default=None, help_text="What show=worse compares with; by default the oldest run"
    )
    text = serializers.CharField(default="", allow_blank=True, max_length=500, help_text="In the name or the input")
    group = serializers.CharField(default="", allow_blank=True, max_length=500, help_text="Group or task class")
    runs = serializers.CharField(default="", help_text=f"IDs, separated by commas; by default the first {MOST_RUNS}")
    page = serializers.IntegerField(default=1, min_value=1)
    format = serializers.CharField(required=False)


@extend_schema_view(
    retrieve=extend_schema(
        parameters=[
            OpenApiParameter("dataset", str, description="Matrix of this dataset only; its slug"),
            OpenApiParameter("metric", str, description="Matrix by this metric; by default by the first of each run"),
        ]
    )
)
class ExperimentViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Experiment]):
    """Experiments: datasets × models × variants, launched once and read as one."""

    queryset = reads.experiments()
    lookup_value_regex = "[0-9]{1,18}"

    def get_serializer_class(self) -> type[ExperimentSerializer]:
        return ExperimentDetailSerializer if self.action == "retrieve" else ExperimentSerializer

    @extend_schema(request=ExperimentRequest, responses={201: StartedSerializer, 400: REFUSED})
    def create(self, request: Request) -> Response:
        """Start all runs of an experiment, or none."""
        estimate = plan_experiment(request.data)
        experiment = start_experiment(request.data, request.user)
        experiment.estimate = estimate  # type: ignore[attr-defined]
        data = StartedSerializer(experiment, context={"request": request}).data
        return created(request, f"experiments/{experiment.pk}", data)

    @extend_schema(request=control.ExperimentEdit, responses={200: ExperimentSerializer, 400: REFUSED})
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the name, the description or the tags."""
        experiment = self.get_object()
        control.edit_experiment(experiment, request.data, request.user)
        return Response(ExperimentSerializer(experiment, context={"request": request}).data)

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete an experiment that has ended. Its runs stay, as single runs."""
        control.delete_experiment(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=ExperimentRequest, responses={200: ExperimentPlanSerializer, 400: REFUSED})
    @action(detail=False, methods=["post"])
    def plan(self, request: Request) -> Response:
        """Estimate an experiment without starting it."""
        return Response(ExperimentPlanSerializer(plan_experiment(request.data)).data)

    @extend_schema(parameters=[TaskQuery], responses={200: TaskPageSerializer, 400: REFUSED})
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
        results = [_task(row, columns) for row in page.rows]
        counts = {name: getattr(page, name) for name in ("count", "pages", "disagree", "all_right", "all_wrong")}
        data = {"dataset": dataset, "page": page.number, **counts, "results": results}
        return Response(TaskPageSerializer(data).data)

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

    @extend_schema(request=BudgetSerializer, responses={200: ExperimentSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def budget(self, request: Request, pk: str) -> Response:
        """Raise the budget of all runs together. Runs that are paused resume."""
        budget = BudgetSerializer(data=request.data)
        budget.is_valid(raise_exception=True)
        control.raise_budget(self.get_object(), budget.validated_data["budget_usd"], request.user)
        return Response(ExperimentSerializer(self.get_object(), context={"request": request}).data)

    @extend_schema(request=ModelSerializer, responses={200: RunsSerializer, 400: REFUSED})
    @action(detail=True, methods=["post"])
    def models(self, request: Request, pk: str) -> Response:
        """Add a model: its runs use the dataset versions of the others."""
        added = ModelSerializer(data=request.data)
        added.is_valid(raise_exception=True)
        runs = add_model(self.get_object(), added.validated_data["model"], request.user)
        return Response({"runs": len(runs)})


class MatrixQuery(StrictRequest):
    """Which matrix to export: that of an experiment, or of runs."""

    experiment = serializers.IntegerField(default=None)
    runs = serializers.CharField(default="", help_text="IDs, separated by commas")
    metric = serializers.CharField(default="", help_text="By default the first of each run")
    dataset = serializers.CharField(default="", help_text="By default all")
    format = serializers.CharField(required=False)

    def validate_runs(self, text: str) -> list[int]:
        parts = list(filter(None, text.split(",")))
        if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
            raise serializers.ValidationError("List IDs of runs, separated by commas, such as 3,4.")
        return [int(part) for part in parts]


class MatrixExport(APIView):
    """The matrix of an experiment or of runs: ``csv`` for spreadsheets, ``md`` and ``tex`` for documents, ``png``."""

    @extend_schema(
        parameters=[MatrixQuery],
        responses={
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "text/markdown"): OpenApiTypes.STR,
            (200, "application/x-tex"): OpenApiTypes.STR,
            (200, "image/png"): OpenApiTypes.BINARY,
            400: REFUSED,
        },
    )
    def get(self, request: Request, form: str) -> HttpResponse:
        query = validated_by(MatrixQuery(data=request.query_params.dict()))
        chosen = {name: query[name] for name in ("experiment", "metric", "dataset")}
        try:
            content, name = matrix_file(form, runs=query["runs"] or [], **chosen)
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


def _task(row: TaskRow, columns: Sequence[Run]) -> dict[str, Any]:
    return {
        "task_id": row.task.task_id,
        "name": row.task.name,
        "input": row.task.input_preview,
        "expected_output": row.task.expected_preview,
        "right": row.right,
        "answers": [
            {
                "run": run.pk,
                "model": run.model,
                "variant": run.variant,
                "result": result.pk if result else None,
                "outcome": result.outcome if result else "",
                "score": score,
                "answer": result.answer if result else None,
            }
            for run, (result, score) in zip(columns, row.cells, strict=False)
        ],
    }
