"""Models ranked by one metric, from the stored summaries of runs that stand in one table.

The order is that of the means with every missing score counted as 0, so that no answer gains by breaking its judge. A
run in which fewer than ``MIN_COVERAGE`` of the expected results have a score is listed, but has no rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.asking import difference, key_of
from benchmarks.metrics.registered_metrics import is_score, metric_named
from benchmarks.models import Run
from benchmarks.presentation.numbers import n_of, percent
from benchmarks.presentation.ranks import BASELINE_UNRANKED, Mark, shared_ranks, under
from benchmarks.presentation.sentences import unscored
from benchmarks.providers.model_names import is_baseline
from benchmarks.summary import MetricNumbers, Threshold

LATEST, BEST = "latest", "best"
MEAN, THRESHOLD = "mean", "threshold"
MIN_COVERAGE = 0.95
_IN_COLUMNS = ("judge_model", "rubric")
"""What tables show in columns of their own."""
_THRESHOLD_RANK = {"beyond": 3, "fitted": 2, "before": 1}
"""Above the midpoint at every level, a fitted threshold, below the midpoint at every level."""


@dataclass(frozen=True, slots=True)
class Place:
    """A model, by how it answers, with the run that represents it, chosen from ``n_runs``. ``rank`` is ``None`` with a
    ``reason``, as it is for every baseline. ``differs`` names the parameters in which the runs of the table differ:
    ``temperature 0``."""

    run: Run
    numbers: MetricNumbers
    n_runs: int
    rank: int | None
    reason: str = ""
    differs: str = ""

    @property
    def threshold(self) -> Threshold | None:
        """The 50% threshold by number of shapes: over all task classes, or of the only one there is."""
        return _threshold(self.run)


def metrics_of(alike: Sequence[Run]) -> list[str]:
    """The metrics of runs: the headlines, the one that most models have first, and then the others in their order."""
    of_models = dict.fromkeys(
        (run.model, run.import_format, run.headline) for run in alike if not is_baseline(run.model)
    )
    counts = Counter(name for *_, name in of_models), Counter(run.headline for run in alike)
    headlines = (name for counted in counts for name, _ in counted.most_common())
    others = (name for run in alike for name in run.metrics)
    return list(dict.fromkeys((*headlines, *others)))


def row_values(run: Run, metric: str) -> dict[str, object]:
    """What makes runs of one model and one setting different rows: how the model answers, and how it is judged."""
    rubric = run.rubric_version(metric)
    return {**run.asked.get("answer", {}), **run.asked.get("score", {}), **({"rubric": rubric} if rubric else {})}


def places(candidates: Sequence[Run], metric: str, choose: str = LATEST, rank: str = MEAN) -> list[Place]:
    """One place for each model, by how it answers and is judged: models best first by ``rank``, equal ones with one
    rank, then those without a rank, and at last the baselines, which have none.

    ``candidates`` come newest first and have one setting. A model whose latest run has too few scores is represented by
    an earlier one, if that has enough.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in candidates:
        if metric in run.numbers.metrics:
            groups.setdefault((run.model_label, key_of(row_values(run, metric))), []).append(run)

    known = metric_named(metric)
    sign = -1.0 if known is not None and not known.higher_is_better else 1.0

    def goodness(run: Run) -> tuple[float, ...]:
        # Equal thresholds are in the order of their means.
        numbers = run.numbers_of(metric)
        mean = sign * ((numbers.if_missing_wrong if is_score(metric) else numbers.mean) or 0.0)
        return (*_threshold_key(run), mean) if rank == THRESHOLD else (mean,)

    found: list[Place] = []
    for group in groups.values():
        covered = [run for run in group if not unranked_reason(run, metric)]
        run = (
            (max(covered, key=lambda run: goodness(run)[-1]) if choose == BEST else covered[0]) if covered else group[0]
        )
        reason = unranked_reason(run, metric) or (BASELINE_UNRANKED if run.is_baseline else "")
        found.append(Place(run, run.numbers_of(metric), len(group), None, reason))
    ranked = sorted((place for place in found if not place.reason), key=lambda place: goodness(place.run), reverse=True)
    ranks = shared_ranks([goodness(place.run) for place in ranked])
    baselines = sorted(
        (place for place in found if place.run.is_baseline),
        key=lambda place: place.numbers.mean or 0.0,
        reverse=True,
    )
    ordered = [
        *(replace(place, rank=number) for place, number in zip(ranked, ranks, strict=True)),
        *(place for place in found if place.reason and not place.run.is_baseline),
        *baselines,
    ]
    values = [_without_columns(row_values(place.run, metric)) for place in ordered]
    told = differences([(place.run, own) for place, own in zip(ordered, values, strict=True)])
    return [replace(place, differs=words) for place, words in zip(ordered, told, strict=True)]


def differences(rows: Sequence[tuple[Run, Mapping[str, object]]]) -> list[str]:
    """What distinguishes the values of each row from the others in words. Baselines have no parameters to name."""
    values = [own for run, own in rows if own or not run.is_baseline]
    return [difference(own, values) if own or not run.is_baseline else "" for run, own in rows]


def differences_in_full(runs: Sequence[Run], metric: str) -> list[str]:
    """The same of runs by ``row_values``, with the judge."""
    return differences([(run, row_values(run, metric)) for run in runs])


def _without_columns(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name not in _IN_COLUMNS}


def runs_to_test(shown: Iterable[Place]) -> list[Run]:
    """The runs of the ranked models, and of the baselines beside them."""
    return [place.run for place in shown if place.rank or place.reason == BASELINE_UNRANKED]


def under_baseline(place: Place, shown: Iterable[Place], metric: str) -> str:
    """The baseline among the places that a ranked model does not reach; else empty."""
    return under(place.numbers.if_missing_wrong or 0.0, marks_of(shown)) if place.rank and is_score(metric) else ""


def marks_of(shown: Iterable[Place]) -> list[Mark]:
    """The baselines that have a score for enough of the tasks."""
    beside = [place for place in shown if place.reason == BASELINE_UNRANKED]
    return [Mark(place.run.model.partition("/")[2], place.numbers.mean or 0.0) for place in beside]


def unranked_reason(run: Run, metric: str) -> str:
    """Why a completed run has no rank: too few of its results have a score. Empty if it has one."""
    if run.subset:
        drawn = run.numbers.subset
        n_all = (drawn and drawn.n_tasks) or run.subset
        part = f"{n_of(run.subset, n_all)} tasks, which saved {percent(1 - run.subset / n_all)} of the requests"
        return f"Its score is an estimate from {part}."
    numbers = run.numbers_of(metric)
    n, expected = numbers.n, numbers.n_expected or 0
    if n and n >= MIN_COVERAGE * expected:
        return ""
    missing = f": {', '.join(reasons)}" if (reasons := unscored(numbers, live=False)) else ""
    return f"Only {n_of(n, expected)} results have a score, and a rank requires {MIN_COVERAGE:.0%}{missing}."


def _threshold(run: Run) -> Threshold | None:
    fitted = [row for row in run.numbers.thresholds or () if row.measure == "n_shapes"]
    return next((row for row in fitted if not row.group), next(iter(fitted), None))


def _threshold_key(run: Run) -> tuple[int, float]:
    row = _threshold(run)
    return (0, 0.0) if row is None else (_THRESHOLD_RANK.get(row.status, 0), row.threshold or 0.0)
