"""How an agent got there, by rule: calls that were needed, calls that repeat others, and where it went wrong."""

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
    pairs = {actual: wanted for wanted, actual in best_in_order(credits) if credits[wanted][actual] > 0}
    for place in range(len(compared)):
        wanted = pairs.get(place)
        if wanted is None or credits[wanted][place] < 1:
            return WrongCall(place, None if wanted is None else expected[wanted])
    return None
