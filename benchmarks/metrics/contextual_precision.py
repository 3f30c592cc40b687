from __future__ import annotations

from typing import Any

from benchmarks.metrics.base import Item, Score
from benchmarks.metrics.judge_replies import JudgeReplyError
from benchmarks.metrics.judging import DeepEval, DeepEvalMetric, as_data
from benchmarks.metrics.verdict_lists import verdict_detail, verdict_reason
from benchmarks.metrics.verdicts import scored


class ContextualPrecision(DeepEvalMetric):
    """How early the useful passages stand in the context: the mean of precision at k over the useful passages
    (average precision; DeepEval's ``ContextualPrecisionMetric``). One judge call.

    It looks at the task's context and its expected output and not at the answer, so it decides no outcome.
    """

    name = "contextual_precision"
    title = "Contextual precision"
    description = "Whether the passages useful for the expected output stand first in the context"
    needs = frozenset({"context", "expected_output"})
    decides_outcome = False

    async def measure(self, deepeval: DeepEval, item: Item, model: Any) -> Score:
        metric = deepeval.metrics.ContextualPrecisionMetric(
            model=model, eval_mode="llm", include_reason=False, verbose_mode=False
        )
        case = deepeval.test_case.LLMTestCase(
            input=as_data("TASK", item.input),
            expected_output=as_data("REFERENCE", item.expected_output),
            retrieval_context=[as_data("PASSAGE", passage) for passage in item.context],
        )
        value = await metric.a_measure(case, _show_indicator=False)
        if len(metric.verdicts) != len(item.context):
            raise JudgeReplyError(f"it gave {len(metric.verdicts)} verdicts on {len(item.context)} passages")
        reason = verdict_reason("passages are useful", item.context, metric.verdicts)
        return scored(value, reason, **verdict_detail(item.context, metric.verdicts))
