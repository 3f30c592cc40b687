"""Times of day and cron expressions: their next times, also when clocks change, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.services.schedules import next_time, read_timetable

BERLIN = ZoneInfo("Europe/Berlin")
"""Puts its clocks forward on 2026-03-29 at 2:00 and back on 2026-10-25 at 3:00."""


def moments(text: str, after: str, count: int, zone: ZoneInfo = BERLIN) -> list[str]:
    """The next ``count`` times, in the local time of the zone, as ``after`` is."""
    moment, times = datetime.fromisoformat(after).replace(tzinfo=zone).astimezone(UTC), []
    for _ in range(count):
        moment = next_time(read_timetable(text), moment, zone)
        times.append(moment.astimezone(zone).strftime("%Y-%m-%d %H:%M"))
    return times


def test_the_next_times_are_those_that_are_written() -> None:
    for text, after, expected in (
        ("03:00", "2026-01-05 02:59", ["2026-01-05 03:00", "2026-01-06 03:00"]),
        ("3:00", "2026-01-05 03:00", ["2026-01-06 03:00"]),
        ("0 3 * * *", "2026-12-31 12:00", ["2027-01-01 03:00"]),
        ("30 22 * * 1-5", "2026-01-02 22:30", ["2026-01-05 22:30", "2026-01-06 22:30"]),
        ("0 9 * * sun", "2026-01-05 00:00", ["2026-01-11 09:00"]),
        ("0 0 1,15 * *", "2026-01-02 00:00", ["2026-01-15 00:00", "2026-02-01 00:00"]),
        ("*/20 7 * * *", "2026-01-05 07:19", ["2026-01-05 07:20", "2026-01-05 07:40", "2026-01-06 07:00"]),
        ("0 3 29 2 *", "2026-01-01 00:00", ["2028-02-29 03:00", "2032-02-29 03:00"]),
    ):
        assert moments(text, after, len(expected)) == expected, text


def test_a_time_that_the_clock_leaves_out_comes_once_and_later() -> None:
    assert moments("02:30", "2026-03-28 12:00", 2) == ["2026-03-29 03:30", "2026-03-30 02:30"]


def test_a_time_that_comes_twice_counts_once() -> None:
    assert moments("02:30", "2026-10-24 12:00", 2) == ["2026-10-25 02:30", "2026-10-26 02:30"]


def test_every_hour_goes_on_over_the_gap_in_spring() -> None:
    expected = ["2026-03-29 01:00", "2026-03-29 03:00", "2026-03-29 04:00"]
    assert moments("0 * * * *", "2026-03-29 00:30", 3) == expected


def test_an_invalid_timetable_is_refused_with_the_reason() -> None:
    refusals = {
        "for example, 03:00": (
            *("", "25:00", "03:60", "nightly", "@daily", "0 3 * *", "0 3 * * * *", "٠٣:٠٠", "0 3 * * ; rm"),
            *("0 3 * * moon", "0 3 * * jan", "0 3 * mon *"),
        ),
        "Invalid cron expression": ("60 3 * * *", "*/0 3 * * *", "0 3 31 2 *", "0 3 - * *"),
        "either days of the month or days of the week": ("0 3 1 * 1",),
    }
    for reason, texts in refusals.items():
        for text in texts:
            with pytest.raises(ValueError, match=reason):
                read_timetable(text)


@given(st.lists(st.text("0123456789*/,-ab ", max_size=12), min_size=5, max_size=5).map(" ".join) | st.text(max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        timetable = read_timetable(text)
    except ValueError:
        return
    assert next_time(timetable, datetime(2026, 1, 1, tzinfo=UTC), BERLIN) > datetime(2026, 1, 1, tzinfo=UTC)
