"""Every test of the engine ends with the check that the counters of all runs are those of their results."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.counts import miscounted


@pytest.fixture(autouse=True)
def counters_that_add_up(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if request.node.get_closest_marker("django_db"):
        assert miscounted() == []
