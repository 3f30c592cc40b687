"""Whether the prompts of a run, rebuilt from what is stored, are still the ones that were sent.

Every result stores the hash of its prompt; a run stores one over all of them, in order. Both are read in batches, so
memory does not grow with the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from django.db.models import F

from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.work_items import Prompt
from benchmarks.models import Result, Run, Task, Transcript
from benchmarks.providers.base import Message

BATCH = 500
MAX_SHOWN = 10
CONTEXT = 40
"""Characters shown on each side of the place where two prompts differ."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One result whose prompt has changed. ``where`` describes the change."""

    position: int
    task_id: str
    repeat: int
    stored: str
    rebuilt: str | None
    """``None`` if the prompt can no longer be built."""
    where: str


@dataclass(slots=True)
class Verification:
    """``unasked`` results were never sent, so there is nothing to compare. A run that has not ended has no hash."""

    checked: int = 0
    unasked: int = 0
    differing: int = 0
    first_differences: list[Difference] = field(default_factory=list)
    run_hash_stored: str = ""
    run_hash_now: str = ""

    @property
    def holds(self) -> bool:
        """Whether every prompt is unchanged, and the run's own hash with them."""
        return self.differing == 0 and self.run_hash_stored in ("", self.run_hash_now)


def verify_prompts(run: Run, max_shown: int = MAX_SHOWN) -> Verification:
    """Rebuild every prompt of the run and compare its hash with the stored one; describes the first differences."""
    verification = Verification(run_hash_stored=run.prompt_hash)
    prompts = _Prompts(run)
    total = hashlib.sha256()
    for result in _results(run):
        stored = result.stored_hash  # type: ignore[attr-defined]  # annotated by _results
        if not stored:
            verification.unasked += 1
            continue
        verification.checked += 1
        prompt = prompts.of(result.task)
        rebuilt = prompt.hash() if prompt else None
        total.update((rebuilt or "").encode())
        if rebuilt == stored:
            continue
        verification.differing += 1
        if len(verification.first_differences) < max_shown:
            where = _change(result, prompt) if prompt else f"the prompt can no longer be built: {prompts.problem}"
            verification.first_differences.append(
                Difference(result.position, result.task.task_id, result.repeat, stored, rebuilt, where)
            )
    verification.run_hash_now = total.hexdigest() if verification.checked else ""
    return verification


def write_prompt_hash(run_id: int) -> None:
    """Store SHA-256 over the hashes of all prompts that were sent, in order; empty if none was.

    Call this when a run completes, after every result was sent.
    """
    sent = Transcript.objects.filter(result__run=run_id).exclude(prompt_hash="").order_by("result__position")
    total, any_sent = hashlib.sha256(), False
    for prompt_hash in sent.values_list("prompt_hash", flat=True).iterator(chunk_size=5_000):
        total.update(prompt_hash.encode())
        any_sent = True
    Run.objects.filter(pk=run_id).update(prompt_hash=total.hexdigest() if any_sent else "")


class _Prompts:
    """The rebuilt prompts of one run. Repeats of a task are consecutive, so the latest prompt is cached."""

    def __init__(self, run: Run) -> None:
        self._builder = PromptBuilder(run)
        self._task: int | None = None
        self._prompt: Prompt | None = None
        self.problem = ""

    def of(self, task: Task) -> Prompt | None:
        """``None`` if it cannot be built; ``problem`` then says why."""
        if task.pk != self._task:
            self._task, self.problem = task.pk, ""
            try:
                self._prompt = self._builder.prompt(task)
            except Exception as error:  # whatever is missing for this task, the others still have to be checked
                self._prompt, self.problem = None, f"{type(error).__name__}: {error}"
        return self._prompt


def _results(run: Run) -> Iterator[Result]:
    """All results in order with ``stored_hash``, in batches, without their transcripts."""
    related = ("task", "task__question__canvas") if run.representation else ("task",)
    rows = Result.objects.filter(run=run).select_related(*related).annotate(stored_hash=F("transcript__prompt_hash"))
    after = -1
    while batch := list(rows.filter(position__gt=after).order_by("position")[:BATCH]):
        yield from batch
        after = batch[-1].position


def _change(result: Result, prompt: Prompt) -> str:
    """The first place where the messages differ. The sent ones continue with the conversation after the prompt."""
    sent = Transcript.objects.values_list("messages", flat=True).get(result=result.pk)
    if not sent:
        return "unknown place: the text that was sent is no longer stored"
    for number, (then, now) in enumerate(zip_longest(sent[: len(prompt.messages)], prompt.messages), 1):
        if then is None:
            return f"message {number} is new"
        if then["role"] != now["role"]:
            return f"the role of message {number} changed from {then['role']} to {now['role']}"
        old, new = _text(then), _text(now)
        if old != new:
            pairs = enumerate(zip(old, new, strict=False))
            at = next((place for place, (a, b) in pairs if a != b), min(len(old), len(new)))
            return (
                f"message {number} ({now['role']}), character {at + 1}: {_excerpt(old, at)} then, "
                f"{_excerpt(new, at)} now"
            )
    return "the messages are equal; the tools or the image differ"


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return str(content or "")


def _excerpt(text: str, at: int) -> str:
    return repr(text[max(at - CONTEXT, 0) : at + CONTEXT])
