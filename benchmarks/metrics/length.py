from __future__ import annotations

from benchmarks.metrics.base import DeterministicMetric, Item, Score, scored
from tasks_app.tasks.reply import answer_body


class Length(DeterministicMetric):
    """Characters of the answer without thinking blocks. Shorter counts as better, because it is cheaper to read."""

    name = "length"
    title = "Length"
    description = "Number of characters in the answer, excluding its reasoning"
    range = (0.0, None)
    unit = "characters"
    higher_is_better = False
    decides_outcome = False

    def score(self, item: Item) -> Score:
        body = answer_body(item.actual_output)
        return scored(len(body), f"{len(body.split()):,} words.", tokens_out=item.tokens_out)
