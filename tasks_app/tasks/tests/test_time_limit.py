"""Task classes that do not end are interrupted and named, in any thread, and nothing else is."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tasks_app.loader import build_canvas, has_own_text
from tasks_app.tasks import task as task_module
from tasks_app.tasks import time_limit as limits
from tasks_app.tasks.task import Task
from tasks_app.tasks.time_limit import TookTooLong, within

PAIRS = [("A?", "Yes"), ("B?", "No")]


class Fine(Task):
    def generate_questions(self, shapes, selected_answer=None):
        return PAIRS

    def score(self, file):
        return 1


class Questions(Fine):
    def generate_questions(self, shapes, selected_answer=None):
        while True:
            pass


class Selecting(Fine):
    def select_expected_answer(self, i, n):
        return self._first(i)

    def _first(self, i):
        while True:
            i += 1


class Stubborn(Fine):
    """Catches whatever it is interrupted with, at first."""

    def generate_questions(self, shapes, selected_answer=None):
        for _ in range(2):
            try:
                while True:
                    pass
            except BaseException:
                continue
        while True:
            pass


class Scoring(Fine):
    def score(self, file):
        while True:
            pass


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(limits, "STOPPING_SECONDS", 0.1)
    monkeypatch.setattr(task_module, "SCORE_SECONDS", 0.05)


def asked(task, seconds=0.05):
    return within(seconds, lambda: build_canvas(3, 1, 0, 1, tasks={"own": task}))


@pytest.mark.parametrize(
    ("task", "method"),
    [
        (Questions, "Questions.generate_questions"),
        (Selecting, "Selecting.select_expected_answer"),
        (Stubborn, "Stubborn.generate_questions"),
    ],
)
def test_a_class_that_does_not_end_is_interrupted_and_named(task, method):
    with pytest.raises(TookTooLong, match=rf"^{method} did not end within 0.05 s"):
        asked(task)
    with ThreadPoolExecutor(1) as threads, pytest.raises(TookTooLong, match=method):
        threads.submit(asked, task).result()


def test_a_score_that_does_not_end_is_interrupted_and_named():
    assert Fine.verdict("Yes", "Yes").value == 1
    with pytest.raises(TookTooLong, match=r"Scoring\.score did not end within 0\.05 s"):
        Scoring.verdict("Yes", "Yes")


def test_a_page_that_tries_a_class_does_not_hang(monkeypatch):
    monkeypatch.setattr("tasks_app.loader.CANVAS_SECONDS", 0.05)
    with pytest.raises(TookTooLong, match=r"Questions\.generate_questions"):
        has_own_text("own", Questions)


def test_nothing_else_is_interrupted():
    def count(n):
        return sum(range(n))

    with ThreadPoolExecutor(4) as threads:
        tasks = [Questions, Fine] * 3
        waiting = [threads.submit(asked, task, 1.0) for task in tasks]
        failed = [each.exception() is not None for each in waiting]
    assert failed == [task is Questions for task in tasks]
    for _ in range(200):  # work that ends just when the limit does
        try:
            assert within(0.0001, lambda: count(5_000)) == count(5_000)
        except TookTooLong:
            continue
    assert count(1_000_000) == 499_999_500_000


def test_what_the_work_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        within(1.0, lambda: 1 / 0)


def test_nobody_waits_for_what_cannot_be_interrupted(monkeypatch):
    monkeypatch.setattr(limits, "STOPPING_SECONDS", 0.01)
    release = threading.Lock()
    release.acquire()
    with pytest.raises(TookTooLong, match="A task class did not end"):
        within(0.05, release.acquire)
    release.release()
