"""Schedules: save, pause and delete them, start the runs that are due, and store score drops.

Every worker calls ``start_due`` again and again; no scheduler process is needed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any

from celery.schedules import ParseException, crontab
from django.db import transaction
from django.utils import timezone

from benchmarks.engine.db_retry import DATABASE_UNAVAILABLE
from benchmarks.engine.webhooks.outbox import enqueue_deliveries
from benchmarks.models import LIVE, Dataset, Run, Schedule, ScheduledRun, ScoreDrop, WebhookDelivery
from benchmarks.services.access import Caller, account_of, may_launch, record
from benchmarks.services.comparisons import read_margin
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.start import start_run

logger = logging.getLogger(__name__)

_DAILY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_NUMBERS = r"[0-9*/,-]+"
_MONTHS = r"(?:[0-9*/,-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)+"
_WEEKDAYS = r"(?:[0-9*/,-]|sun|mon|tue|wed|thu|fri|sat)+"
_CRON = re.compile(rf"{_NUMBERS} {_NUMBERS} {_NUMBERS} {_MONTHS} {_WEEKDAYS}", re.ASCII | re.IGNORECASE)
_LONGEST_WAIT_DAYS = 8 * 366
"""A 29 February may be eight years away."""
_EVERY_DAY, _EVERY_WEEKDAY = set(range(1, 32)), set(range(7))


def read_timetable(text: str) -> Any:
    """Parse ``03:00`` or a cron expression of five fields, as a ``crontab`` of local times.

    Raises ``ValueError`` with a message for the author.
    """
    if daily := _DAILY.fullmatch(text.strip()):
        return crontab(daily[2], daily[1])
    fields = text.split()
    if not _CRON.fullmatch(" ".join(fields)):
        raise ValueError("Enter a time of day, for example, 03:00, or a cron expression, for example, 0 3 * * 1-5.")
    minute, hour, day, month, weekday = fields
    try:
        cron: Any = crontab(minute, hour, weekday, day, month)
        next_time(cron, datetime.now(UTC), UTC)
    except (ParseException, ValueError, TypeError, IndexError) as error:
        raise ValueError(f"Invalid cron expression: {error}.") from None
    if cron.day_of_month != _EVERY_DAY and cron.day_of_week != _EVERY_WEEKDAY:
        raise ValueError(
            "Set either days of the month or days of the week. Cron implementations differ in how they combine both."
        )
    return cron


def next_time(cron: Any, moment: datetime, zone: tzinfo | None = None) -> datetime:
    """The first time of a ``crontab`` of local times after ``moment``, in UTC. Raises ``ValueError`` if there is none.

    A time that does not exist in spring is as much later as the clock is put forward; of a time that exists twice in
    autumn the first counts. Celery's own calculation does neither.
    """
    zone = zone or timezone.get_default_timezone()
    today = moment.astimezone(zone).date()
    for ahead in range(_LONGEST_WAIT_DAYS):
        day = today + timedelta(days=ahead)
        if (
            day.day in cron.day_of_month
            and day.month in cron.month_of_year
            and day.isoweekday() % 7 in cron.day_of_week
        ):
            clock_times = (time(hour, minute, tzinfo=zone) for hour in cron.hour for minute in cron.minute)
            times = (datetime.combine(day, clock_time).astimezone(UTC) for clock_time in clock_times)
            if later := [at for at in times if at > moment]:
                return min(later)
    raise ValueError("this day does not exist")


def next_times(text: str, n: int) -> list[datetime]:
    """The next ``n`` times of a timetable. Raises ``ValueError`` like ``read_timetable``."""
    cron, times = read_timetable(text), [datetime.now(UTC)]
    for _ in range(n):
        times.append(next_time(cron, times[-1]))
    return times[1:]


def timing_errors(when: str, margin: object = None) -> dict[str, list[str]]:
    """What is wrong with when a schedule starts its runs and with the loss that it tolerates, by field."""
    errors: dict[str, list[str]] = {}
    try:
        if len(when) > 100:
            raise ValueError("Enter at most 100 characters.")
        read_timetable(when)
    except ValueError as error:
        errors["when"] = [str(error)]
    try:
        read_margin(margin)
    except InvalidRequest as refusal:
        errors |= refusal.errors
    return errors


def save_schedule(
    name: str,
    when: str,
    request: Mapping[str, Any],
    *,
    margin: object = None,
    enabled: bool = True,
    schedule: Schedule | None = None,
    user: Caller = None,
) -> Schedule:
    """Create or change a schedule. From now on its runs use the name and permissions of ``user``.

    With a ``margin`` in points, a run is reported if it is worse by more than that than the first one of its series.

    Raises ``InvalidRequest`` naming every bad field, those of the run request by their names there.
    """
    name, when = name.strip(), " ".join(when.split())
    errors = _errors(name, schedule) | timing_errors(when, margin)
    loss = read_margin(margin) if "margin" not in errors and margin not in (None, "") else None
    given: dict[str, object] = {}
    try:
        checked = validated(dict(request))
    except InvalidRequest as refusal:
        errors |= refusal.errors
    else:
        values = {field: checked[field] for field in request if field in checked}
        given = {field: value.slug if isinstance(value, Dataset) else value for field, value in values.items()}
    if errors:
        raise InvalidRequest(errors)
    saved = schedule or Schedule()
    saved.name, saved.when, saved.request, saved.enabled, saved.margin = name, when, given, enabled, loss
    saved.account = account_of(user)
    saved.next_run_at = next_time(read_timetable(when), timezone.now()) if enabled else None
    saved.last_problem, saved.last_problem_at = "", None
    with transaction.atomic():
        saved.save()
        action = "schedule.change" if schedule else "schedule.create"
        record(user, action, f"schedule {name}", when=when, enabled=enabled, margin=loss, request=given)
    return saved


def set_enabled(schedule: Schedule, enabled: bool, user: Caller = None) -> None:
    """Pause or resume a schedule. Its runs keep the name and permissions that they have."""
    next_run_at = next_time(read_timetable(schedule.when), timezone.now()) if enabled else None
    with transaction.atomic():
        if (
            Schedule.objects.filter(pk=schedule.pk)
            .exclude(enabled=enabled)
            .update(enabled=enabled, next_run_at=next_run_at)
        ):
            record(user, "schedule.change", f"schedule {schedule.name}", enabled=enabled)


def run_now(schedule: Schedule, user: Caller = None) -> Run:
    """Start a run of the schedule in the name of ``user``, compared like the others. Its next time stays the same.

    Raises ``NotPossible`` while a run of the schedule is in progress, and ``InvalidRequest`` if its request no longer
    is valid.
    """
    with transaction.atomic():
        locked = Schedule.objects.select_for_update().get(pk=schedule.pk)
        _require_no_live_run(locked)
        run = start_run(locked.request, user)
        ScheduledRun.objects.create(schedule=locked, run=run, due_at=timezone.now())
    return run


def delete_schedule(schedule: Schedule, user: Caller = None) -> None:
    """Delete a schedule with its score drops. Its runs stay."""
    with transaction.atomic():
        record(user, "schedule.delete", f"schedule {schedule.name}")
        schedule.delete()


def start_due(now: datetime | None = None) -> list[Run]:
    """Start and return one run for every schedule that is due, however many times it has missed.

    A schedule that cannot start a run stores the reason and waits for its next time.
    """
    now = now or timezone.now()
    started = []
    for schedule in Schedule.objects.filter(enabled=True, next_run_at__lte=now).order_by("next_run_at"):
        try:
            run = _start_if_due(schedule, now)
        except DATABASE_UNAVAILABLE:
            raise
        except Exception:  # one schedule must not keep the others from starting
            logger.exception("schedule %s could not start a run", schedule.pk)
            with transaction.atomic():
                if _move_on(schedule, now):
                    _store_problem(
                        schedule, now, "An unexpected error stopped the worker. For details, see the worker log."
                    )
        else:
            started += [run] if run else []
    return started


def store_score_drops(scheduled: ScheduledRun, previous: Run | None, drops: Sequence[ScoreDrop]) -> bool:
    """Store the result of a comparison once, with the webhook deliveries for it. False if it is stored already.

    ``previous`` is the latest run that was compared with.
    """
    with transaction.atomic():
        # The conditional UPDATE comes first: of two workers that have compared the same run, one stores its drops.
        uncompared = ScheduledRun.objects.filter(pk=scheduled.pk, compared_at=None)
        if not uncompared.update(compared_at=timezone.now(), compared_with=previous):
            return False
        ScoreDrop.objects.bulk_create(drops)
        if drops:
            enqueue_deliveries(scheduled.run_id, WebhookDelivery.Event.SCORE_DROPPED, scheduled.run.completed_at)
    return True


def dismiss_score_drop(drop: ScoreDrop, user: Caller = None) -> None:
    """Mark a score drop as handled. Dismissing it twice changes nothing."""
    with transaction.atomic():
        is_open = ScoreDrop.objects.filter(pk=drop.pk, dismissed_at=None)
        if is_open.update(dismissed_at=timezone.now(), dismissed_by=account_of(user)):
            record(user, "score_drop.dismiss", f"run {drop.scheduled_run.run_id}", metric=drop.metric)


def _errors(name: str, schedule: Schedule | None) -> dict[str, list[str]]:
    others = Schedule.objects.exclude(pk=schedule.pk) if schedule else Schedule.objects.all()
    if not name or len(name) > 100 or not name.isprintable():
        return {"name": ["Enter a name of one line with at most 100 characters."]}
    if others.filter(name=name).exists():
        return {"name": [f"Schedule {name} already exists. Enter another name."]}
    return {}


def _start_if_due(schedule: Schedule, now: datetime) -> Run | None:
    """Start the run that is due; ``None`` if another worker does, or if it cannot be started."""
    due_at = schedule.next_run_at
    assert due_at is not None, "the caller selects schedules that are due"
    # One transaction for the schedule's next time, the run and the link between both: a crash in between undoes all,
    # so no time is lost and none is used twice.
    with transaction.atomic():
        if not _move_on(schedule, now):
            return None
        current = Schedule.objects.select_related("account").get(pk=schedule.pk)
        try:
            with transaction.atomic():  # a refused run leaves nothing behind, but the next time stays set
                run = _start(current)
                ScheduledRun.objects.create(schedule=schedule, run=run, due_at=due_at)
        except InvalidRequest as refusal:
            problem = " ".join(f"{field}: {' '.join(texts)}" for field, texts in refusal.errors.items())
        except NotPossible as refusal:
            problem = refusal.message
        else:
            Schedule.objects.filter(pk=schedule.pk).update(last_problem="", last_problem_at=None)
            return run
        _store_problem(schedule, now, problem)
    return None


def _move_on(schedule: Schedule, now: datetime) -> bool:
    """Set the schedule's next time. False if another worker has done so since the schedule was read."""
    due = Schedule.objects.filter(pk=schedule.pk, enabled=True, next_run_at=schedule.next_run_at)
    return bool(due.update(next_run_at=next_time(read_timetable(schedule.when), now)))


def _store_problem(schedule: Schedule, now: datetime, problem: str) -> None:
    logger.warning("schedule %s started no run: %s", schedule.pk, problem)
    Schedule.objects.filter(pk=schedule.pk).update(last_problem=problem, last_problem_at=now)


def _start(schedule: Schedule) -> Run:
    if not may_launch(schedule.account):
        who = schedule.account.get_username() if schedule.account else "The account that saved this schedule"
        raise NotPossible(
            f"{who} no longer has permission to start runs. "
            "Ask someone with this permission to save the schedule again."
        )
    _require_no_live_run(schedule)
    return start_run(schedule.request, schedule.account)


def _require_no_live_run(schedule: Schedule) -> None:
    if live := schedule.scheduled_runs.filter(run__status__in=LIVE).order_by("-pk").first():
        raise NotPossible(f"Skipped, because run {live.run_id} of this schedule is still in progress.")
