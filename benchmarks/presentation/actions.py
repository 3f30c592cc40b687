"""What can be done with a run. Services enforce it; pages, API, commands and admin offer it.

One table: an action is possible in some statuses, and under conditions that the run's own facts decide. What needs a
query (a lease that is still held, a check that exists already) is left to the service.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from benchmarks.presentation.labels import run_status
from benchmarks.presentation.numbers import plural

LIVE = frozenset({"queued", "preparing", "running"})
COMPLETED = frozenset({"completed", "completed_with_errors"})
TERMINAL = COMPLETED | {"failed", "cancelled"}


class RunFacts(Protocol):
    """The facts of a run that decide; ``benchmarks.models.Run`` has them."""

    @property
    def pk(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def total(self) -> int: ...
    @property
    def errors(self) -> int: ...
    @property
    def budget_usd(self) -> float | None: ...
    @property
    def has_seed(self) -> bool: ...
    @property
    def fresh_of_id(self) -> int | None: ...
    @property
    def texts_pruned_at(self) -> datetime | None: ...
    @property
    def include_doubtful(self) -> bool: ...
    @property
    def n_doubtful(self) -> int: ...
    @property
    def import_tool(self) -> str: ...
    @property
    def is_calibration(self) -> bool: ...
    @property
    def is_preference(self) -> bool: ...
    @property
    def subset(self) -> int | None: ...
    @property
    def target_half_width(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Action:
    """``otherwise`` follows "Run 12 is running." where the status forbids the action; ``done`` confirms it.

    ``participle`` names an action that sends requests, which an imported run cannot do.
    """

    label: str
    done: str = ""
    statuses: frozenset[str] = LIVE | TERMINAL | {"paused"}
    otherwise: str = ""
    participle: str = ""
    needs_texts: bool = False


ACTIONS = {
    "again": Action("Run again", participle="rerun"),
    "resume": Action(
        "Resume run",
        "Run {run} resumed.",
        frozenset({"paused", "cancelled", "failed"}),
        "Only canceled, failed or paused runs can be resumed.",
        "resumed",
        needs_texts=True,
    ),
    "retry": Action(
        "Retry {errors}",
        "Retrying the errors of run {run}.",
        TERMINAL,
        "Wait until the run ends, then retry its errors.",
        "retried",
        needs_texts=True,
    ),
    "rescore": Action("Rescore", statuses=COMPLETED, otherwise="Rescore it after it completes.", needs_texts=True),
    "budget": Action("Raise budget", "Budget of run {run} raised."),
    "pause": Action("Pause run", "Run {run} paused.", LIVE, "Only a queued, preparing or running run can be paused."),
    "cancel": Action(
        "Cancel run",
        "Run {run} canceled.",
        LIVE | {"paused"},
        "Only queued, preparing, running or paused runs can be canceled.",
    ),
    "check": Action(
        "Check for contamination",
        "Contamination check started for run {run}: the same kinds of tasks from a new seed.",
        COMPLETED,
        "Check it after it completes.",
        "checked for contamination",
    ),
    "include_doubtful": Action(
        "Include doubtful expected answers",
        "Run {run} includes doubtful expected answers.",
        TERMINAL,
        "Include them after it ends.",
    ),
    "leave_out_doubtful": Action(
        "Leave out doubtful expected answers",
        "Run {run} leaves out doubtful expected answers.",
        TERMINAL,
        "Leave them out after it ends.",
    ),
    "export": Action("Export"),
    "share": Action("Share"),
    "delete": Action("Delete run", "Run {run} deleted.", TERMINAL | {"paused"}, "Cancel the run before you delete it."),
}
"""Name → action, in the order in which they are offered."""


def allowed_actions(run: RunFacts, names: Collection[str] = ACTIONS.keys()) -> dict[str, str]:
    """Name → label of every action, or of those with these ``names``, that is possible now."""
    return {
        name: action.label.format(errors=plural(run.errors, "error"))
        for name, action in ACTIONS.items()
        if name in names and refusal(name, run) is None
    }


def refusal(name: str, run: RunFacts) -> str | None:
    """Why an action is not possible now, and what to do instead; ``None`` where it is possible."""
    action = ACTIONS[name]
    # The first reason that applies is given; the most general ones come first.
    reasons = (
        (
            run.import_tool and action.participle,
            imported_refusal(run, action.participle) if run.import_tool else "",
        ),
        (
            name == "again" and run.is_calibration,
            f"Run {run.pk} is a judge calibration. Start a new calibration instead.",
        ),
        (
            name in ("again", "rescore") and run.is_preference,
            f"Run {run.pk} compares answers of other runs. Start a new preference run instead.",
        ),
        (
            name == "check" and not run.has_seed,
            "Only runs on canvas sets and generated datasets can be checked: only their tasks come from a seed.",
        ),
        (
            run.status not in action.statuses,
            f"Run {run.pk} is {run_status(run.status).lower()}. {action.otherwise}",
        ),
        (
            action.needs_texts and run.texts_pruned_at,
            f"The texts of run {run.pk} were pruned on {run.texts_pruned_at:%Y-%m-%d}. "
            "Start a new run with the same settings instead."
            if run.texts_pruned_at
            else "",
        ),
        (
            name == "rescore" and run.is_calibration,
            f"Run {run.pk} is a judge calibration. Start a calibration with the other judge or metric instead.",
        ),
        (
            name == "rescore" and (run.subset or run.target_half_width is not None),
            f"Run {run.pk} selected its tasks by their scores, so other scores need a new run.",
        ),
        (name == "retry" and not run.errors, f"Run {run.pk} has no errors to retry."),
        (name == "budget" and run.budget_usd is None, f"Run {run.pk} has no budget to raise."),
        (
            name == "include_doubtful" and not run.n_doubtful,
            f"Run {run.pk} leaves out no result because of a doubtful expected answer.",
        ),
        (
            name == "leave_out_doubtful" and not run.include_doubtful,
            f"Run {run.pk} does not include doubtful expected answers.",
        ),
        (
            name == "check" and run.fresh_of_id,
            f"Run {run.pk} already uses fresh tasks and is compared with run {run.fresh_of_id}.",
        ),
    )
    return next((reason for applies, reason in reasons if applies), None)


def imported_refusal(run: RunFacts, participle: str) -> str:
    """Why a run of another tool cannot be resumed, rerun and so on here."""
    tool = run.import_tool
    if tool == "API":
        return (
            f"Run {run.pk} was pushed over the API, so it cannot be {participle} here. "
            "Push a new run, or start one here."
        )
    return (
        f"Run {run.pk} was imported from {'an' if tool[:1] in tuple('AEIOUl') else 'a'} {tool} file, so it cannot "
        f"be {participle} here. Use {tool} and import the new file, or start a new run."
    )


def done_sentence(name: str, run_id: int, unasked: int = 0) -> str:
    """What now holds after an action: ``Run 12 canceled.`` ``unasked`` results stay as they are in a retry."""
    sentence = ACTIONS[name].done.format(run=run_id)
    if name == "retry" and unasked:
        sentence += f" {plural(unasked, 'result')} not asked yet: resume the run after that to ask the rest."
    return sentence


def delete_question(run_id: int, n_results: int) -> str:
    """``Delete run 12 and its 576 results?``"""
    return f"Delete run {run_id} and its {plural(n_results, 'result')}?"
