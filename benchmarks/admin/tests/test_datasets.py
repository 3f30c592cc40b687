"""Datasets in the admin: the head and the list of tasks, copies, YAML in and out, versions, deletion."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from benchmarks.admin.tests.accounts import ADMIN, staff
from benchmarks.dataset_format import ToolUse, limits, parse_dataset
from benchmarks.dataset_format.tests.examples import FULL, VALID
from benchmarks.models import Dataset, DatasetFile, DatasetVersion, Run
from benchmarks.services.datasets.files import import_dataset, spec_of
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


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200
    return {name: list(messages) for name, messages in response.context["adminform"].form.errors.items()}


def test_a_change_of_the_head_makes_a_version_and_keeps_the_tasks(admin_client: Client) -> None:
    dataset = make_dataset(2)
    before = spec_of(current())
    tools = '[{"type": "function", "function": {"name": "add"}}]'
    response = admin_client.post(page(dataset), head(dataset, name="Better", tools=tools, tool_results='{"add": 3}'))
    assert response["Location"] == f"{ADMIN}/dataset/"
    after = spec_of(current())
    assert (current().number, after.name, after.tool_results) == (2, "Better", {"add": 3})
    assert after.tasks == before.tasks


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "", "is empty"),
        ("description", " ", "is empty: enter text"),
        ("tools", "[1]", "[0]: must be a function tool"),
        ("tools", "oops", "is no JSON: Expecting value at line 1, column 1"),
        ("tool_results", '{"nobody": 1}', '"nobody" is not one of the available tools'),
    ],
)
def test_a_mistake_in_the_head_is_told_at_its_field(admin_client: Client, field: str, value: str, message: str) -> None:
    dataset = make_dataset(2)
    found = errors(admin_client.post(page(dataset), head(dataset, **{field: value})))
    assert list(found) == [field]
    assert message in found[field][0]
    assert current().number == 1


def test_new_tools_that_a_task_does_not_fit_name_that_task(admin_client: Client) -> None:
    dataset = make_dataset([make_task(1, expected_tools=(ToolUse(name="add"),))])
    tools = '[{"type": "function", "function": {"name": "subtract"}}]'
    (said,) = errors(admin_client.post(page(dataset), head(dataset, tools=tools)))["__all__"]
    assert said.startswith('tasks[0].expected_tools[0].name: "add" is not one of the available tools')


def test_a_head_edited_meanwhile_by_another_is_refused_with_the_edit_kept(admin_client: Client) -> None:
    dataset = make_dataset(2)
    staff_client = staff("view_dataset", "change_dataset", name="grace")
    mine = head(dataset, name="Mine")
    staff_client.post(page(dataset), head(dataset, name="Hers"))
    response = admin_client.post(page(dataset), mine)
    assert "made by grace" in errors(response)["__all__"][0]
    assert response.context["adminform"].form["name"].value() == "Mine"
    assert current().name == "Hers"


def test_a_dataset_is_begun_with_its_first_task(admin_client: Client) -> None:
    given = {"slug": "new", "name": "New", "description": "For a test."}
    first = {"first_id": "t1", "first_name": "First", "first_input": "2 + 2?", "first_expected_output": "4"}
    response = admin_client.post(f"{ADMIN}/dataset/add/", {**given, **first}, follow=True)
    assert "The dataset new is there, with 1 task." in response.content.decode()
    assert [task.id for task in spec_of(current("new")).tasks] == ["t1"]


def test_everything_that_is_wrong_with_a_new_dataset_is_told_at_its_field(admin_client: Client) -> None:
    make_dataset(1)
    found = errors(admin_client.post(f"{ADMIN}/dataset/add/", {"slug": "sums", "first_name": " x"}))
    assert set(found) == {"slug", "name", "description", "first_id", "first_name", "first_input"}
    assert "is there already" in found["slug"][0]
    assert Dataset.objects.count() == 1


def test_the_page_lists_the_tasks_with_beginnings_only(admin_client: Client) -> None:
    dataset = make_dataset([make_task(1, input="A" * 5_000, expected_output="B" * 5_000)])
    shown = admin_client.get(page(dataset)).content.decode()
    assert "A" * 100 in shown
    assert "A" * 200 not in shown
    assert "B" * 200 not in shown


def test_an_upload_becomes_a_dataset_named_by_its_file(admin_client: Client) -> None:
    response = admin_client.post(f"{ADMIN}/dataset/upload/", upload(FULL, "every-key.yml"), follow=True)
    assert "The dataset every-key is there, with 2 tasks." in response.content.decode()
    assert spec_of(current("every-key")) == parse_dataset(FULL.encode(), "x").spec
    assert current("every-key").origin == "upload"


def test_an_upload_with_mistakes_shows_all_of_them_with_line_and_text_and_stores_nothing(admin_client: Client) -> None:
    bad = VALID.replace("id: t1", "id: 001").replace('"2"', "yes") + "    <script>: <b>bold</b>\n"
    response = admin_client.post(f"{ADMIN}/dataset/upload/", upload(bad))
    assert errors(response)["file"] == ["3 mistakes; nothing was stored"]
    told = response.context["adminform"].form.problems
    assert [(problem.line, text) for problem, text in told] == [
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


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "binary"),
        (b"\xff\xfen\0", "UTF-16"),
        (b"name: \xe9\n", "not UTF-8"),
        (b"!!python/object/apply:os.system ['id']\n", "tag"),
        (BOMB.encode(), "alias"),
        (("[" * 5_000).encode(), "deep"),
        (b"name: x\n" * 2, "twice"),
        (b"#" * limits.MAX_BYTES, "10,000,000 bytes"),
        ("name: \u202eevil\x1b[31m\n".encode(), "U+001B"),
    ],
    ids=["binary", "utf-16", "latin-1", "python tag", "bomb", "nested", "repeated key", "huge", "control"],
)
def test_a_hostile_upload_is_refused_with_its_reason(admin_client: Client, data: bytes, says: str) -> None:
    response = admin_client.post(f"{ADMIN}/dataset/upload/", upload(data))
    assert errors(response)["file"][0].endswith("nothing was stored")
    messages = " ".join(problem.message for problem, _ in response.context["adminform"].form.problems)
    assert says in messages
    assert "\x1b" not in response.content.decode()
    assert not Dataset.objects.exists()


@pytest.mark.parametrize(
    ("name", "slug", "message"),
    [("my data.yaml", "", "1 to 100 letters"), ("x.yaml", "../x", "1 to 100 letters"), ("sums.yaml", "", "already")],
)
def test_an_upload_of_an_unfit_name_is_told_at_the_identifier(
    admin_client: Client, name: str, slug: str, message: str
) -> None:
    make_dataset(1)
    found = errors(admin_client.post(f"{ADMIN}/dataset/upload/", upload(VALID, name, slug=slug)))
    assert message in found["slug"][0]
    assert Dataset.objects.count() == 1


@pytest.mark.parametrize("data", [{}, {"file": SimpleUploadedFile("x.yaml", b"")}])
def test_an_upload_without_content_says_so(admin_client: Client, data: dict[str, Any]) -> None:
    assert "file" in errors(admin_client.post(f"{ADMIN}/dataset/upload/", data))


def test_an_upload_onto_a_dataset_is_its_next_version(admin_client: Client) -> None:
    dataset = make_dataset(2)
    admin_client.post(page(dataset, "upload"), upload(FULL, base=dataset.current_version_id))
    assert (current().number, current().origin, current().name) == (2, "upload", "Everything")


def test_an_upload_onto_a_dataset_that_changed_meanwhile_is_refused(admin_client: Client) -> None:
    dataset = make_dataset(2)
    base = dataset.current_version_id
    admin_client.post(page(dataset), head(dataset, name="Newer"))
    response = admin_client.post(page(dataset, "upload"), upload(FULL, base=base))
    assert "Version 2" in errors(response)["__all__"][0]
    assert current().name == "Newer"


def test_a_download_uploads_to_the_same_content(admin_client: Client) -> None:
    found = parse_dataset(FULL.encode(), "full.yaml").spec
    assert found is not None
    dataset = import_dataset(found, "full", DatasetVersion.Origin.UPLOAD).dataset
    response = admin_client.get(page(dataset, "download"))
    assert response["Content-Disposition"] == 'attachment; filename="full.yaml"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert parse_dataset(response.content, "full.yaml").spec == found


def test_a_duplicate_is_a_dataset_of_its_own(admin_client: Client) -> None:
    dataset = make_dataset(2)
    form = admin_client.get(page(dataset, "duplicate")).context["adminform"].form
    response = admin_client.post(page(dataset, "duplicate"), {**form.initial}, follow=True)
    assert "The dataset sums-copy is there, with 2 tasks." in response.content.decode()
    assert spec_of(current("sums-copy")).tasks == spec_of(current()).tasks
    assert "is there already" in errors(admin_client.post(page(dataset, "duplicate"), {**form.initial}))["slug"][0]


def test_a_dataset_from_a_file_says_what_an_edit_means_and_then_that_it_was_edited(admin_client: Client) -> None:
    dataset = make_dataset(2)
    DatasetFile.objects.create(path="sums.yaml", dataset=dataset, state="good", checked_at=timezone.now())
    assert "you will be asked instead of being overwritten" in " ".join(
        admin_client.get(page(dataset)).content.decode().split()
    )
    admin_client.post(page(dataset), head(dataset, name="Edited"))
    assert "Edited here:" in admin_client.get(page(dataset)).content.decode()


def test_a_version_shows_what_changed_and_can_be_made_current_again(admin_client: Client) -> None:
    dataset = make_dataset([make_task(1, input="<i>old</i>"), make_task(2)])
    first = current()
    admin_client.post(page(dataset), head(dataset, name="<b>New</b>"))
    task = current().tasks.get(task_id="task-2")
    admin_client.post(f"{ADMIN}/task/{task.pk}/delete/")
    third = current()

    shown = admin_client.get(f"{ADMIN}/datasetversion/{third.pk}/change/").content.decode()
    assert "Changed since version 2" in shown
    assert "1 task removed" in " ".join(shown.split())
    second = admin_client.get(f"{ADMIN}/datasetversion/{dataset.versions.get(number=2).pk}/change/").content.decode()
    assert "&lt;b&gt;New&lt;/b&gt;" in second

    admin_client.post(f"{ADMIN}/datasetversion/{first.pk}/restore/", {"base": third.pk})
    assert current() == first
    assert DatasetVersion.objects.count() == 3


def test_a_restore_begun_on_an_older_version_is_refused(admin_client: Client) -> None:
    dataset = make_dataset(2)
    first = current()
    admin_client.post(page(dataset), head(dataset, name="Second"))
    response = admin_client.post(f"{ADMIN}/datasetversion/{first.pk}/restore/", {"base": first.pk}, follow=True)
    assert "has become current since" in response.content.decode()
    assert current().number == 2


def test_an_older_version_is_downloaded_under_its_number(admin_client: Client) -> None:
    dataset = make_dataset(2)
    first, before = current(), spec_of(current())
    admin_client.post(page(dataset), head(dataset, name="Second"))
    response = admin_client.get(f"{ADMIN}/datasetversion/{first.pk}/download/")
    assert response["Content-Disposition"] == 'attachment; filename="sums-version-1.yaml"'
    assert parse_dataset(response.content, "x").spec == before


def test_deleting_a_dataset_asks_first(admin_client: Client) -> None:
    dataset = make_dataset(2)
    assert "goes with 1 version" in " ".join(admin_client.get(page(dataset, "delete")).content.decode().split())
    admin_client.post(page(dataset, "delete"))
    assert not Dataset.objects.exists()


def test_a_dataset_with_runs_says_why_it_stays(admin_client: Client) -> None:
    dataset = make_dataset(2)
    Run.objects.create(dataset=dataset, dataset_version=current(), model="a/b", metrics=[])
    assert "has 1 run" in admin_client.get(page(dataset, "delete")).content.decode()
    assert "has 1 run" in admin_client.post(page(dataset, "delete"), follow=True).content.decode()
    assert current().number == 1


def test_a_canvas_dataset_is_only_looked_at(admin_client: Client) -> None:
    dataset = make_dataset(2)
    Dataset.objects.update(kind=Dataset.Kind.CANVAS)
    assert "generated from canvases" in admin_client.get(page(dataset)).content.decode()
    for view in ("change", "delete", "upload", "duplicate"):
        assert admin_client.post(page(dataset, view), head(dataset, name="x")).status_code == 403
    assert admin_client.get(page(dataset, "download")).status_code == 404
    assert current().number == 1
