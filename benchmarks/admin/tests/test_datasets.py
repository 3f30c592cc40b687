"""Datasets in the admin: head and tasks, copies, YAML files in and out, versions, deletion."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from benchmarks.admin.tests.support import ADMIN, CONFIRMED, errors_of, staff, text_of
from benchmarks.dataset_format import limits
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.tests.examples import FULL, VALID
from benchmarks.dataset_format.tools import ToolUse
from benchmarks.models import Dataset, DatasetFile, DatasetVersion, Run
from benchmarks.services.datasets.versions import import_dataset, spec_of
from tests.support.factories import make_dataset, make_task

pytestmark = pytest.mark.django_db


def current(slug: str = "sums") -> DatasetVersion:
    version = Dataset.objects.get(slug=slug).current_version
    assert version is not None
    return version


def page(dataset: Dataset, view: str = "change") -> str:
    return f"{ADMIN}/dataset/{dataset.pk}/{view}/"


def head(dataset: Dataset, **changes: Any) -> dict[str, Any]:
    given = {
        "base": dataset.current_version_id,
        "name": "Sums",
        "description": "Additions",
        "tools": "",
        "tool_results": "",
    }
    return {**given, **changes}


def upload(text: str | bytes, name: str = "demo.yaml", **fields: Any) -> dict[str, Any]:
    data = text.encode() if isinstance(text, str) else text
    return {"file": SimpleUploadedFile(name, data), **fields}


def test_a_change_of_the_head_makes_a_version_and_keeps_the_tasks(admin_client: Client) -> None:
    dataset = make_dataset(2)
    before = spec_of(current())
    tools = '[{"type": "function", "function": {"name": "add"}}]'
    response = admin_client.post(page(dataset), head(dataset, name="Better", tools=tools, tool_results='{"add": 3}'))
    assert response["Location"] == f"{ADMIN}/dataset/"
    after = spec_of(current())
    assert (current().number, after.name, after.tool_results) == (2, "Better", {"add": 3})
    assert after.tasks == before.tasks


def test_an_error_in_the_head_is_shown_at_its_field(admin_client: Client) -> None:
    dataset = make_dataset(2)
    for field, value, message in (
        ("name", "", "is empty"),
        ("description", " ", "is empty"),
        ("tools", "[1]", "[0]: must be a function tool"),
        ("tools", "oops", "is not valid JSON: Expecting value at line 1, column 1"),
        ("tool_results", '{"nobody": 1}', '"nobody" is not'),
    ):
        errors = errors_of(admin_client.post(page(dataset), head(dataset, **{field: value})))
        assert list(errors) == [field], value
        assert message in errors[field][0], value
    assert current().number == 1


def test_new_tools_that_a_task_does_not_fit_name_that_task(admin_client: Client) -> None:
    dataset = make_dataset([make_task(1, expected_tools=(ToolUse(name="add"),))])
    tools = '[{"type": "function", "function": {"name": "subtract"}}]'
    (message,) = errors_of(admin_client.post(page(dataset), head(dataset, tools=tools)))["__all__"]
    assert message.startswith('tasks[0].expected_tools[0].name: "add" is not')


def test_an_edit_of_an_outdated_version_is_refused_and_kept_in_the_form(admin_client: Client) -> None:
    dataset = make_dataset(2)
    staff_client = staff("view_dataset", "change_dataset", name="grace")
    mine = head(dataset, name="Mine")
    staff_client.post(page(dataset), head(dataset, name="Hers"))
    response = admin_client.post(page(dataset), mine)
    assert "grace" in errors_of(response)["__all__"][0]
    assert response.context["adminform"].form["name"].value() == "Mine"
    assert current().name == "Hers"


def test_a_new_dataset_starts_with_its_first_task(admin_client: Client) -> None:
    given = {"slug": "fresh", "name": "New", "description": "For a test."}
    first = {"first_id": "t1", "first_name": "First", "first_input": "2 + 2?", "first_expected_output": "4"}
    response = admin_client.post(f"{ADMIN}/dataset/add/", {**given, **first}, follow=True)
    assert "Dataset fresh created with 1 task." in text_of(response)
    assert [task.id for task in spec_of(current("fresh")).tasks] == ["t1"]


def test_all_errors_of_a_new_dataset_are_shown_at_their_fields(admin_client: Client) -> None:
    make_dataset(1)
    errors = errors_of(admin_client.post(f"{ADMIN}/dataset/add/", {"slug": "sums", "first_name": " x"}))
    assert set(errors) == {"slug", "name", "description", "first_name", "first_input"}
    assert "already" in errors["slug"][0]
    assert Dataset.objects.count() == 1


def test_the_page_lists_the_tasks_with_beginnings_only(admin_client: Client) -> None:
    dataset = make_dataset([make_task(1, input="A" * 5_000, expected_output="B" * 5_000)])
    shown = admin_client.get(page(dataset)).content.decode()
    assert "A" * 100 in shown
    assert "A" * 200 not in shown
    assert "B" * 200 not in shown


def test_an_upload_becomes_a_dataset_named_by_its_file(admin_client: Client) -> None:
    response = admin_client.post(f"{ADMIN}/dataset/upload/", upload(FULL, "every-key.yml"), follow=True)
    assert "Dataset every-key created with 2 tasks." in text_of(response)
    assert spec_of(current("every-key")) == parse_dataset(FULL.encode(), "x").spec
    assert current("every-key").origin == "upload"


def test_an_upload_with_errors_shows_each_with_its_line_and_stores_nothing(admin_client: Client) -> None:
    bad = VALID.replace("id: t1", "id: 001").replace('"2"', "yes") + "    <script>: <b>bold</b>\n"
    response = admin_client.post(f"{ADMIN}/dataset/upload/", upload(bad))
    assert errors_of(response)["file"] == ["3 errors. Nothing was saved"]
    problems = response.context["adminform"].form.problems
    assert [(problem.line, text) for problem, text in problems] == [
        (4, "  - id: 001"),
        (7, "    expected_output: yes"),
        (8, "    <script>: <b>bold</b>"),
    ]
    shown = response.content.decode()
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown
    assert "<b>bold" not in shown
    assert not Dataset.objects.exists()


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + index)}: &{chr(98 + index)} [{', '.join(['*' + chr(97 + index)] * 9)}]\n" for index in range(9)
)


def test_a_hostile_upload_is_refused_with_a_reason(admin_client: Client) -> None:
    for name, data, reason in (
        ("binary", b"\x89PNG\r\n\x1a\n\0\0", "binary"),
        ("utf-16", b"\xff\xfen\0", "UTF-16"),
        ("latin-1", b"name: \xe9\n", "UTF-8"),
        ("python tag", b"!!python/object/apply:os.system ['id']\n", "tag"),
        ("bomb", BOMB.encode(), "alias"),
        ("nested", ("[" * 5_000).encode(), "deep"),
        ("repeated key", b"name: x\n" * 2, "twice"),
        ("huge", b"#" * limits.MAX_BYTES, "10,000,000"),
        ("control", "name: \u202eevil\x1b[31m\n".encode(), "U+001B"),
    ):
        response = admin_client.post(f"{ADMIN}/dataset/upload/", upload(data))
        assert errors_of(response)["file"][0].endswith("Nothing was saved"), name
        messages = " ".join(problem.message for problem, _ in response.context["adminform"].form.problems)
        assert reason in messages, name
        assert "\x1b" not in response.content.decode(), name
    assert not Dataset.objects.exists()


def test_an_upload_with_an_unusable_name_or_without_content_is_refused_at_its_field(admin_client: Client) -> None:
    make_dataset(1)
    for field, message, data in (
        ("slug", "1 to 100 letters", upload(VALID, "my data.yaml")),
        ("slug", "1 to 100 letters", upload(VALID, "x.yaml", slug="../x")),
        ("slug", "already", upload(VALID, "sums.yaml")),
        ("file", "Choose a file.", {}),
        ("file", "The file is empty.", upload(b"", "x.yaml")),
    ):
        errors = errors_of(admin_client.post(f"{ADMIN}/dataset/upload/", data))
        assert message in errors[field][0], (field, message)
    assert Dataset.objects.count() == 1


def test_an_upload_onto_a_dataset_is_its_next_version(admin_client: Client) -> None:
    dataset = make_dataset(2)
    admin_client.post(page(dataset, "upload"), upload(FULL, base=dataset.current_version_id))
    assert (current().number, current().origin, current().name) == (2, "upload", "Everything")


def test_an_upload_onto_a_dataset_that_changed_meanwhile_is_refused(admin_client: Client) -> None:
    dataset = make_dataset(2)
    base = dataset.current_version_id
    admin_client.post(page(dataset), head(dataset, name="Newer"))
    response = admin_client.post(page(dataset, "upload"), upload(FULL, base=base))
    assert "version 2" in errors_of(response)["__all__"][0]
    assert current().name == "Newer"


def test_a_download_uploads_to_the_same_content(admin_client: Client) -> None:
    spec = parse_dataset(FULL.encode(), "full.yaml").spec
    assert spec is not None
    dataset = import_dataset(spec, "full", DatasetVersion.Origin.UPLOAD).dataset
    response = admin_client.get(page(dataset, "download"))
    assert response["Content-Disposition"] == 'attachment; filename="full.yaml"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert parse_dataset(response.content, "full.yaml").spec == spec


def test_a_duplicate_is_a_dataset_of_its_own(admin_client: Client) -> None:
    dataset = make_dataset(2)
    form = admin_client.get(page(dataset, "duplicate")).context["adminform"].form
    response = admin_client.post(page(dataset, "duplicate"), {**form.initial}, follow=True)
    assert "Dataset sums-copy created with 2 tasks." in text_of(response)
    assert spec_of(current("sums-copy")).tasks == spec_of(current()).tasks
    assert "already" in errors_of(admin_client.post(page(dataset, "duplicate"), {**form.initial}))["slug"][0]


def test_the_page_of_a_dataset_from_a_file_explains_what_edits_do(admin_client: Client) -> None:
    dataset = make_dataset(2)
    DatasetFile.objects.create(path="sums.yaml", dataset=dataset, state="good", checked_at=timezone.now())
    assert "Edits here create a new version and do not change the file." in text_of(admin_client.get(page(dataset)))
    admin_client.post(page(dataset), head(dataset, name="Edited"))
    assert "Edited here:" in text_of(admin_client.get(page(dataset)))


def test_a_version_shows_its_changes_and_can_be_restored(admin_client: Client) -> None:
    dataset = make_dataset([make_task(1, input="<i>old</i>"), make_task(2)])
    first = current()
    admin_client.post(page(dataset), head(dataset, name="<b>New</b>"))
    task = current().tasks.get(task_id="task-2")
    admin_client.post(f"{ADMIN}/task/{task.pk}/delete/", CONFIRMED)
    third = current()

    shown = text_of(admin_client.get(page(dataset)))
    for old, new in ((1, 2), (2, 3)):
        assert f'<a href="/datasets/sums/changes/{old}/{new}/"> Changes since version {old} </a>' in shown
    assert "&lt;b&gt;New&lt;/b&gt;" in text_of(admin_client.get("/datasets/sums/changes/1/2/"))
    assert "task-2" in text_of(admin_client.get("/datasets/sums/changes/2/3/"))

    admin_client.post(page(dataset, "restore"), {"version": 1, "base": third.pk})
    assert current() == first
    assert DatasetVersion.objects.count() == 3


def test_restoring_from_an_outdated_page_is_refused(admin_client: Client) -> None:
    dataset = make_dataset(2)
    first = current()
    admin_client.post(page(dataset), head(dataset, name="Second"))
    response = admin_client.post(page(dataset, "restore"), {"version": 1, "base": first.pk}, follow=True)
    assert 'class="error"' in text_of(response)
    assert current().number == 2


def test_an_older_version_is_downloaded_under_its_number(admin_client: Client) -> None:
    dataset = make_dataset(2)
    before = spec_of(current())
    admin_client.post(page(dataset), head(dataset, name="Second"))
    response = admin_client.get(page(dataset, "download"), {"version": 1})
    assert response["Content-Disposition"] == 'attachment; filename="sums-version-1.yaml"'
    assert parse_dataset(response.content, "x").spec == before


def test_a_dataset_is_deleted_after_confirmation(admin_client: Client) -> None:
    dataset = make_dataset(2)
    assert "1 version with all tasks." in text_of(admin_client.get(page(dataset, "delete")))
    admin_client.post(page(dataset, "delete"), CONFIRMED)
    assert not Dataset.objects.exists()


def test_a_dataset_with_runs_cannot_be_deleted(admin_client: Client) -> None:
    dataset = make_dataset(2)
    Run.objects.create(dataset=dataset, dataset_version=current(), model="a/b", metrics=[])
    assert "has 1 run" in admin_client.get(page(dataset, "delete")).content.decode()
    assert "has 1 run" in admin_client.post(page(dataset, "delete"), CONFIRMED, follow=True).content.decode()
    assert current().number == 1


def test_a_canvas_dataset_cannot_be_edited(admin_client: Client) -> None:
    dataset = make_dataset(2)
    Dataset.objects.update(kind=Dataset.Kind.CANVAS)
    assert "generated from canvases" in admin_client.get(page(dataset)).content.decode()
    for view in ("change", "delete", "upload", "duplicate"):
        assert admin_client.post(page(dataset, view), head(dataset, name="x")).status_code == 403
    assert admin_client.get(page(dataset, "download")).status_code == 404
    assert current().number == 1
