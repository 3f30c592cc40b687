"""Find the errors of an imported canvas, and which fault of the original generator each is.

Answers are computed again from what their question is about. Descriptions and tasks that the original does not have
are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise

from tasks_app.canvas.descriptions import coordinates, full, partial
from tasks_app.canvas.faults import Fault, Finding, Verdict, along, edge_directions, edges_along, relation_faults
from tasks_app.canvas.geometry import touch
from tasks_app.canvas.original import Answer, OriginalCanvas
from tasks_app.canvas.right_answers import RIGHT_ANSWERS, pair_asked_about
from tasks_app.canvas.shapes import Shape
from tasks_app.canvas.wording import (
    OPPOSITE_SIDES,
    UnreadableError,
    read_changes,
    read_claims,
    read_relation,
    read_shuffle,
    sentences,
    swapped,
)

_QUESTIONS_EACH = 3
_WORDS_TOWARDS = {"top": "above", "bottom": "below", "left": "left", "right": "right"}


def audit(document: OriginalCanvas) -> tuple[Finding, ...]:
    """List every fault of a canvas file: of its shapes, then its descriptions, then its questions."""
    return (*_audit_shapes(document.shapes), *_audit_descriptions(document), *_audit_questions(document))


def worst_verdict(findings: Iterable[Finding], place: str) -> Verdict | None:
    """Return the worst verdict on one place, such as `questions.count[0]`; None without findings."""
    verdicts = {finding.fault.verdict for finding in findings if finding.place == place}
    return next((verdict for verdict in Verdict if verdict in verdicts), None)


def _audit_shapes(shapes: tuple[Shape, ...]) -> Iterator[Finding]:
    for (first_index, first), (second_index, second) in combinations(enumerate(shapes), 2):
        pair = f"{first.name} at {first.center}, {second.name} at {second.center}"
        if touch(first, second):
            yield Finding(f"canvas[{second_index}]", Fault.SHAPES_TOUCH, pair, "")
        if first.kind == second.kind:
            yield Finding(
                f"canvas[{second_index}]", Fault.REPEATED_KIND, pair, f"another kind than canvas[{first_index}]"
            )


def _repeated_names(document: OriginalCanvas) -> set[str]:
    names = [shape.name for shape in document.shapes]
    return {name for name in names if names.count(name) > 1}


def _audit_descriptions(document: OriginalCanvas) -> Iterator[Finding]:
    ours = {"full": full, "partial": partial, "coordinates": coordinates}
    for name, theirs in document.descriptions.items():
        place = f"descriptions.{name}"
        if name in ours:
            yield from _compare(place, theirs, ours[name](document.shapes), document)
        elif name in _OWN_DESCRIPTIONS:
            try:
                yield from _OWN_DESCRIPTIONS[name](place, theirs, document)
            except UnreadableError as error:
                yield Finding(place, Fault.UNEXPLAINED, str(error), "")


def _compare(place: str, theirs: str, ours: str, document: OriginalCanvas) -> Iterator[Finding]:
    """Explain each sentence that differs."""
    if theirs == ours:
        return
    if place != "descriptions.coordinates" and _repeated_names(document):
        yield Finding(place, Fault.REPEATED_KIND, theirs, ours)
        return
    try:
        pairs = list(zip(sentences(theirs), sentences(ours), strict=True))
    except ValueError:
        yield Finding(place, Fault.UNEXPLAINED, theirs, ours)
        return
    by_name = {shape.name: shape for shape in document.shapes}
    for their_sentence, our_sentence in pairs:
        if their_sentence != our_sentence:
            for fault in _explain(their_sentence, our_sentence, by_name):
                yield Finding(place, fault, their_sentence, our_sentence)


def _explain(theirs: str, ours: str, by_name: dict[str, Shape]) -> list[Fault]:
    """Name the faults that turn our relation into theirs: comparing edges must give exactly their words."""
    their_relation, our_relation = read_relation(theirs), read_relation(ours)
    if their_relation and our_relation and their_relation[::2] == our_relation[::2]:
        name, words, reference = their_relation
        shapes = by_name[name], by_name[reference]
        if words == " ".join(filter(None, edge_directions(*shapes))):
            return list(relation_faults(*shapes))
    return [Fault.UNEXPLAINED]


def _audit_order(place: str, name: str, word: str, reference: str, document: OriginalCanvas) -> Iterator[Finding]:
    """Check the statement that `name` is on the `word` side of `reference` against their centers."""
    by_name = {shape.name: shape for shape in document.shapes}
    if name not in by_name or reference not in by_name:
        raise UnreadableError(name if name not in by_name else reference)
    shape, other = by_name[name], by_name[reference]
    ahead = along(word, shape) - along(word, other)
    if ahead > 0:
        return
    if ahead == 0:
        fault = Fault.TIE_IN_ORDERED_LINE
    elif any(first >= second for first, second in zip(edges_along(word, shape), edges_along(word, other), strict=True)):
        fault = Fault.ORDER_BY_EDGES
    else:
        fault = Fault.UNEXPLAINED
    centers = f"{name} at {shape.center}, {reference} at {other.center}"
    yield Finding(place, fault, f"{name} {word} {reference}", centers)


def _audit_transitivity(place: str, text: str, document: OriginalCanvas) -> Iterator[Finding]:
    for name, word, reference in read_claims(text):
        yield from _audit_order(place, name, word, reference, document)


def _audit_shuffle(place: str, text: str, document: OriginalCanvas) -> Iterator[Finding]:
    side, line, swaps = read_shuffle(text)
    word = _WORDS_TOWARDS[OPPOSITE_SIDES[side]]
    for before, after in pairwise(line):
        yield from _audit_order(place, after, word, before, document)
    swapped(line, swaps)


def _audit_changes(place: str, text: str, document: OriginalCanvas) -> Iterator[Finding]:
    present = {shape.name for shape in document.shapes}
    for name, added in read_changes(text):
        if added == (name in present):
            theirs = f"{name} is {'added' if added else 'removed'}"
            yield Finding(place, Fault.IMPOSSIBLE_CHANGE, theirs, "it is there already" if added else "it is not there")
        (present.add if added else present.discard)(name)


_OWN_DESCRIPTIONS = {
    "transitivity": _audit_transitivity,
    "existence_tracking": _audit_changes,
    "shuffle_tracking": _audit_shuffle,
}


def _audit_questions(document: OriginalCanvas) -> Iterator[Finding]:
    for task, items in document.questions.items():
        place = f"questions.{task}"
        if 0 < len(items) < _QUESTIONS_EACH:
            yield Finding(place, Fault.TOO_FEW_QUESTIONS, f"{len(items)} questions", f"{_QUESTIONS_EACH} questions")
        seen: set[str] = set()
        for index, (question, answer) in enumerate(items):
            if question in seen:
                yield Finding(f"{place}[{index}]", Fault.REPEATED_QUESTION, question, "")
            seen.add(question)
            if task in RIGHT_ANSWERS:
                yield from _audit_answer(task, index, question, answer, document)


def _audit_answer(task: str, index: int, question: str, answer: Answer, document: OriginalCanvas) -> Iterator[Finding]:
    place = f"questions.{task}[{index}]"
    if task not in ("existence", "count") and any(name in question for name in _repeated_names(document)):
        yield Finding(place, Fault.REPEATED_KIND, question, "")
        return
    try:
        right = RIGHT_ANSWERS[task](question, document)
    except UnreadableError:
        yield Finding(place, Fault.UNREADABLE_QUESTION, question, "")
        return
    given = answer.strip() if isinstance(answer, str) else answer
    if given != answer:
        yield Finding(place, Fault.TRAILING_SPACE, repr(answer), repr(given))
    if right.answer is None:
        yield Finding(place, Fault.ANSWER_NOT_IN_TEXT, f"{question} {given}", "")
    elif given != right.answer:
        for fault in _answer_faults(task, question, given, document):
            yield Finding(place, fault, f"{question} {given}", str(right.answer))
    if right.effortless and (task != "transitivity" or index == 0):
        fault = Fault.ASKS_ABOUT_NEIGHBORS if task == "transitivity" else Fault.NO_TRACKING_NEEDED
        yield Finding(place, fault, f"{question} {given}", "")


def _answer_faults(task: str, question: str, given: Answer, document: OriginalCanvas) -> list[Fault]:
    """Name why a wrong answer is wrong."""
    if task == "coordinate":
        pair = pair_asked_about(question, document)
        if given == " ".join(filter(None, edge_directions(*pair))).title():
            return list(relation_faults(*pair))
    return [Fault.WRONG_ANSWER if task in ("existence", "count", "coordinate") else Fault.ANSWER_CONTRADICTS_TEXT]
