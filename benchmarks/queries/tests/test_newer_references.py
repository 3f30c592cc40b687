"""Runs whose references were changed after they ran."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.models import Run
from benchmarks.queries import newer_references as reads
from benchmarks.queries.newer_references import NewerReferences, newer_references
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def run_on_an_older_version(*tasks: dict[str, Any]) -> Run:
    """A run on three sums, of which a newer version has these; each is the fields that differ from the first."""
    run = make_scored_run(make_dataset(3))
    make_dataset([make_task(number, **fields) for number, fields in enumerate(tasks, 1)], slug=run.dataset.slug)
    run.refresh_from_db()
    return run


def test_tasks_with_other_references_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "BATCH", 1)
    run = run_on_an_older_version({"expected_output": "7"}, {}, {"tolerance": 0.5})
    assert newer_references([run, run]) == [NewerReferences(run.dataset, 1, 2, 2, same_questions=True)]


@pytest.mark.parametrize(
    "tasks",
    [
        ({"expected_output": "7"}, {"input": "What is four?"}, {}),
        ({"expected_output": "7"}, {}, {}, {}),
        ({"expected_output": "7", "input": "What is 3 + 4?"},),
    ],
)
def test_answers_to_other_questions_cannot_be_scored_by_them(tasks: tuple[dict[str, Any], ...]) -> None:
    assert [found.same_questions for found in newer_references([run_on_an_older_version(*tasks)])] == [False]


def test_other_names_and_fewer_tasks_are_no_newer_references() -> None:
    assert newer_references([run_on_an_older_version({"name": "First"}, {})]) == []
    assert newer_references([]) == []


def test_two_versions_are_compared_once(django_assert_num_queries: Any) -> None:
    run = run_on_an_older_version({"expected_output": "8"}, {}, {})
    assert newer_references([run])
    with django_assert_num_queries(1):
        assert newer_references([run])
