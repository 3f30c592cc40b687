"""The forms of the admin. Their checks are those of YAML files, told at the field they belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from benchmarks.admin.fields import JsonField, NumberText, TextField, call_list, file_field, text_list
from benchmarks.dataset_format import (
    DIFFICULTIES,
    DatasetSpec,
    FieldProblems,
    Parsed,
    Problem,
    TaskSpec,
    parse_dataset,
    validate_task_fields,
)
from benchmarks.dataset_format.documents import keys_of
from benchmarks.dataset_format.files import slug_of
from benchmarks.dataset_format.limits import MAX_BYTES
from benchmarks.dataset_format.parsing import too_large
from benchmarks.dataset_format.problems import printable
from benchmarks.models import DatasetVersion, Task
from benchmarks.services.datasets.editing import HEAD

_TOP_KEY = re.compile(r"(\w+)\.?(.*)", re.DOTALL)
_ABOUT_TOOLS = frozenset({"tools", "expected_tools", "tool_results"})


class ProblemForm(forms.Form):
    """A form that shows problems by path at its fields."""

    def add_problems(self, problems: FieldProblems, fields: Mapping[str, str] | None = None) -> None:
        """Put each message at the field that its path begins with. ``fields`` renames paths first."""
        for path, messages in problems.items():
            key, rest = _split((fields or {}).get(path, path))
            for message in messages:
                if key in self.fields:
                    self.add_error(key, f"{rest}: {message}" if rest else message)
                else:
                    self.add_error(None, f"{path}: {message}" if path else message)


def _split(path: str) -> tuple[str, str]:
    found = _TOP_KEY.fullmatch(path)
    return (found[1], found[2]) if found else ("", path)


class EditForm(ProblemForm):
    """An edit of one version: ``base`` is the version that its author had before their eyes."""

    base = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def begin_anew_on(self, version: DatasetVersion) -> None:
        """Let the next press of the button put this edit on top of ``version``."""
        data = self.data.copy()  # type: ignore[attr-defined]  # bound data is a QueryDict
        data["base"] = str(version.pk)
        self.data = data


def _help(record: type, name: str) -> SafeString:
    """The documentation of a key, what stands between backticks as code."""
    doc = next(key.doc for key in keys_of(record) if key.name == name)
    parts = (format_html("<code>{}</code>" if index % 2 else "{}", part) for index, part in enumerate(doc.split("`")))
    return mark_safe("".join(parts))


def _task_help(name: str) -> SafeString:
    return _help(TaskSpec, name)


def _head_help(name: str) -> SafeString:
    return _help(DatasetSpec, name)


class TaskForm(EditForm):
    """One task. A valid form has it in ``task``."""

    id = TextField(help_text=_task_help("id"))
    name = TextField(help_text=_task_help("name"))
    place = forms.IntegerField(required=False, min_value=1, help_text="Its place in the dataset, counted from 1")
    difficulty = forms.CharField(
        required=False,
        initial="medium",
        widget=forms.Select(choices=[(level, level) for level in DIFFICULTIES]),
        help_text=_task_help("difficulty"),
    )
    input = TextField(rows=8, help_text=_task_help("input"))
    expected_output = TextField(rows=4, help_text="The reference answer; empty where only the tool calls matter")
    context = text_list("passage", help_text=_task_help("context"))
    expected_tools = call_list(help_text=_task_help("expected_tools"))
    tools = JsonField(rows=8, help_text=_task_help("tools"))
    tool_results = JsonField(rows=4, help_text=_task_help("tool_results"))
    choices = text_list("choice", help_text=_task_help("choices"))
    pattern = TextField(optional=True, code=True, help_text=_task_help("pattern"))
    tolerance = NumberText(help_text=_task_help("tolerance"))
    schema = JsonField(rows=8, help_text=_task_help("schema"))
    tests = TextField(rows=8, code=True, optional=True, help_text=_task_help("tests"))

    fieldsets = (
        (None, {"fields": ("base", "id", "name", ("difficulty", "place"), "input", "expected_output")}),
        ("Context", {"fields": ("context",)}),
        ("Tools", {"fields": ("expected_tools", "tools", "tool_results")}),
        ("Hints for metrics", {"fields": ("choices", "pattern", "tolerance", "schema", "tests")}),
    )

    def __init__(self, data: Any = None, *, version: DatasetVersion, stored: Task | None = None) -> None:
        super().__init__(data, initial=_initial(version, stored))
        for name, value in self.initial.items():
            self.fields[name].initial = value
        self.version = version
        self.task: TaskSpec | None = None

    def clean(self) -> dict[str, Any]:
        values = {key.name: self.cleaned_data.get(key.name) for key in keys_of(TaskSpec)}
        given = {name: value for name, value in values.items() if value is not None}
        given.setdefault("difficulty", "medium")
        unreadable = set(self.errors)
        task, problems = validate_task_fields(given, self.version.tools)
        if unreadable & _ABOUT_TOOLS:
            problems = {key: messages for key, messages in problems.items() if key not in _ABOUT_TOOLS}
        self.add_problems({key: messages for key, messages in problems.items() if key not in unreadable})
        self.task = task
        return self.cleaned_data


def _initial(version: DatasetVersion, stored: Task | None) -> dict[str, Any]:
    if stored is None:
        return {"base": version.pk}
    names = (key.name for key in keys_of(TaskSpec) if key.name != "id")
    values = {name: getattr(stored, name) for name in names}
    return {"base": version.pk, "id": stored.task_id, "place": stored.position, **values}


class DatasetForm(EditForm):
    """What stands beside the tasks of a dataset."""

    name = TextField(help_text=_head_help("name"))
    description = TextField(rows=4, help_text=_head_help("description"))
    tools = JsonField(rows=8, help_text=_head_help("tools"))
    tool_results = JsonField(rows=4, help_text=_head_help("tool_results"))

    fieldsets = (
        (None, {"fields": ("base", "name", "description")}),
        ("Tools for every task", {"fields": ("tools", "tool_results")}),
    )

    def __init__(self, data: Any = None, *, version: DatasetVersion) -> None:
        initial = {name: getattr(version, name) for name in HEAD}
        super().__init__(data, initial={"base": version.pk, **initial})
        for name, value in initial.items():
            self.fields[name].initial = value

    def values(self) -> dict[str, Any]:
        """The dataset's keys with a value."""
        return {name: self.cleaned_data[name] for name in HEAD if self.cleaned_data[name] is not None}


class NewDatasetForm(ProblemForm):
    """A new dataset with its first task, because a dataset has at least one."""

    slug = TextField(label="Identifier", help_text="As a file's name without its ending, for example basic-coding")
    name = TextField(help_text=_head_help("name"))
    description = TextField(rows=3, help_text=_head_help("description"))
    first_id = TextField(label="Id", help_text=_task_help("id"))
    first_name = TextField(label="Name", help_text=_task_help("name"))
    first_input = TextField(label="Input", rows=6, help_text=_task_help("input"))
    first_expected_output = TextField(label="Expected output", rows=3, help_text="The reference answer")

    fieldsets = (
        (None, {"fields": ("slug", "name", "description")}),
        ("Its first task", {"fields": ("first_id", "first_name", "first_input", "first_expected_output")}),
    )
    paths: ClassVar[dict[str, str]] = {
        f"tasks[0].{name}": f"first_{name}" for name in ("id", "name", "input", "expected_output")
    }

    def values(self) -> dict[str, Any]:
        given = self.cleaned_data
        first = {name: given[f"first_{name}"] for name in ("id", "name", "input", "expected_output")}
        return {"name": given["name"], "description": given["description"], "tasks": [first]}


class DuplicateForm(ProblemForm):
    slug = TextField(label="Identifier", help_text="Of the copy: 1 to 100 letters, digits, _ or -")
    name = TextField(help_text="Of the copy")

    fieldsets = ((None, {"fields": ("slug", "name")}),)


class DatasetFileForm(ProblemForm):
    """A file that becomes a dataset: in a valid form its content is ``spec``, in another its mistakes ``problems``."""

    shows_text = False
    """Whether the text of a mistake's line is shown beside it."""
    spec: DatasetSpec | None = None
    problems: tuple[tuple[Problem, str], ...] = ()
    """Each problem with the line of the file that it is about."""

    def refuse_file(self, problems: Sequence[tuple[Problem, str]]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        self.add_error("file", f"{count} {'mistake' if count == 1 else 'mistakes'}; nothing was stored")


class UploadForm(DatasetFileForm, EditForm):
    """A YAML file."""

    file = file_field(
        "YAML file",
        (".yaml", ".yml"),
        f"UTF-8, less than {MAX_BYTES // 1_000_000} MB; nothing is stored while it has a mistake",
    )
    slug = TextField(label="Identifier", help_text="Without one, the file's name without its ending")

    fieldsets: Any = ((None, {"fields": ("base", "file", "slug")}),)
    shows_text = True

    def clean(self) -> dict[str, Any]:
        if upload := self.cleaned_data.get("file"):
            self._read(upload)
            self.cleaned_data["slug"] = self.cleaned_data.get("slug") or slug_of(Path(upload.name))
        return self.cleaned_data

    def _read(self, upload: Any) -> None:
        name = printable(upload.name)
        if upload.size >= MAX_BYTES:
            data, parsed = b"", Parsed(None, (too_large(upload.size, name),))
        else:
            data = upload.read()
            parsed = parse_dataset(data, name)
        self.spec = parsed.spec
        if parsed.problems:
            lines = data.split(b"\n")
            self.refuse_file([(problem, _line(lines, problem.line)) for problem in parsed.problems])


class NewVersionForm(UploadForm):
    """A YAML file that becomes the next version of a dataset that is there."""

    slug = None  # type: ignore[assignment]  # takes the field away, as Django documents

    fieldsets = ((None, {"fields": ("base", "file")}),)


def _line(lines: list[bytes], number: int) -> str:
    line = lines[number - 1] if number <= len(lines) else b""
    return printable(line[:800].decode("utf-8", "replace").rstrip("\r"))
