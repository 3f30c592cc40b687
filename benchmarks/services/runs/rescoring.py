"""Score the stored answers of a run again: with other metrics, another judge, or the references of another version.

A rescoring is a run that asks no model. It copies the answers when it is prepared, and then judges, pauses, resumes and
compares as any run. Both scorings stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.db.models.functions import Length
from rest_framework import serializers

from benchmarks.dataset_format.validation import validate_rubrics
from benchmarks.engine.execution.budget import Price, mean_price, price_of
from benchmarks.engine.execution.preparing import chosen_tasks
from benchmarks.metrics.panel import judges_named
from benchmarks.models import LOST, DatasetVersion, Run, RunKind, Task, Transcript
from benchmarks.presentation.actions import refusal
from benchmarks.presentation.numbers import plural
from benchmarks.run_parameters import ADAPTIVE, RUN_PARAMETERS, Decides, deciding
from benchmarks.services.access import Caller
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.requests import validated_by
from benchmarks.services.rubrics import rubrics_of
from benchmarks.services.runs import checks, start
from benchmarks.services.runs.estimate import CHARACTERS_PER_TOKEN, RunPlan, duration_range, judge_load
from benchmarks.services.runs.requests import RunRequest

PARAMETERS = (
    *(row.name for row in deciding(Decides.SCORE)),
    *("metrics", "allow_self_judging", "budget_usd", "concurrency"),
)
_BY_SCORES = ("subset", *ADAPTIVE)
"""Runs with these select their tasks by scores, and are not scored again."""
_COPIED = (
    *("parameters", "model_params", "seed_per_repeat"),
    *(
        row.field
        for row in deciding(Decides.SUBJECT, Decides.QUESTION, Decides.EXTENT, Decides.ANSWER)
        if row.field and row.name not in _BY_SCORES
    ),
)
_SHOWN = 5


class Rubrics(serializers.ListField):
    """Rubrics that are written in the request."""

    child = serializers.DictField()

    def to_internal_value(self, data: Any) -> list[Any]:
        rubrics, problems = validate_rubrics(data)
        if problems:
            raise serializers.ValidationError([f"{path}: {' '.join(texts)}" for path, texts in problems.items()])
        return list(rubrics)


class RescoringRequest(RunRequest):
    """A request to score the answers of the run in ``context["run"]`` again."""

    version = serializers.IntegerField(
        required=False, min_value=1, help_text="Dataset version of the expected answers; by default that of the run"
    )

    rubrics = Rubrics(
        required=False, help_text="Rubrics for the metrics `rubric:NAME`, in place of stored ones of the same name"
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        kept = {name: field for name, field in fields.items() if name in PARAMETERS or name not in RUN_PARAMETERS}
        kept["metrics"].required = True
        return kept

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        run: Run = self.context["run"]
        values = {name: RUN_PARAMETERS[name].empty for name in PARAMETERS} | attrs | {"model": run.model}
        values["concurrency"] = values["concurrency"] or run.concurrency
        errors: checks.Errors = defaultdict(list)
        number = values.pop("version", None) or run.dataset_version.number
        version = run.dataset.versions.filter(number=number).first()
        if version is None:
            numbers = ", ".join(map(str, run.dataset.versions.values_list("number", flat=True)))
            known = f"Choose one of: {numbers}."
            raise serializers.ValidationError({"version": [f"{run.dataset} has no version {number}. {known}"]})
        values["dataset_version"] = version
        if changed := _changed(run, version):
            shown = ", ".join(changed[:_SHOWN]) + (", …" if len(changed) > _SHOWN else "")
            errors["version"].append(
                f"{plural(len(changed), 'task')} of version {number} were not asked so in run {run.pk}: "
                f"{shown}. Start a new run instead."
            )
        rubrics = rubrics_of(version) | {rubric["name"]: rubric for rubric in values.pop("rubrics", ())}
        metrics = checks.chosen_metrics(values["metrics"], rubrics, errors)
        values["rubrics"] = checks.used_rubrics(values["metrics"], rubrics)
        retrieved = Transcript.objects.filter(result__run=run, retrieved__isnull=False)
        checks.check_metrics(metrics, run.dataset, version, errors, retrieves=retrieved.exists())
        checks.check_judge(values, metrics, errors)
        for judge in judges_named(values["judge_model"]):
            if values["budget_usd"] is not None and not price_of(judge).known:
                errors["budget_usd"].append(
                    f"The price of {judge} is unknown, so a budget cannot be enforced. "
                    f"Set `models.{judge}` in codeforge.yaml, or remove the budget."
                )
        if errors:
            raise serializers.ValidationError(errors)
        return values


def _changed(source: Run, version: DatasetVersion) -> list[str]:
    """Ids of the tasks that the run would ask in this version and has not asked in the same words."""
    earlier = source.dataset_version
    if version == earlier:
        return []
    fields = ("task_id", *Task.ASKED)
    same_tools = (version.tools, version.tool_results) == (earlier.tools, earlier.tool_results)
    before = {row[0]: row for row in earlier.tasks.values_list(*fields)} if same_tools else {}
    now = chosen_tasks(_run_of(source, {"dataset_version": version}))
    return [row[0] for row in now.values_list(*fields) if before.get(row[0]) != row]


def start_rescoring(source: Run, data: Any, user: Caller = None) -> Run:
    """Queue the run that scores the answers of ``source`` again.

    Raises ``InvalidRequest`` naming every invalid field, ``NotPossible`` if the run has not completed, selected its
    tasks by their scores, or no longer has its texts.
    """
    run = _run_of(source, _validated(source, data))
    start.queue_run(run, user)
    return run


def plan_rescoring(source: Run, data: Any) -> RunPlan:
    """The requests, tokens, cost and duration of judging. Raises as ``start_rescoring`` does."""
    request = _validated(source, data)
    answers = source.results.exclude(outcome__in=LOST)
    texts = answers.aggregate(question=Sum(Length("task__input")), answer=Sum(Length("transcript__actual_output")))
    tokens_in, tokens_out = (
        [round((texts[name] or 0) / per_token) for per_token in CHARACTERS_PER_TOKEN] for name in ("question", "answer")
    )
    load = judge_load(request, answers.count(), tokens_in, tokens_out)
    price = mean_price(request["judge_model"]) if load.requests else Price(0.0, 0.0)
    costs = [price.cost(*tokens) for tokens in zip(load.tokens_in, load.tokens_out, strict=True)]
    seconds = duration_range([load], request["concurrency"])
    (in_low, in_high), (out_low, out_high), (cost_low, cost_high) = load.tokens_in, load.tokens_out, costs
    tokens = (in_low, in_high, out_low, out_high)
    return RunPlan(0, load.requests, *tokens, cost_low, cost_high, seconds.low, seconds.high)


@dataclass(frozen=True, slots=True)
class RescoringsPlan:
    """What it takes to score the answers of several runs by the references of one version.

    Costs are those of judges in US dollars, ``None`` if a price is unknown. ``refused`` says of each other run why not.
    """

    runs: list[Run]
    refused: list[str]
    n_answers: int
    judge_requests: int
    cost_low: float | None
    cost_high: float | None


def plan_rescorings(sources: Iterable[Run], version: int) -> RescoringsPlan:
    """The plan of ``start_rescorings``. Each run keeps its metrics and its judge."""
    runs: list[Run] = []
    refused: list[str] = []
    plans: list[RunPlan] = []
    for source in sources:
        try:
            plans.append(plan_rescoring(source, _same_scoring(source, version)))
            runs.append(source)
        except NotPossible as error:
            refused.append(error.message)
        except InvalidRequest as error:
            reasons = " ".join(text for texts in error.errors.values() for text in texts)
            refused.append(f"Run {source.pk}: {reasons}")
    lows, highs = [plan.cost_low for plan in plans], [plan.cost_high for plan in plans]
    return RescoringsPlan(
        runs,
        refused,
        sum(run.done for run in runs),
        sum(plan.judge_requests for plan in plans),
        None if None in lows else sum(filter(None, lows)),
        None if None in highs else sum(filter(None, highs)),
    )


def start_rescorings(sources: Iterable[Run], version: int, user: Caller = None) -> list[Run]:
    """Queue the rescorings of all runs, or of none. Raises as ``start_rescoring`` does."""
    with transaction.atomic():
        return [start_rescoring(source, _same_scoring(source, version), user) for source in sources]


def _same_scoring(source: Run, version: int) -> dict[str, Any]:
    """The request for the run's own metrics and judge by the references of the version.

    Its budget was for its model.
    """
    given = {name: value for name, value in start.request_of(source).items() if name in PARAMETERS}
    return {name: value for name, value in given.items() if name != "budget_usd"} | {"version": version}


def _validated(source: Run, data: Any) -> dict[str, Any]:
    if reason := refusal("rescore", source):
        raise NotPossible(reason)
    return validated_by(RescoringRequest(data=data, context={"run": source}))


def _run_of(source: Run, request: Mapping[str, Any]) -> Run:
    """The run of a validated request, not saved."""
    given = {name: value for name, value in request.items() if name not in ("allow_self_judging", "model")}
    judge = request.get("judge_model", "")
    second = checks.second_judge_of({"model": source.model, "rubrics": source.rubrics, **request, "judge_model": judge})
    if source.kind == RunKind.TRIAL:  # stays out of the lists that its trial is not in
        given |= {"kind": RunKind.TRIAL, "tags": list(dict.fromkeys([*given.get("tags", ()), RunKind.TRIAL.value]))}
    return Run(
        **{name: getattr(source, name) for name in _COPIED} | given,
        self_judged=source.model in judges_named(judge),
        judge_settings=start.judge_settings(judge, second),
        rescored_from=source.pk,
    )
