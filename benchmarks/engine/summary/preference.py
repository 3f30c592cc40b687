"""A preference run's numbers, from the stored verdicts: strengths, win rates, cycles and position bias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

from benchmarks.analysis.score_table import read_scores
from benchmarks.metrics.preference import Preference as PreferenceMetric
from benchmarks.models import Run
from benchmarks.statistics.cycles import cycles
from benchmarks.statistics.intervals import Interval
from benchmarks.statistics.preference import Choice, Judgement, Preference, position_bias


def preference_numbers(run: Run) -> dict[str, Any]:
    """The numbers as JSON. Candidates are in the order of ``run.preference["candidates"]``.

    ``strengths`` has one entry for each of them, ``pairs`` one for each pair with the wins of ``a``, and ``next`` the
    pairs of which another task would show most.
    """
    judgements = judgements_of(run)
    candidates = len((run.preference or {})["candidates"])
    return numbers_of_judgements(candidates, judgements) | {"missing": run.results.count() - len(judgements)}


def numbers_of_judgements(candidates: int, judgements: list[Judgement]) -> dict[str, Any]:
    """Likewise, of judgements about candidates numbered from 0."""
    fit = Preference(candidates, judgements)
    bias = position_bias(judgements)
    return {
        "strengths": [asdict(each) | {"wins": _interval(each.wins)} for each in fit.results()],
        "order": fit.order,
        "pairs": [
            {"a": a, "b": b, **_interval(wins), **_counts(judgements, a, b), "p_adjusted": fit.p_adjusted(a, b)}
            for a, b in combinations(range(candidates), 2)
            for wins in [fit.wins_of(a, b)]
        ],
        "position": _interval(bias.first) | {"consistent": bias.consistent, "is_clear": bias.is_clear},
        "cycles": asdict(cycles(fit)),
        "next": [asdict(pair) for pair in fit.next_pairs()],
        "connected": fit.is_connected,
        "n_tasks": fit.n_tasks,
        "n": len(judgements),
    }


def judgements_of(run: Run) -> list[Judgement]:
    """The verdicts of a preference run; what has no verdict is left out. Candidates are numbers, tasks are hashes."""
    places = {each["run"]: place for place, each in enumerate((run.preference or {})["candidates"])}
    return [judgement for _, judgement in verdicts_of(run, places)]


def verdicts_of(run: Run, places: Mapping[int, int]) -> Iterator[tuple[str, Judgement]]:
    """Likewise, each with the content hash of its pair; ``places`` are the numbers of the candidates, by run."""
    table = read_scores(run, PreferenceMetric.name, "content", "cluster", "first", "second").scored
    for pair, cluster, first, second, value in table.rows():
        yield pair, Judgement(cluster, places[first], places[second], choice_of(value))


def choice_of(value: float) -> Choice:
    """A score or label of the answer that was shown first."""
    return "first" if value > 0.5 else "second" if value < 0.5 else "tie"


def _interval(interval: Interval) -> dict[str, Any]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high, "n": interval.n, "note": interval.note}


def _counts(judgements: list[Judgement], a: int, b: int) -> dict[str, int]:
    points = [each.points_of(a) for each in judgements if {each.first, each.second} == {a, b}]
    return {"wins": points.count(1.0), "ties": points.count(0.5), "losses": points.count(0.0)}
