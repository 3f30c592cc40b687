"""existence_tracking: shapes are added and removed; is there one with some attributes in the end?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tasks_app.canvas.shapes import KIND_NAMES, KINDS, Kind, Shape
from tasks_app.tasks.answers import judge_yes_no
from tasks_app.tasks.attributes import (
    ALL_BITS,
    FORM_BITS,
    PATTERNS,
    bits_by_count,
    draw_part,
    draw_pattern,
    matched_bits,
    matches,
    noun,
)
from tasks_app.tasks.draw import pick, shuffled
from tasks_app.tasks.lines import nameable
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict

_TOUCHED = 3 / 4
"""Share of the questions that the changes are about."""


class ExistenceTrackingTask(Task):
    """Describes changes to a canvas and asks whether a shape with some attributes is there afterwards.

    Most questions are about attributes of one shape that is removed, for good. Whether another shape has them, only the
    canvas says. The other questions are about attributes of shapes that the changes never mention. For either, only
    forms of question are used that have both answers on this canvas. So the changes alone do not give the answer, nor
    does the canvas alone. If there are no such forms, because every kind is there, the question is about the part of
    the canvas on one side of a shape. A kind that the canvas holds twice is neither changed nor asked about.
    """

    name = "existence_tracking"
    instruction = "Answer with Yes or No, for the canvas after all these changes."
    requirement = "a shape whose kind is not repeated on the canvas"
    guess_rate = 1 / 2

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        if not nameable(shapes):
            return []
        answer = str(selected_answer) if selected_answer else pick(self.rng, ("Yes", "No"))
        fixed = {shape.kind for shape in shapes} - {shape.kind for shape in nameable(shapes)}
        where, asked_of = "", shapes
        drawn = self._draw(shapes, answer, fixed)
        if drawn is None:
            side, reference, asked_of = draw_part(self.rng, shapes)
            where = f" with its center {side}"
            fixed.add(reference.kind)
            drawn = self._draw(asked_of, answer, fixed)
        if drawn is None:
            return []
        number, removed = drawn
        pattern = PATTERNS[number]
        others = [kind for kind in KINDS if kind not in fixed and not matches(pattern, kind)]
        steps = [*removed, *(pick(self.rng, others) for _ in range(self.tracking_steps - len(removed)))]
        after = self._describe(shuffled(self.rng, steps), {shape.kind for shape in shapes})
        question = f"Is there a {noun(pattern)}{where} in the canvas? "  # published canvases have the space at the end
        return [(question, answer), *self._examples(after, number)]

    def select_expected_answer(self, i: int, n: int) -> Answer | None:
        return self.balanced(i, ("Yes", "No"))

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_yes_no(expected, actual, self.question)

    def _draw(self, shapes: Sequence[Shape], answer: str, fixed: Collection[Kind]) -> tuple[int, list[Kind]] | None:
        """Draw a pattern, and the changes of the shape it is about. None if no form has both answers."""
        bits = bits_by_count(shapes)
        allowed = ALL_BITS & ~matched_bits(shape.kind for shape in shapes if shape.kind in fixed)
        none, single = bits.get(0, 0) & allowed, bits.get(1, 0) & allowed
        several = allowed & ~none & ~single
        touched = {"No": single, "Yes": several}
        untouched = {"No": none, "Yes": single | several}
        first_touched = self.rng.random() < _TOUCHED
        for patterns in (touched, untouched) if first_touched else (untouched, touched):
            forms = [form for form in FORM_BITS if form & patterns["Yes"] and form & patterns["No"]]
            if not forms:
                continue
            number = draw_pattern(self.rng, patterns[answer], forms)
            if patterns is untouched:
                return number, []
            kind = pick(self.rng, [shape.kind for shape in shapes if matches(PATTERNS[number], shape.kind)])
            # Removed, or removed, added and removed again: the last change that mentions it is the same for both.
            return number, [kind] * (3 if self.tracking_steps >= 3 and self.rng.random() < 0.5 else 1)
        return None

    def _describe(self, changed: Sequence[Kind], present: set[Kind]) -> set[Kind]:
        """Put the changes into words; return the kinds that are there after them."""
        sentences = []
        for kind in changed:
            name = KIND_NAMES[kind]
            sentences.append(f"The {name} is removed from" if kind in present else f"A {name} is added to")
            present ^= {kind}
        self.description = "".join(f"{sentence} the canvas. " for sentence in sentences)
        self.difficulty = {"tracking_steps": len(changed)}
        return present

    def _examples(self, after: Collection[Kind], bit: int) -> list[Question]:
        present = matched_bits(after) & ~(1 << bit)
        bits = {"Yes": present, "No": ALL_BITS & ~present & ~(1 << bit)}
        questions: list[Question] = []
        for wanted in shuffled(self.rng, ("Yes", "No")):
            answer = wanted if bits[wanted] else ("No" if wanted == "Yes" else "Yes")
            number = draw_pattern(self.rng, bits[answer])
            bits[answer] ^= 1 << number
            questions.append((f"Is there a {noun(PATTERNS[number])} in the canvas? ", answer))
        return questions
