"""What the second solver makes of a document: which answers it finds wrong, or not determined by the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tasks_app.loader import CanvasDocument, build_prompt
from tasks_app.solver.reading import Unsolvable
from tasks_app.solver.solving import solve
from tasks_app.tasks.task import Question

SURE_REPRESENTATION = "coordinates"
"""Gives every center, so it decides every question about a canvas; relations in imported texts compare edges."""

KNOWN_TASKS = frozenset({"existence", "count", "transitivity", "coordinate", "existence_tracking", "shuffle_tracking"})
"""The task classes whose questions the solver can read. It has no opinion on those of another class."""


class Audit(StrEnum):
    AGREES = "agrees"
    WRONG = "wrong"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class AnswerAudit:
    """The solver's finding on one question. `solved` is its own answer, None where the text determines none."""

    task_name: str
    index: int
    question: str
    answer: str
    solved: str | None
    audit: Audit
    note: str


def audit_document(
    document: CanvasDocument, representation: str = SURE_REPRESENTATION, *, examples: bool = True
) -> tuple[AnswerAudit, ...]:
    """Solve every question (or, without `examples`, the evaluated ones) that the solver can read in a document.

    A class with a text of its own is judged by that text.
    """
    return tuple(
        _audit_question(document, name, index, question, representation)
        for name, questions in document.questions.items()
        if name in KNOWN_TASKS
        for index, question in enumerate(questions if examples else questions[:1])
    )


def _audit_question(
    document: CanvasDocument, name: str, index: int, question: Question, representation: str
) -> AnswerAudit:
    answer = str(question[1]).strip()
    solved, reason = _solved(document, name, question, representation)
    if solved is None:
        audit, note = Audit.UNDETERMINED, reason
    elif solved == answer:
        audit, note = Audit.AGREES, ""
    else:
        audit, note = Audit.WRONG, f"the answer is {solved}"
        if name == "coordinate" and _solved(document, name, question, "full")[0] == answer:
            note += "; the relations in the text compare edges, not centers"
    return AnswerAudit(name, index, question[0], answer, solved, audit, note)


def _solved(document: CanvasDocument, name: str, question: Question, representation: str) -> tuple[str | None, str]:
    """Return the solver's answer, or None and why it has none."""
    alone = replace(document, questions={name: (question,)})
    try:
        return solve(build_prompt(alone, name, representation).text), ""
    except Unsolvable as error:
        return None, str(error)


@dataclass(slots=True)
class SetAudit:
    """A set's evaluated questions of one task class, counted."""

    questions: int = 0
    not_applicable: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    audits: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    """Questions whose prompt an earlier canvas had already."""

    @property
    def majority_score(self) -> float | None:
        """Share of correct answers of who always gives the most frequent one; None without questions."""
        return max(self.answers.values()) / self.questions if self.questions else None

    @property
    def agreement(self) -> float | None:
        """Share of questions to which the solver gives the same answer; None without questions."""
        return self.audits[Audit.AGREES] / self.questions if self.questions else None


def audit_set(documents: Iterable[CanvasDocument], representation: str = SURE_REPRESENTATION) -> dict[str, SetAudit]:
    """Count answers, duplicates and the solver's findings over the evaluated questions of a set.

    By task class, of those whose questions the solver can read.
    """
    audits: dict[str, SetAudit] = {}
    seen: set[int] = set()
    for document in documents:
        findings = {finding.task_name: finding for finding in audit_document(document, representation, examples=False)}
        for name in filter(KNOWN_TASKS.__contains__, document.questions):
            counted = audits.setdefault(name, SetAudit())
            if name not in findings:
                counted.not_applicable += 1
                continue
            counted.questions += 1
            counted.answers[findings[name].answer] += 1
            counted.audits[findings[name].audit] += 1
            prompt = hash(build_prompt(document, name, representation).text)
            counted.duplicates += prompt in seen
            seen.add(prompt)
    return audits


def problems(findings: Iterable[AnswerAudit]) -> Iterator[AnswerAudit]:
    """Yield the findings that do not agree with the answer."""
    return (finding for finding in findings if finding.audit is not Audit.AGREES)
