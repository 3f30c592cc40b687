"""Quantiles and tails of the few distributions that the statistics need.

SciPy is imported where it is used: it takes about half a second, and a process that only serves pages must not pay
for it before the first page that needs it.
"""

from __future__ import annotations

from statistics import NormalDist

_NORMAL = NormalDist()


def two_sided_z(confidence: float) -> float:
    """The normal quantile that leaves ``1 - confidence`` outside, half on each side."""
    return _NORMAL.inv_cdf(_upper_point(confidence))


def two_sided_t(confidence: float, degrees: float) -> float:
    """The same quantile of Student's t. ``degrees`` may be a fraction, as Satterthwaite's are."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, _upper_point(confidence)))


def normal_quantile(probability: float) -> float:
    return _NORMAL.inv_cdf(probability)


def normal_cdf(value: float) -> float:
    return _NORMAL.cdf(value)


def two_sided_t_tail(statistic: float, degrees: float) -> float:
    """The probability of a t statistic at least this far from zero."""
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(statistic)))


def fair_coin_tail(heads: int, tosses: int) -> float:
    """The two-sided exact probability of a split at least as uneven as ``heads`` of ``tosses`` of a fair coin."""
    from scipy.special import bdtr

    fewer = min(heads, tosses - heads)
    return min(1.0, 2 * float(bdtr(fewer, tosses, 0.5)))


def _upper_point(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is a number between 0 and 1, such as 0.95, not {confidence!r}")
    return (1 + confidence) / 2
