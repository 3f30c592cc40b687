"""The REST API of what results mean: statistics of a run, comparisons of runs, the size a run should have."""

from __future__ import annotations

from collections.abc import Sequence

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api import statistics_serializers as serializers
from benchmarks.api.serializers import RunSerializer
from benchmarks.api.views import NOT_NOW, REFUSED
from benchmarks.models import Run
from benchmarks.queries.compare import MOST_RUNS, runs_to_compare
from benchmarks.queries.statistics import common_metrics, compared_runs
from benchmarks.services.contamination import check_contamination
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.sizing import size_as_asked


class RunStatistics(APIView):
    """Everything that is known of a run's scores."""

    @extend_schema(responses=serializers.StatisticsSerializer)
    def get(self, request: Request, pk: str) -> Response:
        """Intervals, scores corrected for chance, thresholds and reliability, computed when the run ended."""
        run = get_object_or_404(Run.objects.defer("environment", "parameters"), pk=pk)
        return Response(serializers.StatisticsSerializer(run).data)


class ContaminationCheck(APIView):
    """Whether a model knows a published canvas set."""

    @extend_schema(request=None, responses={201: RunSerializer, 400: REFUSED, 409: NOT_NOW})
    def post(self, request: Request, pk: str) -> Response:
        """Ask the run's questions about canvases drawn with a new secret seed. Starts a run; its statistics tell."""
        run = get_object_or_404(Run.objects.select_related("dataset__canvas_set"), pk=pk)
        fresh = check_contamination(run, request.user)
        location = request.build_absolute_uri(f"/api/v1/benchmarks/runs/{fresh.pk}")
        answer = RunSerializer(fresh, context={"request": request}).data
        return Response(answer, status=status.HTTP_201_CREATED, headers={"Location": location})


class Comparisons(APIView):
    """Runs against each other on the tasks that they share."""

    @extend_schema(
        parameters=[
            OpenApiParameter("runs", str, required=True, description=f"Two to {MOST_RUNS} numbers of runs: 12,7"),
            OpenApiParameter("metric", str, description="Only this metric; the family stays that of all of them"),
        ],
        responses={200: serializers.ComparisonsSerializer, 400: REFUSED},
    )
    def get(self, request: Request) -> Response:
        """Every pair of the runs on every score they have in common; p-values are adjusted for all of these (Holm)."""
        chosen = _named_runs(request.query_params.get("runs", ""))
        metrics = common_metrics(chosen)
        metric = request.query_params.get("metric", "")
        if metric and metric not in metrics:
            known = ", ".join(metrics) or "(none)"
            raise InvalidRequest({"metric": [f"Not a score that all these runs have. Choose from: {known}."]})
        found = [one for one in compared_runs(chosen) if not metric or one.metric == metric]
        answer = {"runs": chosen, "metrics": metrics, "comparisons": found}
        return Response(serializers.ComparisonsSerializer(answer).data)


class RunSize(APIView):
    """How large a run has to be."""

    @extend_schema(request=serializers.SizeRequest, responses={200: serializers.SizeSerializer, 400: REFUSED})
    def post(self, request: Request) -> Response:
        """The tasks, canvases and repeats at which a difference is seen, and what asking them takes. Starts nothing."""
        return Response(serializers.SizeSerializer(size_as_asked(request.data)).data)


def _named_runs(text: str) -> Sequence[Run]:
    numbers = [part.strip() for part in text.split(",") if part.strip()]
    if not 2 <= len(numbers) <= MOST_RUNS or not all(n.isascii() and n.isdigit() and len(n) < 19 for n in numbers):
        raise InvalidRequest({"runs": [f"Name two to {MOST_RUNS} runs by their numbers, such as runs=12,7."]})
    chosen = runs_to_compare([int(number) for number in numbers])
    if missing := sorted({int(number) for number in numbers} - {run.pk for run in chosen}):
        raise InvalidRequest({"runs": [f"There is no run {', '.join(map(str, missing))}."]})
    if len(chosen) < 2:
        raise InvalidRequest({"runs": ["A run cannot be compared with itself."]})
    return chosen
