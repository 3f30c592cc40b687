"""Preference runs: a judge chooses between the stored answers of runs to the same tasks, in both orders.

A preference run is a run. Its dataset version holds a task for each pair of answers and each order, its model replays
the first answer, and its metric has the judge choose. Everything the engine does for runs holds for it too: leases,
limits, retries, budget, resume, cancel. No question is sent to a model.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import MD5, Length
from django.utils import timezone
from rest_framework import serializers

from benchmarks.engine.execution.budget import Price, price_of
from benchmarks.metrics.preference import DEFAULT_CRITERIA, Preference
from benchmarks.models import COMPLETED, OF_MODELS, Outcome, Result, ResultState, Run, RunStatus, Transcript
from benchmarks.presentation.numbers import n_of, plural
from benchmarks.presentation.preferences import FEWEST_PAIRS
from benchmarks.providers.baseline import KNOWN_ANSWERS
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.preference_pairs import MOST_JUDGEMENTS, in_both_orders, pairs_of, tasks_of, version_of
from benchmarks.services.requests import StrictBoolean, StrictNumber, StrictRequest, StrictText, validated_by
from benchmarks.services.runs.estimate import (
    CHARACTERS_PER_TOKEN,
    JUDGE_FRAME,
    JUDGE_TOKENS_OUT,
    Load,
    RunPlan,
    duration_range,
)
from benchmarks.services.runs.requests import RunRequest
from benchmarks.services.runs.start import judge_settings, queue_run

MOST_RUNS = 12
MOST_CRITERIA = 4_000


class PreferenceRequest(StrictRequest):
    """A request for a preference run. Validation turns ``runs`` into the runs, in the order given."""

    runs = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
        min_length=2,
        max_length=MOST_RUNS,
        help_text="Ids of the completed runs whose answers are compared, all on one dataset",
    )
    judge_model = StrictText(
        required=False, max_length=200, help_text="provider/model. Default: judge.model in codeforge.yaml"
    )
    criteria = StrictText(
        required=False, default=DEFAULT_CRITERIA, max_length=MOST_CRITERIA, help_text="What makes an answer better"
    )
    tasks = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        max_value=MOST_JUDGEMENTS,
        help_text="Maximum number of tasks, drawn at random. Default: all",
    )
    pairs_per_task = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        max_value=MOST_RUNS * (MOST_RUNS - 1) // 2,
        help_text="Maximum number of pairs of runs for each task, balanced over pairs. Default: all",
    )
    seed = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=2**31 - 1, help_text="Selects tasks and pairs"
    )
    concurrency = serializers.IntegerField(
        required=False, default=8, min_value=1, max_value=256, help_text="Concurrent requests to the judge"
    )
    budget_usd = StrictNumber(
        required=False, default=None, allow_null=True, min_value=0, help_text="The run pauses before it spends more"
    )
    only_new = StrictBoolean(
        required=False, default=False, help_text="Only pairs that this judge has not judged by these criteria"
    )
    experiment = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        help_text="The experiment whose page shows it. Default: that of the runs, if they have the same one",
    )

    def validate_judge_model(self, model: str) -> str:
        return RunRequest().validate_judge_model(model)

    def validate_runs(self, ids: list[int]) -> list[Run]:
        known = Run.objects.filter(OF_MODELS).select_related("dataset", "dataset_version").in_bulk(ids)
        if missing := [str(pk) for pk in ids if pk not in known]:
            raise serializers.ValidationError(f"These runs do not exist: {', '.join(missing)}.")
        chosen = [known[pk] for pk in dict.fromkeys(ids)]
        if len(chosen) < 2:
            raise serializers.ValidationError("Name at least two different runs.")
        problems = [problem for run in chosen if (problem := _problem(run))]
        if len({run.dataset_id for run in chosen}) > 1:
            problems.append("All runs must be on one dataset, because the judge compares answers to the same task.")
        if problems:
            raise serializers.ValidationError(problems)
        return chosen

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        judge = attrs["judge_model"] = attrs.get("judge_model") or settings.CODEFORGE.judge.model
        if not judge:
            message = "Select a judge, or set judge.model in codeforge.yaml."
            raise serializers.ValidationError({"judge_model": [message]})
        if attrs["budget_usd"] is not None and not price_of(judge).known:
            message = (
                f"The price of {judge} is unknown, so a budget cannot be enforced. "
                f"Set `models.{judge}` in codeforge.yaml, or remove the budget."
            )
            raise serializers.ValidationError({"budget_usd": [message]})
        return attrs


def start_preference(data: Any, user: Caller = None) -> Run:
    """Queue a preference run and enqueue its jobs once it is committed.

    Raises ``InvalidRequest`` naming every invalid field.
    """
    valid = validated_by(PreferenceRequest(data=data))
    runs: list[Run] = valid["runs"]
    with transaction.atomic():
        tasks = tasks_of(pairs_of(valid))
        longest = max(len(task.known_answer["text"].encode()) for task in tasks)  # type: ignore[index]  # set just now
        version = version_of(runs[0].dataset, tasks, user)
        run = Run(
            dataset=version.dataset,
            dataset_version=version,
            model=f"baseline/{KNOWN_ANSWERS}",
            metrics=[Preference.name],
            judge_model=valid["judge_model"],
            judge_settings=judge_settings(valid["judge_model"]),
            self_judged=valid["judge_model"] in {each.model for each in runs},
            # Bounds the cost of a judgement before the answer is replayed.
            parameters={"max_tokens": max(1, longest)},
            concurrency=valid["concurrency"],
            budget_usd=valid["budget_usd"],
            skip_judge_when_identical=True,
            preference=_described(valid),
        )
        queue_run(run, user)
    return run


def store_pairs(request: Mapping[str, Any], user: Caller = None) -> Run:
    """A preference run without a judge, of ``size`` pairs that people choose between; in the caller's transaction.

    ``runs``, ``experiment``, ``size``, ``seed`` and ``description`` as ``ReviewRequest`` has them. It is completed at
    once, because nothing is sent. Each pair is stored in one order: for each two runs, either is first equally often.
    Raises ``InvalidRequest``.
    """
    size, seed = request["size"], request["seed"]
    runs = _compared(request["runs"], request["experiment"])
    valid = {"runs": runs, "experiment": request["experiment"], "criteria": request["description"], "seed": seed}
    valid |= {"only_new": False}
    chance = random.Random(seed)
    pairs = pairs_of({**valid, "tasks": size, "pairs_per_task": None}, most=None)
    pairs = in_both_orders(chance.sample(pairs, min(size, len(pairs))), chance)
    tasks = tasks_of(pairs, orders=((0, 1),))
    version = version_of(runs[0].dataset, tasks, user)
    now = timezone.now()
    run = Run.objects.create(
        dataset=version.dataset,
        dataset_version=version,
        model=f"baseline/{KNOWN_ANSWERS}",
        metrics=[Preference.name],
        status=RunStatus.COMPLETED,
        is_prepared=True,
        **dict.fromkeys(("total", "done"), len(tasks)),
        **dict.fromkeys(("started_at", "completed_at"), now),
        **dict.fromkeys(("judge_tokens_in", "judge_tokens_out", "judge_cost_usd"), 0),
        preference=_described({**valid, "tasks": None, "pairs_per_task": None}),
        code_version=code_version(),
        created_by=account_of(user),
    )
    results = [
        Result(
            run=run,
            task=task,
            position=position,
            state=ResultState.DONE,
            outcome=Outcome.ANSWERED,
            difficulty=task.difficulty,
            cluster=task.cluster,
            finished_at=now,
        )
        for position, task in enumerate(version.tasks.order_by("position"), 1)
    ]
    Result.objects.bulk_create(results, batch_size=500)
    answers = [Transcript(result=row, actual_output=(row.task.known_answer or {})["text"]) for row in results]
    Transcript.objects.bulk_create(answers, batch_size=500)
    record(user, "run.start", f"run {run.pk}", dataset=run.dataset.slug, model=run.model)
    return run


def plan_preference(data: Any) -> RunPlan:
    """The judge's requests, tokens, cost and duration. Raises as ``start_preference`` does.

    Of identical answers, none is sent. Those that differ in their spacing alone are not sent either, but count here.
    """
    valid = validated_by(PreferenceRequest(data=data))
    pairs = pairs_of(valid)
    ids = {pk for pair in pairs for pk in pair.results}
    answer = "transcript__actual_output"
    rows = Result.objects.filter(pk__in=ids).annotate(
        hash=MD5(answer), asked=Length("task__input"), size=Length(answer)
    )
    known = {row["pk"]: row for row in rows.values("pk", "hash", "asked", "size")}
    both = ((known[a], known[b]) for a, b in (pair.results for pair in pairs))
    judged = [(a, b) for a, b in both if a["hash"] != b["hash"]]
    characters = sum(a["asked"] + a["size"] + b["size"] + len(valid["criteria"]) for a, b in judged)
    requests, n_identical = 2 * len(judged), len(pairs) - len(judged)
    tokens_in = [
        round(2 * characters / each) + requests * frame
        for each, frame in zip(CHARACTERS_PER_TOKEN, JUDGE_FRAME, strict=True)
    ]
    tokens_out = [requests * tokens for tokens in JUDGE_TOKENS_OUT]
    price: Price = price_of(valid["judge_model"])
    low, high = (price.cost(*tokens) for tokens in zip(tokens_in, tokens_out, strict=True))
    seconds = duration_range([Load(valid["judge_model"], requests, tokens_in, tokens_out)], valid["concurrency"])
    (in_low, in_high), (out_low, out_high) = tokens_in, tokens_out
    tokens = (in_low, in_high, out_low, out_high)
    said = f"{n_of(n_identical, len(pairs))} pairs of answers are identical. They are ties without asking the judge."
    if 0 < len(judged) < FEWEST_PAIRS:
        verb = "is" if len(judged) == 1 else "are"
        said += f" {plural(len(judged), 'pair')} of different answers {verb} too few for a significant preference."
    warnings = (said,) if n_identical else ()
    return RunPlan(0, requests, *tokens, low, high, seconds.low, seconds.high, warnings=warnings)


def _compared(ids: Sequence[int], experiment: int | None) -> list[Run]:
    """The runs, or those of the experiment. Raises ``InvalidRequest`` if their answers cannot be compared."""
    chosen = Run.objects.filter(OF_MODELS, experiment=experiment).order_by("pk").values_list("pk", flat=True)
    named = list(ids) or list(chosen[: MOST_RUNS + 1])
    try:
        if len(named) > MOST_RUNS:
            raise serializers.ValidationError(f"Choose at most {MOST_RUNS} runs.")
        return PreferenceRequest().validate_runs(named)
    except serializers.ValidationError as refusal:
        raise InvalidRequest({"runs" if ids else "experiment": list(map(str, refusal.detail))}) from None


def _described(valid: Mapping[str, Any]) -> dict[str, Any]:
    runs: list[Run] = valid["runs"]
    experiments = {each.experiment_id for each in runs}
    return {
        "dataset": runs[0].dataset.slug,
        "version": runs[0].dataset_version.number,
        # Runs of one experiment are read with it, wherever somebody chose them.
        "experiment": valid["experiment"] or (experiments.pop() if len(experiments) == 1 else None),
        "candidates": [{"run": each.pk, "model": each.model, "variant": each.variant} for each in runs],
        **{name: valid[name] for name in ("criteria", "tasks", "pairs_per_task", "only_new", "seed")},
    }


def _problem(run: Run) -> str:
    """Why the answers of a run cannot be compared; empty if they can."""
    if run.representation:
        return f"Run {run.pk} is on canvases, whose questions have one right answer: compare its scores instead."
    if run.status not in COMPLETED:
        return f"Run {run.pk} has not completed."
    if run.texts_pruned_at:
        return f"The answers of run {run.pk} were pruned on {run.texts_pruned_at:%Y-%m-%d}."
    return ""
