from __future__ import annotations

import os

import pytest

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.code_tests import CodeTests, problem_in_tests
from benchmarks.metrics.tests.factories import item
from benchmarks.sandbox.sandbox import Report, Sandbox, SandboxError

TESTS = "assert add(1, 2) == 3\nassert add('a', 'b') == 'ab'"


class FakeSandbox(Sandbox):
    """Gives the report, or raises the error, that it was made with."""

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


@pytest.mark.parametrize(
    ("report", "value", "said"),
    [
        (Report("tested", checks=2), 1, "All 2 checks passed."),
        (Report("tested", checks=2, failures=("line 1: no",)), 0, "1 of 2 checks failed: line 1: no"),
        (Report("tested", checks=0), 0, "0 of 0 checks failed"),
        (Report("not_loaded", "SyntaxError: no"), 0, "could not be run: SyntaxError: no"),
        (Report("stopped", "it took longer than 10 s"), 0, "did not finish its tests: it took longer than 10 s."),
        (Report("interference", "threads were left"), 0, "did not finish its tests: threads were left."),
    ],
)
def test_the_score_is_all_or_nothing_and_says_what_failed(report, value, said):
    score = CodeTests(FakeSandbox(report)).score(item("code", tests=TESTS))

    assert score.value == value
    assert said in score.reason
    assert score.detail["checks"] == report.checks


def test_the_fenced_code_is_what_is_run():
    sandbox = FakeSandbox(Report("tested", checks=2))

    score = CodeTests(sandbox).score(item("Here:\n```python\nx = 1\n```\nDone.", tests=TESTS))

    assert sandbox.ran == [("x = 1", TESTS)]
    assert score.detail["extraction"] == "fenced block"


def test_a_failed_sandbox_is_an_error_and_no_zero():
    score = CodeTests(FakeSandbox(SandboxError("bwrap went away"))).score(item("x", tests=TESTS))

    assert (score.status, score.value) == (ScoreStatus.METRIC_ERROR, None)
    assert "bwrap went away" in score.reason


def test_it_is_switched_off_unless_made_with_a_sandbox():
    metric = CodeTests()

    assert "switched off" in metric.unavailable()
    assert metric.score(item("x", tests=TESTS)).status is ScoreStatus.METRIC_ERROR


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ("assert (", "SyntaxError"),
        ("x = 1", "no assert"),
        ("", "no assert"),
        ("assert x", None),
        ("def test_a(): pass", None),
    ],
)
def test_tests_that_test_nothing_are_no_wrong_answer(tests, said):
    problem = problem_in_tests(tests)

    assert (problem is None) if said is None else (said in problem)
    if said:
        assert CodeTests(FakeSandbox(Report("tested"))).score(item("x", tests=tests)).status is ScoreStatus.METRIC_ERROR


@pytest.mark.skipif(
    bool(Sandbox().refusal()) and os.environ.get("CODEFORGE_REQUIRE_SERVICES") != "1",
    reason=f"the sandbox cannot run: {Sandbox().refusal()}",
)
@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("```python\ndef add(a, b):\n    return a + b\n```", 1),
        ("def add(a, b): return a - b", 0),
        ("I cannot write code.", 0),
        ("", 0),
    ],
)
def test_answers_are_run_for_real(answer, value):
    assert CodeTests(Sandbox()).score(item(answer, tests=TESTS)).value == value
