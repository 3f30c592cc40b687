"""Claimed results become questions: prompts are built, costs estimated, cached replies looked up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.engine.execution import reply_cache
from benchmarks.engine.execution.budget import Price, most_tokens
from benchmarks.engine.execution.outcomes import FAILED, is_deferred, score_of
from benchmarks.engine.execution.prompts import Prompt, canvas_prompt, tools_offered, yaml_prompt
from benchmarks.engine.execution.sql import among
from benchmarks.engine.execution.work_items import Question, ToJudge
from benchmarks.metrics.base import DeterministicMetric, Item, Metric, Score, ScoreStatus
from benchmarks.models import Result, Run, Task
from benchmarks.models import Score as StoredScore
from benchmarks.providers.base import BaselineContext, ToolCall

JUDGE_MAX_TOKENS = 2_048
JUDGE_FRAME_TOKENS = 6_000
"""An upper bound on what a judge's instructions add to a task's own texts."""


class PromptBuilder:
    """Builds the questions of one run."""

    def __init__(self, run: Run, metrics: Sequence[Metric], price: Price, judge_price: Price) -> None:
        self.run = run
        self.metrics = metrics
        self.price = price
        self.judge_price = judge_price
        self.version = run.dataset_version
        self._baseline = _BaselineAnswers(run) if run.is_baseline else None

    def questions(self, ids: Sequence[int]) -> list[Question]:
        results = self._results(ids)
        made = [self._question(result) for result in results]
        return reply_cache.with_cached(self.run, made) if self.run.use_cache and self.run.repeats == 1 else made

    def to_judge(self, ids: Sequence[int]) -> list[ToJudge]:
        """Answered results whose judge was not asked, or failed: with the answer as it was stored."""
        results = self._results(ids, "transcript")
        stored: dict[int, dict[str, Score]] = defaultdict(dict)
        for score in StoredScore.objects.filter(result_id__in=ids).exclude(status__in=FAILED):
            stored[score.result_id][score.metric] = Score(ScoreStatus(score.status), score.value, score.reason)
        requests = []
        for result in results:
            item = answered_item(self.item(result.task), result)
            known = stored[result.pk]
            missing = [metric for metric in self.metrics if metric.name not in known]
            left = tuple(metric.name for metric in missing if is_deferred(metric))
            rescored = {
                m.name: score_of(m, item) for m in missing if isinstance(m, DeterministicMetric) and m.name not in left
            }
            reserve = self.judge_reserve(item, sum(metric.judged for metric in missing))
            requests.append(ToJudge(result.pk, item, left, result.finish_reason, known, rescored, reserve))
        return requests

    def prompt(self, task: Task) -> Prompt:
        if task.question_id is not None:
            return canvas_prompt(self.run, task)
        tools = tools_offered(task.tools, self.version.tools, task.expected_tools)
        return yaml_prompt(task.input, task.context, tools, self.run.parameters.get("system_prompt"))

    def item(self, task: Task) -> Item:
        return Item(
            input=task.input,
            expected_output=task.expected_output,
            actual_output="",
            expected_tools=task.expected_tools,
            tools_offered=bool(tools_offered(task.tools, self.version.tools, task.expected_tools)),
            context=task.context,
            tests=task.tests,
            schema=task.schema,
            choices=task.choices,
            pattern=task.pattern,
            tolerance=task.tolerance,
            group=task.group,
        )

    def judge_reserve(self, item: Item, n_metrics: int) -> float:
        """The most that judging one answer can cost, in US dollars; 0 where no budget is held."""
        if self.run.budget_usd is None or not n_metrics:
            return 0.0
        answer = self.run.parameters.get("max_tokens") or len(item.actual_output.encode())
        texts = (item.input, item.expected_output, *item.context)
        prompt = JUDGE_FRAME_TOKENS + answer + sum(len(text.encode()) for text in texts)
        calls = n_metrics * (len(item.context) + 3)
        return calls * (self.judge_price.cost(prompt, JUDGE_MAX_TOKENS) or 0.0)

    def _results(self, ids: Sequence[int], *related: str) -> list[Result]:
        wanted = ("task", *(("task__question__canvas",) if self.run.representation else ()), *related)
        found = Result.objects.filter(id__in=among(ids)).select_related(*wanted).order_by("position")
        return list(found)

    def _question(self, result: Result) -> Question:
        task = result.task
        prompt = self.prompt(task)
        item = self.item(task)
        return Question(
            result_id=result.pk,
            repeat=result.repeat,
            prompt=prompt,
            item=item,
            tool_results={**self.version.tool_results, **task.tool_results},
            baseline=self._baseline.context(task, result.repeat) if self._baseline else None,
            reserved_usd=self._reserve(prompt, item),
        )

    def _reserve(self, prompt: Prompt, item: Item) -> float:
        if self.run.budget_usd is None:
            return 0.0
        steps = self.run.parameters.get("max_tool_steps", 1) if prompt.tools else 1
        most_out = self.run.parameters["max_tokens"]
        tools = len(str(prompt.tools))
        most_in = most_tokens(prompt.messages) + tools + (steps - 1) * most_out
        asking = steps * (self.price.cost(most_in, most_out) or 0.0)
        return asking + self.judge_reserve(item, sum(metric.judged for metric in self.metrics))


def answered_item(item: Item, result: Result) -> Item:
    """The item with a stored result's answer."""
    said = result.transcript
    calls = tuple(ToolCall("", call["name"], call["arguments"], call["raw"]) for call in said.tool_calls)
    return replace(
        item,
        actual_output=said.actual_output,
        tool_calls=calls,
        duration_ms=result.duration_ms,
        tokens_out=result.tokens_out,
    )


class _BaselineAnswers:
    """The reference answers that comparable tasks of the version have, for the random and the majority baseline."""

    def __init__(self, run: Run) -> None:
        self.seed = run.parameters.get("seed") or 0
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for group, answer in run.dataset_version.tasks.values_list("group", "expected_output").iterator():
            counts[group][answer] += 1
        self._choices = {group: tuple(sorted(answers)) for group, answers in counts.items()}
        self._majority = {
            group: min(answers, key=lambda answer: (-answers[answer], answer)) for group, answers in counts.items()
        }

    def context(self, task: Task, repeat: int) -> BaselineContext:
        expected: Sequence[Mapping[str, Any]] = task.expected_tools
        return BaselineContext(
            expected_output=task.expected_output,
            expected_tools=expected,
            choices=task.choices or self._choices[task.group],
            majority=self._majority[task.group],
            salt=f"{self.seed}:{task.task_id}:{repeat}",
        )
