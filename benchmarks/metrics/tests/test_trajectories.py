"""Needed and repeated calls, and what would game them."""

from __future__ import annotations

import pytest

from benchmarks.metrics.base import ScoreStatus
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.metrics.tests.factories import item
from benchmarks.metrics.trajectories import NeededCalls, UnrepeatedCalls
from benchmarks.providers.base import ToolCall

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
    for metric in (REGISTERED_METRICS["needed_calls"], REGISTERED_METRICS["unrepeated_calls"]):
        assert not metric.applies_to(plain)
        assert metric.applies_to(item("x", expected_tools=EXPECTED))
        assert not metric.decides_outcome
