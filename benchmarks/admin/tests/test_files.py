"""Files of the datasets directory in the admin: mistakes shown, changes on both sides decided by a person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from benchmarks.admin.tests.accounts import ADMIN, staff
from benchmarks.dataset_format.tests.examples import VALID
from benchmarks.models import Dataset, DatasetFile
from benchmarks.services.datasets.files import save_edited_version, spec_of, sync_datasets

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATASETS_DIR = tmp_path
    return tmp_path


@pytest.fixture
def undecided(folder: Path) -> DatasetFile:
    """A file that changed after its dataset was edited here."""
    path = folder / "demo.yaml"
    path.write_text(VALID)
    sync_datasets(folder)
    dataset = Dataset.objects.get()
    assert dataset.current_version is not None
    save_edited_version(dataset, replace(spec_of(dataset.current_version), name="Edited here"), None)
    path.write_text(VALID.replace("1 + 1", "<i>2 + 2</i>"))
    sync_datasets(folder, reread=True)
    file = DatasetFile.objects.get()
    assert file.state == "undecided"
    return file


def decide(client: Client, file: DatasetFile, decision: str, base: int | None = None) -> str:
    """Press a button of the page, which shows version ``base`` or the current one; returns what is said then."""
    given = {"base": base or Dataset.objects.get().current_version_id, "decision": decision}
    response = client.post(f"{ADMIN}/datasetfile/{file.pk}/decide/", given, follow=True)
    return " ".join(response.content.decode().split())


def test_a_broken_file_shows_its_mistakes_with_line_and_text_escaped(admin_client: Client, folder: Path) -> None:
    (folder / "bad.yaml").write_text(VALID.replace("id: t1", "idd: <script>alert(1)</script>"))
    sync_datasets(folder)
    file = DatasetFile.objects.get()
    shown = admin_client.get(f"{ADMIN}/datasetfile/{file.pk}/change/").content.decode()
    assert "<td>4</td><td><code>tasks[0].idd</code></td>" in shown
    assert "  - idd: &lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<script>alert" not in shown
    assert "bad.yaml" in admin_client.get(f"{ADMIN}/dataset/").content.decode()


def test_the_directory_is_read_at_the_press_of_a_button(admin_client: Client, folder: Path) -> None:
    (folder / "good.yaml").write_text(VALID)
    (folder / "bad.yaml").write_text("name: x")
    response = admin_client.post(f"{ADMIN}/datasetfile/sync/", follow=True)
    assert "Datasets: 1 new, 1 broken." in response.content.decode()
    assert Dataset.objects.get().slug == "good"


def test_a_missing_directory_says_what_to_do(admin_client: Client, folder: Path) -> None:
    folder.rmdir()
    response = admin_client.post(f"{ADMIN}/datasetfile/sync/", follow=True)
    assert "benchmark.datasets_dir" in response.content.decode()


def test_a_change_on_both_sides_asks_and_shows_what_the_file_would_change(
    admin_client: Client, undecided: DatasetFile
) -> None:
    address = f"{ADMIN}/datasetfile/{undecided.pk}/decide/"
    assert address in admin_client.get(f"{ADMIN}/dataset/").content.decode()
    assert address in admin_client.get(f"{ADMIN}/dataset/{undecided.dataset_id}/change/").content.decode()
    shown = admin_client.get(address).content.decode()
    assert "&lt;i&gt;2 + 2&lt;/i&gt;" in shown
    assert "Edited here" in shown
    assert Dataset.objects.get().name == "Edited here"


def test_accepting_takes_the_file_over(admin_client: Client, undecided: DatasetFile) -> None:
    assert "The file demo.yaml is taken over as version 3" in decide(admin_client, undecided, "accept")
    assert (Dataset.objects.get().name, Dataset.objects.get().edited_here) == ("Demo", False)


def test_keeping_leaves_the_dataset_as_it_was_edited(admin_client: Client, undecided: DatasetFile) -> None:
    assert "The dataset demo stays as it is here" in decide(admin_client, undecided, "keep")
    assert Dataset.objects.get().name == "Edited here"
    assert DatasetFile.objects.get().state == "good"


def test_a_decision_about_an_older_version_is_refused(admin_client: Client, undecided: DatasetFile) -> None:
    dataset = Dataset.objects.get()
    seen = dataset.versions.get(number=1).pk
    assert "has changed since you looked" in decide(admin_client, undecided, "accept", base=seen)
    assert Dataset.objects.get().name == "Edited here"


def test_a_decision_for_neither_is_refused(admin_client: Client, undecided: DatasetFile) -> None:
    assert "Choose the file, or what is here." in decide(admin_client, undecided, "both")
    assert DatasetFile.objects.get().state == "undecided"


def test_a_file_that_broke_meanwhile_cannot_be_taken_over(
    admin_client: Client, undecided: DatasetFile, folder: Path
) -> None:
    (folder / "demo.yaml").write_text("name: [")
    shown = admin_client.get(f"{ADMIN}/datasetfile/{undecided.pk}/decide/").content.decode()
    assert "cannot be taken over" in shown
    assert "emo.yaml has mistakes" in decide(admin_client, undecided, "accept")
    assert Dataset.objects.get().name == "Edited here"


def test_deciding_and_reading_the_directory_need_the_permission_to_change_datasets(
    undecided: DatasetFile, folder: Path
) -> None:
    viewer = staff("view_dataset", "view_datasetfile")
    (folder / "new.yaml").write_text(VALID)
    for address in (f"{undecided.pk}/decide/", "sync/"):
        assert viewer.post(f"{ADMIN}/datasetfile/{address}", {"decision": "accept"}).status_code == 403
    assert viewer.get(f"{ADMIN}/datasetfile/{undecided.pk}/decide/").status_code == 403
    assert list(Dataset.objects.values_list("name", flat=True)) == ["Edited here"]
