"""The REST API of calibrations: examining a judge, following it, and what was found."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.api import filters
from benchmarks.api.views import NOT_NOW, REFUSED
from benchmarks.models import JudgeCalibration
from benchmarks.queries.judges import calibrations
from benchmarks.services import judges as services
from benchmarks.services.judges import CalibrationRequest


class CalibrationSerializer(serializers.ModelSerializer[JudgeCalibration]):
    canvas_set = serializers.CharField(source="canvas_set.slug")

    class Meta:
        model = JudgeCalibration
        fields: tuple[str, ...] = (
            "id",
            "judge_model",
            "metric",
            "canvas_set",
            "questions",
            "repeats",
            "phrasings",
            "concurrency",
            "seed",
            "status",
            "error_message",
            "total",
            "done",
            "tokens_in",
            "tokens_out",
            "cost_usd",
            "created_at",
            "completed_at",
        )


class CalibrationDetailSerializer(CalibrationSerializer):
    numbers = serializers.DictField(
        help_text="Confusion, kappa, accuracy, false accepts and rejects, by wording, length bias, spread; empty before"
    )

    class Meta(CalibrationSerializer.Meta):
        fields = (*CalibrationSerializer.Meta.fields, "numbers", "code_version")


class CalibrationViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[JudgeCalibration]):
    """Calibrations of judges, newest first."""

    queryset = JudgeCalibration.objects.none()
    serializer_class = CalibrationSerializer
    lookup_value_regex = "[0-9]{1,18}"
    filterset_class = filters.CalibrationFilter

    def get_queryset(self) -> QuerySet[JudgeCalibration]:
        return calibrations() if self.action == "retrieve" else calibrations().defer("numbers", "task_ids")

    def get_serializer_class(self) -> type[CalibrationSerializer]:
        return CalibrationDetailSerializer if self.action == "retrieve" else CalibrationSerializer

    @extend_schema(request=CalibrationRequest, responses={201: CalibrationSerializer, 400: REFUSED})
    def create(self, request: Request) -> Response:
        """Have a judge examined on answers whose truth is known. It is queued; a worker takes it up at once."""
        made = services.start_calibration(request.data, request.user)
        location = request.build_absolute_uri(f"/api/v1/benchmarks/calibrations/{made.pk}")
        return Response(
            CalibrationSerializer(made).data, status=status.HTTP_201_CREATED, headers={"Location": location}
        )

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a calibration that has ended, with its verdicts."""
        services.delete_calibration(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={200: CalibrationSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Ask the judge nothing more. The verdicts that came are kept."""
        calibration = self.get_object()
        services.cancel_calibration(calibration, request.user)
        return self._now(calibration)

    @extend_schema(request=None, responses={200: CalibrationSerializer, 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Go on with a cancelled or failed calibration: what has no verdict is judged."""
        calibration = self.get_object()
        services.resume_calibration(calibration, request.user)
        return self._now(calibration)

    def _now(self, calibration: JudgeCalibration) -> Response:
        calibration.refresh_from_db()
        return Response(CalibrationSerializer(calibration).data)
