import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.stats import chi2

from benchmarks.statistics.psychometric import Level, ThresholdStatus, fit_threshold, share_right

RIGHT = [39, 38, 37, 33, 30, 22, 15, 9, 5, 2]
LEVELS = [Level(difficulty, right, 40) for difficulty, right in enumerate(RIGHT, start=2)]
GUESSED = [Level(x, right, 40) for x, right in zip((1, 2, 4, 6, 8, 12), (39, 39, 36, 31, 24, 21), strict=True)]


def test_without_guesses_and_lapses_the_fit_is_the_logistic_regression_of_statsmodels():
    counts = np.array([[level.right, level.n - level.right] for level in LEVELS])
    design = sm.add_constant(np.array([level.difficulty for level in LEVELS]))
    constant, slope = sm.GLM(counts, design, family=sm.families.Binomial()).fit().params
    found = fit_threshold(LEVELS, lapse_limit=0)
    assert found.threshold == pytest.approx(-constant / slope, abs=1e-6)
    assert found.slope == pytest.approx(-slope, abs=1e-5)


def loss(levels, guess_rate, threshold, log_slope, lapse):
    total = 0.0
    for level in levels:
        # The same curve, written for the share right at the threshold instead of with an offset.
        at_threshold = (1 - guess_rate) / 2 / (1 - guess_rate - lapse)
        odds = at_threshold / (1 - at_threshold) * math.exp(-math.exp(log_slope) * (level.difficulty - threshold))
        share = guess_rate + (1 - guess_rate - lapse) * odds / (1 + odds)
        total -= level.right * math.log(share) + (level.n - level.right) * math.log(1 - share)
    return total


def test_with_a_guess_rate_the_likelihood_has_its_maximum_at_the_fit():
    found = fit_threshold(GUESSED, 0.5, lapse_limit=0)
    best = minimize(
        lambda p: loss(GUESSED, 0.5, p[0], p[1], 0.0),
        (6, 0),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12},
    )
    assert found.threshold == pytest.approx(best.x[0], abs=1e-5)
    assert found.slope == pytest.approx(math.exp(best.x[1]), abs=1e-5)


def test_the_bounds_are_where_the_profile_likelihood_has_fallen_by_half_the_chi_square_quantile():
    found = fit_threshold(GUESSED, 0.5, lapse_limit=0)

    def profile(threshold):
        start = (math.log(found.slope),)
        return minimize(
            lambda p: loss(GUESSED, 0.5, threshold, p[0], 0.0), start, method="Nelder-Mead", options={"xatol": 1e-8}
        ).fun

    for bound in (found.low, found.high):
        assert 2 * (profile(bound) - profile(found.threshold)) == pytest.approx(chi2.ppf(0.95, 1), abs=1e-4)


def test_at_the_threshold_the_chance_corrected_share_is_one_half_even_with_lapses():
    """With many results of a known curve, 6 % lapses and guesses at 1/8, the threshold comes back."""
    true, slope, lapse, guess = 7.0, 0.9, 0.06, 0.125
    half = (1 - guess) / 2 / (1 - guess - lapse)
    levels = [
        Level(x, 1e5 * (guess + (1 - guess - lapse) / (1 + math.exp(slope * (x - true)) * (1 - half) / half)), 100_000)
        for x in range(1, 15)
    ]
    found = fit_threshold(levels, guess)
    assert found.threshold == pytest.approx(true, abs=1e-3)
    assert found.lapse == pytest.approx(lapse, abs=1e-3)
    assert found.slope == pytest.approx(slope, abs=1e-3)


def test_lapses_that_are_not_allowed_for_pull_the_threshold_down():
    levels = (
        [Level(x, 37, 40) for x in range(1, 6)] + [Level(x, 20, 40) for x in (6,)] + [Level(x, 0, 40) for x in (7, 8)]
    )
    assert fit_threshold(levels, lapse_limit=0.06).threshold > fit_threshold(levels, lapse_limit=0).threshold


def test_data_without_a_visible_curve_have_no_threshold_and_a_note():
    for levels, status, note in (
        ([Level(x, 40, 40) for x in (2, 4, 8)], "beyond", "above 8, the hardest level in the fit"),
        ([Level(x, 5, 40) for x in (2, 4, 8)], "before", "below 2, the easiest level in the fit"),
        ([Level(x, 25, 40) for x in (2, 4, 8)], "flat", "no significant decrease with difficulty"),
        ([Level(x, 15 + 2 * x, 40) for x in (2, 4, 8)], "flat", "no significant decrease with difficulty"),
        ([Level(4, 20, 40)], "too_few", "unknown: needs scores at two or more levels of difficulty"),
        ([Level(4, 20, 40), Level(8, 0, 0)], "too_few", "unknown: needs scores at two or more levels of difficulty"),
        ([], "too_few", "unknown: needs scores at two or more levels of difficulty"),
    ):
        found = fit_threshold(levels, 0.125)
        assert (found.status, found.threshold, found.note) == (status, None, note), levels


def test_a_threshold_harder_than_the_hardest_is_not_named_but_bounded_from_below():
    found = fit_threshold([Level(x, 40 - 2 * x, 40) for x in range(6)])
    assert (found.status, found.threshold, found.high) == (ThresholdStatus.BEYOND, None, None)
    assert found.low > 4


def test_a_threshold_easier_than_the_easiest_is_not_named_but_bounded_from_above():
    found = fit_threshold([Level(x, 16 - 3 * x, 40) for x in range(6)])
    assert (found.status, found.threshold, found.low) == (ThresholdStatus.BEFORE, None, None)
    assert found.high < 1.5


def test_a_cliff_between_two_levels_leaves_the_threshold_anywhere_between_them():
    found = fit_threshold([Level(x, 40 if x <= 4 else 0, 40) for x in (2, 4, 8, 16)], lapse_limit=0)
    assert 4 < found.threshold < 8
    assert 4 < found.low < 4.6
    assert 7.4 < found.high < 8


def test_a_design_effect_widens_the_bounds_and_moves_nothing_else():
    plain = fit_threshold(LEVELS, lapse_limit=0)
    clustered = fit_threshold([Level(x.difficulty, x.right, x.n, 4.0) for x in LEVELS], lapse_limit=0)
    assert clustered.threshold == pytest.approx(plain.threshold, abs=1e-5)
    assert (clustered.high - clustered.low) / (plain.high - plain.low) == pytest.approx(2, rel=0.03)


def test_the_order_of_the_levels_does_not_matter():
    assert fit_threshold(LEVELS[::-1], 0.1) == fit_threshold(LEVELS, 0.1)


def test_impossible_input_is_rejected():
    for arguments, message in (
        (([Level(1, 5, 4)],), "right is between 0 and n"),
        (([Level(1, 1, 4, 0.0)],), "design effect is above 0"),
        (([Level(math.inf, 1, 4)],), "finite"),
        (([], 1.0), "guess rate"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_threshold(*arguments)
    with pytest.raises(ValueError, match="lapse limit"):
        fit_threshold(LEVELS, 0.5, lapse_limit=0.25)


def test_the_curve_is_at_the_midpoint_at_its_threshold_and_fits_the_scores_it_made():
    for guess_rate in (0.0, 0.25, 0.5):
        shape = {"threshold": 8.0, "slope": 0.9, "lapse": 0.02, "guess_rate": guess_rate}
        assert share_right(8.0, **shape) == pytest.approx((1 + guess_rate) / 2)
        assert share_right(-1e6, **shape) == pytest.approx(0.98)
        assert share_right(1e6, **shape) == pytest.approx(guess_rate)
        levels = [Level(x, 10_000 * share_right(x, **shape), 10_000) for x in range(3, 14)]
        fitted = fit_threshold(levels, guess_rate)
        assert (fitted.threshold, fitted.slope) == pytest.approx((8.0, 0.9), abs=1e-3), guess_rate
