"""Needed and repeated calls, and what would game them."""

from __future__ import annotations

import pytest

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.metrics.tests.factories import item
from benchmarks.metrics.trajectories import CallsBeforeWrong, NeededCalls, RecoveredErrors, UnrepeatedCalls
from benchmarks.providers.base import ToolCall
from benchmarks.providers.steps import Failures, failures_of

EXPECTED = ({"name": "find", "args": {"city": "Oslo"}}, {"name": "book", "args": {"room": 2, "nights": 3}})


def call(name: str, arguments: dict[str, object] | None, raw: str = "") -> ToolCall:
    return ToolCall("", name, arguments, raw)


FIND, BOOK = call("find", {"city": "Oslo"}), call("book", {"nights": 3, "room": 2})


@pytest.mark.parametrize(
    ("calls", "needed", "unrepeated"),
    [
        ((FIND, BOOK), 1.0, 1.0),
        ((BOOK, FIND), 1.0, 1.0),
        ((FIND,), 1.0, 1.0),
        ((FIND, FIND, BOOK), 2 / 3, 2 / 3),
        ((FIND, call("find", {"city": "Bergen"}), BOOK), 2 / 3, 1.0),
        ((BOOK, call("book", {"room": 2, "nights": 3})), 0.5, 0.5),
        ((call("book", {"room": 2}),), 0.0, 1.0),
        ((call("find", None, "{city"), call("find", None, "{city")), 0.0, 0.5),
    ],
)
def test_needed_and_repeated_calls(calls: tuple[ToolCall, ...], needed: float, unrepeated: float) -> None:
    answered = item("done", expected_tools=EXPECTED, tool_calls=calls)
    assert NeededCalls().score(answered).value == pytest.approx(needed)
    assert UnrepeatedCalls().score(answered).value == pytest.approx(unrepeated)


@pytest.mark.parametrize(
    ("calls", "before"),
    [
        ((FIND, BOOK), 1.0),
        ((FIND,), 1.0),
        ((FIND, FIND, BOOK), 1 / 3),
        ((FIND, call("book", {"room": 2})), 0.5),
        ((call("cancel", {}), FIND, BOOK), 0.0),
        ((call("find", None, "{city"),), 0.0),
        ((), 0.0),
    ],
)
def test_calls_before_the_first_wrong_one(calls: tuple[ToolCall, ...], before: float) -> None:
    score = CallsBeforeWrong().score(item("done", expected_tools=EXPECTED, tool_calls=calls))
    assert score.value == pytest.approx(before)


def test_the_first_wrong_call_is_named() -> None:
    score = CallsBeforeWrong().score(item("done", expected_tools=EXPECTED, tool_calls=(FIND, call("book", {}))))
    assert score.reason == "Call 2 of 2, book, is the first wrong one."


@pytest.mark.parametrize(
    ("steps", "failures"),
    [
        ("", (0, 0)),
        ("find", (0, 0)),
        ("-find find", (1, 1)),
        ("find -find", (1, 0)),
        ("-find -find find", (2, 2)),
        ("-find book", (1, 0)),
        ("-find -book find", (2, 1)),
        ("-find find -find", (2, 1)),
        ("-error model", (1, 1)),
        ("-error find", (1, 1)),
        ("-model message", (1, 0)),
        ("-find model", (1, 0)),
    ],
)
def test_a_failed_call_is_recovered_from_by_its_tool_and_any_other_step_by_a_call(
    steps: str, failures: tuple[int, int]
) -> None:
    kinds = {"error": "error", "model": "model_call", "message": "message"}
    given = [(kinds.get(name := word.lstrip("-"), "tool_call"), name, word[0] == "-") for word in steps.split()]
    counted = failures_of(given)
    assert counted == failures
    score = RecoveredErrors().score(item("done", failures=Failures(*failures)))
    if failures[0]:
        assert score.value == failures[1] / failures[0]
    else:
        assert score.status is ScoreStatus.NOT_APPLICABLE


def test_an_answer_without_a_call_is_not_efficient() -> None:
    answered = item("Done.", expected_tools=EXPECTED)
    assert NeededCalls().score(answered).value == 0
    assert UnrepeatedCalls().score(answered).status is ScoreStatus.NOT_APPLICABLE


def test_calls_after_those_that_are_compared_were_not_needed() -> None:
    waiting = tuple(call("wait", {"seconds": n}) for n in range(200))
    answered = item("done", expected_tools=EXPECTED, tool_calls=(*waiting, FIND, BOOK))
    assert NeededCalls().score(answered).value == 0
    assert UnrepeatedCalls().score(answered).value == 1


def test_they_are_for_tasks_with_tools_and_decide_no_outcome() -> None:
    plain = item("x")
    for name in ("needed_calls", "unrepeated_calls", "calls_before_wrong"):
        metric = REGISTERED_METRICS[name]
        assert not metric.applies_to(plain)
        assert metric.applies_to(item("x", expected_tools=EXPECTED))
        assert not metric.decides_outcome
