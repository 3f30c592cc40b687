"""``manage.py canvases ACTION``: canvas sets from a terminal or a pipeline. ``--help`` lists the actions.

Exit codes: 0 success, 1 the audit found wrong or undetermined answers, 2 failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from django.core.management import CommandError
from django.db.models import QuerySet

from benchmarks.engine.canvas_sets.generation import audit_set
from benchmarks.engine.execution.finishing import refresh_audited
from benchmarks.management.actions import JSON, REFUSED, action, argument, reader_of
from benchmarks.management.following import bar
from benchmarks.management.resources import DeletingCommand
from benchmarks.queries.canvas_sets import canvas_sets
from benchmarks.queries.resources.canvas_sets import CanvasSetDetail, CanvasSetResource
from benchmarks.queries.tables.canvas_sets import AUDIT, CANVAS_SETS, FAULTS, audit_rows, tasks_of
from benchmarks.services.canvas_sets.control import canvas_set_of, delete_canvas_set, generate_canvas_set
from benchmarks.services.canvas_sets.files import export_canvases, import_canvases
from tasks_app.models import CanvasSet
from tasks_app.tasks.time_limit import TookTooLong

SLUG = argument("key", "SLUG", "identifier of the set")


class Command(DeletingCommand):
    help = "Generate, import, export, list, show, audit and delete canvas sets."
    noun, loss = "canvas set", "A set that runs have used is kept."
    listed, shown, table, one = CanvasSetResource, CanvasSetDetail, CANVAS_SETS, SLUG
    empty = "No canvas sets yet. To generate one, run: canvases generate --shapes 7 --count 1000 --seed 11"

    def rows(self, **options: Any) -> QuerySet[CanvasSet]:
        return canvas_sets().defer("audit")

    def row(self, key: str) -> CanvasSet:
        return canvas_sets().get(pk=canvas_set_of(key).pk)

    def remove(self, row: CanvasSet) -> None:
        delete_canvas_set(row)

    def lines(self, row: CanvasSet) -> Iterator[str]:
        """The set, and its audit below."""
        yield from super().lines(row)
        if row.audit:
            yield "\n" + _audit_text(row)

    @action(
        "Generate or extend a set, and audit it.",
        argument("--shapes", "N|N-M", "shapes per canvas; a range is spread evenly", required=True),
        argument("--count", "N", "total number of canvases of the set", required=True),
        argument("--seed", "N", "the same seed generates the same set (default 0)", default="0"),
        argument("--name", None, "name of the set (default: from its shapes and seed)", default=""),
        argument("--tracking-steps", "N", "changes and swaps per tracking question (default 3)"),
        JSON,
    )
    def generate(self, *, as_json: bool, **options: Any) -> int:
        names = ("shapes", "count", "seed", "name", "tracking_steps")
        request = {name: options[name] for name in names if options[name] is not None}
        started = perf_counter()
        try:
            canvas_set = generate_canvas_set(request, progress=bar("Generating"))
        except KeyboardInterrupt:
            raise CommandError("Stopped. Canvases generated so far are kept.", returncode=REFUSED) from None
        return self._audited(canvas_set, f"generated in {perf_counter() - started:.1f} s", as_json, only_new=True)

    @action(
        "Import canvas files as a set, keeping their answers.",
        argument("paths", "DIR|FILE", "canvas_{shapes}_{number}.json", nargs="+", type=Path),
        argument("--name", None, "name of the set (default: that of the directory)", default=""),
        JSON,
        name="import",
    )
    def import_files(self, paths: Sequence[Path], *, name: str, as_json: bool, **options: Any) -> None:
        self._audited(import_canvases(paths, name), "imported", as_json)

    @action(
        "Write the canvas files of a set to a directory.",
        SLUG,
        argument("folder", "DIR", "target directory; existing files are never replaced", type=Path),
        JSON,
    )
    def export(self, *, key: str, folder: Path, as_json: bool, **options: Any) -> None:
        written = export_canvases(canvas_set_of(key), folder, bar("Writing"))
        export = {"folder": str(folder), "files": written}
        self.print_either(as_json, export, f"Wrote {written} files to {folder}.")

    @action("Audit a set again: balance, guessing, duplicates, solver.", SLUG, JSON)
    def audit(self, *, key: str, as_json: bool, **options: Any) -> int:
        return self._audited(canvas_set_of(key), "", as_json)

    def _audited(self, canvas_set: CanvasSet, made: str, as_json: bool, *, only_new: bool = False) -> int:
        """Print how the set was made, audit it and print the audit; 1 if the solver does not agree with every answer.

        With ``as_json``, the document is the set with its audit.
        """
        if made and not as_json:
            tasks = f"{tasks_of(canvas_set) or 0:,} tasks"
            self.print_outcome(f"{canvas_set.slug}: {canvas_set.count:,} canvases, {tasks}, {made}.")
        try:
            audit = audit_set(canvas_set.pk, bar("Auditing"), only_new=only_new)
        except TookTooLong as error:
            raise CommandError(f"{error}, restart what runs, and audit the set again.", returncode=REFUSED) from None
        refresh_audited(canvas_set.pk)
        if as_json:
            self.print_json(CanvasSetDetail.of(canvas_sets().get(pk=canvas_set.pk), reader_of()))
        else:
            self.stdout.write(_audit_text(canvas_sets().get(pk=canvas_set.pk)))
        return int(any(it["wrong"] + it["undetermined"] for it in audit["tasks"].values()))


def _audit_text(canvas_set: CanvasSet) -> str:
    faults = canvas_set.audit["faults"]
    return "\n\n".join([AUDIT.text(audit_rows(canvas_set)), *([FAULTS.text(faults)] if faults else [])])
