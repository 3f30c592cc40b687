"""A preference run's numbers, from the stored verdicts: strengths, win rates, cycles and position bias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from benchmarks.analysis.score_table import read_scores
from benchmarks.metrics.preference import Preference as PreferenceMetric
from benchmarks.models import Run
from benchmarks.statistics.cycles import cycles
from benchmarks.statistics.preference import Choice, Judgement, Preference, position_bias
from benchmarks.summary import PairOfCandidates, Position, Preferences, Strength, Wins


def preference_numbers(run: Run) -> Preferences:
    """Candidates are in the order of ``run.preference["candidates"]``."""
    judgements = judgements_of(run)
    candidates = len((run.preference or {})["candidates"])
    return replace(numbers_of_judgements(candidates, judgements), missing=run.results.count() - len(judgements))


def numbers_of_judgements(candidates: int, judgements: list[Judgement]) -> Preferences:
    """Of judgements about candidates numbered from 0."""
    fit = Preference(candidates, judgements)
    bias = position_bias(judgements)
    return Preferences(
        strengths=[
            Strength(of.value, of.low, of.high, of.rank_low, of.rank_high, Wins.of(of.wins), of.judgements)
            for of in fit.results()
        ],
        order=fit.order,
        pairs=[
            PairOfCandidates.of(
                fit.wins_of(a, b), a=a, b=b, **_counts(judgements, a, b), p_adjusted=fit.p_adjusted(a, b)
            )
            for a, b in combinations(range(candidates), 2)
        ],
        position=Position.of(bias.first, consistent=bias.consistent, is_clear=bias.is_clear),
        cycles=cycles(fit),
        next=fit.next_pairs(),
        connected=fit.is_connected,
        n_tasks=fit.n_tasks,
        n=len(judgements),
    )


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


def _counts(judgements: list[Judgement], a: int, b: int) -> dict[str, int]:
    points = [each.points_of(a) for each in judgements if {each.first, each.second} == {a, b}]
    return {"wins": points.count(1.0), "ties": points.count(0.5), "losses": points.count(0.0)}
