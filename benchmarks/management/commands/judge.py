"""``manage.py judge calibrate|list|show|resume|cancel|delete``: how reliable a judge is.

Exit codes: 0 success; 2 request refused or invalid usage; 3 the calibration failed or was stopped; 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management import CommandError, CommandParser

from benchmarks.management import gates
from benchmarks.management.actions import ActionCommand
from benchmarks.management.following import Progress, follow
from benchmarks.management.printing import table
from benchmarks.metrics.judge_calibration import TRUTHS, VERDICTS
from benchmarks.models import Run
from benchmarks.presentation import sentences
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import MISSING, interval, money, p_words, percent, plural, points, score
from benchmarks.queries.judges import agreement_of, answers_to_judge, calibration_detail, calibrations
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.judges import CalibrationRequest, resume_calibration, start_calibration
from benchmarks.services.runs.control import cancel_run, delete_run

Numbers = Mapping[str, Any]

EXIT_CODES = (
    "Exit codes: 0 success; 2 request refused or invalid usage; 3 the calibration failed or was stopped; "
    "130 interrupted."
)
ACTIONS = ("calibrate", "list", "show", "resume", "cancel", "delete")


class Command(ActionCommand):
    epilog = EXIT_CODES
    help = f"Calibrate judges on canvas answers with known truth. {EXIT_CODES}"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="|".join(ACTIONS))
        text = (
            "Have a judge score correct and wrong answers to canvas questions, and compare its verdicts with the truth."
        )
        calibrate = self.action(actions, "calibrate", text, self.calibrate)
        for name, field in CalibrationRequest().fields.items():
            calibrate.add_argument(
                _option(str(name)), dest=str(name), required=field.required, metavar="X", help=str(field.help_text)
            )
        listed = self.action(actions, "list", "List the latest calibrations.", self.list_calibrations)
        listed.add_argument("--number", type=int, default=20, metavar="N", help="number of calibrations (default 20)")
        show = self.action(actions, "show", "Print a calibration.", self.show)
        text = "Resume a canceled or failed calibration with its existing verdicts."
        resume = self.action(actions, "resume", text, self.resume)
        cancel = self.action(actions, "cancel", "Send nothing more to the judge. Its verdicts are kept.", self.cancel)
        delete = self.action(actions, "delete", "Delete a calibration with its verdicts.", self.delete)
        for action in (show, resume, cancel, delete):
            action.add_argument("calibration", type=int, metavar="ID", help="number of the calibration")
        for action in (calibrate, show, resume):
            action.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of text")

    def refusal_text(self, refusal: InvalidRequest) -> str:
        lines = (f"  {_option(field)}: {' '.join(texts)}" for field, texts in refusal.errors.items())
        return "Request refused:\n" + "\n".join(lines)

    def calibrate(self, *, as_json: bool, **options: Any) -> int:
        names = map(str, CalibrationRequest().fields)
        run = start_calibration({name: options[name] for name in names if options[name] is not None})
        self._note(f"Calibration {run.pk}: {run.judge_model} judges {plural(answers_to_judge(run), 'answer')}.")
        return self._follow(run, as_json)

    def resume(self, *, calibration: int, as_json: bool, **options: Any) -> int:
        run = _calibration(calibration)
        left = resume_calibration(run)
        self._note(f"Calibration {calibration}: {left} of {answers_to_judge(run)} answers left to judge.")
        return self._follow(run, as_json)

    def cancel(self, *, calibration: int, **options: Any) -> int:
        cancel_run(_calibration(calibration))
        self.stdout.write(f"Calibration {calibration} canceled. To resume it: judge resume {calibration}")
        return gates.OK

    def delete(self, *, calibration: int, **options: Any) -> int:
        delete_run(_calibration(calibration))
        self.stdout.write(f"Calibration {calibration} deleted.")
        return gates.OK

    def show(self, *, calibration: int, as_json: bool, **options: Any) -> int:
        run = _calibration(calibration)
        self.stdout.write(json.dumps(_as_json(run), indent=2) if as_json else "\n".join(_lines(run)))
        return gates.RUN_FAILED if run.status in ("failed", "cancelled") else gates.OK

    def list_calibrations(self, *, number: int, **options: Any) -> int:
        rows = [_row(run) for run in calibrations()[: max(number, 1)]]
        head = ("id", "status", "judge", "metric", "canvas set", "κ", "cost")
        self.stdout.write(table(head, rows, right=(0, 5)) if rows else "No calibrations yet.")
        return gates.OK

    def _note(self, text: str) -> None:
        self.stderr.write(text, self.style.NOTICE)

    def _follow(self, run: Run, as_json: bool) -> int:
        """Wait for the end, working on the calibration here if no worker does, and print it."""
        try:
            follow(run.pk, Progress(sys.stderr), self._note)
        except KeyboardInterrupt:
            try:
                cancel_run(run)
            except NotPossible:  # it ended in the same moment
                self.stderr.write(f"Interrupted, but the calibration had ended: judge show {run.pk}")
            else:
                self.stderr.write(f"Interrupted. The verdicts are kept. To resume: judge resume {run.pk}")
            return gates.INTERRUPTED
        return self.show(calibration=run.pk, as_json=as_json)


def _calibration(pk: int) -> Run:
    try:
        return calibration_detail(pk)
    except Run.DoesNotExist:
        raise CommandError(f"Calibration {pk} does not exist.", returncode=gates.REFUSED) from None


def _option(name: str) -> str:
    return "--judge" if name == "judge_model" else f"--{name.replace('_', '-')}"


def _canvas_set(run: Run) -> str:
    canvas_set = run.dataset.known_answers_of
    return canvas_set.slug if canvas_set else MISSING


def _row(run: Run) -> tuple[str, ...]:
    kappa = agreement_of(run).get("kappa", {}).get("kappa")
    return (
        *(str(run.pk), run_status(run.status, run.errors), run.judge_model, run.metrics[0], _canvas_set(run)),
        *(MISSING if kappa is None else f"{kappa:.2f}", money(run.judge_cost_usd)),
    )


def _as_json(run: Run) -> dict[str, Any]:
    return {
        "id": run.pk,
        "judge_model": run.judge_model,
        "metric": run.metrics[0],
        "canvas_set": _canvas_set(run),
        **(run.calibration or {}),
        "repeats": run.repeats,
        "status": run.status,
        "error_message": run.error_message,
        "total": answers_to_judge(run),
        "done": run.done,
        "tokens_in": run.judge_tokens_in,
        "tokens_out": run.judge_tokens_out,
        "cost_usd": run.judge_cost_usd,
        "numbers": agreement_of(run),
        "created_at": run.created_at.isoformat(),
    }


def _lines(run: Run) -> Iterator[str]:
    """The calibration as text: confusion, agreement, biases, consistency, cost."""
    yield (
        f"Calibration {run.pk}: {run.judge_model} as judge of {run.metrics[0]}, on answers to {_canvas_set(run)}, "
        f"each judged {plural(run.repeats, 'time')}"
    )
    yield f"{run_status(run.status, run.errors)}, {run.done} of {answers_to_judge(run)} answers judged"
    if run.error_message:
        yield run.error_message
    if numbers := agreement_of(run):
        yield from _agreement(numbers)
    yield f"Cost: {money(run.judge_cost_usd)} ({sentences.tokens(run.judge_tokens_in, run.judge_tokens_out)})"


def _agreement(numbers: Numbers) -> Iterator[str]:
    rows = [(truth, *(str(numbers["confusion"][f"{truth}_as_{verdict}"]) for verdict in VERDICTS)) for truth in TRUTHS]
    yield "\n" + table(("truth", *(f"judged {verdict}" for verdict in VERDICTS)), rows, right=(1, 2, 3))
    shares = [
        ("accuracy", numbers["accuracy"]),
        ("wrong answers accepted", numbers["false_accepts"]),
        ("correct answers rejected", numbers["false_rejects"]),
        *((f"accuracy, {name}", share) for name, share in numbers["by_phrasing"].items()),
    ]
    cells = [(title, *_interval(share)) for title, share in shares]
    yield "\n" + table(("", "share", "95% interval", "n"), cells, right=(1, 3))
    yield f"\nAgreement with the truth beyond chance (Cohen's κ): {_kappa(numbers['kappa'])}"
    for truth in TRUTHS:
        yield f"Length bias, {truth} answers: {_length_bias(numbers['length_bias'][truth])}"
    yield f"Consistency across repeats: {_spread(numbers['spread'])}"
    yield f"Without a verdict: {numbers['errors']}"


def _interval(share: Numbers) -> tuple[str, str, str]:
    if share["mean"] is None:
        return MISSING, MISSING, "0"
    return percent(share["mean"]), interval(share["low"], share["high"], points), str(share["n"])


def _kappa(kappa: Numbers) -> str:
    if kappa["kappa"] is None:
        return f"undefined: {kappa['note']}"
    bounds = "" if kappa["low"] is None else f" ({kappa['low']:.2f} to {kappa['high']:.2f})"
    return f"{kappa['kappa']:.2f}{bounds}" + (f"; {kappa['note']}" if kappa["note"] else "")


def _length_bias(bias: Numbers) -> str:
    if bias["difference"] is None or bias["p_value"] is None:
        return bias["note"] or "unknown, because no answer was judged in both lengths"
    sign = "+" if bias["difference"] > 0 else ""
    bounds = interval(bias["low"], bias["high"], points)
    return f"{sign}{points(bias['difference'])} points ({bounds}), {p_words(bias['p_value'])}"


def _spread(spread: Numbers) -> str:
    if spread["deviation"] is None:
        return "unknown, because no answer was judged more than once"
    return (
        f"standard deviation {score(spread['deviation'])}, largest difference {score(spread['widest'])}, "
        f"over {plural(spread['n_answers'], 'answer')}"
    )
