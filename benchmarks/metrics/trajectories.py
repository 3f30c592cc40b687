"""Where an agent went wrong, by rule: its calls beside those that the task expects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.metrics.task_parts import ExpectedCall
from benchmarks.metrics.tool_calls import MAX_COMPARED, best_in_order, call_credit
from benchmarks.providers.base import ToolCall


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
