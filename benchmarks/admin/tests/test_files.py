"""Files of the datasets directory in the admin: errors shown, conflicting changes decided by a person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from benchmarks.admin.tests.support import ADMIN, staff, text_of
from benchmarks.dataset_format.tests.examples import VALID
from benchmarks.models import Dataset, DatasetFile
from benchmarks.services.datasets.files import sync_datasets
from benchmarks.services.datasets.versions import save_edited_version, spec_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATASETS_DIR = tmp_path
    return tmp_path


@pytest.fixture
def conflict(folder: Path) -> DatasetFile:
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
    """Press a button on the page that shows version ``base`` or the current one; returns the next page."""
    data = {"base": base or Dataset.objects.get().current_version_id, "decision": decision}
    return text_of(client.post(f"{ADMIN}/datasetfile/{file.pk}/decide/", data, follow=True))


def test_a_file_with_errors_leads_to_them_on_the_dashboard(admin_client: Client, folder: Path) -> None:
    (folder / "bad.yaml").write_text(VALID.replace("id: t1", "idd: <script>alert(1)</script>"))
    sync_datasets(folder)
    file = DatasetFile.objects.get()
    for address in (f"datasetfile/{file.pk}/change/", "dataset/"):
        page = text_of(admin_client.get(f"{ADMIN}/{address}"))
        assert "bad.yaml" in page, address
        assert 'href="/datasets/#files"' in page, address
    page = admin_client.get("/datasets/").content.decode()
    assert "tasks[0].idd" in page
    assert "- idd: &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page


def test_a_button_imports_the_directory(admin_client: Client, folder: Path) -> None:
    (folder / "good.yaml").write_text(VALID)
    (folder / "bad.yaml").write_text("name: x")
    page = text_of(admin_client.post(f"{ADMIN}/datasetfile/sync/", follow=True))
    assert '<li class="warning">Datasets: 1 new, 1 ' in page
    assert Dataset.objects.get().slug == "good"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert "benchmark.datasets_dir" in text_of(admin_client.post(f"{ADMIN}/datasetfile/sync/", follow=True))


def test_a_conflict_is_announced_and_shows_what_the_file_would_change(
    admin_client: Client, conflict: DatasetFile
) -> None:
    address = f"{ADMIN}/datasetfile/{conflict.pk}/decide/"
    for place in ("dataset/", f"dataset/{conflict.dataset_id}/change/", f"datasetfile/{conflict.pk}/change/"):
        assert address in text_of(admin_client.get(f"{ADMIN}/{place}")), place
    page = text_of(admin_client.get(address))
    assert "&lt;i&gt;2 + 2&lt;/i&gt;" in page
    assert "Edited here" in page
    assert Dataset.objects.get().name == "Edited here"


def test_using_the_file_imports_it(admin_client: Client, conflict: DatasetFile) -> None:
    assert "Imported demo.yaml as version 3" in decide(admin_client, conflict, "accept")
    assert (Dataset.objects.get().name, Dataset.objects.get().edited_here) == ("Demo", False)


def test_keeping_the_edits_leaves_the_dataset_unchanged(admin_client: Client, conflict: DatasetFile) -> None:
    assert "Kept the edits of demo." in decide(admin_client, conflict, "keep")
    assert (Dataset.objects.get().name, DatasetFile.objects.get().state) == ("Edited here", "good")


def test_other_decisions_are_refused(admin_client: Client, conflict: DatasetFile, folder: Path) -> None:
    older = Dataset.objects.get().versions.get(number=1).pk
    assert "Choose “Use file” or “Keep edits”." in decide(admin_client, conflict, "both")
    assert "changed after you opened this page" in decide(admin_client, conflict, "accept", base=older)
    (folder / "demo.yaml").write_text("name: [")
    page = admin_client.get(f"{ADMIN}/datasetfile/{conflict.pk}/decide/")
    assert "has errors and cannot be imported" in text_of(page)
    assert 'class="error"' in decide(admin_client, conflict, "accept")
    assert (Dataset.objects.get().name, DatasetFile.objects.get().state) == ("Edited here", "undecided")


def test_deciding_and_importing_need_the_permission_to_change_datasets(conflict: DatasetFile, folder: Path) -> None:
    viewer = staff("view_dataset", "view_datasetfile")
    (folder / "new.yaml").write_text(VALID)
    for address in (f"{conflict.pk}/decide/", "sync/"):
        assert viewer.post(f"{ADMIN}/datasetfile/{address}", {"decision": "accept"}).status_code == 403
    assert viewer.get(f"{ADMIN}/datasetfile/{conflict.pk}/decide/").status_code == 403
    assert list(Dataset.objects.values_list("name", flat=True)) == ["Edited here"]
