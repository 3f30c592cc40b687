"""``manage.py datasets ACTION``: YAML datasets from a terminal or a pipeline. ``--help`` lists the actions.

Exit codes: 0 success; 1 at least one file has errors (``check``, ``sync``, ``import``), or the stored schema is out of
date (``schema --check``); 2 failure or invalid call.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.text import slugify

from benchmarks.analysis.task_analysis import FLAGS
from benchmarks.dataset_format.documents import SCHEMA_FILE, schema_text, write_schema
from benchmarks.dataset_format.dumping import dump_dataset
from benchmarks.dataset_format.files import dataset_paths, display_name, name_problem, read_dataset_file
from benchmarks.dataset_format.spec import as_mapping
from benchmarks.imports.hub import HubAddress
from benchmarks.imports.presets import REGISTERED_PRESETS
from benchmarks.imports.presets.base import SEED, Preset, PresetRequest
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_columns import FIELDS, KNOWN, NAMED_ALONE, example_text, read_columns
from benchmarks.imports.table_tasks import TableReport, TableRequest
from benchmarks.management.actions import JSON, OK, action, argument, reader_of, switch, writing
from benchmarks.management.resources import ResourceCommand
from benchmarks.models import Dataset, DatasetVersion
from benchmarks.presentation.numbers import number, plural
from benchmarks.presentation.texts import cut
from benchmarks.providers.clean_text import full_sentence
from benchmarks.queries.datasets import dataset_list, with_last_runs
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.datasets import DatasetDetail, DatasetResource
from benchmarks.queries.resources.task_analysis import TaskAnalysisResource
from benchmarks.queries.tables.datasets import DATASETS, PRESETS, PresetRow
from benchmarks.queries.task_analysis.analysis import task_analysis
from benchmarks.queries.task_analysis.pages import AnalysisFilters, analysis_page
from benchmarks.services.datasets.editing import remove_tasks
from benchmarks.services.datasets.files import generate_version, sync_datasets
from benchmarks.services.datasets.hub import (
    address_of,
    configured_hub,
    preset_at,
    preset_named,
    read_hub_table,
    read_preset,
)
from benchmarks.services.datasets.tables import free_target, import_table, pictures_of, write_dataset
from benchmarks.services.datasets.versions import mark_doubtful, spec_of
from benchmarks.services.errors import NotPossible

SHOWN = (Dataset.Kind.YAML, Dataset.Kind.CANVAS)
"""Kinds that lists have."""


class Command(ResourceCommand):
    help = (
        "Check YAML datasets (without a database), import them, list them, show them, export them. "
        "Exit codes: 0 success, 1 errors found, 2 failure."
    )
    requires_system_checks = ()
    noun, one = "dataset", argument("key", "SLUG", "dataset")
    listed, shown, table = DatasetResource, DatasetDetail, DATASETS
    empty = "No datasets yet. Add a YAML file to the datasets directory, then run: datasets sync"

    def rows(self, **options: Any) -> QuerySet[Dataset]:
        return dataset_list()

    def in_table(self, rows: Iterable[Any]) -> list[Any]:
        return with_last_runs(rows)

    def row(self, key: str) -> Dataset:
        return dataset_list().get(pk=_version(key, None, kinds=SHOWN).dataset_id)

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
        "Write a YAML file from a table (JSON Lines, JSON, CSV or Parquet) or a public benchmark.",
        argument("source", "SOURCE", "table, preset:NAME, or hf:OWNER/NAME[:CONFIG][/SPLIT][@REVISION]"),
        argument("--slug", "SLUG", "name of the YAML file (default: that of the table or preset)"),
        argument("--name", None, "title for people (default: the slug)", default=""),
        argument("--description", None, "what the tasks are and where they come from", default=""),
        *(
            argument(f"--{field}", "COLUMN", f"column with {FIELDS[field].text} (default: {', '.join(KNOWN[field])})")
            for field in NAMED_ALONE
        ),
        argument(
            "--column",
            "NAME=FIELD",
            f"what the column NAME becomes: {', '.join(FIELDS)}; repeatable (default: by its name and values)",
            action="append",
            default=[],
            dest="columns",
        ),
        switch("--preview", "show what becomes of each column, and write nothing"),
        argument("--answer-after", "TEXT", "use only the part of the expected column after TEXT", default=""),
        argument("--limit", "N", "import N rows: the first, or, with --seed and of presets, a sample", type=int),
        argument("--seed", "N", f"seed of the sample (default of presets: {SEED})", type=int),
        argument("--split", "NAME", "split of a public benchmark (default: the one that is usually reported)"),
        argument("--shots", "N", "examples before each question of a preset (default: as usually reported)", type=int),
        switch("--replace", "replace an existing YAML file"),
        JSON,
        name="import",
    )
    def import_file(self, source: str, **options: Any) -> int:
        for name, least in (("limit", 1), ("shots", 0)):
            if options[name] is not None and options[name] < least:
                raise NotPossible(f"--{name}: enter a number of at least {least}.")
        if source.startswith("preset:"):
            return self._import_preset(preset_named(source.removeprefix("preset:")), "", options)
        if source.startswith("hf:"):
            return self._import_from_hub(address_of(source), options)
        if options["split"] or options["shots"] is not None:
            raise NotPossible("--split and --shots apply to public benchmarks, not to files.")
        file = Path(source)
        slug = options["slug"] or slugify(file.stem)
        described = options["description"] or f"Imported from the table {display_name(file, file.parent)}."
        request = _table_request(slug, described, options, file.parent)
        target, report = import_table(file, settings.DATASETS_DIR, slug, request, replace=options["replace"])
        return self._print_imported(target, report, options)

    def _import_from_hub(self, address: HubAddress, options: Mapping[str, Any]) -> int:
        own_columns = options["answer_after"] or options["preview"] or _chosen_columns(options)
        address = replace(address, split=options["split"] or address.split)
        if not own_columns and (preset := preset_at(address)):
            return self._import_preset(preset, address.revision, {**options, "split": address.split})
        if options["shots"] is not None:
            raise NotPossible("--shots applies to presets. List them with: datasets presets")
        slug = options["slug"] or slugify(address.repository.replace("/", "-"))
        target = free_target(settings.DATASETS_DIR, slug, replace=options["replace"])
        request = _table_request(slug, options["description"], options, None)
        report = read_hub_table(address, request, configured_hub())
        if report.spec is not None and not options["preview"]:
            write_dataset(target, report.spec)
        return self._print_imported(target, report, options)

    def _import_preset(self, preset: Preset, revision: str, options: Mapping[str, Any]) -> int:
        if options["answer_after"] or options["preview"] or _chosen_columns(options):
            raise NotPossible(f"preset:{preset.name} knows its columns: leave the options for columns out.")
        target = free_target(settings.DATASETS_DIR, options["slug"] or preset.name, replace=options["replace"])
        request = PresetRequest(
            limit=options["limit"],
            split=options["split"] or "",
            shots=options["shots"],
            seed=SEED if options["seed"] is None else options["seed"],
        )
        report = read_preset(preset, request, configured_hub(), revision)
        title, about = options["name"] or report.spec.name, options["description"] or report.spec.description
        write_dataset(target, replace(report.spec, name=title, description=about))
        tasks, left_out = len(report.spec.tasks), dict(report.left_out)
        if options["as_json"]:
            row = {"file": str(target), "slug": target.stem, "tasks": tasks, "available": report.available}
            self.print_json({**row, "license": preset.license, "left_out": left_out, "description": about})
            return OK
        self.stdout.write(about)
        self.print_outcome(f"Wrote {target} with {plural(tasks, 'task')}. To import it, run: datasets sync")
        return OK

    def _print_imported(self, target: Path, report: TableReport, options: Mapping[str, Any]) -> int:
        problems, tasks = report.problems, len(report.spec.tasks) if report.spec else 0
        columns = [
            {"column": each.name, "field": each.field, "note": each.note, "example": example_text(each.example)}
            for each in report.columns.all
        ]
        if options["as_json"]:
            row = {"file": str(target), "slug": target.stem, "columns": columns, "tasks": tasks, "problems": problems}
            self.print_json(_as_json(row))
            return int(bool(problems))
        if options["preview"]:
            shown = [
                {"column": each.name, "becomes": each.becomes, "example": cut(example_text(each.example), 60)}
                for each in report.columns.all
            ]
            self.print_rows(shown, "The table has no columns.")
            done = f"{plural(tasks, 'task')} without errors. Nothing written. Change a column with --column NAME=FIELD"
        else:
            self.stdout.write(f"Columns: {report.columns}")
            done = f"Wrote {target} with {plural(tasks, 'task')}. To import it, run: datasets sync"
        for problem in problems:
            self.stdout.write(str(problem))
        self.print_outcome(f"{plural(len(problems), 'error')}. No file written." if problems else done, problems)
        return int(bool(problems))

    @action("List the presets of public benchmarks.", JSON)
    def presets(self, *, as_json: bool, **options: Any) -> None:
        rows = [PresetRow(preset) for preset in REGISTERED_PRESETS.values()]
        if not as_json:
            self.print_table(PRESETS, rows, "")
            return
        self.print_json(
            [
                {
                    "preset": row.preset.name,
                    "repository": row.preset.repository or "generated",
                    "split": row.preset.split if row.preset.repository else "",
                    "tasks": row.preset.size,
                    "imported": row.imported,
                    "examples": row.preset.shots,
                    "metrics": ", ".join(row.preset.metrics),
                    "license": row.preset.license,
                    "revision": row.preset.revision,
                    "difference": row.preset.difference,
                }
                for row in rows
            ]
        )

    @action(
        "Print what the runs on a dataset say of its tasks: flagged tasks, effective tasks, detectable differences.",
        argument("slug", None, "dataset"),
        argument("--number", "N", "version N instead of the current one", type=int),
        argument("--metric", None, "score by this metric (default: the first of most runs)", default=""),
        argument("--flag", None, "only tasks with this flag", choices=tuple(FLAGS), default=""),
        argument("--mark-doubtful", "TASK", "mark the expected answers of these tasks as doubtful", nargs="+"),
        switch("--without-flagged", "create a version without the tasks that have the flag"),
        JSON,
    )
    def analyze(self, slug: str, *, flag: str, as_json: bool, **options: Any) -> None:
        version = _version(slug, options["number"], kinds=SHOWN)
        if options["mark_doubtful"]:
            count = mark_doubtful(version, options["mark_doubtful"])
            text = f"Marked {plural(count, 'expected answer')} as doubtful. A worker updates the runs."
            self.print_either(as_json, {"dataset": slug, "version": version.number, "marked": count}, text)
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
            text = f"Version {new.number} of {slug} created without {plural(len(ids), 'task')}."
            self.print_either(as_json, {"dataset": slug, "version": new.number, "removed": ids}, text)
            return
        page = analysis_page(version, analysis, AnalysisFilters(flag), size=max(1, len(analysis.tasks)))
        if as_json:
            given = {"dataset": slug, "version": version.number, "page": page}
            self.print_json(json_of(TaskAnalysisResource.of(analysis, reader_of(), **given)))
            return
        sentences = (
            *(analysis.verdict, analysis.flagged_sentence, analysis.effective_sentence),
            *(*analysis.separation_sentences, analysis.limits),
        )
        self.stdout.write("\n".join(filter(None, sentences)))
        rows = [
            {
                "task": row.task.task_id,
                "discrimination": number(row.discrimination, 2),
                "flags": "; ".join(f"{FLAGS[kind]}: {detail}" for kind, detail in row.flags),
            }
            for row in page.rows
            if row.flags
        ]
        self.print_rows(rows, "No task is flagged.", right=(1,))

    @action(
        "Make the tasks of a generated dataset from another seed, as its next version.",
        argument("slug", None, "dataset whose file has a generator"),
        argument("--seed", "N", "seed (default: a random one)", type=int),
        JSON,
    )
    def generate(self, slug: str, *, seed: int | None, as_json: bool, **options: Any) -> None:
        chosen = secrets.randbelow(2**31) if seed is None else seed
        version = generate_version(slug, chosen, settings.DATASETS_DIR)
        made = {"dataset": slug, "version": version.number, "seed": chosen, "tasks": version.task_count}
        tasks = plural(version.task_count, "task")
        self.print_either(as_json, made, f"Version {version.number} of {slug} has {tasks} from seed {chosen}.")

    @action(
        "Write a dataset as YAML that loads to the same content.",
        argument("slug", None, "dataset"),
        argument("--number", "N", "version N instead of the current one", type=int),
        argument("-o --output", "FILE", "write to FILE instead of printing", type=Path),
        switch("--json", "print the content as JSON instead of YAML, or what was written", dest="as_json"),
    )
    def export(self, slug: str, *, number: int | None, output: Path | None, as_json: bool, **options: Any) -> None:
        spec = spec_of(_version(slug, number))
        if output is not None:
            with writing(output):
                output.write_text(dump_dataset(spec), encoding="utf-8")
            self.print_either(as_json, {"file": str(output), "tasks": len(spec.tasks)}, f"Wrote {output}")
        elif as_json:
            self.print_json(as_mapping(spec))
        else:
            self.stdout.write(dump_dataset(spec), ending="")

    @action(
        f"Write {SCHEMA_FILE}, with which editors complete and check.",
        switch("--check", "only check whether the stored schema is up to date"),
        JSON,
    )
    def schema(self, *, check: bool, as_json: bool, **options: Any) -> int:
        path = settings.DATASETS_DIR / SCHEMA_FILE
        if not check:
            with writing(path):
                write_schema(settings.DATASETS_DIR)
        stale = check and (not path.is_file() or path.read_text(encoding="utf-8") != schema_text())
        if as_json:
            self.print_json({"file": str(path), "written": not check, "up_to_date": not stale})
        elif check:
            self.print_outcome(f"{path} is {'out of date. Run: datasets schema' if stale else 'up to date'}", stale)
        else:
            self.print_outcome(f"Wrote {path}")
        return int(stale)


def _table_request(slug: str, description: str, options: Mapping[str, Any], folder: Path | None) -> TableRequest:
    return TableRequest(
        name=options["name"] or slug,
        description=description,
        columns=_chosen_columns(options),
        answer_after=options["answer_after"],
        limit=options["limit"],
        seed=options["seed"],
        pictures=pictures_of(folder, preview=options["preview"]),
    )


def _chosen_columns(options: Mapping[str, Any]) -> dict[str, str]:
    """Column → field of ``--column`` and of the options that name one column. Raises ``NotPossible``."""
    try:
        chosen = read_columns(options["columns"])
    except ImportProblem as problem:
        raise NotPossible(f"--column: {full_sentence(problem)}") from None
    return chosen | {options[field]: field for field in NAMED_ALONE if options[field]}


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
