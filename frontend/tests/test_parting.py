"""Where the rows of a matrix part."""

from __future__ import annotations

import pytest

from benchmarks.analysis.matrices import Row
from benchmarks.queries.matrix import matrix
from frontend.parting import failures, failures_said, parting
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def rows(*values: list[float]) -> list[Row]:
    dataset = make_dataset(len(values[0]))
    runs = [make_scored_run(dataset, of_run, model=f"a/{place}") for place, of_run in enumerate(values)]
    return list(matrix(runs).rows)


def test_a_kind_has_its_number_in_each_row_and_a_bar_in_percent_of_the_largest() -> None:
    found = parting(rows([1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]))
    assert found.names == ["0", "1"]
    (kind,) = found.kinds
    assert (kind.outcome, kind.counts) == ("wrong", [(1, 33), (3, 100)])
    assert kind.example is not None


def test_kinds_that_all_rows_have_alike_part_nothing() -> None:
    assert parting(rows([0.0, 1.0], [1.0, 0.0])).kinds == []


def test_one_row_alone_parts_from_nobody() -> None:
    assert parting(rows([0.0, 1.0])).kinds == []


def test_what_failed_is_said_in_a_sentence() -> None:
    dataset = make_dataset(2)
    columns = [
        (make_scored_run(dataset, values, model=f"a/{name}"), name)
        for values, name in (((0.0, 1.0), "x"), ((0.0, 0.0), "y"))
    ]
    found = failures(dataset.slug, dataset.title, columns)
    assert found.sentence == f"3 of 4 results of 2 runs are not correct. Most frequent: {found.kinds[0][0].label}, 3."
    assert failures(dataset.slug, dataset.title, columns[:0]).sentence == ""


def test_who_fails_least_often_is_said_over_all_datasets_and_ties_stay_ties() -> None:
    dataset = make_dataset(2)
    values = {"x": (0.0, 1.0), "y": (0.0, 0.0), "z": (0.0, 0.0)}
    runs = [(make_scored_run(dataset, of_run, model=f"a/{name}"), name) for name, of_run in values.items()]
    found = failures(dataset.slug, dataset.title, runs)
    assert failures_said([found])[:2] == [
        "x fails least often, 1 of 2 results; y and z most often, 2 of 2.",
        "5 of 6 results are not correct.",
    ]
    assert failures_said([found, found])[0].startswith("x fails least often, 2 of 4 results"), "datasets are summed"
    assert failures_said([failures(dataset.slug, dataset.title, runs[1:])])[0] == "4 of 4 results are not correct."
    assert failures_said([failures(dataset.slug, dataset.title, [])]) == []
