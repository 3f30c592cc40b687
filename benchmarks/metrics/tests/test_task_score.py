from __future__ import annotations

import json

import pytest

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.task_score import TaskScore
from benchmarks.metrics.tests.factories import item
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import Task


class HalfForAnything(Task):
    """A plug-in that defines a score and nothing else."""

    name = "half"

    def score(self, file):
        assert set(json.loads(file.read_text())) == {"expected", "actual"}
        return 0.5


class Broken(Task):
    name = "broken"

    def score(self, file):
        raise ZeroDivisionError("oops")


class OutOfRange(Task):
    name = "range"

    def score(self, file):
        return 7


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch):
    for plug_in in (HalfForAnything, Broken, OutOfRange):
        monkeypatch.setitem(REGISTERED_TASKS, plug_in.name, plug_in)


def test_an_answer_is_scored_by_its_task_class():
    for group, expected, actual, value in (
        ("existence", "Yes", "Answer: Yes.", 1),
        ("existence", "No", "Answer: Yes.", 0),
        ("count", "2", "There are two.", 1),
        ("half", "x", "y", 0.5),
    ):
        assert TaskScore().score(item(actual, expected, group=group)).value == value, group


def test_an_unreadable_answer_is_unparsable_and_scores_zero():
    score = TaskScore().score(item("", "2", group="count"))

    assert (score.status, score.value) == (ScoreStatus.UNPARSABLE, 0.0)


def test_a_plug_in_that_fails_is_not_a_wrong_answer():
    for group, error in (("broken", "ZeroDivisionError: oops"), ("range", "returned 7")):
        score = TaskScore().score(item("a", "b", group=group))
        assert score.status is ScoreStatus.METRIC_ERROR, group
        assert error in score.reason


def test_it_applies_to_canvas_questions_alone():
    assert TaskScore().applies_to(item("a", "b", group="count"))
    assert not TaskScore().applies_to(item("a", "b"))
