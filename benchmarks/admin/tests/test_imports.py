"""Runs of other tools and tables, taken over from files that are uploaded in the admin."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from benchmarks.admin import imports
from benchmarks.admin.tests.accounts import ADMIN, staff
from benchmarks.dataset_format.limits import MAX_BYTES
from benchmarks.imports.tests.logs import inspect_log, inspect_sample, promptfoo_results, write_archive
from benchmarks.models import AuditEntry, Dataset, Run
from benchmarks.services.datasets.files import spec_of
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db

RUNS = f"{ADMIN}/run/import/"
TABLE = f"{ADMIN}/dataset/table/"
ASKED = [{"question": "Which tide?", "answer": "Ebb"}, {"question": "Which wind?", "answer": "West"}]


def upload(content: Any, name: str = "log.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content if isinstance(content, bytes) else json.dumps(content).encode())


def lines(*rows: Any) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200
    return {name: list(messages) for name, messages in response.context["adminform"].form.errors.items()}


def test_runs_of_a_file_are_taken_over_once(admin_client: Client) -> None:
    given = {"slug": "taken", "metrics": ["exact_match", "contains"]}
    first = admin_client.post(RUNS, {"file": upload(inspect_log()), **given}, follow=True)
    run = Run.objects.get()
    assert first.redirect_chain[-1][0] == f"{ADMIN}/run/{run.pk}/change/"
    assert f"Run {run.pk} is new: vendor/model on taken, 3 results." in first.content.decode()
    assert run.metrics == ["inspect:match", "exact_match", "contains"]
    assert run.environment["file"] == "log.json"
    assert (entry := AuditEntry.objects.get(action="run.import")).account is not None
    assert entry.account.username == "admin"
    again = admin_client.post(RUNS, {"file": upload(inspect_log()), **given}, follow=True)
    assert f"Run {run.pk} was taken over from this file before" in again.content.decode()
    assert Run.objects.count() == 1


@pytest.mark.parametrize("address", [RUNS, TABLE, f"{ADMIN}/dataset/upload/"])
def test_a_form_that_nobody_sent_yet_shows_no_mistake(admin_client: Client, address: str) -> None:
    page = admin_client.get(address)
    assert errors(page) == {}
    assert ("checked" in page.content.decode()) == (address == RUNS)


def test_several_runs_of_one_file_lead_to_the_list(admin_client: Client, tmp_path: Path) -> None:
    rows = promptfoo_results()["results"]["results"]
    other = [{**row, "provider": {"id": "vendor:other", "label": ""}} for row in rows]
    shown = admin_client.post(RUNS, {"file": upload(promptfoo_results(*rows, *other))}, follow=True)
    assert shown.redirect_chain[-1][0] == f"{ADMIN}/run/"
    assert Run.objects.count() == 2


def test_an_archive_is_read_as_well(admin_client: Client, tmp_path: Path) -> None:
    content = write_archive(tmp_path / "log.eval", inspect_log()).read_bytes()
    admin_client.post(RUNS, {"file": upload(content, "log.eval")})
    assert Run.objects.get().total == 3


@pytest.mark.parametrize(
    ("content", "fields", "told"),
    [
        ({"neither": 1}, {}, "log.json: neither a log of Inspect"),
        (b'{"a": "\xff"}', {}, "log.json: the file: no UTF-8 text"),
        (inspect_log(inspect_sample(target=3)), {"format": "promptfoo"}, "log.json: results: nothing"),
        (inspect_log(), {"slug": "../x"}, "The slug of a dataset has 1 to 100 letters"),
        (inspect_log(), {"dataset": "sums"}, "1 of 3 tasks ask what no task of sums asks"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_and_nothing_stored(
    admin_client: Client, content: Any, fields: dict[str, str], told: str
) -> None:
    make_dataset(2)
    (said,) = errors(admin_client.post(RUNS, {"file": upload(content), **fields}))["__all__"]
    assert said.startswith(told)
    assert not Run.objects.exists()


def test_a_large_upload_is_sent_to_the_command(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "MOST_BYTES", 2**20)
    found = errors(admin_client.post(RUNS, {"file": upload(b" " * (2**20 + 1))}))
    assert found["file"] == ["is larger than 1 MB: take it over by manage.py benchmark import"]


def test_an_archive_that_decompresses_to_too_much_is_refused(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(imports, "MOST_DECOMPRESSED", 2**20)
    path = write_archive(tmp_path / "log.eval", inspect_log())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/4_epoch_1.json", b" " * 2**21)
    (said,) = errors(admin_client.post(RUNS, {"file": upload(path.read_bytes(), "log.eval")}))["__all__"]
    assert "decompresses to more than is read" in said


def test_taking_over_runs_needs_both_permissions(admin_client: Client) -> None:
    for number, granted in enumerate(({"launch_run"}, {"add_dataset"}, {"launch_run", "add_dataset"})):
        client = staff("view_run", *granted, name=f"person-{number}")
        answers = [client.get(RUNS).status_code, client.post(RUNS, {"file": upload({})}).status_code]
        assert answers == ([200, 200] if len(granted) == 2 else [403, 403])
        assert (RUNS in client.get(f"{ADMIN}/run/").content.decode()) == (len(granted) == 2)


def test_a_table_becomes_a_dataset_with_its_columns_told(admin_client: Client) -> None:
    content = lines(*ASKED)
    shown = admin_client.post(TABLE, {"file": upload(content, "Harbour rules.jsonl"), "limit": ""}, follow=True)
    page = shown.content.decode()
    assert "The dataset harbour-rules is there, with 2 tasks." in page
    assert "input: question; expected: answer" in page
    version = Dataset.objects.get(slug="harbour-rules").current_version
    assert version is not None
    assert (version.origin, version.description) == ("upload", "Taken over from the table Harbour rules.jsonl.")
    assert [(task.input, task.expected_output) for task in spec_of(version).tasks] == [
        ("Which tide?", "Ebb"),
        ("Which wind?", "West"),
    ]


def test_columns_a_mark_and_a_limit_may_be_given(admin_client: Client) -> None:
    rows = b"q;a\nOne?;because #### 1\nTwo?;none\n"
    given = {"slug": "named", "name": "Named", "description": "For a test.", "input": "q", "expected": "a"}
    admin_client.post(TABLE, {"file": upload(rows, "t.csv"), "answer_after": "####", "limit": "1", **given})
    version = Dataset.objects.get(slug="named").current_version
    assert version is not None
    assert (version.name, version.description) == ("Named", "For a test.")
    assert [task.expected_output for task in spec_of(version).tasks] == ["1"]


def test_mistakes_of_rows_are_shown_by_line_and_nothing_is_stored(admin_client: Client) -> None:
    response = admin_client.post(TABLE, {"file": upload(lines({"question": ""}, ASKED[0], [1]), "t.jsonl")})
    assert errors(response)["file"] == ["1 mistake; nothing was stored"]
    (problem, _), *_ = response.context["adminform"].form.problems
    assert (problem.line, problem.message) == (3, "an object with the columns as its keys is wanted")
    assert not Dataset.objects.exists()


@pytest.mark.parametrize(
    ("name", "content", "field", "told"),
    [
        ("t.parquet", b"PAR1", "file", "its name has to end in .jsonl"),
        ("t.json", b"[", "file", "t.json: the file, line 1, column 2: no JSON"),
        ("t.csv", b"a,b\n1,2\n", "file", "t.csv: no column is known to be the input: say which is."),
        ("t.jsonl", b" " * (MAX_BYTES + 1), "file", "is larger than 10 MB"),
        ("sums.jsonl", lines(*ASKED), "slug", "sums is there already"),
        ("<b>.jsonl", lines({"question": ""}), "file", "1 mistake"),
    ],
)
def test_what_is_wrong_with_a_table_is_told_at_its_field(
    admin_client: Client, name: str, content: bytes, field: str, told: str
) -> None:
    make_dataset(1)
    response = admin_client.post(TABLE, {"file": upload(content, name)})
    assert errors(response)[field][0].startswith(told)
    assert "<b>" not in response.content.decode()
    assert Dataset.objects.count() == 1


def test_a_table_needs_the_permission_to_add_datasets(client: Client) -> None:
    assert staff("view_dataset").post(TABLE, {"file": upload(lines(*ASKED), "t.jsonl")}).status_code == 403
    assert client.get(TABLE).status_code == 302
