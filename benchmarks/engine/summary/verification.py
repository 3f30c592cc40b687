"""Whether the prompts of a run, built anew from what is stored, are still those that were sent.

Every result keeps the hash of its prompt; a run keeps one over all of them, in order. Both are read in batches, so a
run of any size takes the same memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from django.db.models import F

from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.work_items import Prompt
from benchmarks.models import Result, Run, Task, Transcript
from benchmarks.providers.base import Message

BATCH = 500
MOST_SHOWN = 10
AROUND = 40
"""Characters shown on each side of the place where two prompts part."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One result whose prompt is another now. ``where`` says in words what has changed."""

    position: int
    task_id: str
    repeat: int
    stored: str
    rebuilt: str | None
    """``None`` where the prompt cannot be built any more."""
    where: str


@dataclass(slots=True)
class Verification:
    """``unasked`` results were never sent, so there is nothing to compare. Hashes of the run are empty where it has
    none: it has not ended, or was made before they were kept."""

    checked: int = 0
    unasked: int = 0
    differing: int = 0
    first_differences: list[Difference] = field(default_factory=list)
    run_hash_stored: str = ""
    run_hash_now: str = ""

    @property
    def holds(self) -> bool:
        """Whether every prompt is the same, and the run's own hash with them."""
        return self.differing == 0 and self.run_hash_stored in ("", self.run_hash_now)


def verify_prompts(run: Run, most_shown: int = MOST_SHOWN) -> Verification:
    """Build every prompt of the run anew and compare its hash with the stored one; the first differences are told."""
    found = Verification(run_hash_stored=run.prompt_hash)
    prompts = _Prompts(run)
    total = hashlib.sha256()
    for result in _results(run):
        stored = result.stored_hash  # type: ignore[attr-defined]  # annotated by _results
        if not stored:
            found.unasked += 1
            continue
        found.checked += 1
        rebuilt = prompts.hash_of(result.task)
        total.update((rebuilt or "").encode())
        if rebuilt == stored:
            continue
        found.differing += 1
        if len(found.first_differences) < most_shown:
            found.first_differences.append(_difference(result, stored, prompts))
    found.run_hash_now = total.hexdigest() if found.checked else ""
    return found


def hash_of_prompts(run_id: int) -> str:
    """SHA-256 over the stored hashes of all prompts that were sent, in order; empty where none was."""
    sent = Transcript.objects.filter(result__run=run_id).exclude(prompt_hash="").order_by("result__position")
    total, any_sent = hashlib.sha256(), False
    for prompt_hash in sent.values_list("prompt_hash", flat=True).iterator(chunk_size=5_000):
        total.update(prompt_hash.encode())
        any_sent = True
    return total.hexdigest() if any_sent else ""


def write_prompt_hash(run_id: int) -> None:
    """Keep the run's own hash. To be called when a run completes, with every result asked."""
    Run.objects.filter(pk=run_id).update(prompt_hash=hash_of_prompts(run_id))


class _Prompts:
    """The prompts of one run, built anew. Repeats of a task follow each other, so the last one is kept."""

    def __init__(self, run: Run) -> None:
        self._questioner = PromptBuilder(run)
        self._task: int | None = None
        self._prompt: Prompt | None = None
        self.problem = ""

    def of(self, task: Task) -> Prompt | None:
        """``None`` where it cannot be built; ``problem`` then says why."""
        if task.pk != self._task:
            self._task, self.problem = task.pk, ""
            try:
                self._prompt = self._questioner.prompt(task)
            except Exception as error:  # whatever the stored dataset lacks, the others are still to be checked
                self._prompt, self.problem = None, f"{type(error).__name__}: {error}"
        return self._prompt

    def hash_of(self, task: Task) -> str | None:
        prompt = self.of(task)
        return prompt.hash() if prompt else None


def _results(run: Run) -> Iterator[Result]:
    """All results in order with ``stored_hash``, in batches; no transcript is read as a whole."""
    related = ("task", "task__question__canvas") if run.representation else ("task",)
    rows = Result.objects.filter(run=run).select_related(*related).annotate(stored_hash=F("transcript__prompt_hash"))
    after = -1
    while batch := list(rows.filter(position__gt=after).order_by("position")[:BATCH]):
        yield from batch
        after = batch[-1].position


def _difference(result: Result, stored: str, prompts: _Prompts) -> Difference:
    prompt = prompts.of(result.task)
    sent = Transcript.objects.values_list("messages", flat=True).get(result=result.pk)
    if prompt is None:
        where = f"it cannot be built any more: {prompts.problem}"
    elif sent:
        where = _where(sent, prompt.messages)
    else:
        where = "where cannot be told: the text that was sent is no longer kept"
    rebuilt = prompt.hash() if prompt else None
    return Difference(result.position, result.task.task_id, result.repeat, stored, rebuilt, where)


def _where(sent: Sequence[Message], rebuilt: Sequence[Message]) -> str:
    """The first place at which the messages part. What follows the prompt in ``sent`` is the conversation after it."""
    for number, (then, now) in enumerate(zip_longest(sent[: len(rebuilt)], rebuilt), 1):
        if then is None:
            return f"message {number} was not sent then"
        if then["role"] != now["role"]:
            return f"message {number} was the {then['role']}'s and is the {now['role']}'s now"
        old, new = _text(then), _text(now)
        if old != new:
            at = next(
                (place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
            )
            return (
                f"message {number} ({now['role']}), character {at + 1}: {_around(old, at)} then, {_around(new, at)} now"
            )
    return "the messages are the same; the tools that were offered, or the picture, are not"


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return str(content or "")


def _around(text: str, at: int) -> str:
    return repr(text[max(at - AROUND, 0) : at + AROUND])
