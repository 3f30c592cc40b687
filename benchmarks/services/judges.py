"""Having a judge examined on answers of known truth: one definition for the command, a page and the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from rest_framework import serializers

from benchmarks import jobs
from benchmarks.engine.calibrating import cases_of, drawn_tasks
from benchmarks.metrics.base import JudgedMetric
from benchmarks.metrics.judge_calibration import WORDINGS
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import JudgeCalibration
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.runs.start import RunRequest, StrictText
from tasks_app.models import CanvasSet

Status = JudgeCalibration.Status
LIVE = frozenset({Status.QUEUED, Status.RUNNING})
CANVAS_FIELDS = frozenset({"input", "expected_output", "actual_output"})
"""What a canvas question has for a judge; metrics that need more cannot be examined with it."""


def examinable_metrics() -> list[str]:
    """The judged metrics that canvas questions can examine: those that hold an answer against the reference."""
    return [
        name
        for name, metric in REGISTERED_METRICS.items()
        if isinstance(metric, JudgedMetric) and metric.needs <= CANVAS_FIELDS and "expected_output" in metric.needs
    ]


class CalibrationRequest(serializers.Serializer[Any]):
    """A request for a calibration. ``canvas_set`` becomes the ``CanvasSet``; everything else stays what it was."""

    judge_model = StrictText(
        required=False, max_length=200, help_text="provider/model; by default benchmark.judge_model of codeforge.yaml"
    )
    canvas_set = StrictText(help_text="Slug of the canvas set whose questions are used")
    metric = StrictText(required=False, default="correctness", help_text="The judged metric that is examined")
    questions = serializers.IntegerField(
        required=False,
        default=50,
        min_value=2,
        max_value=5_000,
        help_text="Questions of the set, evenly over its task classes",
    )
    repeats = serializers.IntegerField(
        required=False, default=2, min_value=1, max_value=20, help_text="How often each answer is judged"
    )
    concurrency = serializers.IntegerField(
        required=False, default=8, min_value=1, max_value=256, help_text="Most requests in flight"
    )
    seed = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=2**31 - 1, help_text="Draws questions and their order"
    )

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(set(data) - set(self.fields))):
            known = ", ".join(self.fields)
            raise serializers.ValidationError({name: [f"Unknown field. Known: {known}."] for name in unknown})
        return super().to_internal_value(data)

    def validate_judge_model(self, model: str) -> str:
        return RunRequest().validate_judge_model(model)

    def validate_canvas_set(self, slug: str) -> CanvasSet:
        ready = CanvasSet.objects.filter(dataset__current_version__isnull=False)
        found = ready.filter(slug=slug).first()
        if found is None:
            known = ", ".join(ready.values_list("slug", flat=True)) or "(none yet: manage.py canvases generate)"
            raise serializers.ValidationError(f"Unknown canvas set {slug!r}. Choose one of: {known}.")
        return found

    def validate_metric(self, name: str) -> str:
        known = examinable_metrics()
        if name not in known:
            raise serializers.ValidationError(
                f"{name!r} cannot be examined on canvas answers. Choose one of: {', '.join(known)}."
            )
        return name

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs["judge_model"] = attrs.get("judge_model") or settings.CODEFORGE.benchmark.judge_model
        if not attrs["judge_model"]:
            raise serializers.ValidationError(
                {"judge_model": ["Name one, or set benchmark.judge_model in codeforge.yaml."]}
            )
        return attrs


def start_calibration(data: Any, user: Caller = None) -> JudgeCalibration:
    """Queue a calibration and call a worker once it is committed. Raises ``InvalidRequest`` naming every bad field.

    A wrong answer is the right one to another question of the same class, so that there have to be several of each.
    """
    request = CalibrationRequest(data=data)
    if not request.is_valid():
        raise InvalidRequest({name: [str(text) for text in texts] for name, texts in request.errors.items()})
    with transaction.atomic():
        calibration = JudgeCalibration(
            **request.validated_data,
            phrasings=list(WORDINGS),
            code_version=code_version(),
            created_by=account_of(user),
        )
        calibration.task_ids = drawn_tasks(calibration)
        calibration.total = len(cases_of(calibration))
        if not calibration.total:
            raise InvalidRequest({"questions": ["These are too few: no two of a task class have different answers."]})
        calibration.save()
        record(user, "calibration.start", f"calibration {calibration.pk}", judge=calibration.judge_model)
        _call_worker(calibration)
    return calibration


def cancel_calibration(calibration: JudgeCalibration, user: Caller = None) -> None:
    """Ask the judge nothing more. The verdicts that came are kept, and a resumed calibration goes on with them."""
    with transaction.atomic():
        live = JudgeCalibration.objects.filter(pk=calibration.pk, status__in=LIVE)
        if not live.update(status=Status.CANCELLED, completed_at=timezone.now()):
            raise NotPossible(f"Calibration {calibration.pk} is {_now(calibration)}; only a live one can be cancelled.")
        record(user, "calibration.cancel", f"calibration {calibration.pk}")


def resume_calibration(calibration: JudgeCalibration, user: Caller = None) -> int:
    """Go on with a cancelled or failed calibration; returns how many answers are left to judge.

    Those that the judge gave no verdict on are tried again.
    """
    with transaction.atomic():
        ended = JudgeCalibration.objects.filter(pk=calibration.pk, status__in=(Status.CANCELLED, Status.FAILED))
        if not ended.update(status=Status.QUEUED, claimed_by=None, completed_at=None, error_message=""):
            raise NotPossible(
                f"Calibration {calibration.pk} is {_now(calibration)}; only a cancelled or failed one can be resumed."
            )
        calibration.verdicts.filter(value=None).update(status="")
        done = calibration.verdicts.exclude(status="").count()
        JudgeCalibration.objects.filter(pk=calibration.pk).update(done=done)
        record(user, "calibration.resume", f"calibration {calibration.pk}")
        _call_worker(calibration)
    return calibration.total - done


def delete_calibration(calibration: JudgeCalibration, user: Caller = None) -> None:
    """Delete a calibration with its verdicts. Raises ``NotPossible`` while it is live."""
    with transaction.atomic():
        locked = JudgeCalibration.objects.select_for_update().get(pk=calibration.pk)
        if locked.status in LIVE:
            raise NotPossible(f"Calibration {locked.pk} is {locked.status}; cancel it before deleting it.")
        record(user, "calibration.delete", f"calibration {locked.pk}", judge=locked.judge_model)
        locked.delete()


def _call_worker(calibration: JudgeCalibration) -> None:
    """A broker that is away is only logged: the calibration is stored, and the sweep rings for it."""
    transaction.on_commit(lambda: jobs.calibrate_judge.delay(calibration.pk), robust=True)


def _now(calibration: JudgeCalibration) -> str:
    calibration.refresh_from_db(fields=["status"])
    return calibration.status
