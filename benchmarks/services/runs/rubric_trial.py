"""Try a rubric on one stored answer: one verdict of a judge, which is shown and not stored.

The request is sent by the calling process, because a worker may be busy for hours. It has the judge's limits and
retries, and a bounded time, so a page can wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import TimeoutError as NoReply
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from benchmarks.engine.execution.budget import price_of
from benchmarks.engine.execution.event_loop import ENGINE_LOOP
from benchmarks.engine.execution.judge import EngineJudge, judge_parameters
from benchmarks.engine.execution.model_clients import Slot, model_client
from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.scoring import with_stored_answer
from benchmarks.metrics.base import Item, Score
from benchmarks.metrics.panel import judges_named
from benchmarks.metrics.rubrics import PREFIX, Rubric, RubricMetric, stored_rubric
from benchmarks.metrics.task_parts import RubricValues
from benchmarks.models import LOST, Result, Run
from benchmarks.services.access import Caller, record
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.requests import StrictRequest, StrictText, validated_by
from benchmarks.services.rubrics import rubric_of_text
from benchmarks.services.runs import checks, start
from benchmarks.services.runs.estimate import CHARACTERS_PER_TOKEN, JUDGE_TOKENS_OUT
from benchmarks.services.runs.requests import RunRequest

TRIAL_SECONDS = 90.0
MOST_CALLS = 2
"""A response that cannot be read is asked for once more."""


class TrialRequest(StrictRequest):
    rubric = StrictText(max_length=200_000, help_text="The rubric as YAML", trim_whitespace=False)
    judge_model = StrictText(required=False, default="", allow_blank=True, max_length=200)

    def validate_rubric(self, text: str) -> RubricValues:
        try:
            return rubric_of_text(text)
        except InvalidRequest as error:
            raise serializers.ValidationError(error.unlabeled["rubric"]) from None

    def validate_judge_model(self, model: str) -> str:
        if len(judges_named(model)) > 1:
            raise serializers.ValidationError("Name one judge: a trial is one verdict.")
        return RunRequest().validate_judge_model(model)


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """One request to ``judge`` and its cost in US dollars; ``None`` if the price is unknown."""

    judge: str
    rubric: RubricValues
    cost_low: float | None
    cost_high: float | None


@dataclass(frozen=True, slots=True)
class Trial:
    plan: TrialPlan
    score: Score
    calls: int
    cost: float | None
    passes: bool | None
    """Whether the score reaches the threshold; ``None`` without a score."""


def plan_trial(result: Result, data: Any) -> TrialPlan:
    """What trying the rubric would cost. Raises ``InvalidRequest``, and ``NotPossible`` without a stored answer."""
    return _planned(result, data)[0]


def try_rubric(result: Result, data: Any, user: Caller = None) -> Trial:
    """The judge's verdict on the stored answer by the rubric. Raises as ``plan_trial`` does."""
    plan, metric, item = _planned(result, data)
    run = Run(judge_model=plan.judge, judge_settings=start.judge_settings(plan.judge))
    judge = EngineJudge(model_client(plan.judge), judge_parameters(run, plan.judge), Slot(MOST_CALLS))
    metric.timeout_s = TRIAL_SECONDS
    future = ENGINE_LOOP.submit(metric.judge(item, judge))
    try:
        score = future.result(TRIAL_SECONDS + 5)
    except NoReply:
        future.cancel()
        raise NotPossible(f"{plan.judge} did not answer within {TRIAL_SECONDS:g} s.") from None
    spent = judge.spent
    cost = price_of(plan.judge).cost(spent.tokens_in, spent.tokens_out, spent.cached_tokens)
    record(user, "rubric.try", f"run {result.run_id}", result=result.pk, judge=plan.judge)
    passes = None if score.value is None else score.value >= metric.passes_at
    return Trial(plan, score, spent.calls, cost, passes)


def _planned(result: Result, data: Any) -> tuple[TrialPlan, RubricMetric, Item]:
    if result.run.texts_pruned:
        raise NotPossible(f"The texts of run {result.run_id} were {result.run.texts_pruned}. Choose another run.")
    if result.outcome in LOST or getattr(result, "transcript", None) is None:
        raise NotPossible("This result has no answer. Choose another result.")
    request = validated_by(TrialRequest(data=data))
    rubric = request["rubric"]
    metric = RubricMetric(PREFIX + rubric["name"], Rubric.of(rubric))
    values = {**request, "model": result.run.model, "allow_self_judging": True, "rubrics": {rubric["name"]: rubric}}
    errors: checks.Errors = defaultdict(list)
    checks.check_judge(values, [metric], errors)
    run = Run.objects.select_related("dataset_version").get(pk=result.run_id)
    run.rubrics = {rubric["name"]: stored_rubric(rubric)}
    item = with_stored_answer(PromptBuilder(run).item(result.task), result)
    if not metric.applies_to(item):
        errors["rubric"].append("The task lacks a passage or an expected answer that the rubric shows. Change `sees`.")
    if errors:
        raise InvalidRequest(dict(errors))
    judge, size = values["judge_model"], len(metric.rubric.prompt(item)) if metric.rubric else 0
    price = price_of(judge)
    low, high = (
        price.cost(round(size / per_token), tokens_out)
        for per_token, tokens_out in zip(CHARACTERS_PER_TOKEN, JUDGE_TOKENS_OUT, strict=True)
    )
    return TrialPlan(judge, rubric, low, high), metric, item
