"""Files of other tools that are uploaded in the settings: archives, limits and permissions."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from benchmarks.forms import imports
from benchmarks.imports.tests.logs import inspect_log, write_archive
from benchmarks.models import AuditEntry, Run

pytestmark = pytest.mark.django_db
PAGE = "/settings/imports/"


def upload(content: Any, name: str = "log.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content if isinstance(content, bytes) else json.dumps(content).encode())


def errors_of(response: Any) -> dict[str, list[str]]:
    return dict(response.context["form"].errors)


def test_an_archive_is_imported_by_the_account_that_uploads_it(admin_client: Client, tmp_path: Path) -> None:
    content = write_archive(tmp_path / "log.eval", inspect_log()).read_bytes()
    admin_client.post(PAGE, {"file": upload(content, "log.eval"), "metrics": ["exact_match", "contains"]})
    run = Run.objects.get()
    assert (run.total, run.metrics) == (3, ["inspect:match", "exact_match", "contains"])
    assert run.environment["file"] == "log.eval"
    entry = AuditEntry.objects.get(action="run.import")
    assert entry.account is not None
    assert entry.account.username == "admin"


def test_a_large_upload_is_sent_to_the_command(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports.RunImportForm.base_fields["file"], "limit", 2**20)
    errors = errors_of(admin_client.post(PAGE, {"file": upload(b" " * (2**20 + 1))}))
    assert errors["file"] == ["The files are larger than 32 MB. Import them with: manage.py benchmark import"]


def test_an_archive_that_decompresses_to_too_much_is_refused(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(imports, "MOST_DECOMPRESSED", 2**20)
    path = write_archive(tmp_path / "log.eval", inspect_log())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/4_epoch_1.json", b" " * 2**21)
    (message,) = errors_of(admin_client.post(PAGE, {"file": upload(path.read_bytes(), "log.eval")}))["__all__"]
    assert "decompresse" in message
    assert not Run.objects.exists()
