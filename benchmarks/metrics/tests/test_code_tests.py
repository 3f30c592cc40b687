from __future__ import annotations

import os

import pytest

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.code_tests import CodeTests, problem_in_tests
from benchmarks.metrics.tests.factories import item
from benchmarks.sandbox.sandbox import Report, Sandbox, SandboxError

TESTS = "assert add(1, 2) == 3\nassert add('a', 'b') == 'ab'"


class FakeSandbox(Sandbox):
    """Returns the report, or raises the error, that it was made with."""

    def __init__(self, outcome):
        object.__setattr__(self, "outcome", outcome)
        object.__setattr__(self, "ran", [])

    def refusal(self):
        return None

    def run(self, code, tests):
        self.ran.append((code, tests))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def test_the_score_is_all_or_nothing_and_the_reason_names_the_failures():
    for report, value, reason in (
        (Report("tested", checks=2), 1, "All 2 checks passed."),
        (Report("tested", checks=2, failures=("line 1: no",)), 0, "1 of 2 checks failed: line 1: no"),
        (Report("tested", checks=0), 0, "0 of 0 checks failed: "),
        (Report("not_loaded", "SyntaxError: no"), 0, "The code could not be run: SyntaxError: no"),
        (Report("stopped", "time limit of 10 s exceeded"), 0, "The tests did not finish: time limit of 10 s exceeded."),
        (Report("interference", "threads were left"), 0, "The tests did not finish: threads were left."),
    ):
        score = CodeTests(FakeSandbox(report)).score(item("code", tests=TESTS))

        assert (score.value, score.reason, score.detail["checks"]) == (value, reason, report.checks)


def test_the_fenced_code_is_what_is_run():
    sandbox = FakeSandbox(Report("tested", checks=2))

    score = CodeTests(sandbox).score(item("Here:\n```python\nx = 1\n```\nDone.", tests=TESTS))

    assert sandbox.ran == [("x = 1", TESTS)]
    assert score.detail["extraction"] == "fenced block"


def test_a_failed_sandbox_is_an_error_and_not_a_zero():
    score = CodeTests(FakeSandbox(SandboxError("bwrap went away"))).score(item("x", tests=TESTS))

    assert (score.status, score.value) == (ScoreStatus.METRIC_ERROR, None)
    assert "bwrap went away" in score.reason


def test_it_is_turned_off_without_a_sandbox():
    metric = CodeTests()

    assert "turns it off" in metric.unavailable()
    assert metric.score(item("x", tests=TESTS)).status is ScoreStatus.METRIC_ERROR


def test_tests_that_check_nothing_are_not_a_wrong_answer():
    for tests, problem in (("assert (", "SyntaxError"), ("x = 1", "no top-level assert"), ("", "no top-level assert")):
        assert problem in problem_in_tests(tests), tests
        score = CodeTests(FakeSandbox(Report("tested"))).score(item("x", tests=tests))
        assert score.status is ScoreStatus.METRIC_ERROR, tests
    for tests in ("assert x", "def test_a(): pass"):
        assert problem_in_tests(tests) is None, tests


@pytest.mark.skipif(
    bool(Sandbox().refusal()) and os.environ.get("CODEFORGE_REQUIRE_SERVICES") != "1",
    reason=f"the sandbox cannot run: {Sandbox().refusal()}",
)
def test_answers_run_in_a_real_sandbox():
    for answer, value in (
        ("```python\ndef add(a, b):\n    return a + b\n```", 1),
        ("def add(a, b): return a - b", 0),
        ("I cannot write code.", 0),
        ("", 0),
    ):
        assert CodeTests(Sandbox()).score(item(answer, tests=TESTS)).value == value, answer
