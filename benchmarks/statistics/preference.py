"""Strengths from choices between two answers: Bradley-Terry with ties and a bias for a position.

A judgement shows candidate i first and j second, and ends first, tie or second. Davidson's model (1970) with the order
effect of Davidson & Beaver (1977):

    log P(first) : log P(tie) : log P(second)  =  (θᵢ - θⱼ + δ)/2 : log ν : -(θᵢ - θⱼ + δ)/2     up to a constant

θ are the strengths, with mean 0; the odds of i over j are exp(θᵢ - θⱼ), leaving ties out. Davidson's model rather than
Rao & Kupper's (1967), because it is an exponential family: its likelihood is concave, so Newton's method finds the one
maximum, and a tie counts exactly as half a win for both. Every candidate also gets ``PRIOR`` of a judgement against an
average opponent, spread over win and loss, so strengths stay finite if a candidate always wins.

Judgements about one task are a cluster. The covariance of the strengths is the sandwich with clusters (Liang & Zeger
1986, Biometrika 73:13), and intervals are Wald's: ± t · SE with one degree of freedom less than there are tasks.

Whether two strengths differ is not read from these intervals, which are far too wide if a candidate wins everything. It
is tested by flipping the signs of the tasks' efficient scores of θᵢ - θⱼ in the fit in which both are equal (Hemerik,
Goeman & Finos 2020, J. R. Stat. Soc. B 82:841). If both were shown on all tasks in the same pairs and orders, a task's
score is its difference of their points, and the test is exact. Simulated: ``tests/benches/statistics/preference.py``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

from benchmarks.statistics.intervals import Interval, mean_interval, no_interval
from benchmarks.statistics.paired import holm
from benchmarks.statistics.permutation import sign_flip_test
from benchmarks.statistics.spread import two_sided_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Choice = Literal["first", "tie", "second"]
CHOICES: tuple[Choice, ...] = ("first", "tie", "second")
LEVEL = 0.05
PRIOR = 0.5
"""Judgements against an average opponent that every candidate is given: half of them won, half of them lost."""
_FEWEST_TASKS = 2
_STEPS = 100
_TOLERANCE = 1e-10


class Judgement(NamedTuple):
    """One choice. ``first`` and ``second`` are the numbers of the candidates in the order in which they were shown.

    ``identical`` answers tie without a judge.
    """

    task: Hashable
    first: int
    second: int
    choice: Choice
    identical: bool = False

    def points_of(self, candidate: int) -> float:
        """1 for a win, 0.5 for a tie, 0 for a loss."""
        points = 1 - CHOICES.index(self.choice) / 2
        return points if candidate == self.first else 1 - points


@dataclass(frozen=True, slots=True)
class Strength:
    """What can be said of one candidate.

    The bounds are ``None`` with fewer than two tasks. ``wins`` is the mean over its judgements, a tie as half a win.
    """

    value: float
    low: float | None
    high: float | None
    rank_low: int
    rank_high: int
    wins: Interval
    judgements: int


@dataclass(frozen=True, slots=True)
class NextPair:
    """Two candidates and the information that one more task, judged in both orders, is expected to bring (nats)."""

    a: int
    b: int
    gain: float


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How often the first answer was chosen where both orders were judged; ties count half, so no bias is 0.5.

    ``consistent`` is the share of these pairs of judgements with the same verdict in both orders.
    """

    first: Interval
    consistent: float | None

    @property
    def is_clear(self) -> bool:
        low, high = self.first.low, self.first.high
        return low is not None and high is not None and not low <= 0.5 <= high


class Preference:
    """The fit of ``judgements`` about candidates numbered from 0 to ``n`` - 1.

    Raises ``ValueError`` if a judgement names another candidate, or one candidate twice.
    """

    def __init__(self, n: int, judgements: Sequence[Judgement]) -> None:
        import numpy as np

        for given in judgements:
            if not (0 <= given.first < n and 0 <= given.second < n) or given.first == given.second:
                raise ValueError(f"{given} does not name two of {n} candidates, numbered from 0")
        self.n = n
        self.judgements = judgements
        names = {task: place for place, task in enumerate(dict.fromkeys(each.task for each in judgements))}
        self.n_tasks = len(names)
        self._tasks = np.array([names[each.task] for each in judgements], dtype=np.int64)
        self._first = np.array([each.first for each in judgements], dtype=np.int64)
        self._second = np.array([each.second for each in judgements], dtype=np.int64)
        self._choice = np.array([CHOICES.index(each.choice) for each in judgements], dtype=np.int64)
        self._fit = _Fit(n, self._tasks, self._first, self._second, self._choice)
        centering = np.eye(n + 2)
        centering[:n, :n] -= 1 / n
        self._parameters = centering @ self._fit.parameters
        self.covariance: NDArray[np.float64] = centering @ self._fit.covariance() @ centering.T
        self.strengths: NDArray[np.float64] = self._parameters[:n]
        self.order: list[int] = sorted(range(n), key=lambda place: -self.strengths[place])
        self.groups = _connected(n, {(each.first, each.second) for each in judgements})
        """Numbers of the candidates that were compared with each other, directly or through others, group by group."""

    @cached_property
    def _p_values(self) -> dict[tuple[int, int], float]:
        pairs = list(combinations(range(self.n), 2))
        return dict(zip(pairs, holm([self._p_value(a, b) for a, b in pairs]), strict=True))

    @property
    def is_connected(self) -> bool:
        """Whether all strengths are on one scale. Otherwise only those of one group can be compared."""
        return len(self.groups) == 1

    @property
    def position(self) -> float:
        """δ: the logarithm of the odds that a position adds for the first answer."""
        return float(self._parameters[self.n + 1])

    def p_adjusted(self, a: int, b: int) -> float:
        """Holm's adjusted p-value, over all pairs, of equal strengths."""
        return self._p_values[min(a, b), max(a, b)]

    def is_above(self, a: int, b: int) -> bool:
        return bool(self.strengths[a] > self.strengths[b]) and self.p_adjusted(a, b) <= LEVEL

    def difference(self, a: int, b: int) -> tuple[float, float]:
        """θₐ - θᵦ and its standard error."""
        spread = self.covariance[a, a] + self.covariance[b, b] - 2 * self.covariance[a, b]
        return float(self.strengths[a] - self.strengths[b]), math.sqrt(max(0.0, float(spread)))

    def results(self) -> list[Strength]:
        """The strength of each candidate, in the order of their numbers."""
        return [self._result(own) for own in range(self.n)]

    def wins_of(self, a: int, b: int) -> Interval:
        """How often ``a`` is preferred to ``b``, with a tie as half a win."""
        return _wins(a, [each for each in self.judgements if {a, b} == {each.first, each.second}])

    def probability(self, a: int, b: int) -> tuple[float, float, float]:
        """The chances that ``a`` wins, ties and loses against ``b``, if no position is favored."""
        return self._chances(a, b, 0.0)

    def expected_points(self, first: int, second: int) -> float:
        """What the fit expects of the candidate shown first, with the bias for a position."""
        win, tie, _ = self._chances(first, second, self.position)
        return win + tie / 2

    def next_pairs(self, most: int = 3) -> list[NextPair]:
        """The pairs of which one more task tells most: log(1 + I · V), with I the information of two judgements about
        the difference and V its variance (D-optimality; Glickman & Jensen 2005, J. Stat. Plan. Inference 127:279).
        """
        pairs = []
        for a, b in combinations(range(self.n), 2):
            win, _, loss = self.probability(a, b)
            information = 2 * ((win + loss) - (win - loss) ** 2) / 4
            pairs.append(NextPair(a, b, math.log1p(information * self.difference(a, b)[1] ** 2)))
        return sorted(pairs, key=lambda pair: -pair.gain)[:most]

    def _chances(self, a: int, b: int, position: float) -> tuple[float, float, float]:
        half = (float(self.strengths[a] - self.strengths[b]) + position) / 2
        logits = (half, float(self._parameters[self.n]), -half)
        highest = max(logits)
        win, tie, loss = (math.exp(logit - highest) for logit in logits)
        total = win + tie + loss
        return win / total, tie / total, loss / total

    def _p_value(self, a: int, b: int) -> float:
        if not any({a, b} <= set(group) for group in self.groups):
            return 1.0
        return sign_flip_test(self._fit.scores_of_difference(a, b).tolist()).p_value

    def bounds(self, own: int) -> tuple[float | None, float | None]:
        """The 95% interval of a strength; ``None`` with fewer than two tasks."""
        if self.n_tasks < _FEWEST_TASKS:
            return None, None
        half = two_sided_t(0.95, self.n_tasks - 1) * math.sqrt(max(0.0, float(self.covariance[own, own])))
        return float(self.strengths[own]) - half, float(self.strengths[own]) + half

    def _result(self, own: int) -> Strength:
        low, high = self.bounds(own)
        others = [other for other in range(self.n) if other != own]
        mine = [each for each in self.judgements if own in (each.first, each.second)]
        return Strength(
            float(self.strengths[own]),
            low,
            high,
            rank_low=1 + sum(self.is_above(other, own) for other in others),
            rank_high=self.n - sum(self.is_above(own, other) for other in others),
            wins=_wins(own, mine),
            judgements=len(mine),
        )


def position_bias(judgements: Sequence[Judgement]) -> PositionBias:
    """The bias for a position, from the tasks and pairs that were judged in both orders.

    Each such pair of judgements counts once: 1 if the first answer was chosen in both orders, 0 if the second was, and
    0.5 if the same candidate was chosen, so differences between candidates cancel. Identical answers have no order, and
    would dilute the bias.
    """
    shown: dict[tuple[Hashable, int, int], list[Judgement]] = {}
    for given in judgements:
        if given.identical:
            continue
        shown.setdefault((given.task, given.first, given.second), []).append(given)
    values, tasks, same = [], [], []
    for (task, first, second), one_way in shown.items():
        for there, back in zip(one_way, shown.get((task, second, first), []), strict=False):
            if first < second:
                values.append((there.points_of(first) + back.points_of(second)) / 2)
                tasks.append(task)
                same.append(there.points_of(first) == back.points_of(first))
    if not values:
        return PositionBias(no_interval("no pair was judged in both orders"), None)
    return PositionBias(mean_interval(values, tasks), sum(same) / len(same))


def _wins(own: int, judgements: Sequence[Judgement]) -> Interval:
    return mean_interval([each.points_of(own) for each in judgements], [each.task for each in judgements])


class _Fit:
    """Newton's method on counts by pair, and the clustered covariance of θ, log ν and δ."""

    def __init__(
        self,
        n: int,
        tasks: NDArray[np.int64],
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        choice: NDArray[np.int64],
    ) -> None:
        import numpy as np

        self.n, self._tasks, self._choice = n, tasks, choice
        keys, self._row_of = np.unique(first * n + second, return_inverse=True)
        rows = len(keys)
        # A column for each parameter: what it adds to half the difference of the two positions. The last rows are the
        # average opponent, who has no strength of its own and no position.
        self._design = np.zeros((rows + n, n + 2))
        self._design[np.arange(rows), keys // n] += 0.5
        self._design[np.arange(rows), keys % n] -= 0.5
        self._design[:rows, n + 1] = 0.5
        self._design[np.arange(rows, rows + n), np.arange(n)] = 0.5
        self._counts = np.zeros((rows + n, 3))
        np.add.at(self._counts, (self._row_of, choice), 1.0)
        # The ties of the prior keep log ν finite if there are none, or only ties.
        self._counts[rows:] = PRIOR * np.array([0.5, 0.0, 0.5])
        self._counts[rows:, 1] += PRIOR / n
        self.parameters = self._maximum(np.eye(n + 2))

    def _maximum(self, basis: NDArray[np.float64]) -> NDArray[np.float64]:
        """The parameters of the highest likelihood among those that the columns of ``basis`` span."""
        import numpy as np

        parameters = np.zeros(self.n + 2)
        value = self._likelihood(parameters)
        for _ in range(_STEPS):
            gradient, hessian = self._derivatives(parameters)
            step = basis @ np.linalg.solve(basis.T @ hessian @ basis, basis.T @ gradient)
            size = 1.0
            while (better := self._likelihood(parameters + size * step)) < value and size > _TOLERANCE:
                size /= 2
            parameters, value = parameters + size * step, max(value, better)
            if np.abs(size * step).max() < _TOLERANCE:
                break
        return parameters

    def _log_shares(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        import numpy as np

        half = self._design @ parameters
        logits = np.stack([half, np.full_like(half, parameters[self.n]), -half], axis=1)
        return np.asarray(logits - np.logaddexp.reduce(logits, axis=1)[:, None])

    def _likelihood(self, parameters: NDArray[np.float64]) -> float:
        return float((self._counts * self._log_shares(parameters)).sum())

    def _directions(self) -> NDArray[np.float64]:
        """Row × choice × parameter: the derivative of the logit of a choice."""
        import numpy as np

        tie = np.zeros_like(self._design)
        tie[:, self.n] = 1.0
        return np.stack([self._design, tie, -self._design], axis=1)

    def _derivatives(self, parameters: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        import numpy as np

        shares, directions = np.exp(self._log_shares(parameters)), self._directions()
        totals = self._counts.sum(axis=1)
        means = np.einsum("rc,rcp->rp", shares, directions)
        gradient = np.einsum("rc,rcp->p", self._counts - totals[:, None] * shares, directions)
        each, weights = directions.reshape(-1, self.n + 2), (totals[:, None] * shares).reshape(-1, 1)
        hessian = each.T @ (weights * each) - means.T @ (totals[:, None] * means)
        # Without judgements in both positions δ has no information of its own; a trace keeps the matrix regular.
        return gradient, hessian + 1e-9 * np.eye(self.n + 2)

    def covariance(self) -> NDArray[np.float64]:
        """H⁻¹ M H⁻¹: M sums the squared scores of the tasks, and of the prior's judgements as clusters of their own."""
        import numpy as np

        by_task, scores = self._scores(self.parameters)
        prior, weights = scores[-self.n :].reshape(-1, self.n + 2), self._counts[-self.n :].reshape(-1)
        n_tasks = len(by_task)
        middle = by_task.T @ by_task * (n_tasks / max(1, n_tasks - 1)) + (prior * weights[:, None]).T @ prior
        inverse = np.linalg.inv(self._derivatives(self.parameters)[1])
        return np.asarray(inverse @ middle @ inverse)

    def scores_of_difference(self, a: int, b: int) -> NDArray[np.float64]:
        """For each task, the efficient score of θₐ - θᵦ where both are equal: what the other parameters, which are
        estimated, can explain of it is taken out."""
        import numpy as np

        basis = np.eye(self.n + 2)
        basis[b, a] = 1.0
        basis = np.delete(basis, b, axis=1)
        parameters = self._maximum(basis)
        by_task, _ = self._scores(parameters)
        hessian = self._derivatives(parameters)[1]
        direction = np.zeros(self.n + 2)
        direction[[a, b]] = 1.0, -1.0
        explained = np.linalg.solve(basis.T @ hessian @ basis, basis.T @ hessian @ direction)
        return np.asarray(by_task @ (direction - basis @ explained))

    def _scores(self, parameters: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The derivatives of the log likelihood: task × parameter, and row × choice × parameter for one judgement."""
        import numpy as np

        shares, directions = np.exp(self._log_shares(parameters)), self._directions()
        scores = directions - np.einsum("rc,rcp->rp", shares, directions)[:, None, :]
        by_task = np.zeros((int(self._tasks.max(initial=-1)) + 1, self.n + 2))
        np.add.at(by_task, self._tasks, scores[self._row_of, self._choice])
        return by_task, scores


def _connected(n: int, pairs: set[tuple[int, int]]) -> list[list[int]]:
    group = list(range(n))
    for a, b in pairs:
        if group[a] != group[b]:
            group = [group[a] if each == group[b] else each for each in group]
    return [[own for own in range(n) if group[own] == name] for name in dict.fromkeys(group)]
