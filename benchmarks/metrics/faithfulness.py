from __future__ import annotations

from typing import Any

from benchmarks.metrics.base import Item, Score
from benchmarks.metrics.extraction import answer_body
from benchmarks.metrics.judge_replies import JudgeReplyError
from benchmarks.metrics.judging import DeepEval, DeepEvalMetric, as_data, shown_answer
from benchmarks.metrics.verdict_lists import verdict_detail, verdict_reason
from benchmarks.metrics.verdicts import scored


class Faithfulness(DeepEvalMetric):
    """Share of the answer's factual claims that the context does not contradict (DeepEval's ``FaithfulnessMetric``).

    Three judge calls: the facts of the context, the claims of the answer, a verdict for each claim. A borderline claim
    passes. An answer that claims nothing, such as "I do not know", is faithful; an empty answer scores 0 unasked.
    """

    name = "faithfulness"
    title = "Faithfulness"
    description = "Share of the answer's claims that agree with the context given"
    needs = frozenset({"context"})
    passes_at = 0.9
    fails_at = 0.5

    async def measure(self, deepeval: DeepEval, item: Item, model: Any) -> Score:
        if not answer_body(item.actual_output):
            return scored(0.0, "The answer is empty.")
        metric = deepeval.metrics.FaithfulnessMetric(
            model=model, eval_mode="llm", include_reason=False, verbose_mode=False
        )
        case = deepeval.test_case.LLMTestCase(
            input=as_data("TASK", item.input),
            actual_output=shown_answer(item),
            retrieval_context=[as_data("CONTEXT", passage) for passage in item.context],
        )
        value = await metric.a_measure(case, _show_indicator=False)
        if not metric.truths:
            raise JudgeReplyError("it found no fact in the context, so no claim could be compared with any")
        if not metric.claims:
            return scored(1.0, "The answer makes no claim, so none contradicts the context.")
        if len(metric.verdicts) != len(metric.claims):
            raise JudgeReplyError(f"it gave {len(metric.verdicts)} verdicts on {len(metric.claims)} claims")
        reason = verdict_reason("claims agree with the context", metric.claims, metric.verdicts)
        return scored(value, reason, **verdict_detail(metric.claims, metric.verdicts))
