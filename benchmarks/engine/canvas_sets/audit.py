"""Audit a canvas set: verdicts of a second solver on all answers, distribution of the answers, scores of guessing.

The audit is stored with the set, so pages only read it. ``CanvasSet.audit`` is::

    {"canvases": number audited, "duplicate_canvases": number with the same shapes as an earlier canvas,
     "representation": input of the solver, "tasks": {class: see ``_task_audit``},
     "faults": [{"fault", "verdict", "meaning", "count"}] of an imported set}
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

from django.db import transaction
from django.db.models import Count

from benchmarks.engine.canvas_sets.rows import stored_documents
from benchmarks.engine.canvas_sets.shortcuts import probe_class
from benchmarks.engine.sql import update_rows
from benchmarks.models import Task
from tasks_app.canvas.audit import audit as find_faults
from tasks_app.canvas.faults import Fault, Finding
from tasks_app.canvas.faults import Verdict as FaultVerdict
from tasks_app.canvas.original import OriginalCanvas
from tasks_app.loader import CanvasDocument
from tasks_app.models import Canvas, CanvasSet, Question
from tasks_app.shortcuts import Probe
from tasks_app.solver.audit import SURE_REPRESENTATION, AnswerAudit, Audit, audit_document
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.time_limit import TookTooLong

BATCH = 500
MAX_ANSWERS = 24
MAX_GUESSES = 200

Progress = Callable[[int, int], None]
"""Called with the number of canvases done, and the number in all."""


def store_audit(
    set_id: int, may_continue: Callable[[], bool], progress: Progress | None = None, *, only_new: bool = False
) -> dict[str, object] | None:
    """Audit a set, store its audit and return it; ``None`` if ``may_continue``, called before every batch, says no.

    The caller holds the lease on the set. ``only_new`` audits only the canvases that a generated set has gained since.
    """
    canvas_set = CanvasSet.objects.get(pk=set_id)
    stored = CanvasSet.objects.filter(pk=set_id)
    generated = canvas_set.origin == CanvasSet.Origin.GENERATED
    faults: Counter[Fault] = Counter()
    for start in range(canvas_set.audited if only_new and generated else 0, canvas_set.count, BATCH):
        if not may_continue():
            return None
        end = min(start + BATCH, canvas_set.count)
        rows = [
            row
            for canvas, document in stored_documents(canvas_set, start, end)
            for row in _audited(canvas, document, canvas_set, faults)
        ]
        with transaction.atomic():
            update_rows(Question, ("audit", "audit_note"), rows)
        # An audit that is interrupted continues here. That of an imported set starts over, to count all its faults,
        # and the last batch counts only together with the figures below.
        if generated and end < canvas_set.count:
            stored.update(audited=end)
        if progress is not None:
            progress(end, canvas_set.count)
    canvases = Canvas.objects.filter(canvas_set=canvas_set).order_by()
    audit = {
        "canvases": canvas_set.count,
        "duplicate_canvases": canvases.count() - canvases.values("shapes").distinct().count(),
        "representation": SURE_REPRESENTATION,
        "tasks": _task_audits(canvas_set),
        "faults": [
            {"fault": it.slug, "verdict": it.verdict.value, "meaning": it.meaning, "count": n}
            for it, n in faults.most_common()
        ],
    }
    stored.update(audit=audit, audited=canvas_set.count)
    return audit


def _audited(
    canvas: Canvas, document: CanvasDocument, canvas_set: CanvasSet, faults: Counter[Fault]
) -> Iterable[tuple[str, str, int]]:
    """Rows (audit, note, question ID) of one canvas. Adds the faults of an imported canvas to ``faults``."""
    findings: tuple[Finding, ...] = ()
    if canvas_set.origin == CanvasSet.Origin.IMPORTED:
        findings = find_faults(OriginalCanvas(document.shapes, document.descriptions, document.questions))
        faults.update(finding.fault for finding in findings)
    solved = {it.task_name: it for it in audit_document(document, examples=False)}
    for question in canvas.questions.all():
        name = question.task_name
        places = (f"questions.{name}[0]", f"questions.{name}")
        at_question = [finding for finding in findings if finding.place in places]
        audit, note = _verdict(solved.get(name), at_question)
        yield audit, note, question.pk


def _verdict(solved: AnswerAudit | None, findings: Iterable[Finding]) -> tuple[str, str]:
    """The more severe verdict of solver and fault search on an answer, and the notes of both."""
    verdicts = [] if solved is None else [solved.audit]
    notes = [f"{solved.note[0].upper()}{solved.note[1:]}."] if solved is not None and solved.note else []
    for finding in findings:
        notes.append(finding.fault.meaning)
        if finding.fault.verdict is FaultVerdict.WRONG:
            verdicts.append(Audit.WRONG)
        elif finding.fault.verdict is FaultVerdict.UNDETERMINED:
            verdicts.append(Audit.UNDETERMINED)
    severest = next((it for it in (Audit.WRONG, Audit.UNDETERMINED, Audit.AGREES) if it in verdicts), None)
    return severest.value if severest else "", " ".join(notes)


def _task_audits(canvas_set: CanvasSet) -> dict[str, dict[str, object]]:
    questions = Question.objects.filter(canvas__canvas_set=canvas_set).order_by()
    audits: dict[str, Counter[str]] = defaultdict(Counter)
    for name, audit, n in questions.values_list("task_name", "audit").annotate(n=Count("pk")):
        audits[name][audit] = n
    tasks = Task.objects.filter(version__dataset__canvas_set=canvas_set).order_by()
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    for name, answer, n in tasks.values_list("group", "expected_output").annotate(n=Count("pk")):
        answers[name][answer] = n
    distinct = dict(tasks.values_list("group").annotate(n=Count("content_hash", distinct=True)))
    return {
        name: _task_audit(name, answers[name], audits[name])
        | _reached(probe_class(canvas_set, name), probe_class(canvas_set, name, examples=True))
        | {"not_applicable": canvas_set.not_applicable.get(name, 0)}
        | {"duplicates": answers[name].total() - distinct.get(name, 0)}
        for name in canvas_set.task_classes
    }


def _task_audit(name: str, answers: Counter[str], audits: Mapping[str, int]) -> dict[str, object]:
    """One task class of a set. Scores are means over its questions, by the scoring of the class.

    ``unchecked``: questions of classes that the second solver does not know. ``duplicates``: questions equal to an
    earlier one of the set, with equal shapes. ``answers``: [answer, count], the most frequent first. The random score
    is the expected score of guessing uniformly among the set's answers; None above ``MAX_GUESSES`` answers.
    """
    ordered = sorted(answers.items(), key=lambda counted: (-counted[1], counted[0]))
    return {
        "asked": answers.total(),
        "agrees": audits.get(Audit.AGREES, 0),
        "wrong": audits.get(Audit.WRONG, 0),
        "undetermined": audits.get(Audit.UNDETERMINED, 0),
        "unchecked": audits.get("", 0),
        "distinct_answers": len(answers),
        "answers": [list(counted) for counted in ordered[:MAX_ANSWERS]],
        "majority_answer": ordered[0][0] if ordered else None,
        "majority_score": guess_score(name, answers, [ordered[0][0]]) if ordered else None,
        "random_score": guess_score(name, answers, list(answers)) if 0 < len(answers) <= MAX_GUESSES else None,
    }


def _reached(blind: Probe | None, by_examples: Probe | None) -> dict[str, object]:
    """What the best rule scores that does not see the canvas, and the best that uses the examples of few-shot prompts.

    ``blind_by_shapes`` has [number of shapes, score, n].
    """
    return {
        "blind_score": blind.score if blind else None,
        "blind_rule": blind.best if blind else "",
        "blind_by_shapes": [[n, *scored] for n, scored in blind.by_shapes.items()] if blind else [],
        "examples_score": by_examples.score if by_examples else None,
        "examples_rule": by_examples.best if by_examples else "",
    }


def guess_score(name: str, answers: Mapping[str, int], guesses: Iterable[str]) -> float | None:
    """The mean score of guessing uniformly among ``guesses``, if answer ``a`` is the expected one ``answers[a]`` times.

    Unreadable guesses have no score. None if no guess has a score, or the class is not registered. Raises
    ``TookTooLong``, as each further guess would.
    """
    task_class = REGISTERED_TASKS.get(name)
    if task_class is None:
        return None
    total = scored = 0.0
    for guess in guesses:
        for answer, n in answers.items():
            try:
                if (value := task_class.verdict(answer, guess).value) is not None:
                    total += n * value
                    scored += n
            except TookTooLong:
                raise
            except Exception:  # noqa: S110 - a task class added by a user may raise anything; no score in a run either
                pass
    return total / scored if scored else None
