"""The pairs of stored answers of a preference run, drawn, and as tasks of a dataset version."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import orjson

from benchmarks.analysis.score_table import read_scores
from benchmarks.metrics.preference import Preference
from benchmarks.models import LOST, Dataset, DatasetVersion, Outcome, Result, Run, Task
from benchmarks.presentation.numbers import plural
from benchmarks.services.access import Caller
from benchmarks.services.datasets.versions import add_version
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.start import judge_settings

MOST_JUDGEMENTS = 20_000
_COPIED = ("input", "expected_output", "other_answers", "context", "difficulty")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two results on one task, by their ids, and the runs that they belong to."""

    task: str
    runs: tuple[int, int]
    results: tuple[int, int]


def pairs_of(valid: Mapping[str, Any], most: int | None = MOST_JUDGEMENTS // 2) -> list[Pair]:
    """The pairs of answers to judge, task by task; more than ``most`` are refused. The same seed selects the same ones.

    Where the number of pairs is limited, those that were chosen least often so far are chosen.
    """
    places = {run.pk: place for place, run in enumerate(valid["runs"])}
    answered: dict[str, dict[int, int]] = defaultdict(dict)
    results = Result.objects.filter(run__in=places, repeat=1, transcript__isnull=False)
    results = results.exclude(outcome__in=("", *LOST, Outcome.CANCELLED)).order_by("position")
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
                    f"{plural(2 * len(pairs), 'verdict')} are more than {MOST_JUDGEMENTS:,}. "
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
    judged = read_scores(ids, Preference.name, "cluster", "first", "second").scored
    return {(cluster, frozenset(both)) for cluster, *both in judged.rows("cluster", "first", "second")}


def in_both_orders(pairs: Sequence[Pair], chance: random.Random) -> list[Pair]:
    """The pairs in an order drawn for each: of two runs, either is first in half of their pairs, up to one."""
    flips: dict[tuple[int, int], bool] = {}
    turned = []
    for pair in pairs:
        flips[pair.runs] = not flips[pair.runs] if pair.runs in flips else chance.random() < 0.5
        turned.append(Pair(pair.task, pair.runs[::-1], pair.results[::-1]) if flips[pair.runs] else pair)
    return turned


def tasks_of(pairs: Sequence[Pair], orders: Sequence[tuple[int, int]] = ((0, 1), (1, 0))) -> list[Task]:
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


def version_of(compared: Dataset, tasks: Sequence[Task], user: Caller) -> DatasetVersion:
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


def _slug_of_pairs(dataset_id: int) -> str:
    """No file, upload or canvas set can have this slug: theirs never start with an underscore."""
    return f"_preference-{dataset_id}"


def _hash(*texts: str) -> str:
    return hashlib.sha256(orjson.dumps(texts)).hexdigest()
