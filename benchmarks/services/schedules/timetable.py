"""When a schedule has its turn: every day at a time, or at the times of a cron expression."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from celery.schedules import ParseException, crontab

_DAILY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_NUMBERS = r"[0-9*/,-]+"
_MONTHS = r"(?:[0-9*/,-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)+"
_WEEKDAYS = r"(?:[0-9*/,-]|sun|mon|tue|wed|thu|fri|sat)+"
_CRON = re.compile(rf"{_NUMBERS} {_NUMBERS} {_NUMBERS} {_MONTHS} {_WEEKDAYS}", re.ASCII | re.IGNORECASE)
_LONGEST_WAIT_DAYS = 8 * 366
"""A 29 February may be eight years away."""
_EVERY_DAY, _EVERY_WEEKDAY = frozenset(range(1, 32)), frozenset(range(7))


@dataclass(frozen=True, slots=True)
class Timetable:
    """Moments by the clock on the wall. Weekdays count from Sunday, which is 0."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    def next_after(self, moment: datetime, zone: tzinfo) -> datetime:
        """The first of its moments after ``moment``, in UTC. Raises ``ValueError`` where none ever comes.

        A time that the clock leaves out in spring comes as much later as the clock is put forward; of an hour that
        comes twice in autumn the first counts.
        """
        today = moment.astimezone(zone).date()
        for ahead in range(_LONGEST_WAIT_DAYS):
            day = today + timedelta(days=ahead)
            if self._has(day) and (later := [at for at in self._moments_of(day, zone) if at > moment]):
                return min(later)
        raise ValueError("no such day ever comes")

    def _has(self, day: date) -> bool:
        return day.day in self.days and day.month in self.months and day.isoweekday() % 7 in self.weekdays

    def _moments_of(self, day: date, zone: tzinfo) -> list[datetime]:
        return [
            datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone).astimezone(UTC)
            for hour in self.hours
            for minute in self.minutes
        ]


def read_timetable(text: str) -> Timetable:
    """Read ``03:00`` or the five fields of cron. Raises ``ValueError`` with words for whoever wrote it."""
    if daily := _DAILY.fullmatch(text.strip()):
        return Timetable(
            frozenset({int(daily[2])}), frozenset({int(daily[1])}), _EVERY_DAY, frozenset(range(1, 13)), _EVERY_WEEKDAY
        )
    fields = text.split()
    if not _CRON.fullmatch(" ".join(fields)):
        raise ValueError("Write a time of the day, such as 03:00, or a cron expression, such as 0 3 * * 1-5.")
    minute, hour, day, month, weekday = fields
    try:
        cron: Any = crontab(minute, hour, weekday, day, month)
    except (ParseException, ValueError, TypeError, IndexError) as error:
        raise ValueError(f"This is no cron expression: {error}.") from None
    days, weekdays = frozenset(cron.day_of_month), frozenset(cron.day_of_week)
    if days != _EVERY_DAY and weekdays != _EVERY_WEEKDAY:
        raise ValueError("Choose days of the month or of the week; programs differ in what both together mean.")
    found = Timetable(frozenset(cron.minute), frozenset(cron.hour), days, frozenset(cron.month_of_year), weekdays)
    try:
        found.next_after(datetime.now(UTC), UTC)
    except ValueError as error:
        raise ValueError(f"This is no use: {error}.") from None
    return found
