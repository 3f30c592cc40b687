"""Edits by hand: each makes a version, passes the checks of YAML, and never overwrites another edit unseen."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.dataset_format.tests.examples import FULL
from benchmarks.models import Dataset, DatasetFile, DatasetVersion, Run
from benchmarks.services.datasets import editing
from benchmarks.services.datasets.versions import import_dataset, spec_of
from benchmarks.services.errors import InvalidRequest, NotPossible
from tests.support.factories import make_dataset, make_task

pytestmark = pytest.mark.django_db


def content(dataset: Dataset) -> DatasetSpec:
    version = Dataset.objects.get(pk=dataset.pk).current_version
    assert version is not None
    return spec_of(version)


def ids(dataset: Dataset) -> list[str]:
    return [task.id for task in content(dataset).tasks]


def from_a_file(dataset: Dataset) -> DatasetFile:
    return DatasetFile.objects.create(
        path=f"{dataset.slug}.yaml", dataset=dataset, state="good", checked_at=timezone.now()
    )


def test_a_task_is_added_at_its_place() -> None:
    user = User.objects.create_user("ada")
    for place, expected in (
        (None, ["task-1", "task-2", "new"]),
        (1, ["new", "task-1", "task-2"]),
        (2, ["task-1", "new", "task-2"]),
        (99, ["task-1", "task-2", "new"]),
    ):
        dataset = make_dataset(2, slug=f"place-{place}")
        task = make_task(3, id="new")
        version = editing.save_task(dataset, dataset.current_version_id, task, place=place, user=user)
        assert (version.number, version.origin, version.created_by) == (2, "admin", user)
        assert ids(dataset) == expected, place


def test_a_task_is_changed_at_its_place_or_moved() -> None:
    for place, expected in (
        (None, ["task-1", "x", "task-3"]),
        (1, ["x", "task-1", "task-3"]),
        (3, ["task-1", "task-3", "x"]),
    ):
        dataset = make_dataset(3, slug=f"place-{place}")
        editing.save_task(dataset, dataset.current_version_id, make_task(2, id="x"), replaces="task-2", place=place)
        assert ids(dataset) == expected, place


def test_an_edit_leaves_the_earlier_version_as_it_is() -> None:
    dataset = make_dataset(2)
    before = dataset.current_version
    editing.remove_tasks(dataset, before.pk, ["task-1"])
    assert ids(dataset) == ["task-2"]
    assert [task.id for task in spec_of(before).tasks] == ["task-1", "task-2"]


def test_the_last_task_cannot_be_removed() -> None:
    dataset = make_dataset(1)
    with pytest.raises(NotPossible, match="at least one task"):
        editing.remove_tasks(dataset, dataset.current_version_id, ["task-1"])


def test_a_task_that_was_removed_meanwhile_cannot_be_changed() -> None:
    dataset = make_dataset(2)
    version = editing.remove_tasks(dataset, dataset.current_version_id, ["task-1"])
    with pytest.raises(NotPossible, match="has no task task-1"):
        editing.save_task(dataset, version.pk, make_task(1), replaces="task-1")


EDITS: list[Callable[[Dataset, int | None], Any]] = [
    lambda dataset, base: editing.save_task(dataset, base, make_task(9)),
    lambda dataset, base: editing.save_task(dataset, base, make_task(1, name="Mine"), replaces="task-1"),
    lambda dataset, base: editing.remove_tasks(dataset, base, ["task-1"]),
    lambda dataset, base: editing.change_head(dataset, base, {"name": "Mine", "description": "Mine"}),
    lambda dataset, base: editing.replace_content(dataset, base, replace(content(dataset), name="Mine")),
    lambda dataset, base: editing.restore_version(dataset.versions.get(number=1), base),
]


def test_an_edit_of_an_older_version_is_refused_and_names_the_newer() -> None:
    dataset = make_dataset(3)
    base = dataset.current_version_id
    ada = User.objects.create_user("ada")
    newer = editing.save_task(dataset, base, make_task(2, name="Hers"), replaces="task-2", user=ada)
    for edit in EDITS:
        with pytest.raises(editing.EditedMeanwhile, match=r"ada created version 2 .* version 1") as refusal:
            edit(dataset, base)
        assert refusal.value.current == newer
        assert content(dataset) == spec_of(newer)
    assert DatasetVersion.objects.count() == 2


def test_an_edit_of_a_canvas_dataset_is_refused() -> None:
    dataset = make_dataset(3)
    Dataset.objects.update(kind=Dataset.Kind.CANVAS)
    for edit in EDITS[:5]:
        with pytest.raises(NotPossible, match="generated"):
            edit(dataset, dataset.current_version_id)


def test_after_an_edit_a_change_of_the_file_asks_first() -> None:
    for number, edit in enumerate(EDITS[:5]):
        dataset = make_dataset(3, slug=f"edited-{number}")
        from_a_file(dataset)
        edit(dataset, dataset.current_version_id)
        assert Dataset.objects.get(pk=dataset.pk).edited_here, number


def test_an_upload_of_the_same_content_is_not_an_edit() -> None:
    dataset = make_dataset(3)
    from_a_file(dataset)
    version = editing.replace_content(dataset, dataset.current_version_id, content(dataset))
    assert version.number == 1
    assert not Dataset.objects.get(pk=dataset.pk).edited_here


def test_problems_of_the_edited_task_are_by_its_own_keys() -> None:
    dataset = make_dataset(3)
    with pytest.raises(InvalidRequest) as refusal:
        editing.save_task(dataset, dataset.current_version_id, make_task(1))
    assert refusal.value.errors == {"id": ['"task-1" occurs twice, first at tasks[0].id']}


def test_problems_elsewhere_are_by_their_path() -> None:
    spec = parse_dataset(FULL.encode(), "full.yaml").spec
    assert spec is not None
    dataset = import_dataset(spec, "full", DatasetVersion.Origin.UPLOAD).dataset
    values = {"name": "x", "description": "x", "tool_results": {"subtract": 3}}
    with pytest.raises(InvalidRequest) as refusal:
        editing.change_head(dataset, dataset.current_version_id, values)
    assert list(refusal.value.errors) == ["tool_results.subtract"]
    assert content(dataset) == spec


def test_an_invalid_or_taken_slug_is_refused() -> None:
    dataset = make_dataset(1)
    makers: tuple[Callable[[str], Any], ...] = (
        lambda slug: editing.upload_dataset(slug, content(dataset)),
        lambda slug: editing.duplicate_dataset(dataset, slug, "Copy"),
        lambda slug: editing.create_dataset(slug, {}),
    )
    rows = (("", "letters"), ("a b", "letters"), ("x" * 101, "letters"), ("../x", "letters"), ("sums", "already"))
    for (slug, message), make in itertools.product(rows, makers):
        with pytest.raises(InvalidRequest) as refusal:
            make(slug)
        assert message in refusal.value.errors["slug"][0], slug
    assert Dataset.objects.count() == 1


def test_a_copy_has_the_content_and_its_own_name() -> None:
    dataset = make_dataset(2)
    copy = editing.duplicate_dataset(dataset, "copy", "A copy").dataset
    assert content(copy) == replace(content(dataset), name="A copy")
    assert content(dataset).name == "Sums"


def test_restoring_makes_the_earlier_version_itself_current_again() -> None:
    dataset = make_dataset(2)
    first = dataset.current_version
    second = editing.remove_tasks(dataset, first.pk, ["task-1"])
    assert editing.restore_version(first, second.pk) == first
    assert ids(dataset) == ["task-1", "task-2"]


def test_a_dataset_is_deleted_with_its_versions_and_its_missing_file() -> None:
    dataset = make_dataset(2)
    from_a_file(dataset)
    editing.remove_tasks(dataset, dataset.current_version_id, ["task-1"])
    editing.delete_dataset(dataset)
    assert not Dataset.objects.exists()
    assert not DatasetVersion.objects.exists()
    assert not DatasetFile.objects.exists()


def test_a_dataset_with_runs_stays() -> None:
    dataset = make_dataset(2)
    Run.objects.create(dataset=dataset, dataset_version=dataset.current_version, model="a/b", metrics=[])
    with pytest.raises(NotPossible, match="has 1 run that depends on its tasks"):
        editing.delete_dataset(dataset)
    assert content(dataset).name == "Sums"
