"""Timetables in words."""

from __future__ import annotations

from benchmarks.presentation.timetables import in_words


def test_usual_timetables_read_as_phrases_and_others_are_quoted() -> None:
    phrases = {
        "03:00": "Every day at 03:00",
        "3:05": "Every day at 03:05",
        "0 3 * * *": "Every day at 03:00",
        "30 22 * * 1-5": "Monday to Friday at 22:30",
        "0 6 * * 0,3": "Sunday, Wednesday at 06:00",
        "0 6 1 * *": "Day 1 of every month at 06:00",
        "15 * * * *": "Every hour at minute 15",
        "*/15 * * * *": "Every 15 minutes",
        "*/7 * * * *": "Cron expression */7 * * * *",
        "0 */6 * * *": "Cron expression 0 */6 * * *",
        "0 3 1 1 *": "Cron expression 0 3 1 1 *",
        "0 3 * * mon": "Cron expression 0 3 * * mon",
        "0 3 * jan *": "Cron expression 0 3 * jan *",
    }
    assert {timetable: in_words(timetable) for timetable in phrases} == phrases
