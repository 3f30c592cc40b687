"""The REST API of statistics: intervals, thresholds and reliability of a run, comparisons, and sizes of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.analysis.comparisons import common_metrics, compared_runs
from benchmarks.api.resources import NOT_NOW, REFUSED, answer, reader_of, serializer_of
from benchmarks.api.views import created_run
from benchmarks.models import Run
from benchmarks.queries.compare import runs_to_compare
from benchmarks.queries.contamination import ContaminationCheck, contamination_check
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.comparisons import Comparisons as ComparisonsResponse
from benchmarks.queries.resources.plans import Size
from benchmarks.queries.resources.runs import Readable, RunResource
from benchmarks.queries.runs import run_detail
from benchmarks.queries.task_grid import MOST_RUNS
from benchmarks.services.contamination import check_contamination
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.requests import RunRequest
from benchmarks.services.runs.sizing import SizeQuestion, size_run


class _Mean(serializers.Serializer[Any]):
    mean = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n_clusters = serializers.IntegerField(allow_null=True, help_text="Canvases, or tasks of a run with repeats")
    method = serializers.CharField()
    note = serializers.CharField(allow_blank=True)


class ExpectedSerializer(_Mean):
    """A mean with the number of results, tasks or canvases that it should contain."""

    n_expected = serializers.IntegerField(help_text="The N of n")


class CountedSerializer(ExpectedSerializer):
    """A strict mean with the share of its results that have a score."""

    coverage = serializers.FloatField(allow_null=True, help_text="n / n_expected")


class MetricStatisticsSerializer(CountedSerializer):
    readable = serializer_of(Readable)()


class CorrectedGroupSerializer(serializers.Serializer[Any]):
    group = serializers.CharField(allow_blank=True, help_text="Task class; empty: all tasks with choices")
    guess = serializers.FloatField(help_text="Expected score of guessing")
    raw = CountedSerializer()
    corrected = ExpectedSerializer()


class ChanceSerializer(serializers.Serializer[Any]):
    groups = CorrectedGroupSerializer(many=True)
    average = ExpectedSerializer(
        help_text="Unweighted mean of the corrected scores; null unless every task class of the run has one"
    )
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="Groups without scores or without a guess rate"
    )


class LevelSerializer(serializers.Serializer[Any]):
    difficulty = serializers.FloatField()
    mean = serializers.FloatField()
    n = serializers.IntegerField()
    n_expected = serializers.IntegerField(help_text="Results that the metric applies to")


class ThresholdSerializer(serializers.Serializer[Any]):
    """The difficulty at which the corrected score is 0.5; a bound that the data leave open is ``null``."""

    measure = serializers.CharField(help_text="n_shapes, tracking_steps or inference_steps")
    group = serializers.CharField(allow_blank=True, help_text="Task class; empty: all together")
    guess = serializers.FloatField()
    status = serializers.CharField(help_text="fitted, too_few, beyond, before or flat")
    threshold = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    slope = serializers.FloatField(allow_null=True)
    lapse = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    n_expected = serializers.IntegerField(help_text="Results that the metric applies to")
    note = serializers.CharField(allow_blank=True)
    levels = LevelSerializer(many=True)


class JudgeSpreadSerializer(serializers.Serializer[Any]):
    """Spread of the judge over identical answers to one task, each judged separately."""

    deviation = serializers.FloatField(allow_null=True)
    widest = serializers.FloatField(allow_null=True)
    alpha = serializers.FloatField(allow_null=True)
    n_answers = serializers.IntegerField()


class ReliabilitySerializer(serializers.Serializer[Any]):
    pass_at = serializers.DictField(
        child=ExpectedSerializer(), help_text="k → share of tasks with at least 1 of k repeats correct"
    )
    pass_hat = serializers.DictField(
        child=ExpectedSerializer(), help_text="k → share of tasks with all k repeats correct"
    )
    flipped = ExpectedSerializer(help_text="Share of repeated tasks with differing repeats")
    agreement = ExpectedSerializer(help_text="Probability that two repeats of a task agree")
    alpha = serializers.FloatField(allow_null=True, help_text="Krippendorff's α of the repeats")
    n_tasks = serializers.IntegerField()
    n_repeated = serializers.IntegerField()
    judge = JudgeSpreadSerializer(required=False)


class StratumSerializer(ExpectedSerializer):
    n_shapes = serializers.IntegerField()
    asked = serializers.IntegerField(help_text="Canvases used")


class AdaptiveSerializer(serializers.Serializer[Any]):
    """How an adaptive run stopped. Its intervals are confidence sequences, valid at every interim look."""

    target_half_width = serializers.FloatField()
    max_canvases = serializers.IntegerField()
    canvases = serializers.IntegerField()
    strata = StratumSerializer(many=True)
    overall = ExpectedSerializer(help_text="Unweighted mean over the numbers of shapes")
    reached = serializers.BooleanField()
    reason = serializers.CharField()
    without_scores = serializers.ListField(child=serializers.CharField())


class CanvasesSerializer(serializers.Serializer[Any]):
    """The canvases of one number of shapes that the run asked about."""

    n_shapes = serializers.IntegerField()
    n = serializers.IntegerField(help_text="Number of canvases")
    first = serializers.IntegerField(help_text="Lowest number of a canvas within its number of shapes, from 0")
    last = serializers.IntegerField(help_text="Highest number")


class ContaminationSerializer(serializers.Serializer[ContaminationCheck]):
    """Published minus fresh, in scores from 0 to 1; numbers are ``null`` until both runs have ended."""

    published = serializers.IntegerField(source="published.pk", help_text="The run on the published set")
    fresh = serializers.IntegerField(source="fresh.pk", help_text="The run on fresh tasks")
    difference = serializers.FloatField(source="measured.difference", default=None, allow_null=True)
    low = serializers.FloatField(source="measured.low", default=None, allow_null=True)
    high = serializers.FloatField(source="measured.high", default=None, allow_null=True)
    p_value = serializers.FloatField(source="measured.p_value", default=None, allow_null=True)
    n_published = serializers.IntegerField(source="measured.n_published", default=None, allow_null=True)
    n_fresh = serializers.IntegerField(source="measured.n_fresh", default=None, allow_null=True)
    left_out = serializers.ListField(
        child=serializers.CharField(),
        source="measured.left_out",
        default=list,
        help_text="Numbers of shapes, or levels, with scores in one of the runs only",
    )
    sentence = serializers.CharField()


class StatisticsSerializer(serializers.ModelSerializer[Run]):
    """The statistics of a run's scores, computed when the run ended."""

    metrics = serializers.DictField(child=MetricStatisticsSerializer(), source="summary.metrics", default=dict)
    breakdown = serializers.DictField(
        help_text="Facet → level → metric → mean, and the surface over shapes and classes"
    )
    chance = serializers.DictField(child=ChanceSerializer(), source="summary.chance", default=dict)
    thresholds = ThresholdSerializer(many=True, source="summary.thresholds", default=list)
    reliability = serializers.DictField(child=ReliabilitySerializer(), source="summary.reliability", default=dict)

    adaptive = AdaptiveSerializer(source="summary.adaptive", default=None, allow_null=True)
    repeats_same_seed = serializers.BooleanField(
        help_text="Whether every repeat was sent with one seed, so that repeats may be copies of each other"
    )
    canvases = CanvasesSerializer(many=True, source="summary.canvases", default=list)
    contamination = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = (
            *("id", "status", "summarized_at", "metrics", "breakdown", "chance", "thresholds", "reliability"),
            "repeats_same_seed",
            *("adaptive", "canvases", "contamination"),
        )

    @extend_schema_field(ContaminationSerializer(allow_null=True))
    def get_contamination(self, run: Run) -> dict[str, object] | None:
        check = contamination_check(run)
        return None if check is None else dict(ContaminationSerializer(check).data)


class SizeRequest(RunRequest, SizeQuestion):
    """A request for a run, and the difference that it should detect."""


class RunStatistics(APIView):
    """The statistics of a run's scores."""

    @extend_schema(responses=StatisticsSerializer)
    def get(self, request: Request, pk: str) -> Response:
        """Intervals, scores corrected for chance, thresholds and reliability, computed when the run ended."""
        return Response(StatisticsSerializer(run_detail(int(pk))).data)


class ContaminationCheckView(APIView):
    """Whether a model knows the tasks of a published seed."""

    @extend_schema(request=None, responses={201: serializer_of(RunResource), 400: REFUSED, 409: NOT_NOW})
    def post(self, request: Request, pk: str) -> Response:
        """Start a run of the same kinds of tasks from a new secret seed. Its statistics compare both."""
        return created_run(request, check_contamination(run_detail(int(pk)), request.user))


class Comparisons(APIView):
    """Comparisons of runs on their shared tasks."""

    @extend_schema(
        parameters=[
            OpenApiParameter("runs", str, required=True, description=f"2 to {MOST_RUNS} run ids, for example, 12,7"),
            OpenApiParameter("metric", str, description="Only this metric; p-values stay adjusted for all metrics"),
        ],
        responses={200: serializer_of(ComparisonsResponse), 400: REFUSED},
    )
    def get(self, request: Request) -> Response:
        """Compare every pair of the runs on every shared score. P-values are Holm-adjusted for all comparisons."""
        chosen = _named_runs(request.query_params.get("runs", ""))
        metrics = common_metrics(chosen)
        metric = request.query_params.get("metric", "")
        if metric and metric not in metrics:
            known = ", ".join(metrics) or "(none)"
            raise InvalidRequest(
                {"metric": [f"{metric} is not a score that all these runs have. Choose from: {known}."]}
            )
        comparisons = [each for each in compared_runs(chosen) if metric in ("", each.metric)]
        return Response(json_of(ComparisonsResponse.of(chosen, reader_of(request), comparisons=comparisons)))


class RunSize(APIView):
    """The size of a run that detects a difference."""

    @extend_schema(request=SizeRequest, responses={200: serializer_of(Size), 400: REFUSED})
    def post(self, request: Request) -> Response:
        """Calculate the tasks, canvases and repeats that detect a difference, and estimate that run. Starts nothing."""
        return answer(request, Size, size_run(request.data))


def _named_runs(text: str) -> Sequence[Run]:
    numbers = [part.strip() for part in text.split(",") if part.strip()]
    if not 2 <= len(numbers) <= MOST_RUNS or not all(n.isascii() and n.isdigit() and len(n) < 19 for n in numbers):
        raise InvalidRequest({"runs": [f"Specify 2 to {MOST_RUNS} runs, for example, runs=12,7."]})
    chosen = runs_to_compare([int(number) for number in numbers])
    if missing := sorted({int(number) for number in numbers} - {run.pk for run in chosen}):
        raise InvalidRequest({"runs": [f"Run {', '.join(map(str, missing))} does not exist."]})
    if len(chosen) < 2:
        raise InvalidRequest({"runs": ["A run cannot be compared with itself."]})
    return chosen
