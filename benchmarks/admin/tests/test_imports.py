"""Tables that are uploaded in the admin."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from benchmarks.admin.tests.support import ADMIN, errors_of, staff, text_of
from benchmarks.dataset_format.limits import MAX_BYTES
from benchmarks.models import Dataset
from benchmarks.services.datasets.versions import spec_of
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db

TABLE = f"{ADMIN}/dataset/table/"
ROWS = [{"question": "Which tide?", "answer": "Ebb"}, {"question": "Which wind?", "answer": "West"}]


def upload(content: bytes, name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def lines(*rows: Any) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def test_a_form_that_was_not_submitted_shows_no_errors(admin_client: Client) -> None:
    for address in (TABLE, f"{ADMIN}/dataset/upload/"):
        assert errors_of(admin_client.get(address)) == {}, address


def test_a_table_becomes_a_dataset_and_its_columns_are_reported(admin_client: Client) -> None:
    data = {"file": upload(lines(*ROWS), "Harbour rules.jsonl"), "limit": ""}
    page = text_of(admin_client.post(TABLE, data, follow=True))
    assert "Dataset harbour-rules created with 2 tasks." in page
    assert "input: question; expected: answer" in page
    version = Dataset.objects.get(slug="harbour-rules").current_version
    assert version is not None
    assert (version.origin, version.description) == ("upload", "Imported from the table Harbour rules.jsonl.")
    assert [(task.input, task.expected_output) for task in spec_of(version).tasks] == [
        ("Which tide?", "Ebb"),
        ("Which wind?", "West"),
    ]


def test_columns_an_answer_mark_and_a_limit_can_be_set(admin_client: Client) -> None:
    rows = b"q;a\nOne?;because #### 1\nTwo?;none\n"
    given = {"slug": "named", "name": "Named", "description": "For a test.", "input": "q", "expected": "a"}
    admin_client.post(TABLE, {"file": upload(rows, "t.csv"), "answer_after": "####", "limit": "1", **given})
    version = Dataset.objects.get(slug="named").current_version
    assert version is not None
    assert (version.name, version.description) == ("Named", "For a test.")
    assert [task.expected_output for task in spec_of(version).tasks] == ["1"]


def test_errors_in_rows_are_shown_by_line_and_nothing_is_stored(admin_client: Client) -> None:
    response = admin_client.post(TABLE, {"file": upload(lines({"question": ""}, ROWS[0], [1]), "t.jsonl")})
    assert errors_of(response)["file"] == ["1 error. Nothing was saved"]
    (problem, _), *_ = response.context["adminform"].form.problems
    assert problem.line == 3
    assert "object" in problem.message
    assert not Dataset.objects.exists()


def test_a_table_with_errors_is_refused_at_its_field(admin_client: Client) -> None:
    make_dataset(1)
    for name, content, field, message in (
        ("t.parquet", b"PAR1", "file", "The file name must end in one of: .jsonl"),
        ("t.json", b"[", "file", "line 1, column 2"),
        ("t.csv", b"a,b\n1,2\n", "file", "t.csv"),
        ("t.jsonl", b" " * (MAX_BYTES + 1), "file", "The file is larger than 10 MB"),
        ("sums.jsonl", lines(*ROWS), "slug", "already"),
        ("<b>.jsonl", lines({"question": ""}), "file", "1 error"),
    ):
        response = admin_client.post(TABLE, {"file": upload(content, name)})
        assert message in errors_of(response)[field][0], name
        assert "<b>" not in text_of(response), name
    assert Dataset.objects.count() == 1


def test_a_table_needs_the_permission_to_add_datasets(client: Client) -> None:
    assert staff("view_dataset").post(TABLE, {"file": upload(lines(*ROWS), "t.jsonl")}).status_code == 403
    assert client.get(TABLE).status_code == 302
