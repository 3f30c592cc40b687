"""What comparisons of runs claim: within their family, and beside what the pages of the runs show."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.core.cache import cache
from django.utils import timezone

from benchmarks.analysis.comparisons import Compared, as_one_family, compared_runs
from benchmarks.models import Dataset, Run
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cache.clear()  # runs of another test had the same ids and times


def run(dataset: Dataset, model: str, values: Sequence[float | None]) -> Run:
    return make_scored_run(dataset, values, model=model, summarized_at=timezone.now())


def right_of(n: int, right: int) -> list[float]:
    return [1.0] * right + [0.0] * (n - right)


def compared(n: int, *right: int) -> list[Compared]:
    dataset = make_dataset(n)
    return compared_runs([run(dataset, f"a/{place}", right_of(n, each)) for place, each in enumerate(right)])


def test_more_comparisons_can_show_less() -> None:
    alone = compared(20, 10, 11)
    both = compared(20, 10, 11, 10)
    assert [pair.n_open for pair in (*alone, *both)] == [1, 3, 3, 3]
    assert alone[0].detectable_difference == pytest.approx(alone[0].comparison.detectable_difference)
    assert both[0].detectable_difference == pytest.approx(alone[0].comparison.detectable(3))
    assert both[0].detectable_difference > alone[0].detectable_difference


def test_what_is_significant_leaves_the_level_to_the_others() -> None:
    pairs = compared(40, 38, 36, 4)
    assert [pair.is_clear for pair in pairs] == [False, True, True]
    assert [pair.n_open for pair in pairs] == [1, 1, 1]
    assert pairs[0].detectable_difference == pairs[0].comparison.detectable_difference
    one_by_one = [as_one_family([pair])[0] for pair in pairs]
    assert [(pair.family_size, pair.n_open) for pair in one_by_one] == [(1, 1), (1, 0), (1, 0)]


def test_tasks_that_show_nothing_among_several_comparisons_say_so() -> None:
    pairs = compared(6, 3, 4, 3, 4)
    assert pairs[0].detectable_difference is None
    assert pairs[0].sentence.endswith("6 shared tasks are too few to show a difference in 6 comparisons.")


def test_a_run_that_is_shared_wholly_keeps_the_interval_of_its_page() -> None:
    dataset = make_dataset(20)
    whole, part = run(dataset, "a/whole", right_of(20, 12)), run(dataset, "a/part", [*right_of(10, 6), *[None] * 10])
    for each in (whole, part):
        each.refresh_from_db()
    (pair,) = compared_runs([whole, run(dataset, "a/other", right_of(20, 9))])
    own, found = whole.numbers_of(pair.metric), pair.comparison.interval_a
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx((own.mean, own.low, own.high), abs=1e-9)
    assert found.method == own.method
    (pair,) = compared_runs([whole, part])
    assert pair.comparison.n_missing == 10
    assert pair.comparison.interval_a is not None
    assert pair.comparison.interval_a.n == 10
