"""``manage.py datasets check|sync|import|list|export|schema``: YAML datasets from a terminal or a pipeline.

Exit codes: 0 success; 1 at least one file has errors (``check``, ``sync``, ``import``), or the stored schema is out of
date (``schema --check``); 2 failure or invalid call.
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

from benchmarks.dataset_format.documents import SCHEMA_FILE, schema_text, write_schema
from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.dataset_format.files import dataset_paths, display_name, name_problem, read_dataset_file
from benchmarks.dataset_format.problems import Problem
from benchmarks.imports.table_tasks import KNOWN, USES, TableRequest
from benchmarks.management import gates
from benchmarks.management.actions import ActionCommand
from benchmarks.management.printing import table
from benchmarks.models import Dataset, DatasetVersion
from benchmarks.presentation.numbers import plural
from benchmarks.queries.datasets import dataset_list
from benchmarks.services.datasets.files import sync_datasets
from benchmarks.services.datasets.tables import import_table
from benchmarks.services.datasets.versions import spec_of
from benchmarks.services.errors import NotPossible


@dataclass(frozen=True, slots=True)
class Checked:
    """One file and its problems."""

    file: str
    slug: str
    tasks: int
    problems: tuple[Problem, ...]


class Command(ActionCommand):
    help = (
        "Check YAML datasets (without a database), import them, list them, export them. "
        "Exit codes: 0 success, 1 errors found, 2 failure."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="check|sync|import|list|export|schema")
        check = self.action(
            actions, "check", "Report all errors in files without using the database.", self.check_files
        )
        check.add_argument("paths", nargs="*", type=Path, help="files or directories (default: the datasets directory)")
        sync = self.action(actions, "sync", "Import new and changed files, and mark missing ones.", self.sync_directory)
        sync.add_argument("--reread", action="store_true", help="compare contents even if size and time are unchanged")
        self._add_import(actions)
        self.action(actions, "list", "List the datasets in the database.", self.list_datasets)
        for action in actions.choices.values():
            action.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")
        export = self.action(
            actions, "export", "Write a dataset as YAML that loads to the same content.", self.export_dataset
        )
        export.add_argument("slug", help="dataset")
        export.add_argument("--number", type=int, metavar="N", help="version N instead of the current one")
        export.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of printing")
        schema = self.action(
            actions, "schema", f"Write {SCHEMA_FILE}, with which editors complete and check.", self.store_schema
        )
        schema.add_argument("--check", action="store_true", help="only check whether the stored schema is up to date")

    def _add_import(self, actions: Any) -> None:
        parser = self.action(
            actions, "import", "Write a YAML file from a table: JSON Lines, JSON, CSV or Parquet.", self.import_file
        )
        parser.add_argument("file", type=Path, metavar="FILE", help="table with a row for each task")
        parser.add_argument("--slug", metavar="SLUG", help="name of the YAML file (default: that of the table)")
        parser.add_argument("--name", default="", help="title for people (default: the slug)")
        parser.add_argument("--description", default="", help="what the tasks are and where they come from")
        for use, text in USES.items():
            names = ", ".join(KNOWN[use])
            parser.add_argument(f"--{use}", metavar="COLUMN", help=f"{text} (default: the first of {names})")
        parser.add_argument(
            "--answer-after", default="", metavar="TEXT", help="use only the part of the expected column after TEXT"
        )
        parser.add_argument("--limit", type=int, metavar="N", help="import only the first N rows")
        parser.add_argument("--replace", action="store_true", help="replace an existing YAML file")

    def check_files(self, paths: Sequence[Path], *, as_json: bool, **options: Any) -> int:
        files = [checked for path in paths or [settings.DATASETS_DIR] for checked in _checked(path)]
        problems = [problem for file in files for problem in file.problems]
        if as_json:
            self._print_json([_with_problems(file.file, file.slug, file.problems, tasks=file.tasks) for file in files])
            return int(bool(problems))
        for problem in problems:
            self.stdout.write(str(problem))
        valid = [file for file in files if not file.problems]
        tasks = plural(sum(file.tasks for file in valid), "task")
        summary = f"{len(valid)} of {plural(len(files), 'file')} valid ({tasks}), {plural(len(problems), 'error')}"
        self._summary(summary, problems)
        return int(bool(problems))

    def sync_directory(self, *, reread: bool, as_json: bool, **options: Any) -> int:
        report = sync_datasets(settings.DATASETS_DIR, reread=reread)
        if as_json:
            self._print_json(
                [
                    _with_problems(file.file, file.slug, file.problems, change=file.change, version=file.version)
                    for file in report.files
                ]
            )
        else:
            self._summary(str(report), report.problems)
        return int(bool(report.problems))

    def import_file(self, file: Path, *, slug: str | None, as_json: bool, **options: Any) -> int:
        if options["limit"] is not None and options["limit"] < 1:
            raise NotPossible("--limit: enter a number of at least 1.")
        chosen = slug or slugify(file.stem)
        request = TableRequest(
            name=options["name"] or chosen,
            description=options["description"] or f"Imported from the table {display_name(file, file.parent)}.",
            columns={use: options[use] for use in USES},
            answer_after=options["answer_after"],
            limit=options["limit"],
        )
        target, result = import_table(file, settings.DATASETS_DIR, chosen, request, replace=options["replace"])
        problems = result.problems
        if as_json:
            more = {"columns": str(result.columns), "tasks": len(result.spec.tasks) if result.spec else 0}
            self._print_json(_with_problems(str(target), chosen, problems, **more))
            return int(bool(problems))
        for line in (f"Columns: {result.columns}", *map(str, problems)):
            self.stdout.write(line)
        if result.spec is None:
            self._summary(f"{plural(len(problems), 'error')}. No file written.", problems)
        else:
            written = f"Wrote {target} with {plural(len(result.spec.tasks), 'task')}"
            self._summary(f"{written}. To import it, run: datasets sync", problems)
        return int(bool(problems))

    def list_datasets(self, *, as_json: bool, **options: Any) -> int:
        rows = [_row(dataset) for dataset in dataset_list()]
        if as_json:
            self._print_json(rows)
        elif rows:
            cells = [["" if cell is None else str(cell) for cell in row.values()] for row in rows]
            self.stdout.write(table(list(rows[0]), cells))
        else:
            self.stdout.write("No datasets yet. Add a YAML file to the datasets directory, then run: datasets sync")
        return 0

    def export_dataset(self, slug: str, *, number: int | None, output: Path | None, **options: Any) -> int:
        text = dump_dataset(spec_of(_version(slug, number)))
        if output is None:
            self.stdout.write(text, ending="")
            return 0
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"Cannot write {output}: {error.strerror}", returncode=gates.REFUSED) from None
        self._summary(f"Wrote {output}", ())
        return 0

    def store_schema(self, *, check: bool, **options: Any) -> int:
        path = settings.DATASETS_DIR / SCHEMA_FILE
        if not check:
            self._summary(f"Wrote {write_schema(settings.DATASETS_DIR)}", ())
            return 0
        stale = not path.is_file() or path.read_text(encoding="utf-8") != schema_text()
        self._summary(f"{path} is {'out of date. Run: datasets schema' if stale else 'up to date'}", stale)
        return int(stale)

    def _print_json(self, rows: Any) -> None:
        self.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False))

    def _summary(self, text: str, errors: object) -> None:
        self.stdout.write(self.style.ERROR(text) if errors else self.style.SUCCESS(text))


def _checked(path: Path) -> list[Checked]:
    """The file, or all dataset files of the directory. Raises ``NotPossible`` if the path does not exist."""
    if path.is_dir():
        owners: dict[str, Path] = {}
        return [_check_file(file, path, owners.setdefault(file.stem, file)) for file in dataset_paths(path)]
    if path.exists() or path.is_symlink():
        return [_check_file(path, path.parent, path)]
    raise NotPossible(f"{path} does not exist.")


def _check_file(path: Path, root: Path, owner: Path) -> Checked:
    misnamed = name_problem(path, root, None if owner == path else owner)
    parsed = read_dataset_file(path, root)
    problems = (*((misnamed,) if misnamed else ()), *parsed.problems)
    tasks = len(parsed.spec.tasks) if parsed.spec else 0
    return Checked(display_name(path, root), display_name(Path(path.stem), root), tasks, problems)


def _with_problems(file: str, slug: str, problems: Sequence[Problem], **more: Any) -> dict[str, Any]:
    rows = [{"line": problem.line, "path": problem.path, "message": problem.message} for problem in problems]
    return {"file": file, "slug": slug, **more, "problems": rows}


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


def _version(slug: str, number: int | None) -> DatasetVersion:
    dataset = Dataset.objects.filter(slug=slug).select_related("current_version").first()
    if dataset is None:
        known = ", ".join(Dataset.objects.filter(kind=Dataset.Kind.YAML).values_list("slug", flat=True)) or "none"
        raise NotPossible(f"Dataset {slug} does not exist. Choose from: {known}.")
    if dataset.kind != Dataset.Kind.YAML:
        raise NotPossible(f"{slug} is a canvas dataset. Its tasks are generated, so it has no YAML.")
    version = dataset.current_version if number is None else dataset.versions.filter(number=number).first()
    if version is None:
        numbers = ", ".join(map(str, dataset.versions.order_by("number").values_list("number", flat=True))) or "none"
        missing = "no current version" if number is None else f"no version {number}"
        raise NotPossible(f"{slug} has {missing}. Choose from: {numbers}.")
    return version
