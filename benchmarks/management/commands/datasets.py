"""``manage.py datasets ACTION``: YAML datasets from a terminal or a pipeline. ``--help`` lists the actions.

Exit codes: 0 success; 1 at least one file has errors (``check``, ``sync``, ``import``), or the stored schema is out of
date (``schema --check``); 2 failure or invalid call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.text import slugify

from benchmarks.dataset_format.documents import SCHEMA_FILE, schema_text, write_schema
from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.dataset_format.files import dataset_paths, display_name, name_problem, read_dataset_file
from benchmarks.imports.table_tasks import KNOWN, USES, TableRequest
from benchmarks.management.actions import JSON, OK, ActionCommand, action, argument, switch, writing
from benchmarks.models import Dataset, DatasetVersion
from benchmarks.presentation.numbers import plural
from benchmarks.queries.datasets import dataset_list
from benchmarks.queries.task_analysis.analysis import task_analysis
from benchmarks.queries.task_analysis.findings import FLAGS
from benchmarks.queries.task_analysis.pages import AnalysisFilters, analysis_page, as_mapping
from benchmarks.services.datasets.doubtful import mark_doubtful
from benchmarks.services.datasets.editing import remove_tasks
from benchmarks.services.datasets.files import sync_datasets
from benchmarks.services.datasets.tables import import_table
from benchmarks.services.datasets.versions import spec_of
from benchmarks.services.errors import NotPossible


class Command(ActionCommand):
    help = (
        "Check YAML datasets (without a database), import them, list them, export them. "
        "Exit codes: 0 success, 1 errors found, 2 failure."
    )
    requires_system_checks = ()

    @action(
        "Report all errors in files without using the database.",
        argument("paths", None, "files or directories (default: the datasets directory)", nargs="*", type=Path),
        JSON,
        name="check",
    )
    def check_files(self, paths: Sequence[Path], *, as_json: bool, **options: Any) -> int:
        files = [file for path in paths or [settings.DATASETS_DIR] for file in _checked(path)]
        problems = [problem for file in files for problem in file["problems"]]
        if as_json:
            self.print_json([_as_json(file) for file in files])
        else:
            for problem in problems:
                self.stdout.write(str(problem))
            valid = [file for file in files if not file["problems"]]
            tasks = plural(sum(file["tasks"] for file in valid), "task")
            valid_files = f"{len(valid)} of {plural(len(files), 'file')} valid ({tasks})"
            self.print_outcome(f"{valid_files}, {plural(len(problems), 'error')}", problems)
        return int(bool(problems))

    @action(
        "Import new and changed files, and mark missing ones.",
        switch("--reread", "compare contents even if size and time are unchanged"),
        JSON,
    )
    def sync(self, *, reread: bool, as_json: bool, **options: Any) -> int:
        report = sync_datasets(settings.DATASETS_DIR, reread=reread)
        if as_json:
            names = ("file", "slug", "change", "version", "problems")
            self.print_json([_as_json({name: getattr(file, name) for name in names}) for file in report.files])
        else:
            self.print_outcome(str(report), report.problems)
        return int(bool(report.problems))

    @action(
        "Write a YAML file from a table: JSON Lines, JSON, CSV or Parquet.",
        argument("file", "FILE", "table with a row for each task", type=Path),
        argument("--slug", "SLUG", "name of the YAML file (default: that of the table)"),
        argument("--name", None, "title for people (default: the slug)", default=""),
        argument("--description", None, "what the tasks are and where they come from", default=""),
        *(
            argument(f"--{use}", "COLUMN", f"{text} (default: the first of {', '.join(KNOWN[use])})")
            for use, text in USES.items()
        ),
        argument("--answer-after", "TEXT", "use only the part of the expected column after TEXT", default=""),
        argument("--limit", "N", "import only the first N rows", type=int),
        switch("--replace", "replace an existing YAML file"),
        JSON,
        name="import",
    )
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
        problems, tasks = result.problems, len(result.spec.tasks) if result.spec else 0
        columns = str(result.columns)
        if as_json:
            row = {"file": str(target), "slug": chosen, "columns": columns, "tasks": tasks, "problems": problems}
            self.print_json(_as_json(row))
        else:
            for line in (f"Columns: {columns}", *map(str, problems)):
                self.stdout.write(line)
            written = f"Wrote {target} with {plural(tasks, 'task')}. To import it, run: datasets sync"
            failed = f"{plural(len(problems), 'error')}. No file written."
            self.print_outcome(failed if problems else written, problems)
        return int(bool(problems))

    @action(
        "Print what the runs on a dataset say of its tasks: flagged tasks, effective tasks, detectable differences.",
        argument("slug", None, "dataset"),
        argument("--number", "N", "version N instead of the current one", type=int),
        argument("--metric", None, "score by this metric (default: the first of most runs)", default=""),
        argument("--flag", None, "only tasks with this flag", choices=tuple(FLAGS), default=""),
        argument("--mark-doubtful", "TASK", "mark the references of these tasks as doubtful", nargs="+"),
        switch("--without-flagged", "create a version without the tasks that have the flag"),
        JSON,
    )
    def analyze(self, slug: str, *, flag: str, as_json: bool, **options: Any) -> None:
        version = _version(slug, options["number"], kinds=(Dataset.Kind.YAML, Dataset.Kind.CANVAS))
        if options["mark_doubtful"]:
            count = mark_doubtful(version, options["mark_doubtful"])
            self.print_outcome(f"Marked {plural(count, 'reference')} as doubtful. A worker updates the runs.")
            return
        analysis = task_analysis(version, options["metric"])
        if options["without_flagged"]:
            if not flag:
                raise NotPossible("--without-flagged: name the flag with --flag.")
            chosen = [int(analysis.tasks[place]) for place in analysis.flags[flag]]
            if not chosen:
                raise NotPossible(f"No task of {slug} has the flag {flag}.")
            ids = list(version.tasks.filter(pk__in=chosen).values_list("task_id", flat=True))
            new = remove_tasks(version.dataset, version.pk, ids)
            self.print_outcome(f"Version {new.number} of {slug} created without {plural(len(ids), 'task')}.")
            return
        page = analysis_page(version, analysis, AnalysisFilters(flag), size=max(1, len(analysis.tasks)))
        found = {"dataset": slug, "version": version.number, **as_mapping(page, analysis)}
        if as_json:
            self.print_json(found)
            return
        sentences = (analysis.verdict, analysis.findings, *analysis.separation_sentences, analysis.limits)
        self.stdout.write("\n".join(filter(None, sentences)))
        rows = [
            {
                "task": row.task.task_id,
                "discrimination": None if row.discrimination is None else f"{row.discrimination:.2f}",
                "flags": "; ".join(f"{FLAGS[kind]}: {detail}" for kind, detail in row.flags),
            }
            for row in page.rows
            if row.flags
        ]
        self.print_rows(rows, "No task is flagged.", right=(1,))

    @action("List the datasets in the database.", JSON, name="list")
    def list_datasets(self, *, as_json: bool, **options: Any) -> None:
        rows = [_row(dataset, as_json=as_json) for dataset in dataset_list()]
        empty = "No datasets yet. Add a YAML file to the datasets directory, then run: datasets sync"
        self.print_rows(rows, empty, as_json=as_json)

    @action(
        "Write a dataset as YAML that loads to the same content.",
        argument("slug", None, "dataset"),
        argument("--number", "N", "version N instead of the current one", type=int),
        argument("-o --output", "FILE", "write to FILE instead of printing", type=Path),
    )
    def export(self, slug: str, *, number: int | None, output: Path | None, **options: Any) -> None:
        text = dump_dataset(spec_of(_version(slug, number)))
        if output is None:
            self.stdout.write(text, ending="")
            return
        with writing(output):
            output.write_text(text, encoding="utf-8")
        self.print_outcome(f"Wrote {output}")

    @action(
        f"Write {SCHEMA_FILE}, with which editors complete and check.",
        switch("--check", "only check whether the stored schema is up to date"),
    )
    def schema(self, *, check: bool, **options: Any) -> int:
        path = settings.DATASETS_DIR / SCHEMA_FILE
        if not check:
            self.print_outcome(f"Wrote {write_schema(settings.DATASETS_DIR)}")
            return OK
        stale = not path.is_file() or path.read_text(encoding="utf-8") != schema_text()
        self.print_outcome(f"{path} is {'out of date. Run: datasets schema' if stale else 'up to date'}", stale)
        return int(stale)


def _checked(path: Path) -> Iterator[dict[str, Any]]:
    """The file, or all dataset files of the directory, with their problems. Raises ``NotPossible`` if it is missing."""
    if not path.exists() and not path.is_symlink():
        raise NotPossible(f"{path} does not exist.")
    root = path if path.is_dir() else path.parent
    owners: dict[str, Path] = {}
    for file in dataset_paths(path) if path.is_dir() else [path]:
        owner = owners.setdefault(file.stem, file)
        misnamed = name_problem(file, root, None if owner == file else owner)
        parsed = read_dataset_file(file, root)
        yield {
            "file": display_name(file, root),
            "slug": display_name(Path(file.stem), root),
            "tasks": len(parsed.spec.tasks) if parsed.spec else 0,
            "problems": (*((misnamed,) if misnamed else ()), *parsed.problems),
        }


def _as_json(file: Mapping[str, Any]) -> dict[str, Any]:
    names = ("line", "path", "message")
    return {**file, "problems": [{name: getattr(problem, name) for name in names} for problem in file["problems"]]}


def _row(dataset: Dataset, *, as_json: bool) -> dict[str, Any]:
    version = dataset.current_version
    file = getattr(dataset, "file", None)
    return {
        "dataset": dataset.slug,
        "kind": dataset.kind,
        "version": version and (version.number if as_json else version.label),
        **({"added_canvases": version.added_canvases if version else 0} if as_json else {}),
        "tasks": version.task_count if version else 0,
        "file": f"{file.path} ({file.state})" if file else "",
        "name": dataset.name,
    }


def _version(slug: str, number: int | None, kinds: Collection[str] = (Dataset.Kind.YAML,)) -> DatasetVersion:
    dataset = Dataset.objects.filter(slug=slug).select_related("current_version").first()
    if dataset is None:
        known = ", ".join(Dataset.objects.filter(kind__in=kinds).values_list("slug", flat=True)) or "none"
        raise NotPossible(f"Dataset {slug} does not exist. Choose from: {known}.")
    if dataset.kind not in kinds:
        raise NotPossible(f"{slug} is a canvas dataset. Its tasks are generated, so it has no YAML.")
    version = dataset.current_version if number is None else dataset.versions.filter(number=number).first()
    if version is None:
        numbers = ", ".join(map(str, dataset.versions.order_by("number").values_list("number", flat=True))) or "none"
        missing = "no current version" if number is None else f"no version {number}"
        raise NotPossible(f"{slug} has {missing}. Choose from: {numbers}.")
    return version
