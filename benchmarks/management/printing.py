"""Runs, statistics, comparisons, estimates and verifications as text and tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.analysis.comparisons import Compared
from benchmarks.engine.execution.verification import Verification
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Run
from benchmarks.page_urls import page_address
from benchmarks.presentation.cells import Money
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import (
    MISSING,
    UNKNOWN,
    duration,
    money,
    money_range,
    number,
    percent,
    plural,
    points,
)
from benchmarks.presentation.sentences import (
    adjustments,
    cost_of_answers,
    outcome_counts,
    readable,
    tokens,
    unknown_cost,
    unknown_cost_of_answers,
    unscored,
    weighted,
)
from benchmarks.presentation.tables import Column, Table, aligned
from benchmarks.queries.interval_covers import covers_of
from benchmarks.queries.tables.comparisons import PAIRS
from benchmarks.queries.tables.statistics import (
    ABOVE_BEST_GUESS,
    ADAPTIVE,
    CONSISTENCY,
    FAULT_RATES,
    THRESHOLDS,
    adaptive_rows,
    best_guess_note,
    fault_rows,
    guessed_rows,
    n_of,
    repeated_rows,
    repeats_note,
)
from benchmarks.services.experiments.start import ExperimentPlan
from benchmarks.services.runs.estimate import RunPlan
from benchmarks.summary import Mean

Row = tuple[str, ...]
METRICS = Table[Row](
    "Metrics",
    [
        Column("Metric", lambda row: row[0], "name"),
        Column("Mean", lambda row: row[1], "number"),
        Column("95% interval", lambda row: row[2]),
        Column("n", lambda row: row[3], "number"),
        Column("Readable answers only", lambda row: row[4]),
        Column("Not scored", lambda row: row[5]),
    ],
)
"""Of ``metric_rows``, in percent."""


def metric_rows(run: Run) -> list[Row]:
    """The cells of ``METRICS`` for every metric of the run."""
    metrics = run.numbers.metrics
    rows: list[Row] = []
    for name in run.all_metrics:
        if name in metrics:
            numbers, metric = metrics[name], metric_named(name)
            cells = _mean(numbers)
            if metric is not None and metric.range != (0.0, 1.0):
                mean = numbers.mean
                cells = (MISSING if mean is None else f"{mean:.4g} {metric.unit}".strip(), MISSING)
            missing = ", ".join(unscored(numbers, live=run.is_live)) or MISSING
            rows.append((name, *cells, n_of(numbers), readable(numbers, percent) or MISSING, missing))
    return rows


def weighted_lines(run: Run) -> list[str]:
    """The weighted mean of each metric that has one."""
    means = ((name, weighted(run.numbers_of(name), percent)) for name in run.all_metrics)
    return [f"Weighted mean of {name}: {words}" for name, words in means if words]


def outcome_words(run: Run) -> str:
    return outcome_counts(run.numbers.outcomes)


def cost_words(run: Run) -> str:
    """The costs of the model, of the simulated user, which are part of them, and of the judge."""
    used = tokens(run.tokens_in, run.tokens_out)
    parts = [("model", Money(*cost_of_answers(run)).text, used, unknown_cost_of_answers(run))]
    if run.user_model:
        cost, n_in, n_out = run.user_cost_usd, run.user_tokens_in, run.user_tokens_out
        why = unknown_cost(run.user_model, cost, n_in)
        parts.append(("of it simulated user", money(cost), tokens(n_in, n_out), why))
    if run.judge_model:
        cost, n_in, n_out = run.judge_cost_usd, run.judge_tokens_in, run.judge_tokens_out
        parts.append(("judge", money(cost), tokens(n_in, n_out), unknown_cost(run.judge_model, cost, n_in)))
    return "; ".join(f"{who} {cost} ({', '.join(filter(None, (used, why)))})" for who, cost, used, why in parts)


def title_words(run: Run, quote: str = "") -> str:
    """Model, dataset, version and judge; ``quote`` encloses names."""
    judge = f", judged by {quote}{run.judge_model}{quote}{' (self-judged)' if run.self_judged else ''}"
    return (
        f"{quote}{run.model_label}{quote} on {quote}{run.dataset.slug}{quote}, "
        f"version {run.version_label}{judge if run.judge_model else ''}"
    )


def progress_words(run: Run) -> str:
    return f"{run_status(run.status)}, {number(run.done)} of {number(run.total)} done, {number(run.errors)} with errors"


def run_text(run: Run) -> str:
    """A run with its status, means, outcomes, cost and page."""
    took = f", took {duration(run.duration_seconds)}" if run.started_at and run.completed_at else ""
    lines = [f"Run {run.pk}: {title_words(run)}", f"{progress_words(run)}{took}"]
    if run.error_message:
        lines.append(run.error_message)
    lines += adjustments(run.adjustments, run.judge_trial, run.numbers.response_models)
    if rows := metric_rows(run):
        covers = [covers_of([run]).sentence] if run.numbers_of(run.headline).low is not None else []
        lines += ["", METRICS.text(rows), "", *weighted_lines(run), *covers]
    lines += [f"Outcomes: {outcome_words(run)}", f"Cost: {cost_words(run)}", f"Page: {page_address(run)}"]
    return "\n".join(lines)


def cost_text(plan: RunPlan | ExperimentPlan) -> str:
    """The estimated cost; if a price is missing, the known part and the models without one."""
    if not plan.unpriced:
        return money_range(plan.cost_low, plan.cost_high)
    known = f"at least {money_range(plan.known_low, plan.known_high)}" if plan.known_high else UNKNOWN
    return f"{known}; no price for {', '.join(plan.unpriced)}"


def plan_text(plan: RunPlan) -> str:
    rows = [
        ("requests", number(plan.requests)),
        ("judge requests", number(plan.judge_requests)),
        ("tokens in", f"{number(plan.tokens_in_low)} to {number(plan.tokens_in_high)}"),
        ("tokens out", f"{number(plan.tokens_out_low)} to {number(plan.tokens_out_high)}"),
        ("cost", cost_text(plan)),
        ("duration", f"{duration(plan.seconds_low)} to {duration(plan.seconds_high)}"),
    ]
    return "\n".join(
        [aligned(("", "full run"), rows), *([plan.subset.sentence] if plan.subset else []), *plan.warnings]
    )


def verification_text(run: Run, verification: Verification, code_now: str) -> str:
    """The result of verifying a run, with the first differences."""
    same = number(verification.checked - verification.differing)
    lines = [f"Run {run.pk}: {same} of {plural(verification.checked, 'prompt')} match what was sent."]
    if verification.unasked:
        lines.append(f"{plural(verification.unasked, 'result')} not sent.")
    for difference in verification.first_differences:
        repeat = f", repeat {difference.repeat}" if run.repeats > 1 else ""
        lines.append(f"  {difference.task_id} (position {difference.position}{repeat}): {difference.where}")
    if more := verification.differing - len(verification.first_differences):
        lines.append(f"  … and {number(more)} more")
    if not verification.differing and not verification.holds:
        lines.append("The hash of the whole run differs: results were added, removed or reordered after it ended.")
    if run.code_version != code_now:
        lines.append(f"Created with code version {run.code_version or UNKNOWN}; current version: {code_now}.")
    return "\n".join(lines)


def statistics_text(run: Run) -> str:
    """What the summary holds beyond the means; empty if it holds nothing."""
    summary, parts = run.numbers, []
    if faults := list(fault_rows(run)):
        parts.append(f"Refused, cut off, unreadable\n{FAULT_RATES.text(faults)}")
    for metric, chance in (summary.chance or {}).items():
        rows = ABOVE_BEST_GUESS.text(guessed_rows(run, metric, chance))
        parts.append(f"{metric}, above the best guess\n{rows}\n{best_guess_note(chance)}")
    if summary.thresholds:
        parts.append(THRESHOLDS.text(summary.thresholds))
    for metric, repeats in (summary.reliability or {}).items():
        rows = CONSISTENCY.text(repeated_rows(metric, repeats))
        parts.append(f"{metric}, consistency across repeats\n{rows}\n{repeats_note(repeats).text}")
    parts += [run.same_seed_sentence] if summary.reliability and run.repeats_same_seed else []
    if numbers := summary.adaptive:
        reached = "reached" if numbers.reached else "not reached"
        parts.append(
            f"{number(numbers.canvases)} of at most {plural(numbers.max_canvases, 'canvas')}: {numbers.reason}. "
            f"Target interval half-width of {points(numbers.target_half_width)} points {reached}.\n"
            + ADAPTIVE.text(adaptive_rows(run, numbers))
        )
    return "\n\n".join(parts)


def comparisons_text(comparisons: Sequence[Compared]) -> str:
    """The sentences, then the same in numbers."""
    sentences = [line for each in comparisons for line in comparison_sentences(each)]
    return "\n".join([*sentences, "", PAIRS.text(comparisons)])


def comparison_sentences(compared: Compared) -> Iterator[str]:
    yield f"{compared.metric}: {compared.sentence}"
    for sentence in (compared.same_sentence, compared.missing_sentence, compared.scope_sentence):
        if sentence:
            yield f"  {sentence}"


def _mean(numbers: Mean) -> tuple[str, str]:
    """A mean and its interval, each in one cell."""
    mean, low, high = numbers.mean, numbers.low, numbers.high
    return percent(mean), MISSING if low is None or high is None else f"{points(low)} to {points(high)}"
