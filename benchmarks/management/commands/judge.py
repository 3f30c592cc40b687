"""``manage.py judge calibrate|list|show|resume|cancel|delete``: how far a judge can be trusted.

That is measured on answers whose truth is known. Exit codes: 0, all is well; 2, the request was refused or the command
called wrongly; 3, the calibration failed; 130, interrupted.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any, TypeVar

from django.core.management import CommandError, CommandParser
from django.db import connection

from benchmarks.engine.calibrating import work_on_calibration
from benchmarks.engine.execution.executor import STOPPING
from benchmarks.management import gates
from benchmarks.management.actions import ActionCommand
from benchmarks.management.following import LOOK_SECONDS, Progress
from benchmarks.management.judge_text import calibration_text
from benchmarks.management.printing import money, table
from benchmarks.models import JudgeCalibration
from benchmarks.queries.judges import calibration_detail, calibrations
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.judges import (
    CalibrationRequest,
    cancel_calibration,
    delete_calibration,
    resume_calibration,
    start_calibration,
)

T = TypeVar("T")

EXIT_CODES = "Exit codes: 0 all is well; 2 refused or called wrongly; 3 the calibration failed; 130 interrupted."
OPTIONS = {"judge_model": "--judge"}
ACTIONS = ("calibrate", "list", "show", "resume", "cancel", "delete")
Status = JudgeCalibration.Status
ENDED = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)


class Command(ActionCommand):
    epilog = EXIT_CODES
    help = f"Examine judges on canvas answers of known truth. {EXIT_CODES}"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="|".join(ACTIONS))
        text = "Have right and wrong answers to canvas questions judged, and compare the verdicts with the truth."
        examine = self.action(actions, "calibrate", text, self.calibrate)
        for name, field in CalibrationRequest().fields.items():
            examine.add_argument(
                _option(str(name)), dest=str(name), required=field.required, metavar="X", help=str(field.help_text)
            )
        listed = self.action(actions, "list", "List the latest calibrations.", self.list_calibrations)
        listed.add_argument("--number", type=int, default=20, metavar="N", help="how many, by default 20")
        show = self.action(actions, "show", "Print a calibration.", self.show)
        text = "Go on with one that was cancelled or has failed, with the verdicts it has."
        resume = self.action(actions, "resume", text, self.resume)
        cancel = self.action(actions, "cancel", "Ask the judge nothing more. Its verdicts are kept.", self.cancel)
        delete = self.action(actions, "delete", "Delete one with its verdicts.", self.delete)
        for action in (show, resume, cancel, delete):
            action.add_argument("calibration", type=int, metavar="ID", help="its number")
        for action in (examine, show, resume):
            action.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")

    def told(self, refusal: InvalidRequest) -> str:
        lines = (f"  {_option(field)}: {' '.join(texts)}" for field, texts in refusal.errors.items())
        return "The request is refused:\n" + "\n".join(lines)

    def calibrate(self, *, as_json: bool, **options: Any) -> int:
        names = map(str, CalibrationRequest().fields)
        given = {name: options[name] for name in names if options[name] is not None}
        calibration = start_calibration(given)
        self.stderr.write(
            f"Calibration {calibration.pk}: {calibration.total} answers for {calibration.judge_model} to judge.",
            self.style.NOTICE,
        )
        return self._follow(calibration, as_json)

    def resume(self, *, calibration: int, as_json: bool, **options: Any) -> int:
        found = _found(calibration)
        left = resume_calibration(found)
        self.stderr.write(f"Calibration {calibration}: {left} of {found.total} answers are left.", self.style.NOTICE)
        return self._follow(found, as_json)

    def cancel(self, *, calibration: int, **options: Any) -> int:
        cancel_calibration(_found(calibration))
        self.stdout.write(f"Cancelled calibration {calibration}. To go on: judge resume {calibration}")
        return gates.OK

    def delete(self, *, calibration: int, **options: Any) -> int:
        delete_calibration(_found(calibration))
        self.stdout.write(f"Deleted calibration {calibration}.")
        return gates.OK

    def show(self, *, calibration: int, as_json: bool, **options: Any) -> int:
        found = _found(calibration)
        self.stdout.write(json.dumps(_as_json(found), indent=2) if as_json else calibration_text(found))
        return gates.RUN_FAILED if found.status == Status.FAILED else gates.OK

    def _follow(self, calibration: JudgeCalibration, as_json: bool) -> int:
        """Work on it here, unless a worker is quicker, and print what was found."""
        try:
            _work_and_wait(calibration.pk, Progress(sys.stderr))
        except KeyboardInterrupt:
            try:
                cancel_calibration(calibration)
            except NotPossible:  # it ended in the same moment
                self.stderr.write(f"Interrupted, but it had ended: judge show {calibration.pk}")
            else:
                self.stderr.write(f"Interrupted. Its verdicts are kept; to go on: judge resume {calibration.pk}")
            return gates.INTERRUPTED
        return self.show(calibration=calibration.pk, as_json=as_json)

    def list_calibrations(self, *, number: int, **options: Any) -> int:
        rows = [_row(found) for found in calibrations()[: max(number, 1)]]
        head = ("id", "status", "judge", "metric", "canvas set", "κ", "cost")
        self.stdout.write(table(head, rows, right=(0, 5)) if rows else "No calibrations yet.")
        return gates.OK


def _found(pk: int) -> JudgeCalibration:
    try:
        return calibration_detail(pk)
    except JudgeCalibration.DoesNotExist:
        raise CommandError(f"There is no calibration {pk}.", returncode=gates.REFUSED) from None


def _option(name: str) -> str:
    return OPTIONS.get(name) or f"--{name.replace('_', '-')}"


def _work_and_wait(calibration_id: int, progress: Progress) -> None:
    """Do the work here, unless a worker was quicker; return when it has ended."""
    helper = threading.Thread(target=_work, args=(calibration_id,), name="calibrate-here")
    helper.start()
    try:
        while (found := calibration_detail(calibration_id)).status not in ENDED or helper.is_alive():
            progress.show(found.done, found.total, found.get_status_display())
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        STOPPING.set()
        raise
    finally:
        progress.end()
        helper.join()
        STOPPING.clear()


def _work(calibration_id: int) -> None:
    try:
        work_on_calibration(calibration_id)
    finally:
        connection.close()


def _row(found: JudgeCalibration) -> tuple[str, ...]:
    kappa = found.numbers.get("kappa", {}).get("kappa")
    return (
        *(str(found.pk), found.get_status_display(), found.judge_model, found.metric, found.canvas_set.slug),
        *("–" if kappa is None else f"{kappa:.2f}", money(found.cost_usd)),
    )


def _as_json(found: JudgeCalibration) -> dict[str, Any]:
    names = ("id", "judge_model", "metric", "questions", "repeats", "seed", "status", "error_message", "total", "done")
    spent = ("tokens_in", "tokens_out", "cost_usd", "numbers")
    return {name: getattr(found, name) for name in (*names, *spent)} | {
        "canvas_set": found.canvas_set.slug,
        "created_at": found.created_at.isoformat(),
    }
