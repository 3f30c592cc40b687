"""Models over all their runs: what they cost, where they stand, and what their endpoints said has answered."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile

from django.db.models import Count, Max, Min, Q, Sum
from django.db.models.fields.json import KeyTransform

from benchmarks.analysis.rankings import Place, under_baseline
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import OF_BASELINES, OF_MODELS, Run
from benchmarks.presentation.cells import Mean
from benchmarks.presentation.sentences import n_of_mean
from benchmarks.queries.leaderboard import (
    Alike,
    completed_runs,
    row_of,
    scored_runs,
    standings,
    table_candidates,
)
from benchmarks.queries.model_status import ModelStatus, answered_models, model_status, troubled_models
from benchmarks.queries.overall_leaderboard import overall_leaderboard
from benchmarks.queries.providers import ModelRow, ProviderRow
from benchmarks.queries.ranked_tables import RankedTable, ranked_table
from benchmarks.queries.schedules import dropped_models

MOST_MODELS = 100
"""Models that the list has: those with the newest runs."""
RECENT = 200
"""Completed runs from which its scores are taken."""
MOST_READ = 1_000
"""Runs in which a change of what answers is looked for."""
_LEVELS = ("ok", "", "caution", "bad")
"""Of what is known of a model, the best first."""


@dataclass(frozen=True, slots=True)
class ModelTotals:
    """Over all runs of a model but checks of judges. ``cost_usd`` is the known part of the cost of the model alone,
    ``None`` if none is known; of ``n_unknown`` runs it is unknown. ``errors`` counts results without an answer or a
    score."""

    runs: int
    datasets: int
    results: int
    errors: int
    first: datetime
    last: datetime
    cost_usd: float | None
    n_unknown: int


@dataclass(frozen=True, slots=True)
class ModelStanding:
    """The model's ``place`` on the leaderboard of a dataset by its newest full run, in the ``setting`` of that run;
    ``under`` is the baseline that it does not reach, empty if there is none."""

    place: Place
    table: RankedTable
    setting: str
    under: str

    @property
    def run(self) -> Run:
        return self.place.run

    @property
    def others(self) -> list[Place]:
        """The other models that have a rank."""
        return [place for place in self.table.places if place.rank and place.run.model != self.run.model]

    @property
    def mean_of_others(self) -> float | None:
        means = [place.numbers.mean for place in self.others if place.numbers.mean is not None]
        return sum(means) / len(means) if means else None

    @property
    def span(self) -> tuple[int, int] | None:
        """The ranks, best and worst, that the tests allow; ``None`` without a test."""
        return self.table.spans.get(self.run.pk)

    @property
    def ahead(self) -> list[Place]:
        """The others that score significantly higher: they stand before it and share no group with it."""
        own = set(self.table.groups.get(self.run.pk, "").split())
        before = takewhile(lambda place: place.run.pk != self.run.pk, self.table.places) if own else ()
        apart = {place.run.pk for place in before if own.isdisjoint(self.table.groups[place.run.pk].split())}
        return [place for place in self.others if place.run.pk in apart]


@dataclass(frozen=True, slots=True)
class Served:
    """What an endpoint said has answered, ``names`` in order, and the run from which on it has been these.

    ``fingerprints`` are those of its configuration, in order; empty if it sent none."""

    names: tuple[str, ...]
    since: datetime
    run: int
    fingerprints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A model that runs have asked. ``provider`` and ``known`` are ``None`` if codeforge.yaml has no such provider, or
    knows nothing of the model.

    ``means`` are those of its latest full run on each benchmark, with its title and n of N, in the same order for all
    models: what most have run first. It ``fell`` if one of its scores dropped and nobody has dismissed that. ``rank``
    is its rank over the benchmarks that models share, such as ``2–3``, empty without one, and ``served`` is newest
    first.
    """

    name: str
    n_runs: int
    last: datetime
    provider: ProviderRow | None
    known: ModelRow | None
    means: Sequence[tuple[Mean, str, str]]
    rank: str
    served: Sequence[Served]
    status: ModelStatus
    fell: bool


def models_used(providers: Iterable[ProviderRow]) -> list[ModelUse]:
    """The ``MOST_MODELS`` models with the newest runs, without baselines: those that are ready first, of them the
    one with the best overall rank, those without a rank by their newest run."""
    by_name = {row.name: row for row in providers}
    known = {model.name: model for row in by_name.values() for model in (*row.models, *row.others)}
    runs = Run.objects.filter(OF_MODELS).exclude(OF_BASELINES).order_by()
    used = runs.values_list("model").annotate(n=Count("pk"), last=Max("created_at")).order_by("-last")[:MOST_MODELS]
    means: dict[str, list[tuple[Mean, str, str]]] = {}
    for standing in standings(scored_runs(RECENT, ~OF_BASELINES)):
        of_models = {} if not is_score(standing.metric) else {place.run.model: place for place in standing.places[::-1]}
        for model, place in of_models.items():
            if place.numbers.mean is not None:
                n_of = n_of_mean(standing.metric, place.numbers)
                mean = Mean(place.numbers.mean, place.numbers.low, place.numbers.high)
                means.setdefault(model, []).append((mean, place.run.dataset.title, n_of))
    shared = Counter(title for of_model in means.values() for _, title, _ in of_model)
    ranks: dict[str, tuple[int, str]] = {}  # the position by the mean rank, which parts those that share a range
    for position, row in enumerate(overall_leaderboard().rows):
        if row.ranks:
            ranks.setdefault(row.linked, (position, row.ranks))
    served, troubled, answered, fallen = served_models(), troubled_models(), answered_models(), dropped_models()
    found = []
    for name, n, last in used:
        provider = by_name.get(name.partition("/")[0])
        found.append(
            ModelUse(
                name,
                n,
                last,
                provider,
                known.get(name),
                sorted(means.get(name, ()), key=lambda mean: (-shared[mean[1]], mean[1])),
                ranks[name][1] if name in ranks else "",
                served.get(name, ()),
                model_status(name, provider, known.get(name), troubled.get(name), answered=name in answered),
                name in fallen,
            )
        )

    def order(use: ModelUse) -> tuple[int, float]:
        return _LEVELS.index(use.status.level), ranks[use.name][0] if use.name in ranks else math.inf

    return sorted(found, key=order)


def baselines_used() -> list[str]:
    """The baselines that have run, by name."""
    runs = Run.objects.filter(OF_MODELS, OF_BASELINES).order_by("model")
    return [*runs.values_list("model", flat=True).distinct()]


def served_models(**chosen: str) -> dict[str, list[Served]]:
    """Model → what its endpoint said has answered, newest first, one entry for each change. Only the latest
    ``MOST_READ`` runs from here with these values of their columns are read.

    Several machines answer in turn, so a run with one fingerprint of the entry and a new one is no change; one whose
    fingerprints are all new is.
    """
    runs = Run.objects.filter(OF_MODELS, import_format="", rescored_from=None, **chosen)
    answered = runs.annotate(
        names=KeyTransform("response_models", "summary"), fingerprints=KeyTransform("fingerprints", "summary")
    ).exclude(names=None)
    read = answered.order_by("-pk").values_list("model", "names", "fingerprints", "created_at", "pk")[:MOST_READ]
    found: dict[str, list[Served]] = {}
    for model, names, fingerprints, at, pk in reversed(read):
        told, seen = tuple(sorted(names or ())), set(fingerprints or ())
        of_model = found.setdefault(model, [])
        known = set(of_model[0].fingerprints) if of_model else set()
        if told and (not of_model or of_model[0].names != told or (seen and known and not seen & known)):
            of_model.insert(0, Served(told, at, pk, tuple(sorted(seen))))
        elif told and not seen <= known:
            of_model[0] = replace(of_model[0], fingerprints=tuple(sorted(known | seen)))
    return found


def model_totals(model: str) -> ModelTotals | None:
    """``None`` if the model has no runs."""
    runs = Run.objects.filter(OF_MODELS, model=model).order_by()
    known = runs.aggregate(cost_usd=Sum("cost_usd"))
    totals = runs.aggregate(
        runs=Count("pk"),
        datasets=Count("dataset", distinct=True),
        results=Sum("done"),
        errors=Sum("errors"),
        first=Min("created_at"),
        last=Max("created_at"),
        n_unknown=Count("pk", filter=Q(cost_usd=None, total__gt=0)),
    )
    return ModelTotals(**totals, **known) if totals["runs"] else None


def model_standings(model: str) -> list[ModelStanding]:
    """Where a model stands on each dataset, the newest run first: by its newest full run on the latest version that it
    has run, there among as many models as possible."""
    datasets = completed_runs().order_by().filter(model=model).values("dataset")
    chosen: dict[int, tuple[tuple[int, int, int], Run, Alike]] = {}
    for alike in table_candidates(Q(dataset__in=datasets)):
        newest = max((run for run in alike.runs if run.model == model), key=lambda run: run.pk, default=None)
        if newest is not None:
            others = {run.model for run in alike.runs if not run.is_baseline}
            standing = (alike.version.number, len(others), newest.pk), newest, alike
            chosen[newest.dataset_id] = max(standing, chosen.get(newest.dataset_id, standing), key=lambda each: each[0])
    found = sorted(chosen.values(), key=lambda each: -each[1].pk)
    return [_standing(run, alike) for _, run, alike in found]


def _standing(run: Run, alike: Alike) -> ModelStanding:
    table = ranked_table(sorted(alike.runs, key=lambda each: -each.pk), run.headline)
    # With too few scores, an earlier run of its row may stand for it.
    place = table.place_of(run) or next(each for each in table.places if row_of(each.run) == row_of(run))
    return ModelStanding(place, table, alike.words, under_baseline(place, table.places, table.metric))
