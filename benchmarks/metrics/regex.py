from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import Extraction, answer_body
from benchmarks.metrics.patterns import PatternError, find
from benchmarks.metrics.verdicts import metric_error, passed_or_not, shortened


class Regex(DeterministicMetric):
    """1 where the task's ``pattern`` is found anywhere in the answer (anchor it with ``^`` and ``$`` to bind it)."""

    name = "regex"
    title = "Regular expression"
    description = "The task's pattern (RE2 syntax) is found in the answer"
    needs = frozenset({"pattern"})

    def score(self, item: Item) -> Score:
        whole = Extraction(answer_body(item.actual_output), "whole answer")
        pattern = item.pattern or ""
        try:
            found = find(pattern, whole.text)
        except PatternError as error:
            return metric_error(f"The task's pattern {shortened(pattern)} cannot be used: {error}.", whole)
        if found is None:
            return passed_or_not(False, f"The pattern {shortened(pattern)} is not found in the answer.", whole)
        return passed_or_not(True, f"The pattern is found: “{shortened(found)}”.", whole)
