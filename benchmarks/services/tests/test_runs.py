"""Starting a run again asks exactly what was asked before."""

from __future__ import annotations

import pytest

from benchmarks.models import Run
from benchmarks.queries.leaderboard import whole_runs
from benchmarks.services.runs.start import request_of, start_run
from tests.support.factories import config_for, make_dataset, make_run, make_task

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


def test_a_limit_that_leaves_no_task_out_is_none() -> None:
    tasks = [make_task(number, split="test" if number > 2 else "dev") for number in range(1, 6)]
    dataset = make_dataset(tasks)
    kept = {"all": {"limit": 4}, "test": {"limit": 2, "split": "test"}, "one": {"only_task": tasks[0].id}}
    cleared = {"all": {"limit": 5}, "more": {"limit": 40}, "test": {"limit": 3, "split": "test"}}
    assert {name: make_run(dataset, **asked).limit for name, asked in kept.items()} == {"all": 4, "test": 2, "one": 1}
    assert {make_run(dataset, **asked).limit for asked in cleared.values()} == {None}
    assert dataset.current_version is not None
    Run.objects.update(status="completed")
    whole, partial = whole_runs(dataset.current_version)
    assert ({run.limit for run in whole}, partial) == ({None}, 3)
