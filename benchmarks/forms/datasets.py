"""Forms of datasets and their tasks. They validate as YAML files do, and show each error at the field it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from django import forms
from django.urls import reverse
from django.utils.functional import lazy
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

from benchmarks.dataset_format.documents import keys_of
from benchmarks.dataset_format.spec import DIFFICULTIES, TASK_KEYS, DatasetSpec, TaskSpec
from benchmarks.dataset_format.validation import FieldProblems, validate_task_fields
from benchmarks.forms.fields import CallListField, JsonField, NumberText, TextField, TextListField
from benchmarks.generators.registry import GENERATORS, LARGEST_SEED, MAX_TASKS
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Dataset, DatasetVersion, Task
from benchmarks.presentation.labels import sentence_case, task_key
from benchmarks.services.datasets import editing
from benchmarks.services.errors import InvalidRequest, NotPossible

_TOP_KEY = re.compile(r"(\w+)\.?(.*)", re.DOTALL)
_FIRST = ("id", "name", "input", "expected_output")
"""Fields of the task that a new dataset starts with."""
_TOOL_FIELDS = frozenset({"tools", "expected_tools", "tool_results", "world", "final_state"})


class ProblemForm(forms.Form):
    """A form that a service stores. It shows the problems that the service reports."""

    fieldsets: Any
    """Heading (or ``None``) and options of each group of fields, as in Django's admin."""
    folds_empty = False
    """Whether a page folds the groups with a heading in which nothing is entered."""
    needed: ClassVar[frozenset[str]] = frozenset()
    """Fields that a page marks as required. The service says what is missing, so browsers do not check it."""
    paths: ClassVar[Mapping[str, str]] = {}
    """Path in an error of the service → field of the form, if they differ."""

    def store(self, user: Any) -> Any:
        """Call the service with the values of the valid form."""
        raise NotImplementedError

    def save(self, user: Any) -> Any:
        """What ``store`` returns; ``None`` if the form is not valid or the service refuses, with errors in the form."""
        if not self.is_valid():
            return None
        try:
            return self.store(user)
        except InvalidRequest as refusal:
            self.add_problems(refusal.labeled({name: str(self[name].label) for name in self.fields}))
        except NotPossible as refusal:
            self.add_error(None, self.refusal_text(refusal))
        return None

    def refusal_text(self, refusal: NotPossible) -> str:
        return refusal.message

    def groups(self) -> Iterator[tuple[str | None, str, list[forms.BoundField], str]]:
        """Heading, description and visible fields of each of ``fieldsets``, and the words of its fold, if it has one.

        Of a group in use, the others are a folded group of their own, filled ones first. A group of the class
        ``collapse`` is folded even in use, as in Django's admin, unless it has errors.
        """
        for heading, options in self.fieldsets:
            rows = ((row,) if isinstance(row, str) else row for row in options["fields"])
            fields = [self[name] for row in rows for name in row if not self[name].is_hidden]
            description = options.get("description", "")
            if "collapse" in options.get("classes", ()):
                yield heading, description, fields, "" if any(field.errors for field in fields) else heading
                continue
            if not (heading and self.folds_empty):
                yield heading, description, fields, ""
                continue
            used = [field for field in fields if field.errors or self.is_in_use(field)]
            if used:
                yield heading, description, used, ""
            if others := [field for field in fields if field not in used]:
                others.sort(key=lambda field: field.value() in (None, "", [], {}))
                title, fold = (f"{heading}: more", "More fields") if used else (heading, heading)
                yield title, description, others, fold

    def is_in_use(self, field: forms.BoundField) -> bool:
        """Whether something is entered that a reader of the form should see at once."""
        return field.value() not in (None, "", [], {})

    def add_problems(self, problems: FieldProblems) -> None:
        """Add each message to the field that its path begins with, or to the form."""
        for path, messages in problems.items():
            match = _TOP_KEY.fullmatch(self.paths.get(path, path))
            field, rest = match.groups() if match and match[1] in self.fields else (None, path)
            for message in messages:
                self.add_error(field, f"{rest}: {message}" if rest else message)


class EditForm(ProblemForm):
    """An edit of one version: ``base`` is the version that the author was shown."""

    base = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, files: Any = None, *, initial: Mapping[str, object]) -> None:
        super().__init__(data, files, initial=dict(initial))
        for name, value in initial.items():
            self.fields[name].initial = value  # A text field compares what was typed with it.

    def refusal_text(self, refusal: NotPossible) -> str:
        """If another edit was saved meanwhile, keep this one in the form, and let the next submit apply it on top."""
        if not isinstance(refusal, editing.EditedMeanwhile) or refusal.base is None:
            return refusal.message
        self.data = self.data.copy()  # type: ignore[attr-defined]  # bound data is a QueryDict
        self.data["base"] = str(refusal.current.pk)  # type: ignore[index]  # a copy of it can be changed
        old, new = refusal.base, refusal.current
        return format_html(
            "{} Your changes are still in the form. Review "
            '<a href="{}" target="_blank" rel="noopener">the changes in version {}</a>, '
            "then save again to apply yours on top.",
            refusal.message,
            reverse("frontend:changes", args=(new.dataset.slug, old.number, new.number)),
            new.number,
        )


LONGEST_HINT = 15
"""Words. The whole documentation of the keys is in datasets/README.md."""


@cache
def _key_help(record: type, name: str) -> SafeString:
    """The documentation of a key, of a long one its first part, with text between backticks as code."""
    doc = next(key.doc for key in keys_of(record) if key.name == name)
    if len(doc.split()) > LONGEST_HINT:
        doc = re.split("[;:(]", doc)[0].strip()
    parts = (format_html("<code>{}</code>" if index % 2 else "{}", part) for index, part in enumerate(doc.split("`")))
    return mark_safe("".join(parts))


EXACT = "Exactly as the model reads it"
EXAMPLE_TASK = {
    "input": "Which sea does the Nile reach? Answer with the name alone.",
    "expected_output": "Mediterranean Sea",
    "name": "The Nile",
}
"""What the empty fields of a new task show."""


def _show_examples(form: forms.Form, examples: Mapping[str, str]) -> None:
    for name, text in examples.items():
        form.fields[name].widget.attrs["placeholder"] = f"For example, {text}"


# Only when a form is shown: the schema with the documentation takes as long to make as a tenth of a process's start.
_help = lazy(_key_help, SafeString)


class TaskForm(EditForm):
    """One task. A valid form holds it in ``task``. A key of the format without a field here is entered as JSON."""

    id = TextField(help_text="Unique in the dataset. Empty: made from the name")
    name = TextField()
    place = forms.IntegerField(
        required=False, min_value=1, label="Position", help_text="In the dataset, counted from 1"
    )
    difficulty = forms.CharField(
        required=False,
        initial="medium",
        widget=forms.Select(choices=[(level, level) for level in DIFFICULTIES]),
    )
    weight = NumberText(help_text=_help(TaskSpec, "weight"))
    input = TextField(rows=6, help_text=EXACT)
    messages = JsonField(rows=4, help_text=_help(TaskSpec, "messages"))
    turns = JsonField(rows=4, help_text=_help(TaskSpec, "turns"))
    user = JsonField(rows=4, help_text=_help(TaskSpec, "user"))
    expected_output = TextField(rows=3, help_text="Leave empty if only tool calls are scored")
    split = TextField(optional=True, help_text=_help(TaskSpec, "split"))
    cluster = TextField(optional=True, help_text=_help(TaskSpec, "cluster"))
    tags = TextListField("tag", help_text=_help(TaskSpec, "tags"))
    metadata = JsonField(rows=3, help_text=_help(TaskSpec, "metadata"))
    other_answers = TextListField("answer", help_text="Texts that are accepted as well; the best match counts")
    context = TextListField("passage", help_text=_help(TaskSpec, "context"))
    expected_tools = CallListField("call", help_text=_help(TaskSpec, "expected_tools"))
    tools = JsonField(rows=3, help_text=_help(TaskSpec, "tools"))
    tool_results = JsonField(rows=3, help_text=_help(TaskSpec, "tool_results"))
    world = JsonField(rows=6, help_text=_help(TaskSpec, "world"))
    final_state = JsonField(rows=4, help_text=_help(TaskSpec, "final_state"))
    choices = TextListField("choice", help_text=_help(TaskSpec, "choices"))
    pattern = TextField(optional=True, code=True, help_text=_help(TaskSpec, "pattern"))
    constraints = JsonField(rows=3, help_text=_help(TaskSpec, "constraints"))
    must_refuse = forms.TypedChoiceField(
        required=False,
        choices=[("", "Not stated"), ("true", "Yes"), ("false", "No, it must be answered")],
        coerce=lambda value: value == "true",
        empty_value=None,
        help_text=_help(TaskSpec, "must_refuse"),
    )
    tolerance = NumberText(help_text=_help(TaskSpec, "tolerance"))
    schema = JsonField(rows=3, help_text=_help(TaskSpec, "schema"))
    rubric = JsonField(rows=4, help_text=_help(TaskSpec, "rubric"))
    tests = TextField(rows=3, code=True, optional=True, help_text=_help(TaskSpec, "tests"))

    folds_empty = True
    needed = frozenset({"input", "name"})
    fieldsets: Any = (
        (
            None,
            {
                "fields": ("base", "input", "expected_output", "name", "difficulty"),
            },
        ),
        (
            "Scoring",
            {
                "fields": (
                    *("other_answers", "choices", "pattern", "tolerance", "must_refuse"),
                    *("constraints", "schema", "rubric", "tests"),
                )
            },
        ),
        (
            "Context, tools and conversation",
            {
                "fields": (
                    *("context", "expected_tools", "tool_results", "tools", "world", "final_state"),
                    *("messages", "turns", "user"),
                )
            },
        ),
        (
            "Id, weight and breakdowns",
            {"fields": ("id", "place", "weight", "split", "cluster", "tags", "metadata")},
        ),
    )

    def __init__(
        self, data: Any = None, files: Any = None, *, version: DatasetVersion, stored: Task | None = None
    ) -> None:
        initial: dict[str, object] = {"base": version.pk}
        if stored is not None:
            initial |= {key: stored.value_of(key) for key in ("other_answers", *TASK_KEYS)}
            initial |= {"id": stored.task_id, "place": stored.position}
            initial |= {"must_refuse": {None: "", True: "true", False: "false"}[stored.must_refuse]}
            initial |= {"input": ""} if stored.messages or stored.turns else {}
        super().__init__(data, files, initial=initial)
        for key in ("other_answers", *TASK_KEYS):
            self.fields[key].label = task_key(key)
        if stored is None:
            _show_examples(self, EXAMPLE_TASK)
        else:
            self.fields["id"].help_text = "Unique in the dataset. Results are compared by it"
        self.version, self.stored = version, stored
        self.task: TaskSpec | None = None

    def is_in_use(self, field: forms.BoundField) -> bool:
        """Every task has an id and a position, and almost every one the weight 1; the fold names what tools return."""
        usual = field.name == "weight" and str(field.value()) in ("1", "1.0")
        if usual or field.name in ("id", "place", "tool_results"):
            return False
        return super().is_in_use(field)

    def clean(self) -> dict[str, object]:
        if not self.stored and not self.cleaned_data.get("id"):
            self.cleaned_data["id"] = slugify(self.cleaned_data.get("name") or "")
        given = ((key, self.cleaned_data.get(key)) for key in TASK_KEYS)
        values = {key: value for key, value in given if value is not None}
        if (values.get("messages") or values.get("turns")) and not values.get("input"):
            values.pop("input", None)
        if others := self.cleaned_data.get("other_answers"):
            values["expected_output"] = [self.cleaned_data.get("expected_output"), *others]
        self.task, problems = validate_task_fields(
            {"difficulty": "medium", **values}, self.version.tools, self.version.world, self.version.rubrics
        )
        # A field that could not be read has its own error. What its absence causes elsewhere would only confuse.
        silent = set(self.errors)
        if silent & _TOOL_FIELDS:
            silent |= _TOOL_FIELDS
        self.add_problems({key: messages for key, messages in problems.items() if key not in silent})
        return self.cleaned_data

    def store(self, user: Any) -> DatasetVersion:
        assert self.task is not None, "a valid form has a task"
        dataset, base, place = self.version.dataset, self.cleaned_data["base"], self.cleaned_data["place"]
        replaces = self.stored.task_id if self.stored else None
        return editing.save_task(dataset, base, self.task, replaces=replaces, place=place, user=user)


_AS_JSON = {
    key: JsonField(rows=3, help_text=_help(TaskSpec, key)) for key in TASK_KEYS if key not in TaskForm.base_fields
}
TaskForm.base_fields |= _AS_JSON
TaskForm.fieldsets[-1][1]["fields"] += tuple(_AS_JSON)


def _metrics() -> list[tuple[str, str]]:
    return [(name, metric.title) for name, metric in REGISTERED_METRICS.items()]


class DatasetForm(EditForm):
    """The keys of a dataset other than its tasks."""

    name = TextField(help_text="Shown on all pages; the identifier stays")
    description = TextField(rows=4, prose=True, help_text=_help(DatasetSpec, "description"))
    metrics = TextListField("metric", _metrics, help_text="The first decides right or wrong. A run can choose others")
    tools = JsonField(rows=3, help_text=_help(DatasetSpec, "tools"))
    tool_results = JsonField(rows=3, help_text=_help(DatasetSpec, "tool_results"))
    world = JsonField(rows=6, help_text=_help(DatasetSpec, "world"))
    rubrics = JsonField(rows=6, label="Rubrics", help_text="Criteria by which a judge scores answers")

    folds_empty = True
    needed = frozenset({"name", "description"})
    fieldsets = (
        (None, {"fields": ("base", "name", "description", "metrics")}),
        ("Tools for every task", {"fields": ("tools", "tool_results", "world"), "classes": ("collapse",)}),
        ("Judges", {"fields": ("rubrics",), "classes": ("collapse",)}),
    )

    def __init__(self, data: Any = None, files: Any = None, *, version: DatasetVersion) -> None:
        self.dataset = version.dataset
        stored = {name: getattr(version, name) for name in editing.HEAD}
        super().__init__(data, files, initial={"base": version.pk, **stored})

    def store(self, user: Any) -> DatasetVersion:
        data = self.cleaned_data
        values = {name: data[name] for name in editing.HEAD if data[name] is not None}
        return editing.change_head(self.dataset, data["base"], values, user)


class NewDatasetForm(ProblemForm):
    """A new dataset with its first task, because a dataset has at least one."""

    name = TextField(label="Dataset name")
    slug = TextField(label="Dataset identifier", help_text="Empty: made from the name, as in basic-coding")
    description = TextField(rows=2, prose=True, help_text=_help(DatasetSpec, "description"))
    first_input = TextField(label="Input", rows=5, help_text=EXACT)
    first_expected_output = TextField(label="Expected answer", rows=2)
    first_name = TextField(label="Task name", help_text=_help(TaskSpec, "name"))
    first_id = TextField(label="Task id", help_text="Empty: made from the name of the task")

    needed = frozenset({"name", "description", "first_input", "first_name"})
    fieldsets: Any = (
        (None, {"fields": ("name", "description")}),
        ("First task", {"fields": ("first_input", "first_expected_output", "first_name")}),
        ("Identifiers", {"fields": ("slug", "first_id"), "classes": ("collapse",)}),
    )
    paths: ClassVar[Mapping[str, str]] = {f"tasks[0].{name}": f"first_{name}" for name in _FIRST}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _show_examples(self, {"name": "Rivers", "description": "Where rivers end."})
        _show_examples(self, {f"first_{name}": text for name, text in EXAMPLE_TASK.items()})

    def store(self, user: Any) -> DatasetVersion:
        data = self.cleaned_data
        task = {name: data[f"first_{name}"] for name in _FIRST}
        task["id"] = task["id"] or slugify(task["name"])
        values = {"name": data["name"], "description": data["description"], "tasks": [task]}
        return editing.create_dataset(data["slug"] or slugify(data["name"]), values, user)


def generator_title(name: str) -> str:
    return sentence_case(name.replace("-", "_"))


class GeneratedForm(ProblemForm):
    """A new dataset of which a generator makes all tasks."""

    generator = forms.ChoiceField(
        choices=lambda: [(name, generator_title(name)) for name in GENERATORS],
        initial=lambda: next(iter(GENERATORS)),
    )
    slug = TextField(label="Identifier", help_text="Empty: generator and seed, as in reasoning-seed-1")
    name = TextField(help_text="Empty: generator and seed")
    seed = forms.IntegerField(
        initial=1,
        min_value=0,
        max_value=LARGEST_SEED,
        help_text="The same seed generates the same tasks",
    )
    tasks = forms.IntegerField(
        initial=300,
        min_value=1,
        max_value=MAX_TASKS,
        help_text=f"Up to {MAX_TASKS:,}, spread over three levels of difficulty",
    )
    tokens = TextField(label="Lengths in tokens", help_text="For long context only, for example, 8000, 32000")

    folds_empty = True
    fieldsets = (
        (None, {"fields": ("generator", "tasks", "seed")}),
        ("Name, identifier and lengths", {"fields": ("name", "slug", "tokens")}),
    )
    paths: ClassVar[Mapping[str, str]] = {f"generator.{name}": name for name in ("seed", "tasks", "tokens")}

    def clean_tokens(self) -> list[int]:
        try:
            return [int(length) for length in self.cleaned_data["tokens"].replace(",", " ").split()]
        except ValueError:
            raise forms.ValidationError("Enter whole numbers, as in 8000, 32000.") from None

    def store(self, user: Any) -> DatasetVersion:
        data = self.cleaned_data
        values = {
            "name": data["name"] or f"{data['generator']}, seed {data['seed']}",
            "description": f"Tasks of the generator {data['generator']}.",
            "generator": {"name": data["generator"], **{key: data[key] for key in ("seed", "tasks", "tokens")}},
        }
        slug = data["slug"] or f"{data['generator']}-seed-{data['seed']}"
        return editing.create_dataset(slug, values, user)


class DuplicateForm(ProblemForm):
    slug = TextField(label="Identifier", help_text="Identifier of the copy: 1 to 100 letters, digits, _ or -")
    name = TextField(help_text="Name of the copy")

    needed = frozenset({"slug", "name"})
    fieldsets = ((None, {"fields": ("slug", "name")}),)

    def __init__(self, data: Any = None, files: Any = None, *, dataset: Dataset) -> None:
        initial = {"slug": f"{dataset.slug}-copy", "name": f"{dataset.name} (copy)"}
        super().__init__(data, files, initial=initial)
        self.dataset = dataset

    def store(self, user: Any) -> DatasetVersion:
        return editing.duplicate_dataset(self.dataset, **self.cleaned_data, user=user)


def report_of(version: DatasetVersion, base: int | None, done: str) -> str:
    """What the edit of version ``base`` led to. ``done`` is what was done, without a period."""
    dataset = version.dataset
    if version.pk == base:
        return f"No changes: {dataset.title} keeps version {version.number}."
    if dataset.versions.filter(number__gt=version.number).exists():
        return f"{done}: version {version.number} of {dataset.title}, which has this content, is current again."
    return f"{done}: {dataset.title} now has version {version.number}."
