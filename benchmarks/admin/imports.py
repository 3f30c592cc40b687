"""Forms that take over what other tools made: their runs, and tables of questions and answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.text import slugify

from benchmarks.admin.fields import TextField, file_field
from benchmarks.admin.forms import DatasetFileForm, ProblemForm
from benchmarks.dataset_format.limits import MAX_BYTES
from benchmarks.dataset_format.problems import printable
from benchmarks.imports.formats import FORMATS
from benchmarks.imports.table_tasks import USES
from benchmarks.metrics.imported import TOOLS
from benchmarks.models import Dataset
from benchmarks.services.access import Caller
from benchmarks.services.datasets.tables import TableRequest, read_table
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import OUR_METRICS, Imported, import_runs, own_metrics

MOST_BYTES = 32 * 2**20
"""Of a file of runs that is uploaded. A larger one is for the command, which keeps no request waiting."""
MOST_DECOMPRESSED = 256 * 2**20

_ENDING = re.compile(r"\.[A-Za-z0-9]{1,10}")
_TABLES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
"""Not Parquet: a small file of it may hold more than a web server should unpack."""


class RunImportForm(ProblemForm):
    """A file of Inspect or promptfoo. ``take_over`` gives its runs, or puts at the fields what speaks against them."""

    file = file_field(
        "File",
        (".eval", ".json"),
        f"A log of Inspect (.eval or .json) or results of promptfoo (.json), up to {MOST_BYTES // 2**20} MB. "
        "Larger ones are taken over by: manage.py benchmark import",
    )
    format = forms.ChoiceField(
        required=False,
        choices=[("", "found out from the file"), *((name, TOOLS[name]) for name in FORMATS)],
        help_text="Which tool wrote it",
    )
    dataset = forms.ChoiceField(
        required=False,
        help_text="The dataset whose tasks these are, found by what they ask; otherwise they become one of their own",
    )
    slug = TextField(
        label="Identifier",
        help_text="Of the dataset that is made of the tasks; without one, named after the tool and what it ran",
    )
    metrics = forms.MultipleChoiceField(
        label="Our metrics",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Taken of the answers besides the tool's own scores, to compare them with runs made here",
    )

    fieldsets: Any = ((None, {"fields": ("file", "format", "dataset", "slug", "metrics")}),)

    def __init__(self, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files, initial={"metrics": OUR_METRICS})
        ready = Dataset.objects.filter(kind=Dataset.Kind.YAML, current_version__isnull=False).order_by("slug")
        slugs = ready.values_list("slug", flat=True)
        self.fields["dataset"].choices = [("", "one of their own"), *((slug, slug) for slug in slugs)]  # type: ignore[attr-defined]
        self.fields["metrics"].choices = [(name, name) for name in own_metrics()]  # type: ignore[attr-defined]

    def clean_file(self) -> UploadedFile[Any]:
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        if upload.size is None or upload.size > MOST_BYTES:
            raise forms.ValidationError(
                f"is larger than {MOST_BYTES // 2**20} MB: take it over by manage.py benchmark import"
            )
        return upload

    def take_over(self, user: Caller) -> list[Imported]:
        """The runs of a valid form's file; none, with an error in the form, where they cannot be taken over."""
        given = self.cleaned_data
        try:
            with _on_disk(given["file"]) as path:
                return import_runs(
                    path,
                    name=given["file"].name,
                    form=given["format"] or None,
                    slug=given["slug"] or None,
                    dataset=given["dataset"] or None,
                    metrics=given["metrics"],
                    most_bytes=MOST_DECOMPRESSED,
                    user=user,
                )
        except NotPossible as refusal:
            self.add_error(None, refusal.message)
            return []


class TableForm(DatasetFileForm):
    """A table of questions and answers."""

    file = file_field(
        "Table",
        _TABLES,
        f"JSON Lines, JSON or CSV with a row for each task, up to {MAX_BYTES // 1_000_000} MB. "
        "Parquet is taken over by: manage.py datasets import",
    )
    slug = TextField(label="Identifier", help_text="Without one, the file's name without its ending")
    name = TextField(help_text="Title for people; without one, the identifier")
    description = TextField(rows=3, help_text="What the tasks are and where they come from")
    answer_after = TextField(help_text="Of the reference answer take only what follows this text, as #### in GSM8K")
    limit = forms.IntegerField(required=False, min_value=1, help_text="Only so many rows from the beginning")

    fieldsets: Any = (
        (None, {"fields": ("file", "slug", "name", "description")}),
        (
            "Columns",
            {
                "fields": (*USES, "answer_after", "limit"),
                "description": "Columns that are left open are guessed by the names that published datasets use.",
            },
        ),
    )

    def __init__(self, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files)
        for use, text in USES.items():
            self.fields[use] = TextField(help_text=f"Name of {text}")
        self.columns = ""

    def clean_file(self) -> UploadedFile[Any]:
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        if not str(upload.name).lower().endswith(_TABLES):
            raise forms.ValidationError(f"its name has to end in {', '.join(_TABLES)}, which tells what it is")
        if upload.size is None or upload.size > MAX_BYTES:
            raise forms.ValidationError(f"is larger than {MAX_BYTES // 1_000_000} MB, more than a dataset holds")
        return upload

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            self._read(self.cleaned_data)
        return self.cleaned_data

    def _read(self, given: dict[str, Any]) -> None:
        shown = printable(given["file"].name)
        slug = given["slug"] = given["slug"] or slugify(Path(shown).stem)
        asked = TableRequest(
            slug=slug,
            name=given["name"] or slug,
            description=given["description"] or f"Taken over from the table {shown}.",
            columns={use: given[use] or None for use in USES},
            answer_after=given["answer_after"],
            limit=given["limit"],
        )
        try:
            with _on_disk(given["file"]) as path:
                report = read_table(path, shown, asked)
        except NotPossible as refusal:
            self.add_error("file", refusal.message)
            return
        self.spec, self.columns = report.spec, str(report.columns)
        if report.problems:
            self.refuse_file([(problem, "") for problem in report.problems])


@contextmanager
def _on_disk(upload: UploadedFile[Any]) -> Iterator[Path]:
    """The path of a file that is there during the block, its name ending as the upload's does."""
    ending = Path(str(upload.name)).suffix
    with NamedTemporaryFile(suffix=ending if _ENDING.fullmatch(ending) else "") as file:
        for chunk in upload.chunks():
            file.write(chunk)
        file.flush()
        yield Path(file.name)
