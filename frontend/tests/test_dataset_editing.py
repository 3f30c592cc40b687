"""Datasets on the dashboard: added, edited, their tasks, versions, downloads, copies of results, by those who may."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.tests.examples import VALID
from benchmarks.dataset_format.tools import ToolUse
from benchmarks.models import AuditEntry, Dataset, DatasetVersion, Task
from benchmarks.services.datasets.versions import spec_of
from benchmarks.statistics.planning import detectable_difference
from frontend.views.dataset_editing import EXAMPLE, EXAMPLE_TABLE
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_canvas_set, make_scored_run

pytestmark = pytest.mark.django_db
TABLE = "question,answer,source\nWhat is 1 + 1?,2,a\nWhat is 2 + 2?,4,b\n"
TOOL = {"type": "function", "function": {"name": "add"}}


def current(slug: str = "sums") -> DatasetVersion:
    version = Dataset.objects.get(slug=slug).current_version
    assert version is not None
    return version


def file(content: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"file": SimpleUploadedFile(name, content.encode()), **fields}


def task_row(task_id: str = "task-1", slug: str = "sums") -> Task:
    return current(slug).tasks.get(task_id=task_id)


def edited(task: Task, **changes: str) -> dict[str, Any]:
    """The form of a plain task with some fields changed."""
    given = {"base": task.version_id, "id": task.task_id, "name": task.name, "input": task.input}
    return {**given, "expected_output": task.expected_output, "difficulty": task.difficulty, **changes}


def text_of(response: Any) -> str:
    return " ".join(response.content.decode().split())


def test_a_file_with_errors_is_shown_by_line_and_saved_when_fixed(client: Client) -> None:
    broken = VALID.replace("input:", "inptu:", 1)
    page = text_of(client.post("/datasets/new/", file(broken, "demo.yaml")))
    assert "Nothing was saved" in page
    assert "did you mean input?" in page
    assert "Source line" in page
    assert not Dataset.objects.exists()
    response = client.post("/datasets/new/", file(VALID, "demo.yaml"))
    assert response["Location"] == "/datasets/demo/"
    assert spec_of(current("demo")) == parse_dataset(VALID.encode(), "").spec


def test_a_preview_saves_nothing_and_shows_the_first_tasks(client: Client) -> None:
    for way, sent in (("file", file(VALID, "demo.yaml")), ("table", file(TABLE, "sums.csv"))):
        page = text_of(client.post(f"/datasets/new/{way}/", {**sent, "do": "preview"}))
        assert "without errors" in page, way
    assert "What is 2 + 2?" in page
    assert not Dataset.objects.exists()


def test_the_columns_of_a_table_can_be_chosen_once_it_is_read(client: Client) -> None:
    chosen = {"do": "preview", "column": "source=id"}
    page = text_of(client.post("/datasets/new/table/", {**file(TABLE, "sums.csv"), **chosen}))
    assert '<option value="source=id" selected>Identifier</option>' in page
    assert '<option value="" selected>Detected: Input</option>' in page
    assert 'id="columns"' in page, "shows the columns"
    offered = re.search(r'name="offered" value="([\w-]+)"', page)
    assert offered
    sent = {**file(TABLE, "sums.csv"), **chosen, "offered": offered[1]}
    assert 'id="columns"' not in text_of(client.post("/datasets/new/table/", sent)), "somebody may just choose another"
    sent |= file("left,right\n1,2\n", "other.csv")
    assert 'id="columns"' in text_of(client.post("/datasets/new/table/", sent))
    client.post("/datasets/new/table/", file(TABLE, "sums.csv", column="source=id"))
    assert [(task.id, task.expected_output) for task in spec_of(current()).tasks] == [("a", "2"), ("b", "4")]


def test_a_table_without_an_input_column_offers_its_columns(client: Client) -> None:
    page = text_of(client.post("/datasets/new/table/", file("left,right\n,2\n17,3\n", "sums.csv")))
    assert "no column is recognized as the input" in page
    assert '<td class="wide-text anywhere" dir="auto">17</td>' in page, "the first value that is not empty"
    assert '<option value="left=input">Input</option>' in page


def test_a_column_that_is_not_used_is_named_with_the_reason(client: Client) -> None:
    long = "x" * 300
    page = text_of(
        client.post("/datasets/new/table/", file(f"question,answer,why\n1 + 1?,2,{long}\n", "sums.csv", do="preview"))
    )
    assert '<option value="" selected>Detected: Not used</option>' in page
    assert "texts of more than 100 characters" in page
    refused = text_of(client.post("/datasets/new/table/", file(TABLE, "sums.csv", column="source=nothing")))
    assert "use NAME=FIELD" in refused


def test_a_dataset_starts_with_one_task_and_names_the_field_in_error(client: Client) -> None:
    sent = {"slug": "mine", "name": "Mine", "description": "Own", "first_id": "a", "first_name": "A"}
    page = text_of(client.post("/datasets/new/empty/", sent))
    assert 'id="id_first_input_error">is empty' in page
    response = client.post("/datasets/new/empty/", {**sent, "first_input": "1 + 1?", "first_expected_output": "2"})
    assert response["Location"] == "/datasets/mine/"


def test_names_make_the_identifiers_that_are_left_empty(client: Client) -> None:
    sent = {"name": "Rivers of Europe", "description": "Own", "first_name": "The Nile", "first_input": "Which sea?"}
    assert client.post("/datasets/new/empty/", sent)["Location"] == "/datasets/rivers-of-europe/"
    assert [task.id for task in spec_of(current("rivers-of-europe")).tasks] == ["the-nile"]
    generated = {"generator": "reasoning", "seed": "7", "tasks": "12"}
    assert client.post("/datasets/new/generated/", generated)["Location"] == "/datasets/reasoning-seed-7/"


def test_forms_mark_what_is_required_and_a_new_task_is_named_after_its_title(client: Client) -> None:
    make_dataset(1)
    marked = re.compile(r'<label for="id_(\w+)">[^<]+<span class="needed">')
    assert marked.findall(text_of(client.get("/datasets/new/empty/"))) == [
        *("name", "description", "first_input", "first_name"),
    ]
    page = text_of(client.get("/datasets/sums/tasks/new/"))
    assert marked.findall(page) == ["input", "name"]
    assert page.count("Which sea does the Nile reach?") == 2, "an example, and what of it is sent"
    sent = {
        "base": current().pk,
        "input": "2 + 2?",
        "expected_output": "4",
        "name": "Two and two",
        "difficulty": "easy",
    }
    client.post("/datasets/sums/tasks/new/", sent)
    assert task_row("two-and-two").name == "Two and two"


def test_what_every_task_has_is_folded_in_its_form_and_the_tools_of_a_dataset(client: Client) -> None:
    make_dataset([make_task(1, weight=1.0), make_task(2, weight=2.0)], tools=(TOOL,))
    folded = re.compile(r'<details class="form-group[^"]*"><summary>([^<]+)<')
    usual, weighted = (f"/datasets/sums/tasks/{task_row(f'task-{n}').pk}/edit/" for n in (1, 2))
    assert "Id, weight and breakdowns" in folded.findall(text_of(client.get(usual)))
    assert "Id, weight and breakdowns" not in folded.findall(text_of(client.get(weighted)))
    assert "More fields" in folded.findall(text_of(client.get(weighted)))
    head = "/datasets/sums/edit/head/"
    assert "Tools for every task" in folded.findall(text_of(client.get(head)))
    wrong = {"base": current().pk, "name": "Sums", "description": "Own", "tools": "{"}
    assert "Tools for every task" not in folded.findall(text_of(client.post(head, wrong))), "it has an error"


def test_a_dataset_is_generated_from_a_seed(client: Client) -> None:
    sent = {"generator": "reasoning", "slug": "fresh", "name": "", "seed": "7", "tasks": "12"}
    assert client.post("/datasets/new/generated/", sent)["Location"] == "/datasets/fresh/"
    version = current("fresh")
    assert (version.name, version.task_count, version.metrics) == ("reasoning, seed 7", 12, ["numeric", "exact_match"])
    assert version.description == "Tasks of the generator reasoning. Generated from seed 7."
    client.post("/datasets/new/generated/", {**sent, "slug": "again"})
    assert spec_of(current("again")) == spec_of(version)
    for changed, message in (
        ({"tasks": "0"}, 'id="id_tasks_error">Ensure this value is greater than or equal to 1.'),
        ({"generator": "poems"}, 'id="id_generator_error">Select a valid choice.'),
        ({"tokens": "8000, 32000"}, "is only for long-context: remove it"),
        ({"tokens": "many"}, "Enter whole numbers, as in 8000, 32000."),
        ({"generator": "long-context"}, "is missing: enter lengths, as in [8000]"),
        ({"slug": "fresh"}, 'id="id_slug_error">'),
    ):
        page = text_of(client.post("/datasets/new/generated/", {**sent, "slug": "other", **changed}))
        assert message in page, changed
    assert Dataset.objects.count() == 2


def test_a_task_is_edited_moved_added_and_deleted_each_with_a_version(client: Client) -> None:
    make_dataset(3)
    task = task_row()
    response = client.post(f"/datasets/sums/tasks/{task.pk}/edit/", edited(task, input="New?", place="3"), follow=True)
    assert "Task task-1 changed: Sums now has version 2." in text_of(response)
    assert [task.id for task in spec_of(current()).tasks] == ["task-2", "task-3", "task-1"]
    assert task_row().input == "New?"

    fresh = {"id": "new", "name": "New", "input": "Why?", "expected_output": "So", "difficulty": "easy"}
    client.post("/datasets/sums/tasks/new/", {"base": current().pk, **fresh})
    address = f"/datasets/sums/tasks/{task_row('task-2').pk}/delete/"
    assert "Delete task task-2 of Sums?" in text_of(client.post(address))
    client.post(address, {"confirmed": "yes"})
    assert [task.id for task in spec_of(current()).tasks] == ["task-3", "task-1", "new"]
    assert current().number == 4


def test_a_preview_of_a_task_shows_the_prompt_or_every_error_and_saves_nothing(client: Client) -> None:
    make_dataset(1)
    task = task_row()
    address = f"/datasets/sums/tasks/{task.pk}/edit/"
    assert "What is 1 + 1?" in text_of(client.get(address)).partition('id="checked"')[2]
    shown = text_of(client.post(address, edited(task, do="preview", input="Changed?"))).partition('id="checked"')[2]
    assert "Changed?" in shown
    wrong = edited(task, do="preview", input="", tools='[{"type": 1}', pattern="(")
    shown = text_of(client.post(address, wrong)).partition('id="checked"')[2]
    for message in ('href="#id_input">Input</a>: is empty', "line 1, column 13", 'href="#id_pattern">'):
        assert message in shown, message
    assert current().number == 1


def test_accepted_answers_are_edited_row_by_row_and_shown(client: Client) -> None:
    make_dataset(1)
    client.post(f"/datasets/sums/tasks/{task_row().pk}/edit/", edited(task_row(), other_answers=["two", "II"]))
    assert spec_of(current()).tasks[0].expected_output == ("2", "two", "II")
    page = text_of(client.get(f"/datasets/sums/tasks/{task_row().pk}/"))
    assert "Expected answer: any of these" in page
    assert "2 or others" in text_of(client.get("/datasets/sums/tasks/"))
    assert "II</textarea>" in text_of(client.get(f"/datasets/sums/tasks/{task_row().pk}/edit/"))


def test_tags_and_metadata_break_a_run_down_and_filter_its_results(client: Client) -> None:
    hostile = "<b>rare</b>"
    tasks = [make_task(n, tags=(hostile,) if n < 3 else ("common",), metadata={"hops": n % 2}) for n in range(1, 31)]
    run = make_scored_run(make_dataset(tasks, slug="labeled"), values=[0.0] * 2 + [1.0] * 28)
    page = text_of(client.get(f"/runs/{run.pk}/?outcome="))
    assert "Tags: &lt;b&gt;rare&lt;/b&gt; has the lowest score" in page
    assert '<option value="hops: 1"' in page
    for label, n in ((f"tags: {hostile}", 2), ("hops: 1", 15), ("hops: 7", 0)):
        assert client.get(f"/api/v1/benchmarks/runs/{run.pk}/results", {"label": label}).json()["count"] == n, label
        shown = text_of(client.get(f"/runs/{run.pk}/", {"label": label, "outcome": ""}))
        assert ("No results match" in shown) == (n == 0), label
    exported = b"".join(client.get(f"/runs/{run.pk}/export.jsonl")).splitlines()  # type: ignore[arg-type]  # streamed
    assert json.loads(exported[0])["labels"] == f"tags: {hostile}\nhops: 1"


def test_an_edit_of_an_old_version_is_refused_and_kept_in_the_form(client: Client) -> None:
    make_dataset(2)
    task = task_row()
    address = f"/datasets/sums/tasks/{task.pk}/edit/"
    client.post(address, edited(task, input="First"))
    page = text_of(client.post(address, edited(task, input="Second")))
    assert "Not saved:" in page
    assert "/datasets/sums/changes/1/2/" in page
    assert task_row().input == "First"
    assert client.get(address)["Location"] == f"/datasets/sums/tasks/{task_row().pk}/edit/"
    sent = edited(task, input="Second") | {"base": current().pk}
    client.post(address, sent)
    assert task_row().input == "Second"


def test_a_dataset_is_edited_as_yaml_and_by_a_new_file(client: Client) -> None:
    dataset = make_dataset(2)
    shown = client.get("/datasets/sums/edit/yaml/").context["form"]["file"].value()
    changed = shown.replace("What is 1", "How much is 1").replace("\n", "\r\n")
    sent = {"base": dataset.current_version_id, "file": changed}
    broken = {**sent, "file": shown.replace("input:", "inptu:", 1)}
    refused = text_of(client.post("/datasets/sums/edit/yaml/", broken))
    assert "tasks[0].inptu" in refused
    line = next(n for n, text in enumerate(shown.split("\n"), 1) if "input:" in text)
    assert f'data-line="{line}">Line {line}</a>' in refused
    client.post("/datasets/sums/edit/yaml/", sent)
    assert (task_row().input, current().number, current().origin) == ("How much is 1 + 1?", 2, "admin")
    client.post("/datasets/sums/edit/file/", file(VALID, "other.yaml", base=current().pk))
    assert spec_of(current()) == parse_dataset(VALID.encode(), "").spec
    head = {"base": current().pk, "name": "Named", "description": "Anew", "tools": "", "tool_results": ""}
    client.post("/datasets/sums/edit/head/", head)
    assert (current().name, current().number) == ("Named", 4)


def test_a_dataset_too_long_for_one_text_names_the_other_ways(client: Client) -> None:
    make_dataset([make_task(1, input="long " * 20_000)])
    make_dataset(501, slug="many")
    for slug in ("sums", "many"):
        page = text_of(client.get(f"/datasets/{slug}/edit/yaml/"))
        assert "too long to edit as one text" in page, slug
        assert len(page) < 10_000, slug


def test_versions_are_compared_downloaded_and_restored(client: Client) -> None:
    make_dataset(2)
    task = task_row()
    client.post(f"/datasets/sums/tasks/{task.pk}/edit/", edited(task, input="New?"))
    chosen = client.get("/datasets/sums/changes/", {"old": 1, "new": 2})
    assert chosen["Location"] == "/datasets/sums/changes/1/2/"
    assert ">New</ins>" in client.get(chosen["Location"]).content.decode()
    response = client.get("/datasets/sums/download.yaml?version=1")
    assert response["Content-Disposition"] == 'attachment; filename="sums-version-1.yaml"'
    assert parse_dataset(response.content, "").spec == spec_of(task.version)
    lines = client.get("/datasets/sums/download.jsonl").content.decode().splitlines()
    assert [json.loads(line)["input"] for line in lines] == ["New?", "What is 2 + 2?"]
    restored = {"version": 1, "base": current().pk}
    response = client.post("/datasets/sums/do/restore/", restored, follow=True)
    assert "version 1 of Sums, which has this content, is current again" in text_of(response)
    assert "Not saved:" in text_of(client.post("/datasets/sums/do/restore/", {**restored, "version": 2}, follow=True))
    assert current().number == 1


def test_a_dataset_is_deleted_after_a_question_unless_it_has_runs(client: Client) -> None:
    dataset = make_dataset(2)
    run = make_scored_run(dataset)
    assert "has 1 run that depends" in text_of(client.post("/datasets/sums/do/delete/", follow=True))
    run.delete()
    page = text_of(client.post("/datasets/sums/do/delete/"))
    assert "<h1>Delete dataset Sums?" in page
    assert "This deletes 1 version with all tasks." in page
    assert client.post("/datasets/sums/do/delete/", {"confirmed": "yes"})["Location"] == "/datasets/"
    assert not Dataset.objects.exists()


def test_tasks_of_results_are_copied_with_their_content_once(client: Client) -> None:
    used = make_task(1, expected_tools=(ToolUse(name="add"),))
    run = make_scored_run(make_dataset([used, make_task(2)], tools=(TOOL,)), (0.0, 0.0))
    make_dataset([make_task(1, input="Another task with this id")], slug="hard")
    keys = [result.pk for result in run.results.order_by("pk")]
    assert "Copy 2 tasks to a dataset" in text_of(client.get("/results/copy/", {"result": keys}))
    sent = {"result": [*keys, keys[0]], "dataset": "hard"}
    response = client.post("/results/copy/", sent, follow=True)
    assert "2 tasks copied: Sums now has version 2." in text_of(response)
    assert [task.id for task in spec_of(current("hard")).tasks] == ["task-1", "task-1-2", "task-2"]
    copy = task_row("task-1-2", "hard")
    assert copy.tools == [TOOL]
    kept = f"/datasets/hard/tasks/{task_row('task-2', 'hard').pk}/"
    assert f"/runs/{run.pk}/results/{keys[1]}/" in client.get(kept).content.decode()
    entry = AuditEntry.objects.filter(action="dataset.copy").latest("pk")
    assert entry.detail == {"results": [[run.pk, key] for key in keys]}
    assert "No changes: Sums keeps version 2." in text_of(client.post("/results/copy/", sent, follow=True))


def test_tasks_of_results_make_a_new_dataset_and_generated_ones_are_left_out(client: Client) -> None:
    run = make_scored_run(values=(0.0, 1.0))
    canvases = make_scored_run(make_canvas_set().dataset, (0.0,))
    keys = [run.results.first().pk, canvases.results.first().pk]
    assert "1 result left out" in text_of(client.get("/results/copy/", {"result": keys}))
    response = client.post("/results/copy/", {"result": keys, "slug": "sums"})
    assert "sums already exists" in text_of(response)
    client.post("/results/copy/", {"result": keys, "slug": "hard"})
    assert current("hard").description == f"Tasks copied from results of run {run.pk}."
    nothing = text_of(client.get("/results/copy/", {"result": ["x", "9" * 30, "0"]}))
    assert "No tasks to copy." in nothing
    assert "1 result does not exist." in nothing
    assert 'href="/runs/single/">Choose a run</a>' in nothing
    assert f'href="/runs/{run.pk}/?outcome=not_correct#results"' in nothing
    assert "1 of 2 not correct" in nothing
    assert f"/runs/{canvases.pk}/" not in nothing, "its tasks cannot be copied"
    crumbs = nothing.partition('aria-label="Breadcrumbs')[2].partition("</nav>")[0]
    assert ">Runs</a>" in crumbs, "the entry that the navigation marks"


def test_generated_tasks_cannot_be_edited(client: Client) -> None:
    dataset = make_canvas_set().dataset
    page = client.get(f"/datasets/{dataset.slug}/").content.decode()
    assert "Add task" not in page
    assert "Delete dataset" not in page
    for address in ("tasks/new/", "edit/yaml/", "download.yaml"):
        assert client.get(f"/datasets/{dataset.slug}/{address}").status_code == 404, address


def test_each_permission_opens_what_it_opens_in_the_admin(settings: Any) -> None:
    settings.DEV_MODE = settings.PUBLIC_READING = False
    make_dataset(2)
    task = f"/datasets/sums/tasks/{task_row().pk}/"
    opened = {
        "add_dataset": ("/datasets/", "Add dataset", "/datasets/new/"),
        "change_dataset": ("/datasets/sums/", "Edit as YAML", "/datasets/sums/edit/head/"),
        "add_task": ("/datasets/sums/", "Add task", "/datasets/sums/tasks/new/"),
        "change_task": (task, "Edit task", f"{task}edit/"),
        "delete_task": (task, "Delete task", f"{task}delete/"),
        "delete_dataset": ("/datasets/sums/", "Delete dataset", "/datasets/sums/do/delete/"),
    }
    for permission in opened:
        user = User.objects.create_user(permission)
        user.user_permissions.set(Permission.objects.filter(codename=permission))
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        for needed, (page, label, address) in opened.items():
            shown = f">{label}</" in client.get(page).content.decode().replace("\n", "").replace("  ", "")
            method = client.post if "delete" in needed else client.get
            expected = (True, 200) if needed == permission else (False, 403)
            assert (shown, method(address).status_code) == expected, (permission, needed)


def test_results_lead_to_their_copy_unless_tasks_are_generated_or_the_reader_may_not_edit(settings: Any) -> None:
    settings.DEV_MODE = settings.PUBLIC_READING = False
    written, drawn = make_scored_run(values=(0.0,)), make_scored_run(make_canvas_set().dataset, (0.0,))
    editor, viewer = (User.objects.create_user(name) for name in ("editor", "viewer"))
    editor.user_permissions.set(Permission.objects.filter(codename="add_task"))
    for user, run, offered in ((editor, written, True), (editor, drawn, False), (viewer, written, False)):
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        key = run.results.get().pk
        link = f'"/results/copy/?result={key}"' in client.get(f"/runs/{run.pk}/results/{key}/").content.decode()
        box = 'form="copy-results"' in client.get(f"/runs/{run.pk}/").content.decode()
        assert (link, box) == (offered, offered), (user.username, run.pk)


def test_the_example_beside_the_upload_is_a_valid_file(client: Client) -> None:
    parsed = parse_dataset(EXAMPLE.encode(), "rivers.yaml")
    assert not parsed.problems
    assert "    <b>name</b>: The Nile\n" in client.get("/datasets/new/").content.decode()


def test_the_example_beside_the_import_is_a_table_whose_columns_are_recognized(client: Client) -> None:
    assert "Where does the Rhine end?,North Sea" in client.get("/datasets/new/table/").content.decode()
    table = SimpleUploadedFile("rivers.csv", EXAMPLE_TABLE.encode())
    client.post("/datasets/new/table/", {"file": table})
    task = Dataset.objects.get(slug="rivers").current_version.tasks.get(position=1)
    assert (task.input, task.expected_output) == ("Where does the Rhine end?", "North Sea")


def test_forms_of_datasets_say_what_a_number_of_tasks_can_show(client: Client) -> None:
    html = client.get("/datasets/new/generated/").content.decode()
    assert f"{100 * detectable_difference(300):.0f} points" in html
    assert "Start with 12 (this is the number after step 0)" in html, "a task of each generator"
    opened = re.compile(r'<details class="small" open>\s*<summary>([^<]+)<')
    assert opened.findall(html) == ["Basic coding"], "the chosen one"
    chosen = {"generator": "reasoning", "seed": "1", "tasks": "300", "do": "preview"}
    assert opened.findall(text_of(client.post("/datasets/new/generated/", chosen))) == ["Reasoning"]


def test_the_head_of_a_dataset_leads_to_its_tasks_and_versions(client: Client) -> None:
    make_dataset(2, slug="sums")
    html = text_of(client.get("/datasets/sums/edit/head/"))
    assert '<dt>Tasks</dt><dd><a href="/datasets/sums/tasks/">2</a>' in html
    assert "What comes next" not in html, "the line below the title says it"
    assert "What comes next" in text_of(client.get("/datasets/sums/edit/duplicate/"))


def test_a_dataset_is_duplicated_on_its_page(client: Client) -> None:
    dataset = make_dataset(2, slug="sums")
    assert 'href="/datasets/sums/edit/duplicate/"' in client.get("/datasets/sums/").content.decode()
    form = client.get("/datasets/sums/edit/duplicate/").content.decode()
    assert 'value="sums-copy"' in form
    taken = client.post("/datasets/sums/edit/duplicate/", {"slug": "sums", "name": "Sums"})
    assert "sums" in str(taken.context["form"].errors["slug"])
    done = client.post("/datasets/sums/edit/duplicate/", {"slug": "more", "name": "More"}, follow=True)
    assert "Dataset More created as a copy of Sums." in done.content.decode()
    copy = Dataset.objects.get(slug="more").current_version
    assert copy is not None
    assert dataset.current_version is not None
    assert [task.content_hash for task in copy.tasks.all()] == [
        task.content_hash for task in dataset.current_version.tasks.all()
    ]
