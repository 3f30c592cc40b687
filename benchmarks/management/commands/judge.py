"""``manage.py judge ACTION``: how reliable a judge is. ``--help`` lists the actions.

Exit codes: 0 success; 2 request refused or invalid usage; 3 the calibration failed or was stopped; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.management.actions import INTERRUPTED, JSON, OK, RUN_FAILED, ActionCommand, action, argument, table
from benchmarks.management.following import Progress, follow
from benchmarks.metrics.judge_calibration import TRUTHS, VERDICTS
from benchmarks.models import Run
from benchmarks.presentation import sentences
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import MISSING, interval, money, p_words, percent, plural, points, score
from benchmarks.queries.judges import agreement_of, answers_to_judge, calibration_detail, calibrations
from benchmarks.services.errors import NotPossible
from benchmarks.services.judges import CalibrationRequest, resume_calibration, start_calibration
from benchmarks.services.runs.control import cancel_run, delete_run

Numbers = Mapping[str, Any]

EXIT_CODES = (
    "Exit codes: 0 success; 2 request refused or invalid usage; 3 the calibration failed or was stopped; "
    "130 interrupted."
)
CALIBRATION = argument("calibration", "ID", "number of the calibration", type=int)
FIELDS = {str(name): field for name, field in CalibrationRequest().fields.items()}
OPTIONS = {name: "--judge" if name == "judge_model" else f"--{name.replace('_', '-')}" for name in FIELDS}


class Command(ActionCommand):
    epilog = EXIT_CODES
    help = f"Calibrate judges on canvas answers with known truth. {EXIT_CODES}"

    @action(
        "Have a judge score correct and wrong answers to canvas questions, and compare its verdicts with the truth.",
        *(
            argument(OPTIONS[name], "X", str(field.help_text), dest=name, required=field.required)
            for name, field in FIELDS.items()
        ),
        JSON,
    )
    def calibrate(self, *, as_json: bool, **options: Any) -> int:
        run = start_calibration({name: options[name] for name in FIELDS if options[name] is not None})
        self._note(f"Calibration {run.pk}: {run.judge_model} judges {plural(answers_to_judge(run), 'answer')}.")
        return self._follow(run, as_json)

    @action(
        "List the latest calibrations.",
        argument("--number", "N", "number of calibrations (default 20)", type=int, default=20),
        name="list",
    )
    def list_calibrations(self, *, number: int, **options: Any) -> None:
        rows = [_row(run) for run in calibrations()[: max(number, 1)]]
        self.print_rows(rows, "No calibrations yet.", right=(0, 5))

    @action("Print a calibration.", CALIBRATION, JSON)
    def show(self, *, calibration: int, as_json: bool, **options: Any) -> int:
        run = _calibration(calibration)
        self.print_either(as_json, _as_json(run), "\n".join(_lines(run)))
        return RUN_FAILED if run.status in ("failed", "cancelled") else OK

    @action("Resume a canceled or failed calibration with its existing verdicts.", CALIBRATION, JSON)
    def resume(self, *, calibration: int, as_json: bool, **options: Any) -> int:
        run = _calibration(calibration)
        left = resume_calibration(run)
        self._note(f"Calibration {calibration}: {left} of {answers_to_judge(run)} answers left to judge.")
        return self._follow(run, as_json)

    @action("Send nothing more to the judge. Its verdicts are kept.", CALIBRATION)
    def cancel(self, *, calibration: int, **options: Any) -> None:
        cancel_run(_calibration(calibration))
        self.stdout.write(f"Calibration {calibration} canceled. To resume it: judge resume {calibration}")

    @action("Delete a calibration with its verdicts.", CALIBRATION)
    def delete(self, *, calibration: int, **options: Any) -> None:
        delete_run(_calibration(calibration))
        self.stdout.write(f"Calibration {calibration} deleted.")

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
            return INTERRUPTED
        return self.show(calibration=run.pk, as_json=as_json)


def _calibration(pk: int) -> Run:
    try:
        return calibration_detail(pk)
    except Run.DoesNotExist:
        raise NotPossible(f"Calibration {pk} does not exist.") from None


def _canvas_set(run: Run) -> str:
    canvas_set = run.dataset.known_answers_of
    return canvas_set.slug if canvas_set else MISSING


def _row(run: Run) -> dict[str, str]:
    kappa = agreement_of(run).get("kappa", {}).get("kappa")
    return {
        "id": str(run.pk),
        "status": run_status(run.status, run.errors),
        "judge": run.judge_model,
        "metric": run.metrics[0],
        "canvas set": _canvas_set(run),
        "κ": MISSING if kappa is None else f"{kappa:.2f}",
        "cost": money(run.judge_cost_usd),
    }


def _as_json(run: Run) -> dict[str, Any]:
    return {
        "id": run.pk,
        **{name: getattr(run, name) for name in ("judge_model", "repeats", "status", "error_message", "done")},
        "metric": run.metrics[0],
        "canvas_set": _canvas_set(run),
        **(run.calibration or {}),
        "total": answers_to_judge(run),
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
        return MISSING, MISSING, sentences.n_of_expected(share)
    return percent(share["mean"]), interval(share["low"], share["high"], points), sentences.n_of_expected(share)


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
