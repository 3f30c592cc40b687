"""The REST API of judge calibrations. A calibration is a run, so its id is a run's."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.api import filters
from benchmarks.api.views import NOT_NOW, REFUSED, created
from benchmarks.models import Run
from benchmarks.queries.judges import agreement_of, answers_to_judge, calibrations
from benchmarks.services import judges as services
from benchmarks.services.judges import CalibrationRequest
from benchmarks.services.runs import control


class CalibrationSerializer(serializers.ModelSerializer[Run]):
    metric = serializers.SerializerMethodField()
    canvas_set = serializers.CharField(source="dataset.known_answers_of.slug")
    questions = serializers.IntegerField(source="calibration.questions")
    phrasings = serializers.ListField(source="calibration.phrasings", child=serializers.CharField())
    seed = serializers.IntegerField(source="calibration.seed")
    total = serializers.SerializerMethodField(help_text="Answers to judge, counting repeats")
    tokens_in = serializers.IntegerField(source="judge_tokens_in", allow_null=True)
    tokens_out = serializers.IntegerField(source="judge_tokens_out", allow_null=True)
    cost_usd = serializers.FloatField(source="judge_cost_usd", allow_null=True)

    class Meta:
        model = Run
        fields: tuple[str, ...] = (
            *("id", "judge_model", "metric", "canvas_set", "questions", "repeats", "phrasings", "concurrency", "seed"),
            *("status", "error_message", "total", "done", "errors", "tokens_in", "tokens_out", "cost_usd"),
            *("created_at", "completed_at"),
        )

    def get_metric(self, run: Run) -> str:
        return str(run.metrics[0])

    def get_total(self, run: Run) -> int:
        return answers_to_judge(run)


class CalibrationDetailSerializer(CalibrationSerializer):
    numbers = serializers.SerializerMethodField(
        help_text="Confusion, kappa, accuracy, false accepts and rejects, accuracy by phrasing, length bias, spread. "
        "Empty until the calibration has completed"
    )

    class Meta(CalibrationSerializer.Meta):
        fields = (*CalibrationSerializer.Meta.fields, "numbers", "code_version")

    def get_numbers(self, run: Run) -> dict[str, Any]:
        return agreement_of(run)


class CalibrationViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Run]):
    """Judge calibrations, newest first."""

    queryset = Run.objects.none()
    serializer_class = CalibrationSerializer
    lookup_value_regex = "[0-9]{1,18}"
    filterset_class = filters.CalibrationFilter

    def get_queryset(self) -> QuerySet[Run]:
        return calibrations() if self.action == "retrieve" else calibrations().defer("summary")

    def get_serializer_class(self) -> type[CalibrationSerializer]:
        return CalibrationDetailSerializer if self.action == "retrieve" else CalibrationSerializer

    @extend_schema(request=CalibrationRequest, responses={201: CalibrationSerializer, 400: REFUSED})
    def create(self, request: Request) -> Response:
        """Calibrate a judge on answers with known truth. The calibration is queued for a worker."""
        run = services.start_calibration(request.data, request.user)
        return created(request, f"calibrations/{run.pk}", CalibrationSerializer(run).data)

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a calibration that is not live, with its verdicts."""
        control.delete_run(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={200: CalibrationSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Send nothing more to the judge. Its verdicts are kept."""
        control.cancel_run(self.get_object(), request.user)
        return self.retrieve(request, pk)

    @extend_schema(request=None, responses={200: CalibrationSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Judge the answers of a canceled, failed or incomplete calibration that have no verdict yet."""
        services.resume_calibration(self.get_object(), request.user)
        return self.retrieve(request, pk)
