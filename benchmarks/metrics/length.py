from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score
from benchmarks.metrics.extraction import answer_body
from benchmarks.metrics.verdicts import scored


class Length(DeterministicMetric):
    """Characters of the answer, thinking blocks left out. Shorter is shown as better, being cheaper to read."""

    name = "length"
    title = "Length"
    description = "Length of the answer without its thinking"
    range = (0.0, None)
    unit = "characters"
    higher_is_better = False
    decides_outcome = False

    def score(self, item: Item) -> Score:
        body = answer_body(item.actual_output)
        return scored(len(body), f"{len(body.split()):,} words.", tokens_out=item.tokens_out)
