"""``manage.py canvases generate|import|export|list|audit``: canvas sets from a terminal or a pipeline.

Exit codes: 0, all is well; 1, the audit found answers that are wrong or undetermined; 2, the command could not do what
was asked, or was called wrongly.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from django.core.management import CommandError, CommandParser

from benchmarks.engine.canvas_sets.audit import Progress
from benchmarks.management import gates
from benchmarks.management.actions import ActionCommand
from benchmarks.queries.canvas_sets import set_list
from benchmarks.services.canvas_sets.control import audit_canvas_set, canvas_set_of, generate_canvas_set
from benchmarks.services.canvas_sets.files import export_canvases, import_canvases
from tasks_app.models import CanvasSet

BAR = 40
COLUMNS = ("set", "canvases", "shapes", "seed", "tasks", "origin", "name")


class Command(ActionCommand):
    help = "Generate canvas sets, take over canvas files, write them back, audit them."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="generate|import|export|list|audit")
        generate = self.action(actions, "generate", "Draw a set, or more of it, and audit it.", self.generate)
        generate.add_argument(
            "--shapes", required=True, metavar="N|N-M", help="shapes on a canvas; a range takes turns"
        )
        generate.add_argument("--count", required=True, metavar="N", help="canvases that the set is to have")
        generate.add_argument("--seed", default="0", metavar="N", help="the same seed draws the same set (default 0)")
        generate.add_argument("--name", default="", help="what to call it; by default its shapes and seed")
        generate.add_argument("--tracking-steps", default=None, metavar="N", help="changes and swaps told (default 3)")
        take = self.action(actions, "import", "Take over canvas files as a set, answers as they are.", self.take_over)
        take.add_argument("paths", nargs="+", type=Path, metavar="DIR|FILE", help="canvas_{shapes}_{number}.json")
        take.add_argument("--name", default="", help="what to call the set; by default as its folder")
        export = self.action(actions, "export", "Write a set's canvas files into a folder.", self.export)
        export.add_argument("slug", help="the set")
        export.add_argument("folder", type=Path, metavar="DIR", help="where to; no file there is replaced")
        listing = self.action(actions, "list", "List the sets.", self.list_sets)
        audit = self.action(actions, "audit", "Audit a set anew: balance, guesses, duplicates, solver.", self.audit)
        audit.add_argument("slug", help="the set")
        for action in (listing, audit):
            action.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")

    def generate(
        self, *, shapes: str, count: str, seed: str, name: str, tracking_steps: str | None, **options: Any
    ) -> int:
        asked: dict[str, Any] = {"shapes": shapes, "count": count, "seed": seed, "name": name}
        if tracking_steps is not None:
            asked["tracking_steps"] = tracking_steps
        began = perf_counter()
        try:
            canvas_set = generate_canvas_set(asked, progress=self._bar("Drawing"))
        except KeyboardInterrupt:
            raise CommandError("Stopped. The canvases drawn so far are kept.", returncode=gates.REFUSED) from None
        took = perf_counter() - began
        self.stdout.write(self.style.SUCCESS(f"{_told(canvas_set)}, drawn in {took:.1f} s."))
        return self._audit(canvas_set, only_new=True)

    def take_over(self, paths: Sequence[Path], *, name: str, **options: Any) -> int:
        canvas_set = import_canvases(paths, name)
        self.stdout.write(self.style.SUCCESS(f"{_told(canvas_set)}, imported."))
        self._audit(canvas_set)
        return 0

    def export(self, slug: str, *, folder: Path, **options: Any) -> int:
        written = export_canvases(canvas_set_of(slug), folder, self._bar("Writing"))
        self.stdout.write(self.style.SUCCESS(f"Wrote {written} files into {folder}."))
        return 0

    def list_sets(self, *, as_json: bool, **options: Any) -> int:
        rows = [_row(canvas_set) for canvas_set in set_list()]
        if as_json:
            self.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False))
        elif rows:
            self.stdout.write(_table(COLUMNS, [[row[name] for name in COLUMNS] for row in rows]))
        else:
            self.stdout.write("No canvas sets yet. Draw one: canvases generate --shapes 7 --count 1000 --seed 11")
        return 0

    def audit(self, slug: str, *, as_json: bool, **options: Any) -> int:
        if not as_json:
            return self._audit(canvas_set_of(slug))
        found = audit_canvas_set(canvas_set_of(slug))
        self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))
        return int(_bad(found) > 0)

    def _audit(self, canvas_set: CanvasSet, *, only_new: bool = False) -> int:
        """Audit with a progress bar and print what was found; 1 where an answer is not what the solver says."""
        found = audit_canvas_set(canvas_set, self._bar("Auditing"), only_new=only_new)
        head = ("task class", "asked", "n/a", "agrees", "wrong", "undetermined", "duplicates", "majority", "random")
        rows = [
            (
                name,
                *(it[key] for key in ("asked", "not_applicable", "agrees", "wrong", "undetermined", "duplicates")),
                *(_score(it[key]) for key in ("majority_score", "random_score")),
            )
            for name, it in found["tasks"].items()
        ]
        self.stdout.write(_table(head, rows))
        for fault in found["faults"]:
            self.stdout.write(f"{fault['count']} × {fault['fault']} ({fault['verdict']}): {fault['meaning']}")
        return int(_bad(found) > 0)

    def _bar(self, doing: str) -> Progress | None:
        """A progress bar on the terminal; none where the output goes elsewhere."""
        if not self.stderr.isatty():
            return None

        def show(done: int, of: int) -> None:
            filled = BAR * done // max(of, 1)
            end = "\n" if done >= of else ""
            self.stderr.write(f"\r{doing} [{'#' * filled:{BAR}}] {done:,} of {of:,}", lambda text: text, ending=end)
            self.stderr.flush()

        return show


def _told(canvas_set: CanvasSet) -> str:
    return f"{canvas_set.slug}: {canvas_set.count:,} canvases, {_tasks(canvas_set):,} tasks"


def _tasks(canvas_set: CanvasSet) -> int:
    version = canvas_set.dataset.current_version
    return version.task_count if version else 0


def _bad(found: dict[str, Any]) -> int:
    return sum(int(it["wrong"] + it["undetermined"]) for it in found["tasks"].values())


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
