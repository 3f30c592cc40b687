from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.json_values import same_json
from benchmarks.metrics.verdicts import scored, shortened
from benchmarks.providers.base import ToolCall

MAX_COMPARED = 200
"""Calls of an answer that are compared; any beyond count as extra calls."""

Pairs = list[tuple[int, int]]
"""(expected, actual) positions, every position at most once."""


class _ToolCallsMetric(DeterministicMetric):
    """Credits are summed over the pairing that gives most, and divided by the larger number of calls, so that a
    missing and an extra call both cost.

    A pair earns half for the name and half for the share of arguments that are equal, over the arguments of both; a
    wrong name, or arguments that are no JSON object, earn nothing for the arguments.
    """

    needs = frozenset({"expected_tools"})

    def applies_to(self, item: Item) -> bool:
        """Also where tools are offered and none should be called: a stray call is a mistake like a missing one."""
        return bool(item.expected_tools) or item.tools_offered

    def score(self, item: Item) -> Score:
        expected, actual = item.expected_tools, item.tool_calls
        if not expected and not actual:
            return scored(1.0, "No tool was to be called, and none was.", calls=[])
        credits = [[call_credit(wanted, made) for made in actual[:MAX_COMPARED]] for wanted in expected]
        pairs = [(e, a) for e, a in self.pairing(credits) if credits[e][a] > 0]
        total = sum(credits[e][a] for e, a in pairs)
        value = total / max(len(expected), len(actual))
        reason = _reason(expected, actual, pairs, credits)
        return scored(
            value, reason, calls=[_shown(call.name, call.arguments, call.raw_arguments) for call in actual[:20]]
        )

    @abstractmethod
    def pairing(self, credits: Sequence[Sequence[float]]) -> Pairs:
        """The pairs of the highest total credit that this metric's order allows."""


class ToolCalls(_ToolCallsMetric):
    name = "tool_calls"
    title = "Tool calls"
    description = "The expected tools with the expected arguments, in order; partial credit for parts"

    def pairing(self, credits: Sequence[Sequence[float]]) -> Pairs:
        return best_in_order(credits)


class ToolCallsAnyOrder(_ToolCallsMetric):
    name = "tool_calls_any_order"
    title = "Tool calls, any order"
    description = "The expected tools with the expected arguments, in any order; partial credit for parts"

    def pairing(self, credits: Sequence[Sequence[float]]) -> Pairs:
        return best_in_any_order(credits)


def call_credit(expected: Mapping[str, Any], actual: ToolCall) -> float:
    """0 for another tool, otherwise 0.5 and up to 0.5 more for the arguments."""
    if expected["name"] != actual.name:
        return 0.0
    if actual.arguments is None:
        return 0.5
    wanted = expected.get("args") or {}
    names = wanted.keys() | actual.arguments.keys()
    if not names:
        return 1.0
    missing = object()
    equal = sum(
        name in wanted and name in actual.arguments and same_json(wanted[name], actual.arguments.get(name, missing))
        for name in names
    )
    return 0.5 + 0.5 * equal / len(names)


def best_in_order(credits: Sequence[Sequence[float]]) -> Pairs:
    """The best pairing that keeps both orders (weighted longest common subsequence)."""
    rows, columns = len(credits), len(credits[0]) if credits else 0
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for e in reversed(range(rows)):
        for a in reversed(range(columns)):
            best[e][a] = max(best[e + 1][a], best[e][a + 1], credits[e][a] + best[e + 1][a + 1])
    pairs: Pairs = []
    e = a = 0
    while e < rows and a < columns:
        if best[e][a] == best[e + 1][a]:
            e += 1
        elif best[e][a] == best[e][a + 1]:
            a += 1
        else:
            pairs.append((e, a))
            e, a = e + 1, a + 1
    return pairs


def best_in_any_order(credits: Sequence[Sequence[float]]) -> Pairs:
    """The best pairing in any order (assignment problem)."""
    if not credits or not credits[0]:
        return []
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(credits, maximize=True)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True)]


def _reason(
    expected: Sequence[Mapping[str, Any]], actual: Sequence[ToolCall], pairs: Pairs, credits: Sequence[Sequence[float]]
) -> str:
    right = sum(credits[e][a] == 1.0 for e, a in pairs)
    parts = [f"{right} of {len(expected)} expected calls made as expected."]
    for e, a in pairs:
        if credits[e][a] < 1.0:
            part = f"{credits[e][a]:.0%} for {actual[a].name}: "
            parts.append(
                part + ("its arguments are no JSON object." if actual[a].malformed else "its arguments differ.")
            )
    paired_expected, paired_actual = {e for e, _ in pairs}, {a for _, a in pairs}
    missing = [str(call["name"]) for e, call in enumerate(expected) if e not in paired_expected]
    extra = [call.name for a, call in enumerate(actual[:MAX_COMPARED]) if a not in paired_actual]
    if missing:
        parts.append(f"Missing, or out of order: {shortened(', '.join(missing), 200)}.")
    if extra:
        parts.append(f"Not expected there: {shortened(', '.join(extra), 200)}.")
    return shortened(" ".join(parts), 1_000)


def _shown(name: str, arguments: Mapping[str, Any] | None, raw: str) -> dict[str, Any]:
    return {"name": shortened(name, 100), "arguments": shortened(raw, 500), "malformed": arguments is None}
