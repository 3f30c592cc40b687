"""``manage.py canvases generate|import|export|list|audit``: canvas sets from a terminal or a pipeline.

Exit codes: 0 success, 1 the audit found wrong or undetermined answers, 2 failure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from django.core.management import CommandError, CommandParser

from benchmarks.engine.canvas_sets.audit import Progress
from benchmarks.engine.canvas_sets.generation import audit_set
from benchmarks.engine.execution.finishing import refresh_audited
from benchmarks.management import gates
from benchmarks.management.actions import ActionCommand
from benchmarks.queries.canvas_sets import canvas_sets
from benchmarks.services.canvas_sets.control import canvas_set_of, generate_canvas_set
from benchmarks.services.canvas_sets.files import export_canvases, import_canvases
from tasks_app.models import CanvasSet

BAR = 40
COLUMNS = ("set", "canvases", "shapes", "seed", "tasks", "origin", "name")


class Command(ActionCommand):
    help = "Generate, import, export, list and audit canvas sets."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="generate|import|export|list|audit")
        generate = self.action(actions, "generate", "Generate or extend a set, and audit it.", self.generate)
        generate.add_argument(
            "--shapes", required=True, metavar="N|N-M", help="shapes per canvas; a range is spread evenly"
        )
        generate.add_argument("--count", required=True, metavar="N", help="total number of canvases of the set")
        generate.add_argument(
            "--seed", default="0", metavar="N", help="the same seed generates the same set (default 0)"
        )
        generate.add_argument("--name", default="", help="name of the set (default: from its shapes and seed)")
        generate.add_argument(
            "--tracking-steps", default=None, metavar="N", help="changes and swaps per tracking question (default 3)"
        )
        importing = self.action(
            actions, "import", "Import canvas files as a set, keeping their answers.", self.import_files
        )
        importing.add_argument("paths", nargs="+", type=Path, metavar="DIR|FILE", help="canvas_{shapes}_{number}.json")
        importing.add_argument("--name", default="", help="name of the set (default: that of the directory)")
        export = self.action(actions, "export", "Write the canvas files of a set to a directory.", self.export)
        export.add_argument("slug", help="identifier of the set")
        export.add_argument(
            "folder", type=Path, metavar="DIR", help="target directory; existing files are never replaced"
        )
        listing = self.action(actions, "list", "List the sets.", self.list_sets)
        audit = self.action(actions, "audit", "Audit a set again: balance, guessing, duplicates, solver.", self.audit)
        audit.add_argument("slug", help="identifier of the set")
        for action in (listing, audit):
            action.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")

    def generate(
        self, *, shapes: str, count: str, seed: str, name: str, tracking_steps: str | None, **options: Any
    ) -> int:
        request: dict[str, Any] = {"shapes": shapes, "count": count, "seed": seed, "name": name}
        if tracking_steps is not None:
            request["tracking_steps"] = tracking_steps
        started = perf_counter()
        try:
            canvas_set = generate_canvas_set(request, progress=self._bar("Generating"))
        except KeyboardInterrupt:
            raise CommandError("Stopped. Canvases generated so far are kept.", returncode=gates.REFUSED) from None
        seconds = perf_counter() - started
        self.stdout.write(self.style.SUCCESS(f"{_summary(canvas_set)}, generated in {seconds:.1f} s."))
        return self._audit(canvas_set, only_new=True)

    def import_files(self, paths: Sequence[Path], *, name: str, **options: Any) -> int:
        canvas_set = import_canvases(paths, name)
        self.stdout.write(self.style.SUCCESS(f"{_summary(canvas_set)}, imported."))
        self._audit(canvas_set)
        return 0

    def export(self, slug: str, *, folder: Path, **options: Any) -> int:
        written = export_canvases(canvas_set_of(slug), folder, self._bar("Writing"))
        self.stdout.write(self.style.SUCCESS(f"Wrote {written} files to {folder}."))
        return 0

    def list_sets(self, *, as_json: bool, **options: Any) -> int:
        rows = [_row(canvas_set) for canvas_set in canvas_sets().defer("audit")]
        if as_json:
            self.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False))
        elif rows:
            self.stdout.write(_table(COLUMNS, [[row[name] for name in COLUMNS] for row in rows]))
        else:
            self.stdout.write(
                "No canvas sets yet. To generate one, run: canvases generate --shapes 7 --count 1000 --seed 11"
            )
        return 0

    def audit(self, slug: str, *, as_json: bool, **options: Any) -> int:
        if not as_json:
            return self._audit(canvas_set_of(slug))
        canvas_set = canvas_set_of(slug)
        audit = audit_set(canvas_set.pk)
        refresh_audited(canvas_set.pk)
        self.stdout.write(json.dumps(audit, indent=2, ensure_ascii=False))
        return int(_not_agreeing(audit) > 0)

    def _audit(self, canvas_set: CanvasSet, *, only_new: bool = False) -> int:
        """Audit with a progress bar and print the audit; 1 if the solver does not agree with every answer."""
        audit = audit_set(canvas_set.pk, self._bar("Auditing"), only_new=only_new)
        refresh_audited(canvas_set.pk)
        head = ("task class", "asked", "n/a", "agrees", "wrong", "undetermined", "duplicates", "majority", "random")
        rows = [
            (
                name,
                *(it[key] for key in ("asked", "not_applicable", "agrees", "wrong", "undetermined", "duplicates")),
                *(_score(it[key]) for key in ("majority_score", "random_score")),
            )
            for name, it in audit["tasks"].items()
        ]
        self.stdout.write(_table(head, rows))
        for fault in audit["faults"]:
            self.stdout.write(f"{fault['count']} × {fault['fault']} ({fault['verdict']}): {fault['meaning']}")
        return int(_not_agreeing(audit) > 0)

    def _bar(self, label: str) -> Progress | None:
        """A progress bar on the terminal; ``None`` if the output is not a terminal."""
        if not self.stderr.isatty():
            return None

        def show(done: int, total: int) -> None:
            filled = BAR * done // max(total, 1)
            end = "\n" if done >= total else ""
            self.stderr.write(f"\r{label} [{'#' * filled:{BAR}}] {done:,} of {total:,}", lambda text: text, ending=end)
            self.stderr.flush()

        return show


def _summary(canvas_set: CanvasSet) -> str:
    return f"{canvas_set.slug}: {canvas_set.count:,} canvases, {_tasks(canvas_set):,} tasks"


def _tasks(canvas_set: CanvasSet) -> int:
    version = canvas_set.dataset.current_version
    return version.task_count if version else 0


def _not_agreeing(audit: dict[str, Any]) -> int:
    return sum(int(it["wrong"] + it["undetermined"]) for it in audit["tasks"].values())


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _row(canvas_set: CanvasSet) -> dict[str, Any]:
    low, high = canvas_set.shapes_low, canvas_set.shapes_high
    return {
        "set": canvas_set.slug,
        "canvases": canvas_set.count,
        "shapes": f"{low}-{high}" if high > low else str(low),
        "seed": canvas_set.seed,
        "tasks": _tasks(canvas_set),
        "origin": canvas_set.origin,
        "name": canvas_set.name,
    }


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    written = [tuple(head), *(tuple("" if cell is None else str(cell) for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*written, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in written)
