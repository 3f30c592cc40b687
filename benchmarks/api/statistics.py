"""The REST API of statistics: intervals, thresholds and reliability of a run, comparisons, and sizes of runs."""

from __future__ import annotations

from collections.abc import Sequence

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.analysis.comparisons import common_metrics, compared_runs
from benchmarks.api.resources import NOT_NOW, answer, reader_of, serializer_of
from benchmarks.api.views import created_run
from benchmarks.models import Run
from benchmarks.queries.compare import runs_to_compare
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.comparisons import Comparisons as ComparisonsResponse
from benchmarks.queries.resources.plans import Size
from benchmarks.queries.resources.runs import RunResource
from benchmarks.queries.resources.statistics import StatisticsResource
from benchmarks.queries.runs import run_detail
from benchmarks.queries.task_grid import MOST_RUNS
from benchmarks.services.comparisons import read_margin
from benchmarks.services.contamination import check_contamination
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.requests import RunRequest
from benchmarks.services.runs.sizing import SizeQuestion, size_run


class SizeRequest(RunRequest, SizeQuestion):
    """A request for a run, and the difference that it should detect."""


class RunStatistics(APIView):
    """The statistics of a run's scores."""

    @extend_schema(responses=serializer_of(StatisticsResource))
    def get(self, request: Request, pk: str) -> Response:
        """Intervals, scores corrected for chance, thresholds and reliability, computed when the run ended."""
        return answer(request, StatisticsResource, run_detail(int(pk)))


class ContaminationCheckView(APIView):
    """Whether a model knows the tasks of a published seed."""

    @extend_schema(request=None, responses={201: serializer_of(RunResource), 409: NOT_NOW})
    def post(self, request: Request, pk: str) -> Response:
        """Start a run of the same kinds of tasks from a new secret seed. Its statistics compare both."""
        return created_run(request, check_contamination(run_detail(int(pk)), request.user))


class Comparisons(APIView):
    """Comparisons of runs on their shared tasks."""

    @extend_schema(
        parameters=[
            OpenApiParameter("runs", str, required=True, description=f"2 to {MOST_RUNS} run ids, for example, 12,7"),
            OpenApiParameter("metric", str, description="Only this metric; p-values stay adjusted for all metrics"),
            OpenApiParameter("margin", float, description="Points within which two runs are the same; by default 2"),
        ],
        responses={200: serializer_of(ComparisonsResponse)},
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
        compared = compared_runs(chosen, margin=read_margin(request.query_params.get("margin")))
        comparisons = [each for each in compared if metric in ("", each.metric)]
        return Response(json_of(ComparisonsResponse.of(chosen, reader_of(request), comparisons=comparisons)))


class RunSize(APIView):
    """The size of a run that detects a difference."""

    @extend_schema(request=SizeRequest, responses={200: serializer_of(Size)})
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
