"""Preference runs: a judge chooses between the stored answers of runs to the same tasks, in both orders.

A preference run is a run. Its dataset version holds a task for each pair of answers and each order, its model replays
the first answer, and its metric has the judge choose. Everything the engine does for runs holds for it too: leases,
limits, retries, budget, resume, cancel. No question is sent to a model.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Length
from django.utils import timezone
from rest_framework import serializers

from benchmarks.engine.execution.budget import Price, price_of
from benchmarks.metrics.preference import DEFAULT_CRITERIA, Preference
from benchmarks.models import (
    COMPLETED,
    OF_MODELS,
    Dataset,
    DatasetVersion,
    Outcome,
    Result,
    ResultState,
    Run,
    RunStatus,
    Score,
    Task,
    Transcript,
)
from benchmarks.presentation.numbers import plural
from benchmarks.providers.baseline import KNOWN_ANSWERS
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.datasets.versions import add_version
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.operations.code_version import code_version
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
MOST_JUDGEMENTS = 20_000
MOST_CRITERIA = 4_000
_COPIED = ("input", "expected_output", "other_answers", "context", "difficulty")


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
        required=False, default=DEFAULT_CRITERIA, max_length=MOST_CRITERIA, help_text="By what the judge chooses"
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
        help_text="Maximum number of pairs of runs for each task, each pair about as often. Default: all",
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


@dataclass(frozen=True, slots=True)
class Pair:
    """Two results on one task, by their ids, and the runs that they belong to."""

    task: str
    runs: tuple[int, int]
    results: tuple[int, int]


def start_preference(data: Any, user: Caller = None) -> Run:
    """Queue a preference run and enqueue its jobs once it is committed.

    Raises ``InvalidRequest`` naming every invalid field.
    """
    valid = validated_by(PreferenceRequest(data=data))
    runs: list[Run] = valid["runs"]
    with transaction.atomic():
        tasks = _tasks(_pairs(valid))
        longest = max(len(task.known_answer["text"].encode()) for task in tasks)  # type: ignore[index]  # set just now
        version = _version_of(runs[0].dataset, tasks, user)
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
    pairs = _pairs({**valid, "tasks": size, "pairs_per_task": None}, most=None)
    pairs = in_both_orders(chance.sample(pairs, min(size, len(pairs))), chance)
    tasks = _tasks(pairs, orders=((0, 1),))
    version = _version_of(runs[0].dataset, tasks, user)
    now = timezone.now()
    run = Run.objects.create(
        dataset=version.dataset,
        dataset_version=version,
        model=f"baseline/{KNOWN_ANSWERS}",
        metrics=[Preference.name],
        status=RunStatus.COMPLETED,
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


def in_both_orders(pairs: Sequence[Pair], chance: random.Random) -> list[Pair]:
    """The pairs in an order drawn for each: of two runs, either is first in half of their pairs, up to one."""
    flips: dict[tuple[int, int], bool] = {}
    turned = []
    for pair in pairs:
        flips[pair.runs] = not flips[pair.runs] if pair.runs in flips else chance.random() < 0.5
        turned.append(Pair(pair.task, pair.runs[::-1], pair.results[::-1]) if flips[pair.runs] else pair)
    return turned


def plan_preference(data: Any) -> RunPlan:
    """The judge's requests, tokens, cost and duration. Raises as ``start_preference`` does.

    Identical answers cost nothing, so this is the most.
    """
    valid = validated_by(PreferenceRequest(data=data))
    pairs = _pairs(valid)
    ids = {pk for pair in pairs for pk in pair.results}
    rows = Result.objects.filter(pk__in=ids).annotate(
        question=Length("task__input"), answer=Length("transcript__actual_output")
    )
    sizes = {pk: (question, answer or 0) for pk, question, answer in rows.values_list("pk", "question", "answer")}
    characters = sum(sizes[a][0] + sizes[a][1] + sizes[b][1] for a, b in (pair.results for pair in pairs))
    characters += len(pairs) * len(valid["criteria"])
    requests = 2 * len(pairs)
    tokens_in = [
        round(2 * characters / each) + requests * frame
        for each, frame in zip(CHARACTERS_PER_TOKEN, JUDGE_FRAME, strict=True)
    ]
    tokens_out = [requests * tokens for tokens in JUDGE_TOKENS_OUT]
    price: Price = price_of(valid["judge_model"])
    low, high = (price.cost(*tokens) for tokens in zip(tokens_in, tokens_out, strict=True))
    seconds = duration_range([Load(valid["judge_model"], requests, tokens_in, tokens_out)], valid["concurrency"])
    (in_low, in_high), (out_low, out_high) = tokens_in, tokens_out
    return RunPlan(0, requests, in_low, in_high, out_low, out_high, low, high, seconds.low, seconds.high)


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


def _pairs(valid: Mapping[str, Any], most: int | None = MOST_JUDGEMENTS // 2) -> list[Pair]:
    """The pairs of answers to judge, task by task; more than ``most`` are refused. The same seed selects the same ones.

    Where the number of pairs is limited, those that were chosen least often so far are chosen.
    """
    places = {run.pk: place for place, run in enumerate(valid["runs"])}
    answered: dict[str, dict[int, int]] = defaultdict(dict)
    results = Result.objects.filter(run__in=places, repeat=1, transcript__isnull=False)
    results = results.exclude(outcome__in=("", Outcome.PROVIDER_ERROR, Outcome.CANCELLED)).order_by("position")
    for pk, run, task in results.values_list("pk", "run", "task__content_hash"):
        answered[task].setdefault(run, pk)
    judged = _judged(valid) if valid["only_new"] else set()
    possible = {
        task: [
            pair
            for pair in combinations(sorted(by_run, key=places.__getitem__), 2)
            if (task[:32], frozenset(pair)) not in judged
        ]
        for task, by_run in answered.items()
    }
    shared = [task for task, pairs_of_task in possible.items() if pairs_of_task]
    chance = random.Random(valid["seed"])
    if valid["tasks"] is not None and valid["tasks"] < len(shared):
        shared = sorted(chance.sample(shared, valid["tasks"]), key=shared.index)
    times: Counter[tuple[int, int]] = Counter()
    pairs: list[Pair] = []
    for task in shared:
        by_run = answered[task]
        chance.shuffle(possible[task])
        for pair in sorted(possible[task], key=times.__getitem__)[: valid["pairs_per_task"]]:
            times[pair] += 1
            pairs.append(Pair(task, pair, (by_run[pair[0]], by_run[pair[1]])))
    if judged and not pairs:
        raise InvalidRequest({"only_new": ["This judge has judged all pairs of these runs by these criteria."]})
    if not pairs:
        raise InvalidRequest({"runs": ["No task has answers of two of these runs."]})
    if most is not None and len(pairs) > most:
        raise InvalidRequest(
            {
                "tasks": [
                    f"{plural(2 * len(pairs), 'judgement')} are more than {MOST_JUDGEMENTS:,}. "
                    "Set ⟨tasks⟩ or ⟨pairs_per_task⟩, or compare fewer runs."
                ]
            }
        )
    return pairs


def _judged(valid: Mapping[str, Any]) -> set[tuple[str, frozenset[int]]]:
    """The clusters and runs of the pairs that have a verdict of the same judge, by the same settings and criteria."""
    model, dataset = valid["judge_model"], valid["runs"][0].dataset_id
    same = Run.objects.filter(preference__criteria=valid["criteria"], judge_model=model)
    same = same.filter(dataset__slug=_slug_of_pairs(dataset))
    current = judge_settings(model)
    ids = [pk for pk, settings in same.values_list("pk", "judge_settings") if settings == current]
    scores = Score.objects.filter(run__in=ids, value__isnull=False)
    known = "result__task__known_answer__"
    rows = scores.values_list("result__cluster", f"{known}first", f"{known}second")
    return {(cluster, frozenset((first, second))) for cluster, first, second in rows.iterator(chunk_size=2_000)}


def _slug_of_pairs(dataset_id: int) -> str:
    """No file, upload or canvas set can have this slug: theirs never start with an underscore."""
    return f"_preference-{dataset_id}"


def _tasks(pairs: Sequence[Pair], orders: Sequence[tuple[int, int]] = ((0, 1), (1, 0))) -> list[Task]:
    """A task for each pair and order, with both answers."""
    ids = sorted({pk for pair in pairs for pk in pair.results})
    results: dict[int, Result] = {}
    for begin in range(0, len(ids), 500):
        related = Result.objects.select_related("task", "transcript")
        results |= related.only("task", "transcript__actual_output").in_bulk(ids[begin : begin + 500])
    tasks = []
    for pair in pairs:
        for first, second in orders:
            shown = results[pair.results[first]]
            texts = [results[pair.results[place]].transcript.actual_output for place in (first, second)]
            order = [pair.runs[first], pair.runs[second]]
            known = {"task": shown.task.task_id, "first": order[0], "second": order[1]}
            tasks.append(
                Task(
                    **{name: getattr(shown.task, name) for name in _COPIED},
                    task_id=f"{shown.task.task_id[:100]}/{pair.task[:12]}/{order[0]}-{order[1]}",
                    name=f"{shown.task.task_id}: run {order[0]}, then run {order[1]}"[:300],
                    content_hash=_hash(pair.task, *map(str, order), *texts),
                    cluster=pair.task[:32],
                    known_answer={**known, "text": texts[0], "other": texts[1]},
                )
            )
    return tasks


def _version_of(compared: Dataset, tasks: Sequence[Task], user: Caller) -> DatasetVersion:
    """The version that holds these pairs, of a hidden dataset beside the compared one; equal pairs share a version.

    The dataset has no current version, so nothing offers it for runs.
    """
    dataset, _ = Dataset.objects.get_or_create(
        slug=_slug_of_pairs(compared.pk),
        defaults={"name": f"Pairs of answers: {compared.slug}", "kind": Dataset.Kind.PREFERENCE},
    )
    Dataset.objects.select_for_update().get(pk=dataset.pk)  # numbers its versions one at a time
    content = _hash(*(task.content_hash for task in tasks))
    version = dataset.versions.filter(content_hash=content).first()
    if version is not None:
        return version
    return add_version(
        dataset,
        tasks,
        user,
        content_hash=content,
        origin=DatasetVersion.Origin.GENERATED,
        name=dataset.name,
        facets={"difficulty": dict(Counter(task.difficulty for task in tasks)), "fields": {}},
    )


def _hash(*texts: str) -> str:
    return hashlib.sha256(orjson.dumps(texts)).hexdigest()
