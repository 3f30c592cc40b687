"""existence: "Is there a small red circle?"."""

from __future__ import annotations

from collections.abc import Sequence

from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.answers import judge_yes_no
from tasks_app.tasks.attributes import (
    ALL_BITS,
    FORM_BITS,
    PATTERNS,
    draw_part,
    draw_pattern,
    matched_bits,
    noun,
    singular,
)
from tasks_app.tasks.draw import pick
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict


class ExistenceTask(Task):
    """Asks whether a shape with some attributes is on the canvas.

    Only forms of question are used that have both answers on this canvas: of five shapes or more, some circle is nearly
    always there, and "Is there a circle?" would be answered by its form. With all 24 kinds there is no such form, and
    the questions are about the part of the canvas on one side of a shape. The examples have other forms than the
    question, if there are any: were they to share the few patterns of a form, they would tell which one is left for it.
    If only one form has both answers, as with 22 and 23 shapes, as many patterns are left for examples whatever the
    answer is.
    """

    name = "existence"
    instruction = "Answer with Yes or No."
    requirement = "a canvas on which the wanted answer can be had"
    guess_rate = 1 / 2

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        where, asked_of = "", shapes
        if not (forms := _open_forms(shapes)):
            side, _, asked_of = draw_part(self.rng, shapes)
            where, forms = f" with its center {side}", _open_forms(asked_of)
        present = matched_bits(shape.kind for shape in asked_of)
        bits = {"Yes": present, "No": ALL_BITS & ~present}
        questions: list[Question] = []
        for wanted in (selected_answer, None, None):
            possible = [answer for answer in ("Yes", "No") if bits[answer] & sum(forms)]
            answer = pick(self.rng, possible) if wanted is None else str(wanted)
            if answer not in possible:
                return []
            number = draw_pattern(self.rng, bits[answer], forms)
            bits[answer] ^= 1 << number
            if not questions:
                others = [form for form in forms if not form >> number & 1]
                if not others:
                    other = "No" if answer == "Yes" else "Yes"
                    bits[other] ^= 1 << draw_pattern(self.rng, bits[other], forms)
                forms = others or forms
            words = noun(PATTERNS[number]) if where else singular(PATTERNS[number])
            questions.append((f"Is there a {words}{where}?", answer))
        return questions

    def select_expected_answer(self, i: int, n: int) -> Answer | None:
        return self.balanced(i, ("Yes", "No"))

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_yes_no(expected, actual, self.question)


def _open_forms(shapes: Sequence[Shape]) -> list[int]:
    """Return the forms that have patterns that some of the shapes match, and patterns that none does."""
    present = matched_bits(shape.kind for shape in shapes)
    return [form for form in FORM_BITS if form & present and form & ~present]
