"""A dataset edited here whose file changes too: when to ask, and what either decision does."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from benchmarks.models import Dataset
from benchmarks.services.datasets.files import accept_file, keep_dataset, sync_datasets
from benchmarks.services.datasets.versions import save_edited_version
from benchmarks.services.errors import NotPossible
from benchmarks.services.tests.dataset_folder import (
    BROKEN,
    EDIT,
    FIRST,
    SECOND,
    THIRD,
    changes,
    current,
    spec,
    stored_file,
)
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def edited(folder: Path, write: Any) -> Dataset:
    """A dataset from a file, edited here since."""
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    dataset = Dataset.objects.get(slug="demo")
    save_edited_version(dataset, spec(EDIT), None)
    dataset.refresh_from_db()
    return dataset


def test_an_edit_is_a_new_version_by_its_editor_and_says_so(folder: Path, write: Any) -> None:
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    editor = User.objects.create(username="ada")
    version = save_edited_version(Dataset.objects.get(slug="demo"), spec(EDIT), editor)
    assert (version.number, version.origin, version.created_by) == (2, "admin", editor)
    assert current() == (2, "Edited here")
    assert Dataset.objects.get(slug="demo").edited_here


def test_an_edit_that_changes_nothing_makes_no_version(folder: Path, write: Any) -> None:
    write("demo.yaml", FIRST)
    sync_datasets(folder)
    assert save_edited_version(Dataset.objects.get(slug="demo"), spec(FIRST), None).number == 1
    assert not Dataset.objects.get(slug="demo").edited_here


def test_an_edit_of_a_dataset_without_a_file_needs_no_later_decision() -> None:
    dataset = make_dataset()
    assert save_edited_version(dataset, spec(EDIT), None).number == 2
    assert not Dataset.objects.get(pk=dataset.pk).edited_here


def test_an_edit_survives_while_the_file_stays_as_it_was(folder: Path, write: Any, edited: Dataset) -> None:
    write("demo.yaml", FIRST)
    assert changes(folder) == {"demo.yaml": "unchanged"}
    assert current() == (2, "Edited here")


def test_a_changed_file_of_an_edited_dataset_waits_for_a_decision(folder: Path, write: Any, edited: Dataset) -> None:
    write("demo.yaml", SECOND)
    for _ in range(2):
        report = sync_datasets(folder)
        assert [file.change for file in report.files] == ["undecided"]
        assert "Use the file or keep the edits" in str(report)
    assert current() == (2, "Edited here")
    assert stored_file().state == "undecided"


def test_an_undecided_file_that_goes_back_asks_no_more(folder: Path, write: Any, edited: Dataset) -> None:
    for text in (SECOND, FIRST):
        write("demo.yaml", text)
        sync_datasets(folder)
    assert stored_file().state == "good"
    assert current() == (2, "Edited here")


def test_accepting_the_file_replaces_the_edit(folder: Path, write: Any, edited: Dataset) -> None:
    write("demo.yaml", SECOND)
    sync_datasets(folder)
    version = accept_file(stored_file(), folder)
    assert (version.number, version.origin) == (3, "file")
    assert current() == (3, "Second")
    assert not Dataset.objects.get(slug="demo").edited_here
    assert changes(folder) == {"demo.yaml": "unchanged"}


def test_keeping_the_edit_asks_again_only_after_a_further_change(folder: Path, write: Any, edited: Dataset) -> None:
    write("demo.yaml", SECOND)
    sync_datasets(folder)
    keep_dataset(stored_file(), folder)
    assert changes(folder) == {"demo.yaml": "unchanged"}
    assert current() == (2, "Edited here")
    write("demo.yaml", THIRD)
    assert changes(folder) == {"demo.yaml": "undecided"}


def test_a_file_that_says_the_same_as_the_edit_needs_no_decision(folder: Path, write: Any, edited: Dataset) -> None:
    write("demo.yaml", EDIT)
    assert changes(folder) == {"demo.yaml": "changed"}
    assert current() == (2, "Edited here")
    assert not Dataset.objects.get(slug="demo").edited_here


def test_nothing_can_be_decided_while_the_file_is_invalid_or_missing(folder: Path, write: Any, edited: Dataset) -> None:
    decisions: tuple[Any, ...] = (accept_file, keep_dataset)
    for text, decide in itertools.product((BROKEN, None), decisions):
        write("demo.yaml", text) if text else (folder / "demo.yaml").unlink(missing_ok=True)
        with pytest.raises(NotPossible, match=r"demo\.yaml"):
            decide(stored_file(), folder)
        assert current() == (2, "Edited here")


def test_a_file_does_not_overwrite_a_dataset_that_was_there_before_it(folder: Path, write: Any) -> None:
    make_dataset(slug="demo")
    write("demo.yaml", FIRST)
    for _ in range(2):
        assert changes(folder) == {"demo.yaml": "undecided"}
    assert current() == (1, "Sums")
