"""``manage.py datasets check|sync|import|list|export|schema``: YAML datasets from a terminal or a pipeline.

Exit codes: 0, all is well; 1, at least one file has mistakes (``check``, ``sync``, ``import``) or the stored schema is
out of date (``schema --check``); 2, the command could not do what was asked, or was called wrongly.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, CommandParser
from django.utils.text import slugify

from benchmarks.dataset_format import (
    Problem,
    dataset_paths,
    display_name,
    dump_dataset,
    name_problem,
    read_dataset_file,
    schema_text,
    slug_of,
    write_schema,
)
from benchmarks.dataset_format.documents import SCHEMA_FILE
from benchmarks.imports.table_tasks import USES
from benchmarks.management import gates
from benchmarks.management.actions import ActionCommand
from benchmarks.models import Dataset, DatasetVersion
from benchmarks.queries.datasets import dataset_list
from benchmarks.services.datasets.files import FileReport, spec_of, sync_datasets
from benchmarks.services.datasets.tables import TableRequest, import_table
from benchmarks.services.errors import NotPossible

COLUMNS = ("dataset", "kind", "version", "tasks", "file", "name")


@dataclass(frozen=True, slots=True)
class Checked:
    """One file as ``check`` found it."""

    file: str
    slug: str
    tasks: int
    problems: tuple[Problem, ...]


class Command(ActionCommand):
    help = (
        "Check YAML datasets (without a database), take them over, list them, write them back. "
        "Exit codes: 0 all is well, 1 there are mistakes, 2 not possible."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="check|sync|import|list|export|schema")
        check = self.action(
            actions, "check", "Tell every mistake of files, without using the database.", self.check_files
        )
        check.add_argument(
            "paths", nargs="*", type=Path, help="files or directories; by default the datasets directory"
        )
        sync = self.action(actions, "sync", "Take over new, changed and vanished files.", self.sync_directory)
        sync.add_argument(
            "--reread", action="store_true", help="compare contents even where size and time are the same"
        )
        self._add_import(actions)
        self.action(actions, "list", "List the datasets in the database.", self.list_datasets)
        for action in actions.choices.values():
            action.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")
        export = self.action(
            actions, "export", "Write a dataset as YAML that loads to the same content.", self.export_dataset
        )
        export.add_argument("slug", help="the dataset")
        export.add_argument("--number", type=int, metavar="N", help="its version N instead of the current one")
        export.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of printing")
        schema = self.action(
            actions, "schema", f"Write {SCHEMA_FILE}, by which editors complete and check.", self.store_schema
        )
        schema.add_argument("--check", action="store_true", help="only tell whether the stored one is up to date")

    def _add_import(self, actions: Any) -> None:
        take = self.action(
            actions, "import", "Make a YAML file of a table: JSON Lines, JSON, CSV or Parquet.", self.take_over
        )
        take.add_argument("file", type=Path, metavar="FILE", help="with a row for each task")
        take.add_argument("--slug", metavar="SLUG", help="name of the YAML file; by default that of the table")
        take.add_argument("--name", default="", help="title for people; by default the slug")
        take.add_argument("--description", default="", help="what the tasks are and where they come from")
        for use, text in USES.items():
            take.add_argument(f"--{use}", metavar="COLUMN", help=f"{text}; guessed where it is not given")
        take.add_argument(
            "--answer-after", default="", metavar="TEXT", help="of the expected column only what follows TEXT"
        )
        take.add_argument("--limit", type=int, metavar="N", help="only the first N rows")
        take.add_argument("--replace", action="store_true", help="replace a YAML file of that name")

    def check_files(self, paths: Sequence[Path], *, as_json: bool, **options: Any) -> int:
        files = [checked for path in paths or [settings.DATASETS_DIR] for checked in _checked(path)]
        problems = [problem for file in files for problem in file.problems]
        if as_json:
            self._print_json([_with_problems(file.file, file.slug, file.problems, tasks=file.tasks) for file in files])
        else:
            for problem in problems:
                self.stdout.write(str(problem))
            good = [file for file in files if not file.problems]
            tasks = _counted(sum(file.tasks for file in good), "task")
            found = (
                f"{len(good)} of {_counted(len(files), 'file')} good ({tasks}), {_counted(len(problems), 'mistake')}"
            )
            self._summary(found, problems)
        return int(bool(problems))

    def sync_directory(self, *, reread: bool, as_json: bool, **options: Any) -> int:
        report = sync_datasets(settings.DATASETS_DIR, reread=reread)
        if as_json:
            self._print_json([_synced_json(file) for file in report.files])
        else:
            self._summary(str(report), report.problems)
        return int(bool(report.problems))

    def take_over(self, file: Path, *, slug: str | None, as_json: bool, **options: Any) -> int:
        if options["limit"] is not None and options["limit"] < 1:
            raise NotPossible("--limit: a number of at least 1 is wanted.")
        chosen = slug or slugify(file.stem)
        asked = TableRequest(
            slug=chosen,
            name=options["name"] or chosen,
            description=options["description"] or f"Taken over from the table {display_name(file, file.parent)}.",
            columns={use: options[use] for use in USES},
            answer_after=options["answer_after"],
            limit=options["limit"],
            replace=options["replace"],
        )
        found = import_table(file, settings.DATASETS_DIR, asked)
        if as_json:
            told = {"columns": str(found.columns), "tasks": found.tasks}
            self._print_json(_with_problems(str(found.file), chosen, found.problems, **told))
            return int(bool(found.problems))
        self.stdout.write(f"Columns: {found.columns}")
        for problem in found.problems:
            self.stdout.write(str(problem))
        if found.problems:
            self._summary(f"{_counted(len(found.problems), 'mistake')}, nothing was written", found.problems)
            return 1
        self._summary(f"Wrote {found.file}: {_counted(found.tasks, 'task')}. Take it over with: datasets sync", False)
        return 0

    def list_datasets(self, *, as_json: bool, **options: Any) -> int:
        rows = [_row(dataset) for dataset in dataset_list()]
        if as_json:
            self._print_json(rows)
        elif rows:
            self.stdout.write(_table(rows))
        else:
            self.stdout.write("No datasets yet. Put a YAML file into the datasets directory and run: datasets sync")
        return 0

    def export_dataset(self, slug: str, *, number: int | None, output: Path | None, **options: Any) -> int:
        text = dump_dataset(spec_of(_version(slug, number)))
        if output is None:
            self.stdout.write(text, ending="")
            return 0
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{output} cannot be written: {error.strerror}", returncode=gates.REFUSED) from None
        self.stdout.write(self.style.SUCCESS(f"Wrote {output}"))
        return 0

    def store_schema(self, *, check: bool, **options: Any) -> int:
        path = settings.DATASETS_DIR / SCHEMA_FILE
        if not check:
            self.stdout.write(self.style.SUCCESS(f"Wrote {write_schema(settings.DATASETS_DIR)}"))
            return 0
        stale = not path.is_file() or path.read_text(encoding="utf-8") != schema_text()
        self._summary(f"{path} is {'out of date: run datasets schema' if stale else 'up to date'}", stale)
        return int(stale)

    def _print_json(self, rows: Any) -> None:
        self.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False))

    def _summary(self, text: str, bad: object) -> None:
        self.stdout.write(self.style.ERROR(text) if bad else self.style.SUCCESS(text))


def _checked(path: Path) -> list[Checked]:
    """The file, or all dataset files of the directory. Raises ``NotPossible`` where there is neither."""
    if not path.is_dir():
        if not path.exists() and not path.is_symlink():
            raise NotPossible(f"{path} does not exist.")
        return [_check_file(path, path.parent, None)]
    owners: dict[str, Path] = {}
    return [_check_file(file, path, owners.setdefault(slug_of(file), file)) for file in dataset_paths(path)]


def _check_file(path: Path, root: Path, owner: Path | None) -> Checked:
    misnamed = name_problem(path, root, None if owner in (None, path) else owner)
    parsed = read_dataset_file(path, root)
    problems = (*((misnamed,) if misnamed else ()), *parsed.problems)
    tasks = len(parsed.spec.tasks) if parsed.spec else 0
    return Checked(display_name(path, root), display_name(Path(slug_of(path)), root), tasks, problems)


def _with_problems(file: str, slug: str, problems: Sequence[Problem], **more: Any) -> dict[str, Any]:
    told = [{"line": problem.line, "path": problem.path, "message": problem.message} for problem in problems]
    return {"file": file, "slug": slug, **more, "problems": told}


def _synced_json(file: FileReport) -> dict[str, Any]:
    return _with_problems(file.file, file.slug, file.problems, change=file.change, version=file.version)


def _row(dataset: Dataset) -> dict[str, Any]:
    version = dataset.current_version
    file = getattr(dataset, "file", None)
    return {
        "dataset": dataset.slug,
        "kind": dataset.kind,
        "version": version.number if version else None,
        "tasks": version.task_count if version else 0,
        "file": f"{file.path} ({file.state})" if file else "",
        "name": dataset.name,
    }


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _table(rows: Sequence[dict[str, Any]]) -> str:
    written = [COLUMNS, *(tuple("" if row[name] is None else str(row[name]) for name in COLUMNS) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*written, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in written)


def _version(slug: str, number: int | None) -> DatasetVersion:
    dataset = Dataset.objects.filter(slug=slug).select_related("current_version").first()
    if dataset is None:
        known = ", ".join(Dataset.objects.filter(kind=Dataset.Kind.YAML).values_list("slug", flat=True)) or "none yet"
        raise NotPossible(f"There is no dataset {slug}. Known: {known}.")
    if dataset.kind != Dataset.Kind.YAML:
        raise NotPossible(f"{slug} is a canvas dataset: its tasks are generated, so there is no YAML of it.")
    version = dataset.current_version if number is None else dataset.versions.filter(number=number).first()
    if version is None:
        numbers = ", ".join(map(str, dataset.versions.order_by("number").values_list("number", flat=True))) or "none"
        raise NotPossible(f"{slug} has no version {number or ''}. Its versions: {numbers}.".replace("  ", " "))
    return version
