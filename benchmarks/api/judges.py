"""The REST API of judges: calibrations, which are runs with a run's id, and agreement with people; and what
calibrations share with preference runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api import filters
from benchmarks.api.resources import NOT_NOW, ResourceViewSet, answer, created, reader_of, serializer_of
from benchmarks.models import Run
from benchmarks.queries.corrected_ranks import corrected_ranks
from benchmarks.queries.experiments import experiment_detail, experiment_runs
from benchmarks.queries.judge_agreement import judge_agreement
from benchmarks.queries.judges import calibrations
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.corrected_ranks import CorrectedRankResource
from benchmarks.queries.resources.judge_agreement import JudgeAgreementResource
from benchmarks.queries.resources.judges import CalibrationDetail, CalibrationResource
from benchmarks.queries.runs import runs_named
from benchmarks.services import judges as services
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.judges import CalibrationRequest
from benchmarks.services.runs import control

CalibrationSerializer = serializer_of(CalibrationResource)


class JudgingViewSet(ResourceViewSet[Run]):
    """Read, cancel, resume and delete. ``runs`` returns the runs for a list."""

    queryset = Run.objects.none()
    runs: ClassVar[Callable[[], QuerySet[Run]]]

    def get_queryset(self) -> QuerySet[Run]:
        return type(self).runs().defer(*(() if self.action == "retrieve" else ("summary",)))

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a run that is not live, with its verdicts."""
        control.delete_run(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Send nothing more to the judge. Its verdicts are kept."""
        control.cancel_run(self.get_object(), request.user)
        return self.retrieve(request, pk)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Judge what has no verdict yet in a canceled, failed or incomplete run."""
        control.resume_judging(self.get_object(), request.user)
        return self.retrieve(request, pk)


@extend_schema_view(
    cancel=extend_schema(responses={200: CalibrationSerializer, 409: NOT_NOW}),
    resume=extend_schema(responses={200: CalibrationSerializer, 409: NOT_NOW}),
)
class CalibrationViewSet(JudgingViewSet):
    """Judge calibrations, newest first."""

    listed, shown = CalibrationResource, CalibrationDetail
    filterset_class = filters.CalibrationFilter
    runs = staticmethod(calibrations)

    @extend_schema(request=CalibrationRequest, responses={201: CalibrationSerializer})
    def create(self, request: Request) -> Response:
        """Calibrate a judge on answers with known truth. The calibration is queued for a worker."""
        run = services.start_calibration(request.data, request.user)
        return created(request, f"calibrations/{run.pk}", CalibrationResource, run)


NO_RUNS = OpenApiResponse(description="The experiment or one of the runs does not exist")
NO_REVIEW = OpenApiResponse(description="No random review was drawn from answers that this judge has scored")


class AgreementQuery(serializers.Serializer[Any]):
    judge_model = serializers.CharField(max_length=200)
    metric = serializers.CharField(max_length=64, default="correctness")
    run = serializers.IntegerField(required=False, min_value=1, max_value=2**53, help_text="Only this run")
    experiment = serializers.IntegerField(required=False, min_value=1, max_value=2**53, help_text="Only its runs")


class JudgeAgreementView(APIView):
    """How well a judge agrees with people, and means corrected by their labels."""

    @extend_schema(parameters=[AgreementQuery], responses={200: serializer_of(JudgeAgreementResource), 404: NO_REVIEW})
    def get(self, request: Request) -> Response:
        """Only labels of random reviews count. 404 if no such review was drawn from answers of this judge."""
        query = AgreementQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        query_data = dict(query.validated_data)
        agreement = judge_agreement(query_data.pop("judge_model"), query_data.pop("metric"), **query_data)
        if agreement is None:
            raise Http404("No random review was drawn from answers that this judge has scored.")
        return answer(request, JudgeAgreementResource, agreement)


class CorrectedQuery(serializers.Serializer[Any]):
    metric = serializers.CharField(max_length=64, default="correctness")
    experiment = serializers.IntegerField(required=False, min_value=1, max_value=2**53, help_text="Its runs")
    runs = serializers.CharField(required=False, max_length=1000, help_text="IDs, separated by commas")


class CorrectedRanksView(APIView):
    """Runs ranked by a judge's means after correction by people's labels."""

    @extend_schema(
        parameters=[CorrectedQuery],
        responses={200: serializer_of(CorrectedRankResource)(many=True), 404: NO_RUNS},
    )
    def get(self, request: Request) -> Response:
        """Those with too few labels come last, with the reason. Runs are on one version of one dataset."""
        query = CorrectedQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        data = query.validated_data
        parts = [part.strip() for part in data.get("runs", "").split(",") if part.strip()]
        if not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
            raise InvalidRequest({"runs": ["Specify runs, for example, runs=12,7."]})
        try:
            runs = experiment_runs(experiment_detail(data["experiment"])) if "experiment" in data else []
            places = corrected_ranks([*runs, *runs_named(map(int, parts))] if parts else runs, data["metric"])
        except ObjectDoesNotExist as missing:
            raise Http404(str(missing)) from None
        except ValueError as problem:
            raise InvalidRequest({"metric": [str(problem)]}) from None
        reader = reader_of(request)
        return Response([json_of(CorrectedRankResource.of(place, reader)) for place in places])
