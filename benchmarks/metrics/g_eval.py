"""G-Eval (Liu et al. 2023) with evaluation steps and a rubric of ours, so that a score takes one call and every judge
works from the same words."""

from __future__ import annotations

from typing import Any, ClassVar

from benchmarks.metrics.base import Item, Score
from benchmarks.metrics.judging import DeepEval, DeepEvalMetric
from benchmarks.metrics.verdicts import scored


class GEvalMetric(DeepEvalMetric):
    """Subclasses give the steps, the rubric and the three texts. The judge's 0 to 10 becomes 0 to 1."""

    steps: ClassVar[tuple[str, ...]]
    rubric: ClassVar[tuple[tuple[tuple[int, int], str], ...]]
    """Bands of the score, without gaps from 0 to 10, and what each means."""

    def shown(self, item: Item) -> tuple[str, str, str]:
        """Input, actual output and expected output as the judge sees them."""
        raise NotImplementedError

    async def measure(self, deepeval: DeepEval, item: Item, model: Any) -> Score:
        params = deepeval.test_case.SingleTurnParams
        metric = deepeval.metrics.GEval(
            name=self.title,
            evaluation_params=[params.INPUT, params.ACTUAL_OUTPUT, params.EXPECTED_OUTPUT],
            evaluation_steps=list(self.steps),
            rubric=[deepeval.rubric(score_range=band, expected_outcome=text) for band, text in self.rubric],
            model=model,
            verbose_mode=False,
        )
        question, actual, expected = self.shown(item)
        case = deepeval.test_case.LLMTestCase(input=question, actual_output=actual, expected_output=expected)
        value = await metric.a_measure(case, _show_indicator=False)
        return scored(value, metric.reason)
