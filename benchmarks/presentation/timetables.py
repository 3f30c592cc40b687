"""A timetable in words."""

from __future__ import annotations

import re

from benchmarks.presentation.numbers import plural

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_DAYS = re.compile(r"[0-6](-[0-6])?(,[0-6](-[0-6])?)*", re.ASCII)


def in_words(timetable: str) -> str:
    """``03:00`` or a cron expression of five fields as a phrase: ``Every day at 03:00``, ``Monday to Friday at 03:00``.

    Less usual expressions are quoted as they are.
    """
    minute, hour, day, month, weekday = _cron(timetable)
    every_day, every_month = (day, month, weekday) == ("*", "*", "*"), month == "*"
    if minute.isdigit() and hour.isdigit() and every_month:
        clock = f"at {int(hour):02}:{int(minute):02}"
        if every_day:
            return f"Every day {clock}"
        if day == "*" and _DAYS.fullmatch(weekday):
            return f"{_weekdays(weekday)} {clock}"
        if weekday == "*" and day.isdigit():
            return f"Day {int(day)} of every month {clock}"
    if every_day and minute.isdigit() and hour == "*":
        return f"Every hour at minute {int(minute)}"
    step = minute.removeprefix("*/")
    if every_day and hour == "*" and minute.startswith("*/") and step.isdigit() and 60 % int(step or 7) == 0:
        return f"Every {plural(int(step), 'minute')}"
    return f"Cron expression {timetable}"


def _cron(timetable: str) -> list[str]:
    if ":" in timetable:
        hour, minute = timetable.split(":")
        return [minute, hour, "*", "*", "*"]
    return timetable.split()


def _weekdays(field: str) -> str:
    parts = [" to ".join(_WEEKDAYS[int(day)] for day in part.split("-")) for part in field.split(",")]
    return ", ".join(parts)
