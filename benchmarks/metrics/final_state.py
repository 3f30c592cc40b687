from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score, not_applicable, scored, shortened
from benchmarks.metrics.json_match import same_json
from benchmarks.metrics.task_parts import ExpectedRow
from benchmarks.metrics.task_parts import FinalState as FinalStateOfTask
from benchmarks.metrics.worlds import World, described, state_after
from benchmarks.providers.base import ToolCall

MAX_CALLS = 300
"""Calls of an answer that are replayed; no task allows as many."""
MAX_NAMED = 5


class FinalState(DeterministicMetric):
    """What the model's tool calls achieved in the task's world, whatever their order.

    The value is the share of expected rows that the calls brought about. It is 0 if they broke a rule: a forbidden
    call, more calls than allowed, or a change that nobody asked for. A task that expects no change scores 1 if nothing
    changed.
    """

    name = "final_state"
    title = "Final state"
    description = "The tool calls leave the task's world as expected, in any order, with no forbidden call"
    needs = frozenset({"final_state"})

    def applies_to(self, item: Item) -> bool:
        return item.world is not None and bool(item.final_state)

    def has_answer(self, item: Item) -> bool:
        return bool(item.tool_calls) or super().has_answer(item)

    def score(self, item: Item) -> Score:
        if item.world is None:
            return not_applicable("The task has no world.")
        expected = item.final_state.get("rows", ())
        calls = item.tool_calls[:MAX_CALLS]
        start, end = World(item.world), state_after(item.world, calls)
        wanted = [each for each in expected if not start.holds(each)]
        missing = [each for each in wanted if not end.holds(each)]
        spoiled = [each for each in expected if start.holds(each) and not end.holds(each)]
        forbidden = [call.name for call in item.tool_calls if _is_forbidden(call, item.final_state)]
        most = item.final_state.get("max_steps")
        too_many = most is not None and len(item.tool_calls) > most
        unexpected = end.unexpected(expected)
        broken = bool(forbidden or too_many or spoiled or unexpected)
        value = 0.0 if broken else 1 - len(missing) / len(wanted) if wanted else 1.0

        made, steps = len(wanted) - len(missing), len(item.tool_calls)
        parts = [f"{made} of {len(wanted)} expected changes made in {steps} {'call' if steps == 1 else 'calls'}."]
        if forbidden:
            parts.append(f"Forbidden: {', '.join(forbidden[:MAX_NAMED])}.")
        if too_many:
            parts.append(f"At most {most} calls are allowed.")
        if unexpected:
            parts.append(f"Not expected: {', '.join(unexpected[:MAX_NAMED])}.")
        parts += [f"Not as expected: {_shown(each)}." for each in (*missing, *spoiled)[:MAX_NAMED]]
        failure = (
            "Forbidden call"
            if forbidden
            else "Too many steps"
            if too_many
            else "No tool called"
            if not item.tool_calls
            else "Right tools, wrong final state"
            if {call.name for call in item.tool_calls} >= {str(call["name"]) for call in item.expected_tools}
            else "A needed tool was not called"
        )
        return scored(
            value,
            shortened(" ".join(parts), 1_000),
            failure=failure,
            steps=steps,
            forbidden=len(forbidden),
            unexpected=len(unexpected),
        )


def _is_forbidden(call: ToolCall, final_state: FinalStateOfTask) -> bool:
    """Whether the call is one of the forbidden ones, which name the arguments that matter."""
    arguments = call.arguments or {}
    return any(
        call.name == each["name"]
        and all(name in arguments and same_json(arguments[name], value) for name, value in each.get("args", {}).items())
        for each in final_state.get("forbidden", ())
    )


def _shown(expected: ExpectedRow) -> str:
    """An expected row for people: ``2 × orders(status=paid)``."""
    count = expected.get("count", 1)
    row = described({"name": expected["table"], "args": expected["where"]})
    return row if count == 1 else f"{count} × {row}"
