"""Candidates ranked by their mean score on the same tasks, with what can be said of the order and what cannot.

The order is that of the means with every missing score counted as 0. Every pair is tested by the sign-flip test on the
tasks with a score in both, and again with the missing scores counted against the one that gains; the larger p-value
counts. All of them are adjusted together by Holm's method: the chance that any two equal candidates of a ranking are
separated is at most 5%. From the pairs follow

- the range of ranks of a candidate: one more than the number of significantly better ones, up to the number of
  candidates without the significantly worse ones;
- the groups: two candidates share a letter exactly if their difference is not significant.

Scores that are averages over variants are tested as those of a sample of variants, too: the p-value is then at least
that of :mod:`benchmarks.statistics.crossed`, and the bootstrap draws variants as well as clusters.

The chance of being the best is the share of bootstrap samples of the clusters in which a candidate has the highest
mean. Over several datasets a candidate's mean is the plain average of its means. Sources: Piepho (2004), J. Comput.
Graph. Stat. 13:456, for the letters; Mogstad, Romano, Shaikh & Wilhelm (2024), Rev. Econ. Stud. 91:476, and Klein,
Wright & Wieczorek (2020), J. R. Stat. Soc. C 69:589, for ranks that hold together, from tests of all pairs; Field &
Welsh (2007), J. R. Stat. Soc. B 69:369, for the bootstrap of clusters; Zou & Donner (2008), Stat. Med. 27:1693, for the
interval of an average from the intervals of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from string import ascii_uppercase
from typing import TYPE_CHECKING

from benchmarks.statistics.crossed import Answers, Crossed, crossed
from benchmarks.statistics.paired import Comparison, compare, holm
from benchmarks.statistics.permutation import sign_flip_test
from benchmarks.statistics.spread import are_equal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVEL = 0.05
SAMPLES = 2_000
"""Bootstrap samples: the chance of being the best then has a standard error of at most 1.1 points."""
_CHUNK = 200
_STEPS = 20
"""Datasets of different sizes have weights in whole numbers, at least this many steps, for which the test is exact."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of all candidates on one dataset.

    ``values`` has a row for each candidate and a column for each task, from 0 to 1, not a number where there is no
    score. ``clusters`` numbers the cluster of each task from 0. ``missing``, of the shape of ``values``, is the share
    of each task's repeats that should have a score and has none; ``None`` if nothing is missing. ``variants`` are the
    scores that these are the averages of, if they are (``averaged``).
    """

    values: NDArray[np.float64]
    clusters: NDArray[np.int64]
    missing: NDArray[np.float64] | None = None
    variants: Sequence[Scores] = ()

    @property
    def expected(self) -> NDArray[np.bool_]:
        """Where there should be a score; a candidate was not asked the other tasks."""
        import numpy as np

        known = ~np.isnan(self.values)
        return known if self.missing is None else known | (self.missing > 0)

    @property
    def lowest(self) -> NDArray[np.float64]:
        """The scores with all that is missing counted as 0; 0 where none is expected, too."""
        import numpy as np

        known = np.nan_to_num(self.values)
        return known if self.missing is None else known * (1 - self.missing)

    @property
    def means(self) -> NDArray[np.float64]:
        """Of each candidate, with what is missing counted as 0."""
        means: NDArray[np.float64] = self.lowest.sum(axis=1) / self.expected.sum(axis=1)
        return means


def averaged(variants: Sequence[Scores]) -> Scores:
    """The average over variants of the same candidates on the same tasks, in the same order. What one lacks is a share
    of what is missing."""
    import numpy as np

    lacking = [np.zeros_like(each.values) if each.missing is None else each.missing for each in variants]
    missing = np.mean(lacking, axis=0)
    scored = [each.expected - share for each, share in zip(variants, lacking, strict=True)]
    with np.errstate(invalid="ignore"):
        values = np.sum([each.lowest for each in variants], axis=0) / np.sum(scored, axis=0)
    return Scores(values, variants[0].clusters, missing if missing.any() else None, variants)


@dataclass(frozen=True, slots=True)
class Place:
    """What can be said of one candidate. ``group`` has its letters, ``best`` is its chance of being the best."""

    mean: float
    rank_low: int
    rank_high: int
    group: str
    best: float


@dataclass(frozen=True, slots=True)
class MeanRank:
    """The average rank over datasets, with what holds for all candidates together with 95% confidence.

    ``low`` and ``high`` are the mean ranks that the tests on these datasets allow: the datasets are all there is, and
    the tasks are a sample. ``rank_low`` and ``rank_high`` are the places by mean rank that the tests over datasets
    allow: the datasets are a sample, too, of the kind that the ranks are meant for.
    """

    mean: float
    """Average of the ranks on each dataset"""
    low: float
    high: float
    rank_low: int
    rank_high: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How much the first candidate scores more than the second, with its 95% interval and Holm's p-value.

    ``detectable`` is the difference that ``n_tasks`` shared tasks would have shown with 80% power, as one of the pairs
    that Holm's method leaves open; ``None`` if they are too few for any, and over several datasets, where ``n_tasks``
    is 0.
    """

    mean: float
    low: float
    high: float
    p_adjusted: float
    detectable: float | None
    n_tasks: int

    @property
    def is_clear(self) -> bool:
        return self.p_adjusted <= LEVEL


@dataclass(frozen=True, slots=True)
class Verdict:
    """What can be said of the order. Candidates are numbered as the rows of ``Scores``.

    ``tied`` are the first one and those with an equal mean; ``close`` are the others that are not significantly behind
    it. ``behind`` is the first one that is, by ``gap``, and ``unclear`` are the pairs of neighbors from there on
    without a significant difference. ``nearest`` compares the first one with the next that is not behind it.
    """

    means: Sequence[float]
    tied: Sequence[int]
    close: Sequence[int]
    behind: int | None
    gap: Difference | None
    unclear: Sequence[tuple[int, int]]
    nearest: Difference | None


class Ranking:
    """Candidates on the same datasets, in the order of the rows of ``Scores``. Each has a score on every dataset."""

    def __init__(self, datasets: Sequence[Scores], *, seed: int = 0) -> None:
        import numpy as np

        self.datasets = datasets
        self.means: NDArray[np.float64] = np.mean([each.means for each in datasets], axis=0)
        self.n = len(self.means)
        # Rounded, because equal scores may differ in the last place.
        self.order: list[int] = sorted(range(self.n), key=lambda place: -round(self.means[place], 9))
        pairs = list(combinations(range(self.n), 2))
        adjusted = holm([difference_p_value(datasets, a, b) for a, b in pairs])
        self._p_values = dict(zip(pairs, adjusted, strict=True))
        self._seed = seed

    def p_adjusted(self, a: int, b: int) -> float:
        return self._p_values[min(a, b), max(a, b)]

    def is_above(self, a: int, b: int) -> bool:
        """Whether a is significantly better than b."""
        return bool(self.means[a] > self.means[b]) and self.p_adjusted(a, b) <= LEVEL

    def places(self) -> list[Place]:
        """The place of each candidate, in the order of the rows."""
        letters, best = self._letters(), _shares_best(self.datasets, self._seed)
        others = range(self.n)
        return [
            Place(
                mean=float(self.means[own]),
                rank_low=1 + sum(self.is_above(other, own) for other in others if other != own),
                rank_high=self.n - sum(self.is_above(own, other) for other in others if other != own),
                group=letters[own],
                best=best[own],
            )
            for own in others
        ]

    def difference(self, a: int, b: int) -> Difference:
        """Compare two candidates. Each dataset's interval is that of the comparison of two runs."""
        parts = [_comparison(each, b, a) for each in self.datasets]
        known = [(part.difference, part.low, part.high) for part in parts]
        mean, low, high = mean_of_intervals([tuple(value or 0.0 for value in row) for row in known])
        sampled = _over_variants(self.datasets, lambda each: each.values[a] - each.values[b])
        if sampled is not None:
            mean, low, high = sampled.widened(mean, low, high)
        detectable, n_tasks = None, 0
        if len(parts) == 1 and sampled is None:
            n_tasks = parts[0].n_shared
            detectable = parts[0].detectable(max(1, sum(p > LEVEL for p in self._p_values.values())))
        return Difference(mean, low, high, self.p_adjusted(a, b), detectable, n_tasks)

    def verdict(self) -> Verdict:
        first, *others = self.order
        level = [other for other in others if not self.is_above(first, other)]
        tied = [other for other in level if are_equal(self.means[other], self.means[first])]
        behind = next((other for other in others if self.is_above(first, other)), None)
        rest = [] if behind is None else self.order[self.order.index(behind) :]
        return Verdict(
            means=[float(mean) for mean in self.means],
            tied=[first, *tied],
            close=[other for other in level if other not in tied],
            behind=behind,
            gap=None if behind is None else self.difference(first, behind),
            unclear=[(a, b) for a, b in pairwise(rest) if not self.is_above(a, b)],
            nearest=self.difference(first, level[0]) if level else None,
        )

    def _letters(self) -> list[str]:
        """Insert and absorb: begin with one group of all, split it at each significant pair, drop what others contain.

        Groups are lettered in the order of their best members.
        """
        groups = [frozenset(range(self.n))]
        for a, b in combinations(range(self.n), 2):
            if self.p_adjusted(a, b) <= LEVEL:
                split = [part for group in groups if {a, b} <= group for part in (group - {a}, group - {b})]
                kept = [group for group in groups if not {a, b} <= group]
                for part in sorted(split, key=len, reverse=True):
                    if not any(part <= other for other in kept):
                        kept.append(part)
                groups = kept
        position = {own: place for place, own in enumerate(self.order)}
        groups.sort(key=lambda group: sorted(position[own] for own in group))
        names = [_letter(place) for place in range(len(groups))]
        return [
            " ".join(name for name, group in zip(names, groups, strict=True) if own in group) for own in range(self.n)
        ]


def mean_of_intervals(parts: Sequence[tuple[float, ...]]) -> tuple[float, float, float]:
    """The average of independent means and its interval, from (mean, low, high) of each."""
    n = len(parts)
    mean = math.fsum(mean for mean, _, _ in parts) / n
    below = math.sqrt(math.fsum((mean - low) ** 2 for mean, low, _ in parts)) / n
    above = math.sqrt(math.fsum((high - mean) ** 2 for mean, _, high in parts)) / n
    return mean, mean - below, mean + above


def difference_p_value(datasets: Sequence[Scores], a: int, b: int, *, enough: float = 0.0) -> float:
    """Of the average difference of two candidates over the datasets, also with what is missing counted against the one
    that gains; 1 if they share no task on one of them. An upper bound that is at most ``enough`` will do."""
    import numpy as np

    differences = [each.values[a] - each.values[b] for each in datasets]
    if any(np.isnan(difference).all() for difference in differences):
        return 1.0
    observed = _average_test(datasets, differences, enough)
    p_value = max(observed[1], _p_over_variants(datasets, lambda each: each.values[a] - each.values[b]))
    if all(each.missing is None or not each.missing[[a, b]].any() for each in datasets):
        return p_value
    gains, loses = (a, b) if observed[0] > 0 else (b, a)
    worst = _average_test(datasets, [_worst_difference(each, gains, loses) for each in datasets], enough)
    if worst[0] <= 0:
        return 1.0
    return max(p_value, worst[1], _p_over_variants(datasets, lambda each: _worst_difference(each, gains, loses)))


def _over_variants(datasets: Sequence[Scores], difference: Callable[[Scores], NDArray[np.float64]]) -> Crossed | None:
    """The difference over tasks and variants; ``None`` if the scores are not averages, or no task has all scores."""
    import numpy as np

    if not all(each.variants for each in datasets):
        return None
    return crossed(
        [Answers(np.stack([difference(variant) for variant in each.variants]), each.clusters) for each in datasets]
    )


def _p_over_variants(datasets: Sequence[Scores], difference: Callable[[Scores], NDArray[np.float64]]) -> float:
    """The p-value of that difference: 0 for scores that are not averages, 1 without a task that has all scores."""
    if not any(each.variants for each in datasets):
        return 0.0
    found = _over_variants(datasets, difference)
    return 1.0 if found is None else found.p_value


def _average_test(
    datasets: Sequence[Scores], differences: Sequence[NDArray[np.float64]], enough: float
) -> tuple[float, float]:
    """The average over the datasets of the mean difference, and its p-value; tasks that are not a number are left out.

    Every dataset has a task.
    """
    import numpy as np

    shared = [~np.isnan(difference) for difference in differences]
    counts = [int(np.count_nonzero(both)) for both in shared]
    sums: list[float] = []
    for each, difference, both, count in zip(datasets, differences, shared, counts, strict=True):
        weight = round(_STEPS * max(counts) / count) if len(datasets) > 1 else 1
        totals = np.bincount(each.clusters[both], weights=difference[both] * weight)
        sums += totals[totals != 0].tolist()
    return math.fsum(sums), sign_flip_test(sums, enough=enough).p_value


def _worst_difference(scores: Scores, gains: int, loses: int) -> NDArray[np.float64]:
    """One candidate minus another on the tasks expected of both, with what is missing 0 for the first, 1 for the
    second."""
    import numpy as np

    lowest, missing = scores.lowest, np.zeros_like(scores.values) if scores.missing is None else scores.missing
    both = scores.expected[gains] & scores.expected[loses]
    return np.where(both, lowest[gains] - lowest[loses] - missing[loses], np.nan)


def _comparison(scores: Scores, a: int, b: int) -> Comparison:
    """Candidate b compared with a on one dataset."""
    first, second = (
        {
            place: None if math.isnan(value) else value
            for place, (value, expected) in enumerate(
                zip(scores.values[own].tolist(), scores.expected[own].tolist(), strict=True)
            )
            if expected
        }
        for own in (a, b)
    )
    unscored = tuple({} if scores.missing is None else dict(enumerate(scores.missing[own].tolist())) for own in (a, b))
    return compare(first, second, dict(enumerate(scores.clusters.tolist())), unscored=(unscored[0], unscored[1]))


def mean_ranks(datasets: Sequence[Scores]) -> list[MeanRank]:
    """The average rank of each candidate over the datasets, ranked by the mean score on each; ties share their ranks.

    On these datasets: all pairs are tested on every one, the p-values adjusted together, and the first and last ranks
    that this allows are averaged. On others like them: the differences of ranks are tested by flipping the signs of
    datasets, all pairs adjusted together. Each candidate has a score on every dataset.
    """
    import numpy as np
    from scipy.stats import rankdata

    # Rounded, because equal scores may differ in the last place.
    ranks = np.array([rankdata(-each.means.round(9)) for each in datasets])
    n = ranks.shape[1]
    pairs = list(combinations(range(n), 2))
    enough = LEVEL / max(1, len(datasets) * len(pairs))
    on_these = holm([difference_p_value([each], a, b, enough=enough) for each in datasets for a, b in pairs])
    of_others = holm([sign_flip_test((ranks[:, a] - ranks[:, b]).tolist()).p_value for a, b in pairs])
    ranges = [
        _allowed(pairs, on_these[place * len(pairs) :], ranks[place], n).astype(float) for place in range(len(datasets))
    ]
    low, high = np.mean(ranges, axis=0)
    means = ranks.mean(axis=0)
    rank_low, rank_high = _allowed(pairs, of_others, means, n)
    return [
        MeanRank(float(means[own]), float(low[own]), float(high[own]), int(rank_low[own]), int(rank_high[own]))
        for own in range(n)
    ]


def mean_rank_places(ranks: Sequence[MeanRank]) -> list[tuple[int, int]]:
    """The first and the last place by mean rank that the ranges leave to each, on these datasets: the ranges hold
    together, so only what does not overlap is in order."""
    return [
        (
            1 + sum(other.high < own.low for other in ranks),
            len(ranks) - sum(own.high < other.low for other in ranks),
        )
        for own in ranks
    ]


def datasets_needed(n_candidates: int) -> int:
    """How many datasets can show that one of this many candidates, two or more, ranks above another on others like
    them, if it does on all."""
    return math.ceil(1 + math.log2(math.comb(n_candidates, 2) / LEVEL))


def _allowed(
    pairs: Sequence[tuple[int, int]], adjusted: Sequence[float], ranks: NDArray[np.float64], n: int
) -> NDArray[np.int64]:
    """The first and the last ranks that the tests of the ``pairs`` allow, in two rows."""
    import numpy as np

    allowed = np.stack([np.ones(n, dtype=np.int64), np.full(n, n)])
    for (a, b), p_value in zip(pairs, adjusted, strict=False):
        if p_value <= LEVEL and ranks[a] != ranks[b]:
            better, worse = (a, b) if ranks[a] < ranks[b] else (b, a)
            allowed[0, worse] += 1
            allowed[1, better] -= 1
    return allowed


def _shares_best(datasets: Sequence[Scores], seed: int) -> list[float]:
    """How often each candidate has the highest mean, in paired bootstrap samples of the clusters; ties are shared."""
    import numpy as np

    # A sample without any score of a candidate has no mean for it; the candidate does not win there.
    means = np.concatenate([np.sum(parts, axis=0) for parts in _sampled_means(datasets, seed)])
    return [float(share) for share in _shares_lowest(-np.nan_to_num(means, nan=-1.0))]


def _shares_lowest(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of rows of samples: the share in which each column is the lowest, ties shared."""
    is_best = values <= values.min(axis=1, keepdims=True) + 1e-6
    shares: NDArray[np.float64] = (is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def _sampled_means(datasets: Sequence[Scores], seed: int) -> Iterator[list[NDArray[np.float64]]]:
    """The candidates' means on each dataset in bootstrap samples of its clusters, a chunk of samples at a time.

    Of averages over variants, which are the same on all datasets, the variants are sampled, too.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    sums = [[_cluster_sums(variant) for variant in each.variants or (each,)] for each in datasets]
    n_variants = len(sums[0])
    for begin in range(0, SAMPLES, _CHUNK):
        size = min(_CHUNK, SAMPLES - begin)
        of_variants = random.multinomial(n_variants, np.full(n_variants, 1 / n_variants), size=size) / n_variants
        means = []
        for of_dataset in sums:
            n = of_dataset[0][0].shape[1]
            drawn = random.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
            times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float32)
            with np.errstate(invalid="ignore", divide="ignore"):
                shares = [((times @ totals.T) / (times @ counts.T)).astype(float) for totals, counts in of_dataset]
            means.append(np.einsum("sv,vsc->sc", of_variants, np.stack(shares)))
        yield means


def _cluster_sums(scores: Scores) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The sum of each candidate's scores in each cluster, what is missing counted as 0, and their number."""
    import numpy as np

    size = int(scores.clusters.max()) + 1
    totals = [np.bincount(scores.clusters, weights=row, minlength=size) for row in scores.lowest]
    counts = [np.bincount(scores.clusters, weights=row.astype(float), minlength=size) for row in scores.expected]
    return np.asarray(totals, dtype=np.float32), np.asarray(counts, dtype=np.float32)


def _letter(place: int) -> str:
    """A, B, …, Z, AA, AB, …"""
    name = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, len(ascii_uppercase))
        name = ascii_uppercase[rest] + name
    return name
