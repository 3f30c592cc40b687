"""What a pipeline may demand of a run: least scores, no errors, and no regression against an earlier run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import COMPLETED, TERMINAL, Run
from benchmarks.presentation.numbers import percent
from benchmarks.queries.compare import runs_to_compare
from benchmarks.queries.statistics import Compared, compared_runs
from benchmarks.services.errors import InvalidRequest

OK, MISSED, REFUSED, RUN_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least mean that a metric has to reach, as a share."""

    metric: str
    least: float


@dataclass(frozen=True, slots=True)
class Gate:
    """One demand and whether it was met, in words that name the numbers."""

    name: str
    met: bool
    words: str


def read_thresholds(texts: Sequence[str], metrics: Sequence[str]) -> list[Threshold]:
    """Read ``correctness=0.8``. Raises ``InvalidRequest`` for another form, a metric that the run does not take, or one
    that is no score. ``metrics`` are the run's."""
    thresholds, problems = [], []
    for text in texts:
        name, equals, number = text.partition("=")
        problem = _problem(text, name, equals, number, metrics)
        if problem:
            problems.append(problem)
        else:
            thresholds.append(Threshold(name, float(number)))
    if problems:
        raise InvalidRequest({"fail_under": problems})
    return thresholds


def _problem(text: str, name: str, equals: str, number: str, metrics: Sequence[str]) -> str | None:
    try:
        good_number = 0 <= float(number) <= 1
    except ValueError:
        good_number = False
    if not equals or not good_number:
        return f"{text!r}: write metric=number with a number from 0 to 1, such as correctness=0.8."
    if name not in metrics:
        return f"{name} is not among the run's metrics. Choose from: {', '.join(metrics)}."
    if not is_score(name):
        return f"{name} is a measurement without an upper end; a threshold needs a score from 0 to 1."
    return None


def threshold_gates(run: Run, thresholds: Sequence[Threshold]) -> list[Gate]:
    """A metric of which nothing was scored misses every threshold."""
    gates = []
    for wanted in thresholds:
        numbers: Mapping[str, Any] = run.summary.get("metrics", {}).get(wanted.metric, {})
        mean = numbers.get("mean")
        name = f"{wanted.metric} at least {percent(wanted.least)}"
        if mean is None:
            gates.append(Gate(name, False, f"{wanted.metric} has no score: nothing could be scored"))
            continue
        words = f"{wanted.metric} is {percent(mean)} over {numbers['n']} scored results"
        gates.append(Gate(name, mean >= wanted.least, words))
    return gates


def ending_gate(run: Run, allowed_errors: int) -> Gate:
    """Whether the run came to its end with no more errors than allowed."""
    ended = run.status in COMPLETED
    words = f"{run.get_status_display()}, {run.errors} of {run.total} results with errors"
    if run.error_message:
        words += f": {run.error_message}"
    name = f"completed with at most {allowed_errors} errors" if allowed_errors else "completed without errors"
    return Gate(name, ended and run.errors <= allowed_errors, words)


def earlier_run(run_id: int, metrics: Sequence[str]) -> Run:
    """The run to compare with. Raises ``InvalidRequest`` where it cannot serve for that."""
    earlier = Run.objects.filter(pk=run_id).first()
    if earlier is None:
        problem = f"There is no run {run_id}."
    elif earlier.status not in TERMINAL:
        problem = f"Run {run_id} is {earlier.get_status_display()}; compare with a run that has ended."
    elif not _shared_metrics(earlier.metrics, metrics):
        problem = f"Run {run_id} has none of these metrics: it took {', '.join(earlier.metrics)}."
    else:
        return earlier
    raise InvalidRequest({"compare_to": [problem]})


def compare_with(earlier_id: int, run_id: int) -> list[Compared]:
    """The run against the earlier one on every score both have, in pairs of tasks of identical content."""
    chosen = runs_to_compare([earlier_id, run_id])
    return compared_runs(chosen, {run.pk: f"run {run.pk}" for run in chosen})


def _shared_metrics(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return [name for name in first if name in second and is_score(name)]


def regression_gates(comparisons: Sequence[Compared]) -> list[Gate]:
    return [Gate(f"no regression in {one.metric}", not one.is_drop, one.change_sentence) for one in comparisons]


def exit_code(ending: Gate, others: Sequence[Gate]) -> int:
    """A run that failed, or has more errors than allowed, comes before any missed demand: its numbers lack results."""
    if not ending.met:
        return RUN_FAILED
    return OK if all(gate.met for gate in others) else MISSED
