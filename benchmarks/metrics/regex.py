from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score, metric_error, scored, shortened
from benchmarks.metrics.extraction import whole_answer
from benchmarks.metrics.patterns import PatternError, find
from benchmarks.providers.clean_text import full_sentence


class Regex(DeterministicMetric):
    """1 if the task's ``pattern`` matches anywhere in the answer (``^`` and ``$`` anchor it)."""

    name = "regex"
    title = "Regular expression"
    description = "The task's pattern (RE2 syntax) matches the answer"
    needs = frozenset({"pattern"})

    def score(self, item: Item) -> Score:
        answer = whole_answer(item.actual_output)
        pattern = item.pattern or ""
        try:
            match = find(pattern, answer.text)
        except PatternError as error:
            return metric_error(
                f"The task's pattern {shortened(pattern)} is not usable: {full_sentence(error)}", answer
            )
        if match is None:
            return scored(
                False, f"The pattern {shortened(pattern)} does not match the answer.", answer, "Pattern not matched"
            )
        return scored(True, f"The pattern matches “{shortened(match)}”.", answer)
