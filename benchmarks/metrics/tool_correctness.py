from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from benchmarks.metrics.base import Item, Judge, Score, scored, shortened
from benchmarks.metrics.judges import GEvalMetric, as_data
from benchmarks.metrics.tool_calls import call_credit
from benchmarks.providers.base import ToolCall

MAX_SHOWN = 100
"""Calls that the judge sees."""


class ToolCorrectness(GEvalMetric):
    """Whether the model made the correct tool calls, which the judge sees beside the expected ones. One judge call."""

    name = "tool_correctness"
    title = "Tool correctness"
    description = "A judge compares tools, arguments and order with the expected calls (G-Eval)"
    needs = frozenset({"expected_tools"})
    steps = (
        "Read the task in Input. Expected Output lists the tool calls that solve it, Actual Output those that the "
        "model made, both in order.",
        "Check that every expected tool was called, and that no tool was called that the task does not ask for.",
        "Compare the arguments of each call: every expected argument is there with a value that means the same. Other "
        "spelling of the same value (a date format, letter case of a city) is a small mistake at most, another value a "
        "big one. Arguments marked as malformed are wrong.",
        "Compare the order where a later call needs the result of an earlier one; otherwise order is free.",
        "Judge the calls alone and no text around them. No call at all, where calls are expected, is wrong.",
    )
    rubric = (
        ((0, 0), "None of the expected calls was made."),
        ((1, 3), "Mostly wrong: wrong tools, or right tools with arguments that would do something else."),
        ((4, 6), "Partly right: some expected calls are right, others wrong, missing or too many."),
        ((7, 9), "All expected calls, with a small mistake in an argument or a needless extra call."),
        ((10, 10), "Exactly the expected calls, with arguments that mean the same, in a working order."),
    )

    def has_answer(self, item: Item) -> bool:
        return bool(item.tool_calls) or super().has_answer(item)

    async def judge(self, item: Item, judge: Judge) -> Score:
        if not item.tool_calls:  # there is nothing to pay a judge for
            return scored(0.0, "The model called no tool.")
        return await super().judge(item, judge)

    def shown(self, item: Item) -> tuple[str, str, str]:
        expected = [
            {"name": call["name"], "arguments": call.get("args") or {}}
            | ({"accepted_as_well": call["accept"]} if call.get("accept") else {})
            for call in item.expected_tools
        ]
        actual = [_shown_call(call) for call in item.tool_calls[:MAX_SHOWN]]
        return (
            as_data("TASK", item.input),
            as_data("ACTUAL CALLS", _numbered(actual)),
            as_data("EXPECTED CALLS", _numbered(expected)),
        )

    def decided_without_judge(self, item: Item) -> Score | None:
        if len(item.expected_tools) == len(item.tool_calls) and all(
            call_credit(expected, call) == 1.0
            for expected, call in zip(item.expected_tools, item.tool_calls, strict=True)
        ):
            return scored(1.0, "The calls are identical to the expected calls, so the judge was not called.")
        return None


def _shown_call(call: ToolCall) -> dict[str, object]:
    if call.arguments is None:
        return {"name": call.name, "malformed_arguments": shortened(call.raw_arguments, 2_000)}
    return {"name": call.name, "arguments": call.arguments}


def _numbered(calls: Sequence[Mapping[str, object]]) -> str:
    texts = (shortened(json.dumps(call, ensure_ascii=False, default=str), 4_000) for call in calls)
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))
