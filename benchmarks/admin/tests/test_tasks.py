"""Tasks on pages of their own: saved as a new version, checked as YAML is, never overwriting another's edit."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from benchmarks.admin.tests.accounts import ADMIN, staff
from benchmarks.dataset_format import TaskSpec, ToolUse
from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.models import Dataset, Run, Task
from benchmarks.services.datasets.files import spec_of
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


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200
    return {name: list(messages) for name, messages in response.context["adminform"].form.errors.items()}


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


@pytest.mark.parametrize("task", [make_task(1), RICH], ids=["plain", "rich"])
def test_saving_a_form_as_it_came_changes_nothing(admin_client: Client, task: TaskSpec) -> None:
    dataset = make_dataset([task, make_task(2)])
    address = page(task_row(dataset))
    response = admin_client.post(address, filled(admin_client, address), follow=True)
    assert "Nothing was changed: version 1 of sums stays as it is." in response.content.decode()
    assert tasks(dataset)["task-1"] == task


@pytest.mark.parametrize("ends", ["\r\n", "\r", "\n"])
def test_line_ends_that_a_browser_changes_are_kept(admin_client: Client, ends: str) -> None:
    task = make_task(1, input=f"one{ends}two{ends}")
    dataset = make_dataset([task])
    address = page(task_row(dataset))
    admin_client.post(address, filled(admin_client, address, input="one\r\ntwo\r\n", name="New name"))
    assert tasks(dataset)["task-1"] == make_task(1, input=f"one{ends}two{ends}", name="New name")


def test_an_edit_makes_a_version_by_its_editor_and_goes_into_the_history(admin_client: Client, admin_user: Any) -> None:
    dataset = make_dataset(3)
    address = page(task_row(dataset, "task-2"))
    response = admin_client.post(address, filled(admin_client, address, input="New?\r\nYes."), follow=True)
    version = current(dataset)
    assert (version.number, version.origin, version.created_by) == (2, "admin", admin_user)
    assert list(tasks(dataset)) == ["task-1", "task-2", "task-3"]
    assert tasks(dataset)["task-2"].input == "New?\nYes."
    assert response.redirect_chain == [(f"{ADMIN}/dataset/{dataset.pk}/change/", 302)]
    assert "Task task-2 is changed: sums now has version 2." in response.content.decode()
    assert "Task task-2 is changed (version 2)." in LogEntry.objects.get().get_change_message()


@pytest.mark.parametrize(
    ("button", "leads"), [("_continue", "task/{task}/change/"), ("_addanother", "task/add/?dataset={dataset}")]
)
def test_the_other_buttons_lead_on(admin_client: Client, button: str, leads: str) -> None:
    dataset = make_dataset(2)
    address = page(task_row(dataset))
    response = admin_client.post(address, filled(admin_client, address, name="New", **{button: "1"}))
    wanted = leads.format(task=task_row(dataset).pk, dataset=dataset.pk)
    assert response["Location"] == f"{ADMIN}/{wanted}"


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
    assert "Task new is added: sums now has version 2." in response.content.decode()
    added = tasks(dataset)["new"]
    assert added.expected_tools == (ToolUse(name="add", args={"a": 1}), ToolUse(name="stop"))
    assert added.context == ("One\npassage", "Two")


def test_without_a_dataset_adding_a_task_leads_to_the_datasets(admin_client: Client) -> None:
    response = admin_client.get(f"{ADMIN}/task/add/", follow=True)
    assert response.redirect_chain == [(f"{ADMIN}/dataset/", 302)]
    assert "Choose the dataset" in response.content.decode()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("id", "", "is empty: enter text"),
        ("id", "a\tb", "must be one line without spaces around it"),
        ("id", "task-2", '"task-2" occurs twice'),
        ("id", "x" * 201, "has 201 characters; the limit is 200"),
        ("name", "  ", "is empty"),
        ("input", "", "is empty: enter text"),
        ("difficulty", "imposible", '"imposible" is not an allowed value: use easy, medium or hard'),
        ("context", [" "], "[0]: is empty: enter text"),
        ("choices", ["one"], "is too short: enter at least 2"),
        ("choices", ["one", "one"], '[1]: "one" occurs twice'),
        ("expected_tools-name", ["a b"], '[0].name: "a b" is not allowed'),
        ("expected_tools-args", ["[1]"], "[0].args: must be a mapping, not a list"),
        ("expected_tools-args", ["{"], "[0]: is no JSON: Expecting property name"),
        ("tools", "[{]", "is no JSON: Expecting property name enclosed in double quotes at line 1, column 3"),
        ("tools", "{'a': 1}", "keys and texts stand in double quotes"),
        ("tools", '{"a": 1}', "must be a list of function tools, not a mapping"),
        ("tools", '[{"name": "add"}]', "[0]: is not wrapped: use {type: function"),
        ("tool_results", "[]", "must be a mapping of tool names to results, not a list"),
        ("tool_results", '{"a": 1, "a": 2}', 'has the key "a" twice in one mapping'),
        ("tool_results", '{"nobody": 1}', '"nobody" is not one of the available tools'),
        ("schema", '{"type": "objekt"}', "is not a valid JSON Schema"),
        ("schema", '{"minimum": NaN}', "holds NaN, which is no JSON: quote it"),
        ("schema", '{"minimum": 1e999}', "must be a finite number"),
        ("schema", '{"minimum": ' + "1" * 5000 + "}", "holds a number that cannot be read"),
        ("schema", "[" * 100_000, "is nested too deeply"),
        ("schema", '{"$ref": "http://example.com/x"}', "is outside the schema"),
        ("pattern", "(", "is not a valid regular expression"),
        ("tolerance", "about 1", "must be a number of at least 0, not text"),
        ("tolerance", "nan", "must be a finite number"),
        ("tolerance", "-1", "it must be at least 0"),
        ("tests", "assert (", "is not valid Python"),
        ("place", "0", "greater than or equal to 1"),
        ("input", "a\0b", "Null characters are not allowed"),
    ],
)
def test_a_mistake_is_told_at_its_field(admin_client: Client, field: str, value: Any, message: str) -> None:
    dataset = make_dataset(2)
    address = page(task_row(dataset))
    given = {"expected_tools-name": ["add"], "expected_tools-args": ["{}"]} if field.startswith("expected") else {}
    response = admin_client.post(address, filled(admin_client, address, **{**given, field: value}))
    found = errors(response)
    assert list(found) == [field.partition("-")[0]]
    assert message in " ".join(next(iter(found.values())))
    assert current(dataset).number == 1


def test_all_mistakes_are_told_at_once_and_what_was_typed_is_kept(admin_client: Client) -> None:
    dataset = make_dataset(2)
    address = page(task_row(dataset))
    bad = {"name": "", "schema": "{oops", "pattern": "(", "context": ["<b>kept</b>", " "]}
    response = admin_client.post(address, filled(admin_client, address, **bad))
    assert set(errors(response)) == {"name", "schema", "pattern", "context"}
    shown = response.content.decode()
    assert "{oops" in shown
    assert "&lt;b&gt;kept&lt;/b&gt;" in shown


def test_an_edit_made_meanwhile_by_another_is_not_overwritten_unseen(admin_client: Client) -> None:
    dataset = make_dataset(3)
    other = staff("view_task", "change_task", name="grace")
    address = page(task_row(dataset))
    mine = filled(admin_client, address, input="Mine")
    other.post(address, filled(other, address, input="Hers"))

    response = admin_client.post(address, mine)
    (said,) = errors(response)["__all__"]
    assert "Version 2, made by grace, has become current since you began on version 1" in said
    assert tasks(dataset)["task-1"].input == "Hers"
    assert response.context["adminform"].form["input"].value() == "Mine"
    assert 'name="_save"' in response.content.decode()
    assert f'href="{ADMIN}/datasetversion/{current(dataset).pk}/change/"' in response.content.decode()

    again = {**mine, "base": response.context["adminform"].form["base"].value()}
    admin_client.post(address, again)
    assert current(dataset).number == 3
    assert tasks(dataset)["task-1"].input == "Mine"


def test_an_edit_of_a_task_that_was_deleted_meanwhile_says_so(admin_client: Client) -> None:
    dataset = make_dataset(2)
    address = page(task_row(dataset))
    mine = filled(admin_client, address, input="Mine")
    admin_client.post(f"{ADMIN}/task/{task_row(dataset).pk}/delete/")
    again = {**mine, "base": str(current(dataset).pk)}
    (said,) = errors(admin_client.post(address, again))["__all__"]
    assert "no task task-1 any more" in said


def test_a_task_of_an_older_version_is_shown_as_it_was_with_the_way_to_the_current_one(admin_client: Client) -> None:
    dataset = make_dataset(2)
    old = task_row(dataset)
    admin_client.post(page(old), filled(admin_client, page(old), input="New"))
    shown = admin_client.get(page(old)).content.decode()
    assert "as it was in version 1" in shown
    assert page(task_row(dataset)) in shown
    assert "What is 1 + 1?" in shown
    assert "_continue" not in shown


def test_deleting_a_task_asks_and_makes_a_version_without_it(admin_client: Client) -> None:
    dataset = make_dataset(2)
    address = f"{ADMIN}/task/{task_row(dataset).pk}/delete/"
    assert "A new version of sums is made without" in admin_client.get(address).content.decode()
    assert current(dataset).number == 1
    admin_client.post(address)
    assert list(tasks(dataset)) == ["task-2"]
    assert Task.objects.filter(task_id="task-1").count() == 1


def test_the_last_task_stays(admin_client: Client) -> None:
    dataset = make_dataset(1)
    response = admin_client.post(f"{ADMIN}/task/{task_row(dataset).pk}/delete/", follow=True)
    assert "needs at least one task" in response.content.decode()
    assert current(dataset).number == 1


def test_several_tasks_are_deleted_in_one_version_each_dataset(admin_client: Client) -> None:
    first, second = make_dataset(3), make_dataset(2, slug="more")
    chosen = [task_row(first).pk, task_row(first, "task-2").pk, task_row(second).pk]
    given = {"action": "remove_tasks", "_selected_action": chosen}
    assert "Delete tasks" in admin_client.post(f"{ADMIN}/task/", given).content.decode()
    assert current(first).number == 1
    admin_client.post(f"{ADMIN}/task/", {**given, "confirmed": "yes"})
    assert (list(tasks(first)), list(tasks(second))) == (["task-3"], ["task-2"])
    assert (current(first).number, current(second).number) == (2, 2)


def test_the_preview_of_an_unsaved_task_is_what_the_engine_would_send(admin_client: Client) -> None:
    dataset = make_dataset([RICH])
    address = page(task_row(dataset))
    given = filled(admin_client, address, input="<script>Ask</script>", _preview="1")
    response = admin_client.post(address, given)
    assert current(dataset).number == 1

    admin_client.post(address, {name: value for name, value in given.items() if name != "_preview"})
    run = Run(dataset_version=current(dataset), parameters={})
    sent = PromptBuilder(run).prompt(task_row(dataset))
    assert response.context["prompt"].hash == sent.hash()
    assert "&lt;script&gt;Ask&lt;/script&gt;" in response.content.decode()
    assert "<script>Ask" not in response.content.decode()


def test_the_preview_of_a_stored_task_takes_a_system_prompt(admin_client: Client) -> None:
    dataset = make_dataset(1)
    response = admin_client.get(f"{ADMIN}/task/{task_row(dataset).pk}/preview/", {"system_prompt": "Be <brief>."})
    assert [role for role, _ in response.context["prompt"].messages] == ["system", "user"]
    assert "Be &lt;brief&gt;." in response.content.decode()


@pytest.mark.parametrize(
    ("search", "found"),
    [("task-2", ["task-2"]), ("ASK 3", ["task-3"]), ("What is 1 ", ["task-1"]), ("nothing", [])],
)
def test_tasks_are_found_by_id_name_and_beginning(admin_client: Client, search: str, found: list[str]) -> None:
    dataset = make_dataset(3)
    admin_client.post(page(task_row(dataset)), filled(admin_client, page(task_row(dataset)), difficulty="easy"))
    rows = admin_client.get(f"{ADMIN}/task/", {"q": search}).context["cl"].result_list
    assert [task.task_id for task in rows] == found
