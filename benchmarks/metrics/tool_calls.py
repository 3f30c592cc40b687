from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from benchmarks.metrics.base import DeterministicMetric, Item, Score, scored, shortened
from benchmarks.metrics.json_match import same_json
from benchmarks.metrics.task_parts import ExpectedCall
from benchmarks.providers.base import ToolCall

MAX_COMPARED = 200
"""Calls of an answer that are compared; further ones count as extra calls."""
MAX_STORED = 20

Pairs = list[tuple[int, int]]
"""(expected, actual) positions, every position at most once."""


class _ToolCallsMetric(DeterministicMetric):
    """The credits of the best pairing of expected and actual calls, divided by the larger number of calls, so that a
    missing and an extra call both cost.

    A pair earns one half for the name, and one half times the share of right arguments among the arguments of both. A
    wrong name earns nothing, and neither do arguments that are not a JSON object, because it cannot be executed.
    """

    needs = frozenset({"expected_tools"})

    def applies_to(self, item: Item) -> bool:
        """Also if tools are offered and none should be called: an extra call is an error like a missing one."""
        return bool(item.expected_tools) or item.tools_offered

    def has_answer(self, item: Item) -> bool:
        return bool(item.tool_calls) or super().has_answer(item)

    def score(self, item: Item) -> Score:
        expected, actual = item.expected_tools, item.tool_calls
        if not expected and not actual:
            return scored(1.0, "No tool call expected, none made.", calls=[])
        credits = [[call_credit(wanted, made) for made in actual[:MAX_COMPARED]] for wanted in expected]
        pairs = [(e, a) for e, a in self.pairing(credits) if credits[e][a] > 0]
        total = sum(credits[e][a] for e, a in pairs)
        stored = [
            {
                "name": shortened(call.name, 100),
                "arguments": shortened(call.raw_arguments, 500),
                "malformed": call.arguments is None,
            }
            for call in actual[:MAX_STORED]
        ]
        value = total / max(len(expected), len(actual))
        failure = _failure(expected, actual, pairs)
        return scored(value, _reason(expected, actual, pairs, credits), failure=failure, calls=stored)

    @abstractmethod
    def pairing(self, credits: Sequence[Sequence[float]]) -> Pairs:
        """The pairs of the highest total credit that this metric's order allows."""


class ToolCalls(_ToolCallsMetric):
    name = "tool_calls"
    title = "Tool calls"
    description = "Expected tools called with the expected arguments, in order; partial credit"

    def pairing(self, credits: Sequence[Sequence[float]]) -> Pairs:
        return best_in_order(credits)


class ToolCallsAnyOrder(_ToolCallsMetric):
    name = "tool_calls_any_order"
    title = "Tool calls, any order"
    description = "Expected tools called with the expected arguments, in any order; partial credit"

    def pairing(self, credits: Sequence[Sequence[float]]) -> Pairs:
        return best_in_any_order(credits)


def call_credit(expected: ExpectedCall, actual: ToolCall) -> float:
    """0 for a different tool or malformed arguments, otherwise 0.5 plus up to 0.5 for the arguments.

    An argument is right if it has the expected value or one that is accepted as well. One that only has accepted values
    counts only if it is given.
    """
    if expected["name"] != actual.name or actual.arguments is None:
        return 0.0
    wanted, given = expected.get("args") or {}, actual.arguments
    names = wanted.keys() | given.keys()
    if not names:
        return 1.0
    accepted = {name: [value] for name, value in wanted.items()}
    for name, values in (expected.get("accept") or {}).items():
        accepted[name] = [*accepted.get(name, ()), *values]
    equal = sum(any(same_json(value, given[name]) for value in accepted.get(name, ())) for name in given)
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


def _failure(expected: Sequence[ExpectedCall], actual: Sequence[ToolCall], pairs: Pairs) -> str:
    """What keeps the calls from being right; of several faults the one that explains the others."""
    if not actual:
        return "No tool called"
    if any(call.malformed for call in actual):
        return "Arguments are not a JSON object"
    if not expected:
        return "Tool called where none was needed"
    missing, extra = len(pairs) < len(expected), len(pairs) < len(actual)
    if missing and extra:
        return "Different tool or order"
    if missing or extra:
        return "A call is missing" if missing else "One call too many"
    return "The right tool with a wrong argument"


def _reason(
    expected: Sequence[ExpectedCall],
    actual: Sequence[ToolCall],
    pairs: Pairs,
    credits: Sequence[Sequence[float]],
) -> str:
    correct = sum(credits[e][a] == 1.0 for e, a in pairs)
    parts = [f"{correct} of {len(expected)} expected calls are correct."]
    for e, a in pairs:
        if credits[e][a] < 1.0:
            parts.append(f"{credits[e][a]:.0%} for {actual[a].name}: the arguments differ.")
    paired_expected, paired_actual = {e for e, _ in pairs}, {a for _, a in pairs}
    missing = [str(call["name"]) for e, call in enumerate(expected) if e not in paired_expected]
    unpaired = [call for a, call in enumerate(actual[:MAX_COMPARED]) if a not in paired_actual]
    malformed = [call.name for call in unpaired if call.malformed]
    extra = [call.name for call in unpaired if not call.malformed]
    if malformed:
        parts.append(f"The arguments are not a JSON object: {shortened(', '.join(malformed), 200)}.")
    if missing:
        parts.append(f"Missing or out of order: {shortened(', '.join(missing), 200)}.")
    if extra:
        parts.append(f"Unexpected: {shortened(', '.join(extra), 200)}.")
    return shortened(" ".join(parts), 1_000)
