"""How verdicts on the same answers agree: of several judges, of one judge asked again, and in two orders."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from benchmarks.statistics.intervals import Interval, Moments, mean_interval, measurement_interval
from benchmarks.statistics.reliability import judge_spread, krippendorff_alpha


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judge's score of an answer, from 0 to 1."""

    judge: str
    value: float
    reordered: bool = False


@dataclass(frozen=True, slots=True)
class JudgeOfPanel:
    """``mean`` of all its verdicts; ``deviation`` is the pooled spread of those on the same answer."""

    judge: str
    mean: float
    deviation: float | None


@dataclass(frozen=True, slots=True)
class PanelAgreement:
    """``same`` is the share of answers on which all verdicts are on one side of the threshold. ``alpha`` compares the
    judges by their mean verdicts on an answer; ``None`` for one judge, or if it is not defined. ``order`` is the mean
    verdict in the reversed order minus that in the given order of the same judge on the same answer.
    """

    n_answers: int
    judges: tuple[JudgeOfPanel, ...]
    same: Interval
    alpha: float | None
    order: Interval


def panel_agreement(
    answers: Sequence[Sequence[Verdict]], threshold: float, clusters: Sequence[Hashable]
) -> PanelAgreement:
    """``clusters`` names, answer by answer, what each shares with others, as in ``mean_interval``. The interval of
    ``order`` is a t interval of the means of the clusters."""
    by_judge: dict[str, dict[int, list[float]]] = defaultdict(dict)
    same: list[float] = []
    units: list[tuple[int, float, float, int]] = []
    order_effects: dict[Hashable, list[float]] = defaultdict(list)
    for place, verdicts in enumerate(answers):
        same.append(float(len({verdict.value >= threshold for verdict in verdicts}) == 1))
        means = []
        for judge in dict.fromkeys(verdict.judge for verdict in verdicts):
            own = [verdict for verdict in verdicts if verdict.judge == judge]
            values = [verdict.value for verdict in own]
            by_judge[judge][place] = values
            means.append(_mean(values))
            orders = [[verdict.value for verdict in own if verdict.reordered is way] for way in (True, False)]
            if all(orders):
                order_effects[clusters[place]].append(_mean(orders[0]) - _mean(orders[1]))
        units.append((len(means), math.fsum(means), math.fsum(value**2 for value in means), 1))
    moments = Moments.of((_mean(of_cluster), 1) for of_cluster in order_effects.values())
    return PanelAgreement(
        len(same),
        tuple(
            JudgeOfPanel(
                judge, _mean([value for values in own.values() for value in values]), judge_spread(own).deviation
            )
            for judge, own in by_judge.items()
        ),
        mean_interval(same, clusters),
        krippendorff_alpha(units),
        measurement_interval(moments, lowest=-1.0),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
