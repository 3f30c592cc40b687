"""Requirements of a pipeline on a run: minimum scores, no errors, no regression against an earlier run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.analysis.comparisons import Compared, compared_runs
from benchmarks.analysis.gates import Gated
from benchmarks.management.actions import MISSED, OK, RUN_FAILED, UNDECIDED
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import COMPLETED, ERRORS, Outcome, Run
from benchmarks.presentation.comparisons import series_sentence
from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import n_of, number, percent, plural
from benchmarks.presentation.sentences import if_missing, n_of_expected
from benchmarks.queries.compare import runs_to_compare
from benchmarks.services.errors import InvalidRequest
from benchmarks.statistics.margins import Verdict

LEAST_REPEATS = 3
"""A task of which one repeat is not right can still be right in most of so many."""
WITHOUT_VERDICT = (*ERRORS, Outcome.CANCELLED)


@dataclass(frozen=True, slots=True)
class Gate:
    """One requirement, whether it is met, and the numbers in words."""

    name: str
    met: bool
    words: str
    undecided: bool = False
    """Not met only because the data cannot tell"""


def read_thresholds(texts: Sequence[str], metrics: Sequence[str]) -> dict[str, float]:
    """Metric → its minimum mean, from texts such as ``correctness=0.8``; ``metrics`` are those of the run. The minimum
    of the headline, such as ``0.8``, has no name.

    Raises ``InvalidRequest`` for another form, a metric that the run does not use, or one that is not a score.
    """
    thresholds: dict[str, float] = {}
    problems = []
    for text in texts:
        name, _, share = text.rpartition("=")
        try:
            least = float(share)
        except ValueError:
            least = -1.0
        if not 0 <= least <= 1:
            problems.append(
                f"{text!r}: use metric=number with a number from 0 to 1, for example, correctness=0.8, or a number "
                "alone for the score of the run."
            )
        elif not name and any(map(is_score, metrics)):
            thresholds[name] = least
        elif name not in metrics:
            problems.append(f"{name} is not a metric of the run. Choose from: {', '.join(metrics)}.")
        elif not is_score(name):
            problems.append(f"{name} has no upper bound. A threshold requires a score from 0 to 1.")
        else:
            thresholds[name] = least
    if problems:
        raise InvalidRequest({"fail_under": problems})
    return thresholds


def threshold_gates(run: Run, thresholds: Mapping[str, float]) -> list[Gate]:
    """A missing score counts as 0. A metric without scored results misses every threshold."""
    gates = []
    for name, least in thresholds.items():
        metric = name or run.headline
        numbers = run.numbers_of(metric)
        mean = numbers.if_missing_wrong if is_score(metric) else None
        words = f"{metric} has no scored results"
        if mean is not None:
            n_of = n_of_expected(numbers.n, numbers.n_expected)
            least_mean = f"; {missing}" if (missing := if_missing(metric, numbers)) else ""
            words = f"{metric} is {percent(numbers.mean)} over {n_of} results{least_mean}"
        gates.append(Gate(f"{metric} at least {percent(least)}", mean is not None and mean >= least, words))
    return gates


def ending_gate(run: Run, allowed_errors: int) -> Gate:
    """Whether the run completed with no more errors than allowed."""
    words = f"{run_status(run.status)}, {number(run.errors)} of {plural(run.total, 'result')} with errors"
    if run.error_message:
        words += f": {run.error_message}"
    name = f"completed with at most {plural(allowed_errors, 'error')}" if allowed_errors else "completed without errors"
    return Gate(name, run.status in COMPLETED and run.errors <= allowed_errors, words)


def compare_with(earlier_id: int, run_id: int) -> list[Compared]:
    """The run compared with the earlier one on every shared score, over tasks of identical content."""
    runs = runs_to_compare([earlier_id, run_id])
    return compared_runs(runs, {run.pk: f"run {run.pk}" for run in runs})


def regression_gates(comparisons: Sequence[Compared]) -> list[Gate]:
    return [Gate(f"no regression in {each.metric}", not each.is_drop, each.change_sentence) for each in comparisons]


def margin_gate(gated: Gated) -> Gate:
    """Whether the run is no worse than the earlier one by the margin, on the headline of the earlier one."""
    check = gated.check
    counted = gated.counted
    words = (
        check.sentence
        if counted is None
        else f"{check.sentence} {series_sentence(counted.series.name, counted.number)}"
    )
    undecided = check.verdict in (Verdict.UNDECIDED, Verdict.MISSING)
    return Gate(check.name, check.verdict is Verdict.PASS, words, undecided=undecided)


def task_gates(run: Run, task_ids: Sequence[str]) -> list[Gate]:
    """Whether each of these tasks is right in most of its repeats. Of fewer than three, one that is not right is
    undecided: the answer may have flipped.

    Raises ``InvalidRequest`` for a task that the run did not ask.
    """
    counts = Counter(run.results.filter(task__task_id__in=task_ids).values_list("task__task_id", "outcome"))
    asked: dict[str, Counter[str]] = {task_id: Counter() for task_id in task_ids}
    for (task_id, outcome), count in counts.items():
        asked[task_id][outcome] += count
    if unknown := [task_id for task_id, outcomes in asked.items() if not outcomes]:
        raise InvalidRequest(
            {"keep_right": [f"Run {run.pk} did not ask {unknown[0]}. Use the id of one of its tasks."]}
        )
    return [_task_gate(task_id, outcomes) for task_id, outcomes in asked.items()]


def _task_gate(task_id: str, outcomes: Counter[str]) -> Gate:
    total, right = outcomes.total(), outcomes[Outcome.CORRECT]
    missing = sum(outcomes[outcome] for outcome in WITHOUT_VERDICT)
    words = f"right in {n_of(right, total)} repeats"
    if missing:
        words += f", {number(missing)} without a verdict"
    undecided = right + missing > total / 2 or total < LEAST_REPEATS
    if undecided and total < LEAST_REPEATS:
        words += f"; {LEAST_REPEATS} tell a flip from a change"
    return Gate(f"{task_id} stays right", right > total / 2, words, undecided=undecided)


def exit_code(ending: Gate, others: Sequence[Gate]) -> int:
    """A run that failed or has too many errors comes before a missed requirement, because its numbers lack results. A
    missed requirement comes before one that the data cannot tell."""
    if not ending.met:
        return RUN_FAILED
    missed = [gate for gate in others if not gate.met]
    return OK if not missed else UNDECIDED if all(gate.undecided for gate in missed) else MISSED
