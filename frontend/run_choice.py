"""What the comparison offers: runs by benchmark, likely comparisons, and what becomes of runs that share no task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.urls import reverse

from benchmarks.models import Run
from benchmarks.presentation.ranks import listed
from benchmarks.queries.compare import alike, asked_differently
from benchmarks.queries.tables.run_list import how

LIKELY = 3
"""Comparisons that are proposed where none is chosen."""
COMPARED = 4
"""Of how many models one of them is at most."""


@dataclass(frozen=True, slots=True)
class OfBenchmark:
    """The runs on one benchmark, each with how it was asked, and how that differs from the first that is compared.
    ``version`` is empty if they are not all of the same; ``is_open`` says whether they are unfolded."""

    title: str
    version: str
    rows: Sequence[tuple[Run, str, str]]
    is_open: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """An address that compares runs: ``label`` says of what, ``apart`` why not of all that were chosen, ``chosen`` are
    those that were."""

    label: str
    url: str
    benchmark: str
    apart: str = ""
    chosen: Sequence[Run] = ()


def by_benchmark(offered: Sequence[Run], chosen: Sequence[Run]) -> list[OfBenchmark]:
    """The offered runs, those of one benchmark together: unfolded where some are chosen, else the first."""
    groups: dict[int, list[Run]] = {}
    for run in offered:
        groups.setdefault(run.dataset_id, []).append(run)
    shown = {run.dataset_id for run in chosen} or {*list(groups)[:1]}
    first = next(iter(chosen), None)
    return [_of_benchmark(runs, first, is_open=dataset in shown) for dataset, runs in groups.items()]


def _of_benchmark(runs: Sequence[Run], first: Run | None, *, is_open: bool) -> OfBenchmark:
    versions = {run.version_label for run in runs}
    beside_first = first and first.dataset_id == runs[0].dataset_id
    rows = [
        (run, " · ".join(how(run)), asked_differently(run, first) if first and beside_first else "") for run in runs
    ]
    return OfBenchmark(runs[0].dataset.title, versions.pop() if len(versions) == 1 else "", rows, is_open)


def likely(offered: Sequence[Run], page: str) -> list[Comparison]:
    """For each benchmark the latest runs of several models that were asked the same: of all its tasks if there are any,
    and of as many models as possible. ``page`` compares them."""
    groups: dict[tuple[object, ...], dict[str, Run]] = {}
    for run in offered:
        if not run.is_baseline:
            groups.setdefault(alike(run), {}).setdefault(run.model_label, run)
    best: dict[int, list[Run]] = {}
    for runs in ([*models.values()] for models in groups.values() if len(models) > 1):
        known = best.setdefault(runs[0].dataset_id, runs)
        if (runs[0].limit is None, len(runs)) > (known[0].limit is None, len(known)):
            best[runs[0].dataset_id] = runs
    several = [sorted(runs[:COMPARED], key=lambda run: run.model_label) for runs in best.values()][:LIKELY]
    return [
        replace(_comparison(runs, listed([run.model_label for run in runs]), page), chosen=runs) for runs in several
    ]


def on_one_benchmark(chosen: Sequence[Run], offered: Sequence[Run]) -> Iterator[Comparison]:
    """For each benchmark of the chosen runs what can be compared on it: those of them that are on it, a single one with
    the latest other run that was asked the same, if there is any."""
    groups: dict[int, list[Run]] = {}
    for run in chosen:
        groups.setdefault(run.dataset_id, []).append(run)
    for runs in groups.values() if len(groups) > 1 else ():
        if len(runs) > 1:
            yield replace(_comparison(runs, f"Compare these {len(runs)}"), chosen=runs)
            continue
        alone = runs[0]
        apart = "The only chosen run here, so it is not compared."
        others = [run for run in offered if alike(run) == alike(alone) and run.pk != alone.pk]
        if others:
            other = min(others, key=lambda run: run.is_baseline)
            found = _comparison([alone, other], f"Compare with {other.model_label}, run {other.pk}")
            yield replace(found, apart=apart, chosen=runs)
        else:
            yield Comparison("", "", alone.dataset.title, apart, runs)


def _comparison(runs: Sequence[Run], label: str, page: str = "frontend:compare") -> Comparison:
    query = urlencode({"runs": ",".join(str(run.pk) for run in runs)})
    return Comparison(label, f"{reverse(page)}?{query}", runs[0].dataset.title)
