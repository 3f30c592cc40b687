"""Numbers and tables as a terminal shows them. What is unknown is called unknown and is never shown as 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.engine.summary.verification import Verification
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Run
from benchmarks.page_urls import page_address
from benchmarks.presentation.numbers import percent, plural, points
from benchmarks.services.runs.estimate import RunPlan

UNKNOWN = "unknown"
UNSCORED = (
    ("n_not_applicable", "not applicable"),
    ("n_unparsable", "unparsable"),
    ("n_judge_error", "judge error"),
    ("n_metric_error", "metric error"),
    ("n_missing", "no answer"),
)
"""Why results have no score: key of the summary → words."""

Rows = Sequence[Sequence[str]]


def table(head: Sequence[str], rows: Rows, right: Sequence[int] = ()) -> str:
    """Aligned columns under a head; those in ``right`` are aligned to the right."""
    lines = [tuple(head), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_line(line, widths, right) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    aligned = (
        cell.rjust(width) if place in right else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(aligned).rstrip()


def money(usd: float | None) -> str:
    if usd is None:
        return UNKNOWN
    return f"${usd:.2f}" if usd == 0 or usd >= 1 else f"${usd:.2g}" if usd >= 1e-4 else f"${usd:.1e}"


def money_range(low: float | None, high: float | None) -> str:
    return UNKNOWN if low is None or high is None else f"{money(low)} to {money(high)}"


def duration(seconds: float) -> str:
    """``0.8 s``, ``42 s``, ``3 min 20 s``, ``2 h 05 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def metric_rows(run: Run) -> list[tuple[str, str, str, str, str]]:
    """Metric, mean, 95 % interval, n, and what has no score by its reason."""
    metrics: Mapping[str, Mapping[str, Any]] = run.summary.get("metrics", {})
    return [(name, *_numbers(name, metrics[name])) for name in run.metrics if name in metrics]


def _numbers(name: str, numbers: Mapping[str, Any]) -> tuple[str, str, str, str]:
    unscored = ", ".join(f"{numbers[key]} {words}" for key, words in UNSCORED if numbers.get(key))
    metric = metric_named(name)
    mean, low, high = (numbers[key] for key in ("mean", "low", "high"))
    if metric is None or metric.range == (0.0, 1.0):
        shown = "–" if mean is None else percent(mean)
        interval = "–" if low is None or high is None else f"{points(low)} to {points(high)}"
    else:
        shown, interval = "–" if mean is None else f"{mean:.4g} {metric.unit}".strip(), "–"
    return shown, interval, str(numbers["n"]), unscored or "–"


def outcome_words(run: Run) -> str:
    """``21 correct, 2 wrong, 1 provider error``, the most frequent first."""
    outcomes: Mapping[str, int] = run.summary.get("outcomes", {})
    ordered = sorted(outcomes.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in ordered) or "none yet"


def cost_words(run: Run) -> str:
    """The model's cost and the judge's, apart."""
    words = f"model {money(run.cost_usd)} ({token_words(run.tokens_in, run.tokens_out)})"
    if run.judge_model:
        words += f"; judge {money(run.judge_cost_usd)} ({token_words(run.judge_tokens_in, run.judge_tokens_out)})"
    return words


def token_words(tokens_in: int | None, tokens_out: int | None) -> str:
    """``1,234 tokens in, 56 out``; of an endpoint that does not report them all, that they are unknown."""
    if tokens_in is None or tokens_out is None:
        return f"tokens {UNKNOWN}"
    return f"{tokens_in:,} tokens in, {tokens_out:,} out"


def run_text(run: Run) -> str:
    """A run as the commands print it: what it is, how it stands, its means, outcomes, cost and page."""
    judge = f", judged by {run.judge_model}{' (itself)' if run.self_judged else ''}" if run.judge_model else ""
    lines = [
        f"Run {run.pk}: {run.model_label} on {run.dataset.slug}, version {run.dataset_version.number}{judge}",
        f"{run.get_status_display()}, {run.done} of {run.total} done, {run.errors} with errors{_took(run)}",
    ]
    if run.error_message:
        lines.append(run.error_message)
    if rows := metric_rows(run):
        lines += ["", table(("metric", "mean", "95 % interval", "n", "not scored"), rows, right=(1, 3)), ""]
    lines += [f"Outcomes: {outcome_words(run)}", f"Cost: {cost_words(run)}", f"Page: {page_address(run)}"]
    return "\n".join(lines)


def _took(run: Run) -> str:
    if run.started_at is None or run.completed_at is None:
        return ""
    return f", took {duration((run.completed_at - run.started_at).total_seconds())}"


def plan_text(plan: RunPlan) -> str:
    rows = [
        ("requests", f"{plan.requests:,}"),
        ("judged answers", f"{plan.judge_requests:,}"),
        ("tokens in", f"{plan.tokens_in_low:,} to {plan.tokens_in_high:,}"),
        ("tokens out", f"{plan.tokens_out_low:,} to {plan.tokens_out_high:,}"),
        ("cost", money_range(plan.cost_low, plan.cost_high)),
        ("duration", f"{duration(plan.seconds_low)} to {duration(plan.seconds_high)}"),
    ]
    return table(("", "the whole run"), rows)


def verification_text(run: Run, found: Verification, code_now: str) -> str:
    """What verifying a run has found, with the first differences."""
    same = found.checked - found.differing
    lines = [f"Run {run.pk}: {same} of {plural(found.checked, 'prompt')} are what was sent."]
    if found.unasked:
        lines.append(f"{plural(found.unasked, 'result')} of it never sent anything.")
    for one in found.first_differences:
        repeat = f", repeat {one.repeat}" if run.repeats > 1 else ""
        lines.append(f"  {one.task_id} (place {one.position}{repeat}): {one.where}")
    if found.differing > len(found.first_differences):
        lines.append(f"  … and {found.differing - len(found.first_differences)} more")
    if not found.differing and not found.holds:
        lines.append("But the run's own hash is another: results were added, removed or reordered after it ended.")
    if run.code_version != code_now:
        lines.append(f"It was made by code {run.code_version or UNKNOWN}; this is {code_now}.")
    return "\n".join(lines)
