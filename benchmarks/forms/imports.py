"""Forms that import files of other tools: runs, and tables of questions and answers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.text import slugify

from benchmarks.dataset_format.limits import MAX_BYTES, MAX_NODES
from benchmarks.dataset_format.problems import printable
from benchmarks.extras import command
from benchmarks.forms.dataset_files import DatasetFileForm
from benchmarks.forms.datasets import ProblemForm
from benchmarks.forms.fields import TextField, UploadField, UploadsField
from benchmarks.imports.presets import REGISTERED_PRESETS
from benchmarks.imports.presets.base import SEED, Preset, PresetRequest
from benchmarks.imports.registered_importers import IMPORTERS
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_columns import (
    FIELDS,
    NAMED_ALONE,
    Column,
    example_text,
    first_values,
    read_columns,
)
from benchmarks.imports.table_tasks import TableRequest
from benchmarks.imports.tables import read_rows
from benchmarks.imports.tool_rows import of_tools
from benchmarks.models import Dataset, DatasetVersion
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.tables import Shown
from benchmarks.presentation.texts import cut, visible
from benchmarks.providers.clean_text import full_sentence
from benchmarks.queries.tables.datasets import PRESETS, PresetRow
from benchmarks.services.datasets import editing
from benchmarks.services.datasets.hub import configured_hub, read_preset, why_not_importable
from benchmarks.services.datasets.tables import pictures_of, read_table
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import OUR_METRICS, Imported, ImportPreview, import_runs, own_metrics, preview_runs

MOST_BYTES = 32 * 2**20
"""Of an uploaded file of runs. Larger files are for the command, which keeps no request waiting."""
MOST_COLUMNS = 200
"""Of a table that a page shows."""
MOST_DECOMPRESSED = 256 * 2**20
FETCH_S = 30.0
"""Seconds for each request to the hub, because the page waits. The command has more time, and fills the same cache."""

_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}")
_TABLES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
"""Not Parquet: a small Parquet file can hold more than a web server should unpack."""


def _tools() -> list[tuple[str, str]]:
    return [("", "Detected from the file"), *((name, importer.title) for name, importer in IMPORTERS.items())]


class RunImportForm(ProblemForm):
    """Files of other tools with runs."""

    file = UploadsField(
        "Files",
        (),
        "",
        limit=MOST_BYTES,
        too_large=f"The files are larger than {MOST_BYTES >> 20} MB. Import them with: {command('benchmark import')}",
    )
    format = forms.ChoiceField(required=False, choices=_tools, help_text="Tool that wrote the file")
    dataset = forms.ChoiceField(
        required=False,
        help_text="One with the same tasks, or a new one",
    )
    slug = TextField(optional=True, label="Identifier", help_text="Of a new dataset. Empty: named after the tool")
    model = TextField(optional=True, help_text="Model that answered, if the file does not name it")
    metrics = forms.MultipleChoiceField(
        label="Score the answers again",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="To compare them with runs made here",
    )

    fieldsets: Any = ((None, {"fields": ("file", "format", "dataset", "slug", "model", "metrics")}),)
    needed = frozenset({"file"})

    def __init__(self, data: Any = None, files: Any = None, *, preview: bool = False) -> None:
        super().__init__(data, files, initial={"metrics": OUR_METRICS})
        self.preview = preview
        file = self.fields["file"]
        file.help_text = f"Up to {MOST_BYTES // 2**20} MB each"
        file.widget.attrs["required"] = True
        file.widget.attrs["accept"] = ",".join(
            dict.fromkeys(extension for importer in IMPORTERS.values() for extension in importer.extensions)
        )
        ready = Dataset.objects.filter(kind=Dataset.Kind.YAML, current_version__isnull=False).order_by("slug")
        slugs = ready.values_list("slug", flat=True)
        self.fields["dataset"].choices = [("", "New dataset"), *((slug, slug) for slug in slugs)]  # type: ignore[attr-defined]
        self.fields["metrics"].choices = [(name, metric_title(name)) for name in own_metrics()]  # type: ignore[attr-defined]

    def store(self, user: Any) -> Sequence[Imported | ImportPreview]:
        """The runs imported, or what an import would create."""
        data = self.cleaned_data
        with ExitStack() as copies:
            service = preview_runs if self.preview else import_runs
            return service(
                *(copies.enter_context(_on_disk(upload)) for upload in data["file"]),
                names=[str(upload.name) for upload in data["file"]],
                form=data["format"] or None,
                slug=data["slug"],
                dataset=data["dataset"] or None,
                model=data["model"],
                metrics=data["metrics"],
                max_bytes=MOST_DECOMPRESSED,
                user=user,
            )


class ColumnChoices(forms.Widget):
    """A table of columns, each with its first value and a choice of what it becomes, sent as ``NAME=FIELD``."""

    template_name = "benchmarks/widgets/columns.html"
    columns: Sequence[Column] = ()
    given: Mapping[str, str] = {}

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        texts = data.getlist(name) if hasattr(data, "getlist") else data.get(name, [])
        return [text for text in texts if text]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return False

    def format_value(self, value: Any) -> None:
        return None

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        context["widget"]["rows"] = [self._row(column) for column in self.columns[:MOST_COLUMNS]]
        context["widget"]["more"] = len(self.columns[MOST_COLUMNS:])
        return context

    def _row(self, column: Column) -> dict[str, Any]:
        chosen = self.given.get(column.name)
        detected = "Detected" if chosen or not column.field else f"Detected: {FIELDS[column.field].label}"
        options = [(f"{column.name}={field}", use.label, field == chosen) for field, use in FIELDS.items()]
        return {
            "name": visible(cut(column.name, 80)),
            "example": visible(cut(example_text(column.example), 120)),
            "note": visible(column.note),
            "options": [("", detected, not chosen), *options],
        }


class ColumnsField(forms.Field):
    """Column → field."""

    def __init__(self) -> None:
        super().__init__(required=False, label="What becomes of each column", widget=ColumnChoices())

    def clean(self, value: Any) -> dict[str, str]:
        try:
            return read_columns(value)
        except ImportProblem as problem:
            raise forms.ValidationError(full_sentence(problem)) from None


class TableForm(DatasetFileForm):
    """A table of questions and answers."""

    file = UploadField(
        "Table",
        _TABLES,
        f"JSON Lines, JSON or CSV, one row per task, up to {MAX_BYTES // 1_000_000} MB",
        limit=MAX_BYTES,
        too_large=f"The file is larger than {MAX_BYTES // 1_000_000} MB, the limit of a dataset.",
    )
    slug = TextField(label="Identifier", help_text="Empty: the file name without its extension")
    name = TextField(help_text="Title of the dataset. Empty: the identifier")
    description = TextField(rows=2, prose=True, help_text="What the tasks are and where they come from")
    answer_after = TextField(help_text="Keep only the expected answer after this text, for example, #### in GSM8K")
    limit = forms.IntegerField(required=False, min_value=1, help_text="Import only the first N rows")

    needed = frozenset({"file"})
    fieldsets: Any = (
        (None, {"fields": ("file",)}),
        ("Columns", {"fields": ("column",)}),
        (
            "Name, identifier and rows",
            {"fields": ("name", "slug", "description", "answer_after", "limit"), "classes": ("collapse",)},
        ),
    )

    def __init__(self, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files)
        self.fields["column"] = ColumnsField()
        for field in NAMED_ALONE:
            self.fields[field] = TextField()
        self.columns = ""
        self.offered = ""
        """Stands for the columns that can be chosen; the form sends it back with the next preview."""

    def clean_file(self) -> UploadedFile[Any]:
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        if not str(upload.name).lower().endswith(_TABLES):
            raise forms.ValidationError(f"The file name must end in one of: {', '.join(_TABLES)}.")
        return upload

    def clean(self) -> dict[str, object]:
        data = self.cleaned_data
        if self.errors:
            return data
        name = printable(data["file"].name)
        slug = data["slug"] = data["slug"] or slugify(Path(name).stem)
        request = TableRequest(
            name=data["name"] or slug,
            description=data["description"] or f"Imported from the table {name}.",
            answer_after=data["answer_after"],
            limit=data["limit"],
            pictures=pictures_of(None, preview=_is_preview(self.data), total_s=FETCH_S),
        )
        try:
            with _on_disk(data["file"]) as path:
                given = self._chosen_columns(path)
                report = read_table(path, name, replace(request, columns=given))
        except NotPossible as refusal:
            self.add_error("file", refusal.message)
            return data
        self.spec, self.columns = report.spec, str(report.columns)
        self._offer(report.columns.all, given)
        if report.problems:
            self.refuse_file([(problem, "") for problem in report.problems])
        return data

    def _chosen_columns(self, path: Path) -> dict[str, str]:
        """What was chosen of the table's columns. A table that cannot be read is reported elsewhere."""
        data = self.cleaned_data
        given: dict[str, str] = data["column"] | {data[field]: field for field in NAMED_ALONE if data[field]}
        try:
            values = first_values(of_tools(read_rows(path)))
        except (ImportProblem, OSError):
            return given
        # Choices among the columns of another table, which was chosen before this one, are no choices.
        sent = str(self.data.get("offered") or "").partition("-")[0]
        if sent and sent != _hash(list(values)):
            given = {}
        self._offer([Column(name, "", example=value) for name, value in values.items()], given)
        return given

    def _offer(self, columns: Sequence[Column], given: Mapping[str, str]) -> None:
        """Let what becomes of each column be chosen."""
        widget: Any = self.fields["column"].widget
        widget.columns, widget.given = columns, given
        detected = [(column.name, column.field, column.note) for column in columns]
        self.offered = f"{_hash([column.name for column in columns])}-{_hash(detected)}"

    @property
    def offers_the_same(self) -> bool:
        """Whether the page that was sent has these columns to choose from."""
        return bool(self.offered) and self.data.get("offered") == self.offered


def _is_preview(data: Any) -> bool:
    """Whether the form was sent for a preview."""
    return bool(data) and data.get("do") == "preview"


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


class PresetForm(ProblemForm):
    """A public benchmark, chosen by the button beside it."""

    preset = forms.ChoiceField(
        choices=[(name, preset.title) for name, preset in REGISTERED_PRESETS.items()],
        error_messages={"required": "Choose a benchmark.", "invalid_choice": "There is no such benchmark."},
    )
    limit = forms.IntegerField(
        label="Tasks",
        required=False,
        min_value=1,
        max_value=MAX_NODES // 4,
        help_text="Number of tasks to sample, each subject by its share. Empty: as in the table",
    )
    seed = forms.IntegerField(
        required=False, min_value=0, max_value=2**31 - 1, help_text=f"Seed of the sample. Empty: {SEED}"
    )
    slug = TextField(label="Identifier", help_text="Empty: the name of the benchmark")

    words = ""
    """Only benchmarks that have them in their title, description or metrics are offered."""
    folds_empty = True
    fieldsets: Any = (("Sample and identifier", {"fields": ("limit", "seed", "slug")}),)

    def store(self, user: Any) -> DatasetVersion:
        data = self.cleaned_data
        seed = SEED if data["seed"] is None else data["seed"]
        request = PresetRequest(limit=data["limit"], seed=seed)
        report = read_preset(REGISTERED_PRESETS[data["preset"]], request, configured_hub(FETCH_S))
        return editing.upload_dataset(data["slug"] or data["preset"], report.spec, user)

    def missing(self) -> str:
        """What this machine needs for all benchmarks, or nothing."""
        return next(filter(None, map(why_not_importable, REGISTERED_PRESETS.values())), "")

    def presets(self) -> Shown[PresetRow]:
        offered = [preset for preset in REGISTERED_PRESETS.values() if self.words.lower() in _said_of(preset).lower()]
        return PRESETS.of(PresetRow(preset, why_not_importable(preset)) for preset in offered)


def _said_of(preset: Preset) -> str:
    return " ".join((preset.title, preset.about, *map(metric_title, preset.metrics)))


@contextmanager
def _on_disk(upload: UploadedFile[Any]) -> Iterator[Path]:
    """The path of a temporary copy, with the extension of the upload, by which the readers recognize its format."""
    extension = Path(str(upload.name)).suffix
    with NamedTemporaryFile(suffix=extension if _EXTENSION.fullmatch(extension) else "") as file:
        for chunk in upload.chunks():
            file.write(chunk)
        file.flush()
        yield Path(file.name)
