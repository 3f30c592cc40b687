"""Starting a run again asks exactly what was asked before."""

from __future__ import annotations

import pytest

from benchmarks.services.runs.start import request_of, start_run
from tests.support.factories import config_for, make_dataset, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _configured(settings: object) -> None:
    settings.CODEFORGE = config_for("http://127.0.0.1:9/v1")  # type: ignore[attr-defined]


def test_a_run_started_again_keeps_even_the_zeros() -> None:
    asked = {"temperature": 0.0, "seed": 0, "top_p": 1.0, "max_tokens": 5, "system_prompt": "Be brief.", "repeats": 2}
    run = make_run(make_dataset(), **asked)
    again = start_run(request_of(run), parent=run)
    assert again.parent == run
    assert again.parameters == run.parameters
    assert again.parameters["temperature"] == 0.0
    assert again.parameters["seed"] == 0
    assert request_of(again) == request_of(run)
