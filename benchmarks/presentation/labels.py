"""What statuses, outcomes and other stored values are called, everywhere a person reads them.

Keys are the values of the API and the database; labels begin with a capital.
"""

from __future__ import annotations

from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.texts import cut, visible

MOST_OF_TITLE = 60
"""Characters of a dataset's name; its page shows the whole."""

_TASK_KEYS = {
    "user": "Simulated user",
    "expected_output": "Expected answer",
    "other_answers": "Other accepted answers",
    "expected_tools": "Expected tool calls",
    "tools": "Available tools",
    "tool_results": "Simulated tool results",
    "final_state": "Expected final state",
    "must_refuse": "Must be refused",
    "group": "Task class",
}
"""Titles of those keys of a task that have another one than their name."""
RUN_STATUS = {
    "queued": "Queued",
    "preparing": "Preparing",
    "running": "Running",
    "paused": "Paused",
    "completed": "Completed",
    "completed_with_errors": "Completed with errors",
    "failed": "Failed",
    "cancelled": "Canceled",
}
OUTCOME = {
    "correct": "Correct",
    "partial": "Partial",
    "wrong": "Wrong",
    "answered": "Ungraded",
    "unparsable": "Unparsable",
    "truncated": "Cut off",
    "refused": "Refused",
    "provider_error": "Provider error",
    "internal_error": "Internal error",
    "judge_error": "Judge error",
    "metric_error": "Metric error",
    "cancelled": "Not sent",
}
RESULT_STATE = {
    "pending": "Not sent yet",
    "claimed": "In flight",
    "answered": "Waiting for a score",
    "judging": "Scoring",
    "done": "Done",
    "error": "Error",
}
SCORE_STATUS = {
    "scored": "Scored",
    "unparsable": "Unparsable",
    "truncated": "Cut off",
    "refused": "Refused",
    "not_applicable": "Not applicable",
    "judge_error": "Judge error",
    "metric_error": "Metric error",
    "doubtful": "Doubtful reference",
}
LABEL_FLAG = {
    "reference_doubtful": "Expected answer doubtful",
    "task_unclear": "Task unclear",
    "answer_unreadable": "Answer unreadable",
}
SAMPLING = {
    "random": "At random",
    "rest": "At random from answers that no random review has labeled",
    "stratified": "Equally from each group",
    "judge_and_rule": "Where the judge and a rule disagree",
    "models": "Where models disagree",
    "threshold": "Near the threshold",
}
"""How a review queue draws answers."""
DIFFICULTY = {
    "n_shapes": "number of shapes",
    "tracking_steps": "tracking steps",
    "inference_steps": "inference steps",
}
"""Measures of difficulty."""
STRATUM = {"model": "Model", "class": "Task class", "difficulty": "Difficulty"}
FILE_STATE = {
    "good": "Valid",
    "broken": "Has errors",
    "vanished": "Missing",
    "undecided": "Conflict: file and dataset both changed",
}
VERSION_ORIGIN = {
    "file": "File",
    "admin": "Edited here",
    "upload": "Upload",
    "generated": "Generated",
    "imported": "Imported with a run",
}
ROLE = {
    "viewer": "Read everything",
    "reviewer": "Also label results",
    "runner": "Also start, cancel, resume and delete runs",
    "editor": "Also edit datasets, canvas sets and schedules, and see who labeled",
    "admin": "Also manage accounts, tokens and keys, and read the audit log",
}
"""What the members of each group may do, each also what the previous one may."""
EVENT = {
    "run.completed": "The run ended without errors",
    "run.completed_with_errors": "The run ended with errors",
    "run.failed": "An error stopped the run",
    "run.cancelled": "Somebody canceled the run",
    "run.paused": "The budget does not cover the next request",
    "score.dropped": "A scheduled run scores significantly lower than an earlier one",
}
"""When a webhook receives each event."""


def run_status(status: str, errors: int = 0) -> str:
    """The label of a run's status; with the number of errors: ``Completed, 3 errors``."""
    if status == "completed_with_errors" and errors:
        return f"Completed, {plural(errors, 'error')}"
    return RUN_STATUS.get(status, sentence_case(status))


def result_label(state: str, outcome: str) -> str:
    """What became of a result: its outcome, or as long as it has none, its state."""
    if outcome:
        return OUTCOME.get(outcome) or sentence_case(outcome)
    return RESULT_STATE.get(state) or sentence_case(state)


def version_label(number: int, added_canvases: int) -> str:
    """A dataset version; of an enlarged canvas set, with the number of canvases added to it: ``1 + 72 canvases``."""
    return f"{number} + {plural(added_canvases, 'canvas')}" if added_canvases else str(number)


def dataset_title(name: str, slug: str) -> str:
    """What a dataset of this name is called where people read: one line, cut; the slug if nothing of it can be read."""
    words = " ".join(visible(name).split())
    return cut(words, MOST_OF_TITLE) if any(sign.isalnum() for sign in words) else slug


def metric_title(name: str) -> str:
    """The title of a metric; one that is no longer registered goes by its name."""
    metric = metric_named(name)
    return metric.title if metric else name


def prompt_variant(representation: str, few_shot: bool) -> str:
    """How a canvas set is shown to the model: ``full, zero-shot``."""
    return f"{representation or 'full'}, {'few-shot' if few_shot else 'zero-shot'}"


def words(name: str) -> str:
    """An identifier inside a sentence: ``rate_limit`` → ``rate limit``."""
    return name.replace("_", " ")


def task_key(name: str) -> str:
    """The title of a key of a task, or of a task's field."""
    return _TASK_KEYS.get(name) or sentence_case(name)


def event_title(name: str) -> str:
    """The title of an event: ``score.dropped`` → ``Score dropped``."""
    return sentence_case(name.replace(".", " ").replace("cancelled", "canceled"))


def sentence_case(name: str) -> str:
    """An identifier as a label, such as a task class: ``shuffle_tracking`` → ``Shuffle tracking``."""
    return words(name)[:1].upper() + words(name)[1:]
