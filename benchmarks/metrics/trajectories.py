"""How an agent got there, by rule: needed and repeated calls, errors recovered from, and where it went wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.metrics.base import DeterministicMetric, Item, Score, not_applicable, scored
from benchmarks.metrics.task_parts import ExpectedCall
from benchmarks.metrics.tool_calls import MAX_COMPARED, best_in_any_order, best_in_order, call_credit
from benchmarks.providers.base import ToolCall


class _Calls(DeterministicMetric):
    """Of the calls themselves: an answer that calls and says nothing is an answer."""

    decides_outcome = False

    def has_answer(self, item: Item) -> bool:
        return bool(item.tool_calls) or super().has_answer(item)


class NeededCalls(_Calls):
    """Calls needed over calls made. A call is needed if it is just as the task expects, in any order, and each expected
    call needs one. A call that is missing costs nothing here, unless none was made; ``tool_calls`` counts it.
    """

    name = "needed_calls"
    title = "Needed calls"
    description = "Share of the calls made that the task expects"
    needs = frozenset({"expected_tools"})

    def score(self, item: Item) -> Score:
        made = len(item.tool_calls)
        if not made:
            return scored(0.0, "No tool called.", failure="No tool called")
        compared = item.tool_calls[:MAX_COMPARED]
        credits = [[float(call_credit(wanted, call) == 1) for call in compared] for wanted in item.expected_tools]
        needed = sum(credits[wanted][call] == 1 for wanted, call in best_in_any_order(credits))
        return scored(needed / made, f"{needed} of {made} calls needed.", failure="Calls that were not needed")


class UnrepeatedCalls(_Calls):
    """Share of the calls that differ from all before them in tool or arguments. Order and spacing of arguments do not
    count as a difference.
    """

    name = "unrepeated_calls"
    title = "Calls without repeats"
    description = "Share of the calls made that repeat no earlier one"
    needs = frozenset({"tool_calls"})

    def applies_to(self, item: Item) -> bool:
        return bool(item.tool_calls or item.expected_tools) or item.tools_offered

    def score(self, item: Item) -> Score:
        if not item.tool_calls:
            return not_applicable("No tool was called.")
        made = [(call.name, _plain(call)) for call in item.tool_calls]
        repeated = len(made) - len(set(made))
        return scored(
            1 - repeated / len(made),
            f"{repeated} of {len(made)} calls repeat an earlier one.",
            failure="Repeated calls",
        )


def _plain(call: ToolCall) -> str:
    return call.raw_arguments if call.arguments is None else json.dumps(call.arguments, sort_keys=True)


class RecoveredErrors(DeterministicMetric):
    """Share of the failed steps that the agent recovered from, as ``failures_of`` says. Whether it got to the right end
    is what other metrics say.
    """

    name = "recovered_errors"
    title = "Errors recovered from"
    description = "Share of the failed steps after which the same tool, or else the agent, succeeded"
    needs = frozenset({"tool_calls"})
    decides_outcome = False

    def applies_to(self, item: Item) -> bool:
        """Always: before a run no step has failed yet. An answer without a failed step is not applicable in
        ``score``."""
        return True

    def score(self, item: Item) -> Score:
        if item.failures is None or not item.failures.total:
            return not_applicable("No step failed.")
        total, recovered = item.failures
        reason = f"Recovered from {recovered} of {total} failed steps."
        return scored(recovered / total, reason, failure="Errors not recovered from")


class CallsBeforeWrong(_Calls):
    """Calls made before the first one that is not as expected, over calls made. A call that is missing costs nothing
    here, unless none was made; ``tool_calls`` counts it.
    """

    name = "calls_before_wrong"
    title = "Calls before the first wrong one"
    description = "Share of the calls made that come before the first one that the task does not expect"
    needs = frozenset({"expected_tools"})

    def score(self, item: Item) -> Score:
        made = item.tool_calls
        if not made:
            return scored(0.0, "No tool called.", failure="No tool called")
        wrong = first_wrong_call(item.expected_tools, made)
        if wrong is None:
            return scored(1.0, "No call is wrong.")
        reason = f"Call {wrong.place + 1} of {len(made)}, {made[wrong.place].name}, is the first wrong one."
        return scored(wrong.place / len(made), reason, failure="Wrong call")


class WrongCall(NamedTuple):
    """The place of a call among all calls, and what was expected there; ``None`` if no call was."""

    place: int
    expected: ExpectedCall | None


def first_wrong_call(expected: Sequence[ExpectedCall], made: Sequence[ToolCall]) -> WrongCall | None:
    """The first call that is not as expected, in the pairing that ``tool_calls`` scores.

    ``None`` if all are, and if nothing is expected, where no call can be compared. At most ``MAX_COMPARED`` calls are.
    """
    if not expected:
        return None
    compared = made[:MAX_COMPARED]
    credits = [[call_credit(wanted, call) for call in compared] for wanted in expected]
    pairs: dict[int, int] = {}
    free = 0
    for row, actual in best_in_order(credits):
        if credit := credits[row][actual]:
            # Of equal calls the first one was the right one, and the others repeat it.
            first = next(each for each in range(free, actual + 1) if credits[row][each] == credit)
            pairs[first], free = row, first + 1
    for place in range(len(compared)):
        wanted = pairs.get(place)
        if wanted is None or credits[wanted][place] < 1:
            return WrongCall(place, None if wanted is None else expected[wanted])
    return None
