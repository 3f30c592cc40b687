"""A judge's calibration as the terminal shows it, from the numbers that are stored with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.management.printing import money, table, token_words
from benchmarks.models import JudgeCalibration
from benchmarks.statistics.sentences import count, p_words, percent, points

VERDICTS = ("correct", "partial", "wrong")
Numbers = Mapping[str, Any]


def calibration_text(calibration: JudgeCalibration) -> str:
    """What was examined, and what was found: confusion, agreement, biases, spread, cost."""
    head = (
        f"Calibration {calibration.pk}: {calibration.judge_model} as judge of {calibration.metric}, on answers to "
        f"{calibration.canvas_set.slug}, each judged {count(calibration.repeats, 'time')}"
    )
    lines = [head, f"{calibration.get_status_display()}, {calibration.done} of {calibration.total} answers judged"]
    if calibration.error_message:
        lines.append(calibration.error_message)
    if calibration.numbers:
        lines += ["", *_findings(calibration.numbers)]
    cost = f"{token_words(calibration.tokens_in, calibration.tokens_out)}, {money(calibration.cost_usd)}"
    return "\n".join([*lines, f"Cost: {cost}"])


def _findings(numbers: Numbers) -> list[str]:
    return [
        table(
            ("answers that are", *(f"called {verdict}" for verdict in VERDICTS)), _confusion(numbers), right=(1, 2, 3)
        ),
        "",
        table(
            ("", "share", "95 % interval", "n"),
            [
                ("called rightly", *_interval(numbers["accuracy"])),
                ("wrong, called correct", *_interval(numbers["false_accepts"])),
                ("right, not called correct", *_interval(numbers["false_rejects"])),
                *((f"rightly, if {wording}", *_interval(found)) for wording, found in numbers["by_wording"].items()),
            ],
            right=(1, 3),
        ),
        "",
        f"Agreement with the truth beyond chance (Cohen's κ): {_kappa(numbers['kappa'])}",
        *(
            f"Long against short wording, {truth} answers: {_bias(numbers['length_bias'][truth])}"
            for truth in ("right", "wrong")
        ),
        f"Spread over repeats: {_spread(numbers['spread'])}",
        f"Without a verdict: {numbers['errors']}",
    ]


def _confusion(numbers: Numbers) -> list[tuple[str, ...]]:
    confusion = numbers["confusion"]
    return [(truth, *(str(confusion[f"{truth}_as_{verdict}"]) for verdict in VERDICTS)) for truth in ("right", "wrong")]


def _interval(found: Numbers) -> tuple[str, str, str]:
    if found["mean"] is None:
        return "–", "–", "0"
    return percent(found["mean"]), f"{points(found['low'])} to {points(found['high'])}", str(found["n"])


def _kappa(found: Numbers) -> str:
    if found["kappa"] is None:
        return f"not defined: {found['note']}"
    bounds = "" if found["low"] is None else f" ({found['low']:.2f} to {found['high']:.2f})"
    return f"{found['kappa']:.2f}{bounds}" + (f"; {found['note']}" if found["note"] else "")


def _bias(found: Numbers) -> str:
    if found["difference"] is None or found["p_value"] is None:
        return found["note"] or "nothing to compare"
    return (
        f"{'+' if found['difference'] > 0 else ''}{points(found['difference'])} points in the judge's score "
        f"({points(found['low'])} to {points(found['high'])}), {p_words(found['p_value'])}"
    )


def _spread(found: Numbers) -> str:
    if found["deviation"] is None:
        return "unknown: no answer was judged more than once"
    return (
        f"standard deviation {points(found['deviation'])} points, at most {points(found['widest'])} between two "
        f"scores of one answer, over {count(found['n_answers'], 'answer')}"
    )
