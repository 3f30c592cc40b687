"""Schedules: saving and deleting them, starting what is due, and keeping what was noticed.

Workers call ``start_due`` again and again. Of several that see a turn due, one takes it by a conditional UPDATE, in one
transaction with the run it starts.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.engine.execution.db_retry import DATABASE_UNAVAILABLE
from benchmarks.engine.webhooks.outbox import announce
from benchmarks.models import LIVE, Dataset, Run, Schedule, ScheduledRun, ScoreDrop, WebhookDelivery
from benchmarks.services.access import Caller, account_of, may_launch, record
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.start import start_run, validated
from benchmarks.services.schedules.timetable import read_timetable

logger = logging.getLogger(__name__)


def save_schedule(
    name: str,
    when: str,
    request: Mapping[str, Any],
    *,
    enabled: bool = True,
    schedule: Schedule | None = None,
    user: Caller = None,
) -> Schedule:
    """Make a schedule, or change one; its runs start in the name of ``user`` from now on.

    Raises ``InvalidRequest`` naming every bad field, those of the request by their names there.
    """
    name, when = name.strip(), " ".join(when.split())
    errors = _errors(name, when, schedule)
    given: dict[str, Any] = {}
    try:
        checked = validated(dict(request))
    except InvalidRequest as refusal:
        errors |= refusal.errors
    else:
        given = {field: _plain(checked[field]) for field in request if field in checked}
    if errors:
        raise InvalidRequest(errors)
    saved = schedule or Schedule()
    saved.name, saved.when, saved.request, saved.enabled = name, when, given, enabled
    saved.account = account_of(user)
    saved.next_run_at = _turn_after(when, timezone.now()) if enabled else None
    saved.last_problem, saved.last_problem_at = "", None
    with transaction.atomic():
        saved.save()
        action = "schedule.change" if schedule else "schedule.create"
        record(user, action, f"schedule {name}", when=when, enabled=enabled, request=given)
    return saved


def delete_schedule(schedule: Schedule, user: Caller = None) -> None:
    """Delete a schedule with its notices. Its runs stay."""
    with transaction.atomic():
        record(user, "schedule.delete", f"schedule {schedule.name}")
        schedule.delete()


def start_due(now: datetime | None = None) -> list[Run]:
    """Start a run for every schedule that is due: one each, however many turns were missed. Returns those runs.

    A schedule that cannot start one keeps the reason, and has its next turn when it comes.
    """
    now = now or timezone.now()
    started = []
    for schedule in Schedule.objects.filter(enabled=True, next_run_at__lte=now).order_by("next_run_at"):
        try:
            run = _take_turn(schedule, now)
        except DATABASE_UNAVAILABLE:
            raise
        except Exception:  # one schedule must not keep the others from their turns
            logger.exception("schedule %s could not start a run", schedule.pk)
            _skip_turn(schedule, now, "A worker met an unexpected error; its log has the details.")
        else:
            started += [run] if run else []
    return started


def keep_findings(turn: ScheduledRun, before: Run | None, notices: Sequence[ScoreDrop]) -> bool:
    """Store, once, what came of comparing a turn's run with earlier ones, and tell of drops.

    ``before`` is the latest of those. False where that was done already.
    """
    with transaction.atomic():
        open_turn = ScheduledRun.objects.filter(pk=turn.pk, compared_at=None)
        if not open_turn.update(compared_at=timezone.now(), compared_with=before):
            return False
        ScoreDrop.objects.bulk_create(notices)
        if notices:
            announce(turn.run_id, WebhookDelivery.Event.SCORE_DROPPED, turn.run.completed_at)
    return True


def dismiss_notice(notice: ScoreDrop, user: Caller = None) -> None:
    """Say that a notice was seen to. Dismissing one twice changes nothing."""
    with transaction.atomic():
        is_open = ScoreDrop.objects.filter(pk=notice.pk, dismissed_at=None)
        if is_open.update(dismissed_at=timezone.now(), dismissed_by=account_of(user)):
            record(user, "notice.dismiss", f"run {notice.turn.run_id}", metric=notice.metric)


def _errors(name: str, when: str, schedule: Schedule | None) -> dict[str, list[str]]:
    errors: dict[str, list[str]] = {}
    others = Schedule.objects.exclude(pk=schedule.pk) if schedule else Schedule.objects.all()
    if not name or len(name) > 100 or not name.isprintable():
        errors["name"] = ["Give the schedule a name of one line and at most 100 characters."]
    elif others.filter(name=name).exists():
        errors["name"] = [f"There is a schedule named {name} already. Choose another name."]
    try:
        if len(when) > 100:
            raise ValueError("Write at most 100 characters.")
        read_timetable(when)
    except ValueError as error:
        errors["when"] = [str(error)]
    return errors


def _plain(value: Any) -> Any:
    return value.slug if isinstance(value, Dataset) else value


def _turn_after(when: str, moment: datetime) -> datetime:
    return read_timetable(when).next_after(moment, timezone.get_default_timezone())


def _take_turn(schedule: Schedule, now: datetime) -> Run | None:
    """The run of the turn; ``None`` where another worker took it, or none could be started."""
    due_at = schedule.next_run_at
    assert due_at is not None, "only schedules that are due are asked"
    with transaction.atomic():
        if not _claim(schedule, now):
            return None
        current = Schedule.objects.select_related("account").get(pk=schedule.pk)
        try:
            with transaction.atomic():
                run = _start(current)
                ScheduledRun.objects.create(schedule=schedule, run=run, due_at=due_at)
        except InvalidRequest as refusal:
            problem = " ".join(f"{field}: {' '.join(texts)}" for field, texts in refusal.errors.items())
        except NotPossible as refusal:
            problem = refusal.message
        else:
            Schedule.objects.filter(pk=schedule.pk).update(last_problem="", last_problem_at=None)
            return run
        _keep_problem(schedule, now, problem)
    return None


def _skip_turn(schedule: Schedule, now: datetime, problem: str) -> None:
    with transaction.atomic():
        if _claim(schedule, now):
            _keep_problem(schedule, now, problem)


def _claim(schedule: Schedule, now: datetime) -> bool:
    """Take the turn that was seen due: whoever moves the schedule on to its next one has it."""
    due = Schedule.objects.filter(pk=schedule.pk, enabled=True, next_run_at=schedule.next_run_at)
    return bool(due.update(next_run_at=_turn_after(schedule.when, now)))


def _keep_problem(schedule: Schedule, now: datetime, problem: str) -> None:
    logger.warning("schedule %s started no run: %s", schedule.pk, problem)
    Schedule.objects.filter(pk=schedule.pk).update(last_problem=problem, last_problem_at=now)


def _start(schedule: Schedule) -> Run:
    if not may_launch(schedule.account):
        who = schedule.account.get_username() if schedule.account else "Whoever saved this schedule"
        raise NotPossible(f"{who} may not launch runs any more. Somebody who may has to save the schedule again.")
    if live := schedule.turns.filter(run__status__in=LIVE).order_by("-pk").first():
        raise NotPossible(f"Run {live.run_id} of an earlier turn is still going, so this turn was left out.")
    return start_run(schedule.request, schedule.account)
