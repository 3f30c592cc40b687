"""Tasks, each edited on its own page: saved as a new version, validated like YAML, never overwriting other edits."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from benchmarks.admin.tests.support import ADMIN, CONFIRMED, errors_of, staff, text_of
from benchmarks.dataset_format.tools import ToolUse
from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.models import Dataset, Run, Task
from benchmarks.services.datasets.versions import spec_of
from tests.support.factories import make_dataset, make_task

pytestmark = pytest.mark.django_db


def current(dataset: Dataset) -> Any:
    return Dataset.objects.get(pk=dataset.pk).current_version


def tasks(dataset: Dataset) -> dict[str, Any]:
    return {task.id: task for task in spec_of(current(dataset)).tasks}


def task_row(dataset: Dataset, task_id: str = "task-1") -> Task:
    return current(dataset).tasks.get(task_id=task_id)


def page(task: Task) -> str:
    return f"{ADMIN}/task/{task.pk}/change/"


def filled(client: Client, address: str, **changes: Any) -> dict[str, Any]:
    """What a browser would send back for the form as it is, with some fields changed."""
    form = client.get(address).context["adminform"].form
    data: dict[str, Any] = {}
    for name, field in form.fields.items():
        shown = form[name].value()
        if hasattr(field.widget, "parts"):
            for index, (suffix, _) in enumerate(field.widget.parts):
                data[name + suffix] = [row[index] for row in shown] + [""]
        else:
            data[name] = "" if shown is None else str(shown)
    return {**data, **changes}


RICH = make_task(
    1,
    input="one\n\n  two\n",
    context=("A passage.", "Another:\npassage"),
    expected_tools=(ToolUse(name="add", args={"a": 1, "b": [1.5, None]}), ToolUse(name="add")),
    tools=(
        {
            "type": "function",
            "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {}, "b": {}}}},
        },
    ),
    tool_results={"add": {"sum": 3, "text": "ä\u2028"}},
    choices=("2", "3"),
    pattern=r"^\d+$",
    tolerance=0.5,
    schema={"type": "object"},
    tests="assert True\n",
    difficulty="hard",
)


def test_saving_an_unchanged_form_creates_no_version(admin_client: Client) -> None:
    for slug, task in (("plain", make_task(1)), ("rich", RICH)):
        dataset = make_dataset([task, make_task(2)], slug=slug)
        address = page(task_row(dataset))
        response = admin_client.post(address, filled(admin_client, address), follow=True)
        assert "No changes: Sums keeps version 1." in text_of(response)
        assert tasks(dataset)["task-1"] == task


def test_line_ends_that_a_browser_changes_are_kept(admin_client: Client) -> None:
    for number, ends in enumerate(("\r\n", "\r", "\n")):
        dataset = make_dataset([make_task(1, input=f"one{ends}two{ends}")], slug=f"sums-{number}")
        address = page(task_row(dataset))
        admin_client.post(address, filled(admin_client, address, input="one\r\ntwo\r\n", name="New name"))
        assert tasks(dataset)["task-1"] == make_task(1, input=f"one{ends}two{ends}", name="New name"), ends


def test_an_edit_creates_a_version_with_its_author_and_an_entry_in_the_history(
    admin_client: Client, admin_user: Any
) -> None:
    dataset = make_dataset(3)
    address = page(task_row(dataset, "task-2"))
    response = admin_client.post(address, filled(admin_client, address, input="New?\r\nYes."), follow=True)
    version = current(dataset)
    assert (version.number, version.origin, version.created_by) == (2, "admin", admin_user)
    assert list(tasks(dataset)) == ["task-1", "task-2", "task-3"]
    assert tasks(dataset)["task-2"].input == "New?\nYes."
    assert response.redirect_chain == [(f"{ADMIN}/dataset/{dataset.pk}/change/", 302)]
    assert "Task task-2 changed: Sums now has version 2." in text_of(response)
    assert "Task task-2 changed (version 2)." in LogEntry.objects.get().get_change_message()


def test_the_other_save_buttons_lead_to_their_pages(admin_client: Client) -> None:
    dataset = make_dataset(2)
    for button, target in (("_continue", "task/{task}/change/"), ("_addanother", "task/add/?dataset={dataset}")):
        address = page(task_row(dataset))
        response = admin_client.post(address, filled(admin_client, address, name=f"New {button}", **{button: "1"}))
        assert response["Location"] == f"{ADMIN}/{target.format(task=task_row(dataset).pk, dataset=dataset.pk)}"


def test_a_task_is_moved_by_its_place(admin_client: Client) -> None:
    dataset = make_dataset(3)
    address = page(task_row(dataset, "task-3"))
    admin_client.post(address, filled(admin_client, address, place="1"))
    assert list(tasks(dataset)) == ["task-3", "task-1", "task-2"]


def test_emptied_optional_fields_are_left_out(admin_client: Client) -> None:
    dataset = make_dataset([RICH])
    address = page(task_row(dataset))
    optional = ("context", "expected_tools-name", "expected_tools-args", "tools", "tool_results", "choices")
    emptied = dict.fromkeys((*optional, "pattern", "tolerance", "schema", "tests"), "")
    admin_client.post(address, filled(admin_client, address, **emptied))
    assert tasks(dataset)["task-1"] == make_task(1, input=RICH.input, difficulty="hard")


def test_a_task_is_added_with_the_tools_that_its_rows_name(admin_client: Client) -> None:
    dataset = make_dataset(1)
    address = f"{ADMIN}/task/add/?dataset={dataset.pk}"
    given = {
        "id": "new",
        "name": "New",
        "input": "Add.",
        "expected_tools-name": ["add", "", "stop"],
        "expected_tools-args": ['{"a": 1}', "", ""],
        "context": ["One\r\npassage", "", "Two"],
    }
    response = admin_client.post(address, filled(admin_client, address, **given), follow=True)
    assert "Task new added: Sums now has version 2." in text_of(response)
    added = tasks(dataset)["new"]
    assert added.expected_tools == (ToolUse(name="add", args={"a": 1}), ToolUse(name="stop"))
    assert added.context == ("One\npassage", "Two")


def test_without_a_dataset_adding_a_task_leads_to_the_datasets(admin_client: Client) -> None:
    response = admin_client.get(f"{ADMIN}/task/add/", follow=True)
    assert response.redirect_chain == [(f"{ADMIN}/dataset/", 302)]
    assert "Choose the dataset" in response.content.decode()


FIELD_ERRORS: tuple[tuple[str, Any, str], ...] = (
    ("id", "", "is empty"),
    ("id", "a\tb", "one line"),
    ("id", "task-2", "twice"),
    ("id", "x" * 201, "has 201 characters"),
    ("name", "  ", "is empty"),
    ("input", "", "is empty"),
    ("difficulty", "imposible", "easy, medium or hard"),
    ("context", [" "], "[0]: is empty"),
    ("choices", ["one"], "at least 2"),
    ("choices", ["one", "one"], "twice"),
    ("expected_tools-name", ["a b"], '[0].name: "a b"'),
    ("expected_tools-args", ["[1]"], "[0].args: must be a mapping"),
    ("expected_tools-args", ["{"], "[0]: is not valid JSON: Expecting property name"),
    ("tools", "[{]", "is not valid JSON: Expecting property name enclosed in double quotes at line 1, column 3"),
    ("tools", "{'a': 1}", "Put keys and strings in double quotes"),
    ("tools", '{"a": 1}', "must be a list"),
    ("tools", '[{"name": "add"}]', "[0]"),
    ("tool_results", "[]", "must be a mapping"),
    ("tool_results", '{"a": 1, "a": 2}', 'has the key "a" twice in one mapping'),
    ("tool_results", '{"nobody": 1}', '"nobody"'),
    ("schema", '{"type": "objekt"}', "JSON Schema"),
    ("schema", '{"minimum": NaN}', "contains NaN, which is not valid JSON: quote it"),
    ("schema", '{"minimum": 1e999}', "finite"),
    ("schema", '{"minimum": ' + "1" * 5000 + "}", "contains a number that cannot be read"),
    ("schema", "[" * 100_000, "is nested too deeply"),
    ("schema", '{"$ref": "http://example.com/x"}', "outside the schema"),
    ("pattern", "(", "regular expression"),
    ("tolerance", "about 1", "must be a number"),
    ("tolerance", "nan", "finite"),
    ("tolerance", "-1", "at least 0"),
    ("tests", "assert (", "Python"),
    ("place", "0", "greater than or equal to 1"),
    ("input", "a\0b", "Null characters are not allowed"),
)


def test_an_error_is_shown_at_its_field(admin_client: Client) -> None:
    dataset = make_dataset(2)
    address = page(task_row(dataset))
    unchanged = filled(admin_client, address)
    for field, value, message in FIELD_ERRORS:
        call = {"expected_tools-name": ["add"], "expected_tools-args": ["{}"]} if field.startswith("expected") else {}
        errors = errors_of(admin_client.post(address, {**unchanged, **call, field: value}))
        assert list(errors) == [field.partition("-")[0]], (field, str(value)[:50])
        assert message in " ".join(next(iter(errors.values()))), (field, str(value)[:50])
    assert current(dataset).number == 1


def test_all_errors_are_shown_together_and_the_form_keeps_its_values(admin_client: Client) -> None:
    dataset = make_dataset(2)
    address = page(task_row(dataset))
    bad = {"name": "", "schema": "{oops", "pattern": "(", "context": ["<b>kept</b>", " "]}
    response = admin_client.post(address, filled(admin_client, address, **bad))
    assert set(errors_of(response)) == {"name", "schema", "pattern", "context"}
    shown = response.content.decode()
    assert "{oops" in shown
    assert "&lt;b&gt;kept&lt;/b&gt;" in shown


def test_an_edit_of_an_outdated_version_is_refused_once_and_then_applied_on_top(admin_client: Client) -> None:
    dataset = make_dataset(3)
    other = staff("view_task", "change_task", name="grace")
    address = page(task_row(dataset))
    mine = filled(admin_client, address, input="Mine")
    other.post(address, filled(other, address, input="Hers"))

    response = admin_client.post(address, mine)
    (message,) = errors_of(response)["__all__"]
    assert "grace" in message
    assert "save again to apply yours on top" in message
    assert 'href="/datasets/sums/changes/1/2/"' in message
    assert tasks(dataset)["task-1"].input == "Hers"
    assert response.context["adminform"].form["input"].value() == "Mine"
    assert 'name="_save"' in text_of(response)

    again = {**mine, "base": response.context["adminform"].form["base"].value()}
    admin_client.post(address, again)
    assert current(dataset).number == 3
    assert tasks(dataset)["task-1"].input == "Mine"


def test_an_edit_of_a_deleted_task_is_refused(admin_client: Client) -> None:
    dataset = make_dataset(2)
    address = page(task_row(dataset))
    mine = filled(admin_client, address, input="Mine")
    admin_client.post(f"{ADMIN}/task/{task_row(dataset).pk}/delete/", CONFIRMED)
    (message,) = errors_of(admin_client.post(address, {**mine, "base": str(current(dataset).pk)}))["__all__"]
    assert "task-1" in message
    assert list(tasks(dataset)) == ["task-2"]


def test_a_task_of_an_older_version_is_read_only_and_links_to_the_current_one(admin_client: Client) -> None:
    dataset = make_dataset(2)
    old = task_row(dataset)
    admin_client.post(page(old), filled(admin_client, page(old), input="New"))
    shown = text_of(admin_client.get(page(old)))
    assert "the task in version 1" in shown
    assert page(task_row(dataset)) in shown
    assert f'href="/datasets/sums/tasks/{old.pk}/"' in shown
    assert "_continue" not in shown


def test_deleting_a_task_creates_a_version_without_it_after_confirmation(admin_client: Client) -> None:
    dataset = make_dataset(2)
    address = f"{ADMIN}/task/{task_row(dataset).pk}/delete/"
    assert "This creates a new version of sums without" in text_of(admin_client.get(address))
    assert current(dataset).number == 1
    admin_client.post(address, CONFIRMED)
    assert list(tasks(dataset)) == ["task-2"]
    assert Task.objects.filter(task_id="task-1").count() == 1


def test_the_last_task_cannot_be_deleted(admin_client: Client) -> None:
    dataset = make_dataset(1)
    response = admin_client.post(f"{ADMIN}/task/{task_row(dataset).pk}/delete/", CONFIRMED, follow=True)
    assert "at least one task" in text_of(response)
    assert current(dataset).number == 1


def test_several_tasks_are_deleted_with_one_new_version_per_dataset(admin_client: Client) -> None:
    first, second = make_dataset(3), make_dataset(2, slug="more")
    chosen = [task_row(first).pk, task_row(first, "task-2").pk, task_row(second).pk]
    given = {"action": "delete_selected", "_selected_action": chosen}
    assert "Delete tasks" in text_of(admin_client.post(f"{ADMIN}/task/", given))
    assert current(first).number == 1
    admin_client.post(f"{ADMIN}/task/", {**given, "confirmed": "yes"})
    assert (list(tasks(first)), list(tasks(second))) == (["task-3"], ["task-2"])
    assert (current(first).number, current(second).number) == (2, 2)
    assert Task.objects.filter(pk__in=chosen).count() == 3, "earlier versions keep their tasks"


def test_the_preview_of_an_unsaved_task_is_the_prompt_that_the_engine_sends(admin_client: Client) -> None:
    dataset = make_dataset([RICH])
    address = page(task_row(dataset))
    given = filled(admin_client, address, input="<script>Ask</script>", _preview="1")
    response = admin_client.post(address, given)
    assert current(dataset).number == 1

    admin_client.post(address, {name: value for name, value in given.items() if name != "_preview"})
    run = Run(dataset_version=current(dataset), parameters={})
    sent = PromptBuilder(run).prompt(task_row(dataset))
    assert response.context["prompt"]["hash"] == sent.hash()
    assert "&lt;script&gt;Ask&lt;/script&gt;" in response.content.decode()
    assert "<script>Ask" not in response.content.decode()


def test_the_preview_of_a_stored_task_includes_a_system_prompt(admin_client: Client) -> None:
    dataset = make_dataset(1)
    response = admin_client.get(f"{ADMIN}/task/{task_row(dataset).pk}/preview/", {"system_prompt": "Be <brief>."})
    assert [role for role, _ in response.context["prompt"]["messages"]] == ["system", "user"]
    assert "Be &lt;brief&gt;." in response.content.decode()


def test_tasks_are_searched_by_id_name_and_beginning_of_the_input(admin_client: Client) -> None:
    dataset = make_dataset(3)
    admin_client.post(page(task_row(dataset)), filled(admin_client, page(task_row(dataset)), difficulty="easy"))
    rows = (("task-2", ["task-2"]), ("ASK 3", ["task-3"]), ("What is 1 ", ["task-1"]), ("nothing", []))
    for search, expected in rows:
        results = admin_client.get(f"{ADMIN}/task/", {"q": search}).context["cl"].result_list
        assert [task.task_id for task in results] == expected, search
