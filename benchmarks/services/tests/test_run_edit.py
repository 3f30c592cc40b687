"""Names, tags, notes and pins of runs, the reference run of a dataset, and the list filtered and sorted by them."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from benchmarks.models import AuditEntry, Dataset, DatasetVersion, Run, RunStatus
from benchmarks.queries.runs import RunFilters, reference_first, run_list, tags_used
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.control import edit_run
from benchmarks.services.runs.start import start_run
from tests.support.databases import further_database
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run
from tests.support.services import postgres_database

pytestmark = pytest.mark.django_db
REQUEST = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}


def names(**filters: object) -> list[str]:
    return [run.name for run in run_list(RunFilters(**filters))]  # type: ignore[arg-type]  # the test's own


def test_a_run_is_started_with_a_name_and_tags_and_labeled_later() -> None:
    make_dataset(2)
    run = start_run({**REQUEST, "name": "Monday", "tags": ["nightly", "gpu", "nightly"]})
    assert (run.name, run.tags) == ("Monday", ["nightly", "gpu"])
    edit_run(run, {"notes": "First try.\nSecond line.", "pinned": True})
    run.refresh_from_db()
    assert (run.name, run.tags, run.notes, run.pinned) == (
        "Monday",
        ["nightly", "gpu"],
        "First try.\nSecond line.",
        True,
    )
    assert AuditEntry.objects.filter(action="run.edit").count() == 1


def test_what_is_no_label_is_refused_at_its_field() -> None:
    make_dataset(2)
    run = start_run(REQUEST)
    for data in (
        {"name": "x" * 201},
        {"tags": ["x" * 41]},
        {"tags": "one"},
        {"tags": [""]},
        {"tags": [str(n) for n in range(21)]},
        {"pinned": "perhaps"},
        {"notes": 3},
        {"model": "a/b"},
        {"baseline": True},  # it is queued
    ):
        with pytest.raises(InvalidRequest) as error:
            edit_run(run, data)
        assert list(error.value.errors) == list(data)


def test_a_dataset_has_one_baseline() -> None:
    dataset, other = make_dataset(2), make_dataset(2, slug="others")
    runs = [make_scored_run(dataset), make_scored_run(dataset), make_scored_run(other)]
    for run in (runs[0], runs[2], runs[1]):
        edit_run(run, {"baseline": True})
    assert set(Run.objects.filter(baseline=True)) == {runs[1], runs[2]}
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=runs[0].pk).update(baseline=True)
    edit_run(runs[1], {"baseline": False})
    assert not dataset.runs.filter(baseline=True).exists()


def test_comparisons_start_from_the_marked_run_and_otherwise_from_the_oldest() -> None:
    first, second, third = (make_scored_run() for _ in range(3))
    assert reference_first([third, first, second]) == [first, third, second]
    edit_run(second, {"baseline": True})
    assert reference_first(list(Run.objects.order_by("pk"))) == [second, first, third]
    assert reference_first([]) == []


def test_the_list_is_filtered_by_tag_name_and_pin_and_begins_with_pinned_runs() -> None:
    dataset = make_dataset(2)
    tags = {"one": ["a"], "two": ["a", 'quo"ted'], "Three": ["ä%_", "ab"], "four": []}
    for name, given in tags.items():
        make_scored_run(dataset, name=name, tags=given, pinned=name == "two")
    assert names() == ["two", "four", "Three", "one"]
    assert names(tag="a") == ["two", "one"]
    assert names(tag='quo"ted') == ["two"]
    assert names(tag="ä%_") == ["Three"]
    assert names(tag="b") == []
    assert names(name="thr") == ["Three"]
    assert names(pinned=True) == ["two"]
    assert tags_used() == ["a", "ab", 'quo"ted', "ä%_"]


def test_the_list_is_sorted_by_each_head_with_unknown_values_last() -> None:
    dataset = make_dataset(2)
    rows = (("low", (0.0, 0.0), 0.5), ("none", (None, None), None), ("high", (1.0, 1.0), 0.1), ("half", (1.0, 0.0), 2))
    for name, values, cost in rows:
        make_scored_run(dataset, values, name=name, model=f"m/{name}", cost_usd=cost)
    make_scored_run(dataset, (1.0, 0.0), name="judged", model="m/z", cost_usd=0.5, judge_cost_usd=0.25)
    make_scored_run(dataset, name="queued", model="m/y", status=RunStatus.QUEUED, cost_usd=None)
    Run.objects.filter(name="queued").update(summary={}, metrics=['odd"name'])
    assert names(sort="score")[:4] == ["low", "judged", "half", "high"]
    assert names(sort="-score")[:4] == ["high", "judged", "half", "low"]
    assert set(names(sort="-score")[4:]) == {"none", "queued"}
    assert names(sort="-cost")[:4] == ["half", "judged", "low", "high"]
    assert names(sort="model")[0] == "half"
    assert names(sort="run")[0] == "low"
    assert names(sort="status")[-1] == "queued"
    assert names(sort="nonsense") == names(sort="run")


@pytest.mark.django_db(transaction=True)
def test_tags_and_scores_are_read_by_postgresql_too() -> None:
    with postgres_database() as url, further_database("postgresql", url) as alias:
        dataset = Dataset.objects.using(alias).create(slug="sums", name="Sums")
        version = DatasetVersion.objects.using(alias).create(dataset=dataset, number=1, origin="file", name="Sums")
        for mean, tags in ((0.9, ["a"]), (None, ['quo"ted', "a"]), (0.1, [])):
            summary = {"metrics": {"exact_match": {"mean": mean}}} if mean else {}
            given = {"metrics": ["exact_match"], "summary": summary, "tags": tags, "status": RunStatus.COMPLETED}
            Run.objects.using(alias).create(dataset=dataset, dataset_version=version, **given)

        def found(**filters: str) -> list[int]:
            return [run.pk for run in run_list(RunFilters(**filters)).using(alias)]  # type: ignore[arg-type]

        assert found(sort="score") == [3, 1, 2]
        assert found(sort="-score") == [1, 3, 2]
        assert found(sort="-cost") == [3, 2, 1]
        assert found(tag="a") == [2, 1]
        assert found(tag='quo"ted') == [2]
