"""Which runs are offered for a comparison, and in which order."""

from __future__ import annotations

import pytest

from benchmarks.queries.compare import runs_left_out, runs_to_offer
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def test_runs_like_the_baseline_are_offered_first() -> None:
    dataset, other = make_dataset(3), make_dataset(3, slug="other")
    baseline = make_scored_run(dataset)
    alike = make_scored_run(dataset, model="a/other")
    limited = make_scored_run(dataset, limit=2)
    estimated = make_scored_run(dataset, subset=20)
    elsewhere = make_scored_run(other)
    assert runs_to_offer([baseline]) == [baseline, alike, estimated, limited, elsewhere]
    assert runs_to_offer([]) == [elsewhere, estimated, limited, alike, baseline]
    assert runs_left_out([elsewhere, limited]) == 3
