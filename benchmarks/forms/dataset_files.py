"""Forms that make a dataset, or its next version, of a YAML file or of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django import forms

from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.dataset_format.limits import MAX_BYTES
from benchmarks.dataset_format.parsing import parse_dataset, too_large
from benchmarks.dataset_format.problems import Problem, printable
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.forms.datasets import EditForm, ProblemForm
from benchmarks.forms.fields import TextField, UploadField
from benchmarks.models import Dataset, DatasetVersion, Result
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.tables import Shown
from benchmarks.queries.tables.datasets import PROBLEMS
from benchmarks.services.datasets import editing
from benchmarks.services.datasets.versions import spec_of


class DatasetFileForm(ProblemForm):
    """A file that becomes a dataset. A valid form holds its content in ``spec``, an invalid one ``problems``."""

    shows_source = False
    """Whether the source line of a problem is shown."""
    spec: DatasetSpec | None = None
    problems: tuple[tuple[Problem, str], ...] = ()
    """Each problem with its line of the file."""

    @property
    def problem_table(self) -> Shown[Mapping[str, object]]:
        rows = (
            {"line": problem.line, "path": problem.path, "message": problem.message, "text": text}
            for problem, text in self.problems
        )
        return PROBLEMS.where(shows_source=self.shows_source).of(rows, title="Errors in the file")

    def refuse_file(self, problems: Sequence[tuple[Problem, str]]) -> None:
        self.problems = tuple(problems)
        self.add_error("file", f"{plural(len(self.problems), 'error')}. Nothing was saved")

    def store(self, user: Any) -> DatasetVersion:
        assert self.spec is not None, "a valid form has read its file"
        return editing.upload_dataset(self.cleaned_data["slug"], self.spec, user)


class UploadForm(DatasetFileForm):
    """A YAML file as a new dataset."""

    file = UploadField(
        "YAML file",
        (".yaml", ".yml"),
        f"UTF-8, less than {MAX_BYTES // 1_000_000} MB. A file with errors is not saved",
    )
    slug = TextField(label="Identifier", help_text="Empty: the file name without its extension")

    needed = frozenset({"file"})
    fieldsets: Any = ((None, {"fields": ("file", "slug")}),)
    shows_source = True

    def clean(self) -> dict[str, object]:
        upload = self.cleaned_data.get("file")
        if upload is None:
            return self.cleaned_data
        self.cleaned_data["slug"] = self.cleaned_data.get("slug") or Path(upload.name).stem
        name = printable(upload.name)
        if upload.size >= MAX_BYTES:
            self.refuse_file([(too_large(upload.size, name), "")])
            return self.cleaned_data
        return self.parse(upload.read(), name)

    def parse(self, data: bytes, name: str) -> dict[str, object]:
        parsed = parse_dataset(data, name)
        self.spec = parsed.spec
        if parsed.problems:
            lines = data.split(b"\n")
            self.refuse_file([(problem, _source_line(lines, problem.line)) for problem in parsed.problems])
        return self.cleaned_data


class NewVersionForm(UploadForm, EditForm):
    """A YAML file that becomes the next version of a dataset."""

    slug = None  # type: ignore[assignment]  # removes the field, as Django documents

    fieldsets = ((None, {"fields": ("base", "file")}),)
    origin: str = DatasetVersion.Origin.UPLOAD

    def __init__(self, data: Any = None, files: Any = None, *, version: DatasetVersion) -> None:
        super().__init__(data, files, initial={"base": version.pk})
        self.dataset = version.dataset

    def store(self, user: Any) -> DatasetVersion:
        assert self.spec is not None, "a valid form has read its file"
        return editing.replace_content(self.dataset, self.cleaned_data["base"], self.spec, user, self.origin)


class YamlForm(NewVersionForm):
    """The whole dataset as YAML."""

    needed = frozenset()
    file = TextField(label="YAML", rows=28, code=True)  # type: ignore[assignment]  # what it has is parsed alike
    origin = DatasetVersion.Origin.ADMIN

    def __init__(self, data: Any = None, files: Any = None, *, version: DatasetVersion) -> None:
        super().__init__(data, files, version=version)
        self.fields["file"].initial = dump_dataset(spec_of(version))

    def clean(self) -> dict[str, object]:
        return self.parse(self.cleaned_data["file"].encode(), f"{self.dataset.slug}.yaml")


class CopyForm(ProblemForm):
    """Tasks of results for an existing dataset, or for a new one."""

    dataset = forms.ChoiceField(required=False)
    slug = TextField(label="Identifier", help_text="Of the new dataset, for example, hard-cases")
    name = TextField(label="Title", help_text="Empty: the identifier")

    fieldsets: Any = ((None, {"fields": ("dataset",)}), ("New dataset", {"fields": ("slug", "name")}))

    def __init__(self, data: Any = None, files: Any = None, *, results: Sequence[Result], may_create: bool) -> None:
        super().__init__(data, files)
        self.results, self.may_create = results, may_create
        written = Dataset.objects.filter(kind=Dataset.Kind.YAML, current_version__isnull=False).order_by("slug")
        self.datasets = {dataset.slug: dataset for dataset in written.select_related("current_version")}
        new = [("", "New dataset")] if may_create else []
        self.fields["dataset"].choices = [*new, *((slug, slug) for slug in self.datasets)]  # type: ignore[attr-defined]
        if not may_create:
            self.fieldsets = self.fieldsets[:1]

    def clean(self) -> dict[str, object]:
        if not self.may_create and not self.cleaned_data.get("dataset"):
            self.add_error("dataset", "Choose a dataset.")
        return self.cleaned_data

    def store(self, user: Any) -> DatasetVersion:
        data = self.cleaned_data
        if dataset := self.datasets.get(data["dataset"]):
            return editing.copy_results(dataset, self.results, user)
        return editing.create_dataset_of_results(data["slug"], data["name"] or data["slug"], self.results, user)


def _source_line(lines: list[bytes], number: int) -> str:
    line = lines[number - 1] if number <= len(lines) else b""
    return printable(line[:800].decode("utf-8", "replace").rstrip("\r"))
