"""count: "How many small red circles are there?"."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tasks_app.canvas.shapes import KINDS, Shape
from tasks_app.tasks.answers import judge_count
from tasks_app.tasks.attributes import FORM_BITS, PATTERNS, SIDES, Pattern, bits_by_count, draw_pattern, matches, noun
from tasks_app.tasks.draw import pick
from tasks_app.tasks.lines import nameable
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict

_TEXTS = tuple(f"How many {noun(pattern)}s are there?" for pattern in PATTERNS)
_COUNTS = 4
"""The answers 0 to 3 are wanted equally often."""


class CountTask(Task):
    """Asks how many shapes with some attributes are on the canvas.

    The count is drawn first, so that 0 is not the answer to nearly everything, then the form of the question, out of
    those that have the most different counts on this canvas. With more than half the kinds on it, any form would give
    the count away (of 24 shapes, 2 are red circles). There, the questions are about the shapes on one side of another
    shape, with attributes that four shapes or more have: then each of them has all four counts.
    """

    name = "count"
    instruction = "Answer with a number in digits; it may be 0."
    requirement = "a canvas on which the wanted count can be had"

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        if len(shapes) > len(KINDS) // 2:
            return self._count_parts(shapes, selected_answer)
        bits = bits_by_count(shapes)
        questions: list[Question] = []
        for wanted in (selected_answer, None, None):
            count = pick(self.rng, sorted(bits)) if wanted is None else int(wanted)
            if count not in bits:
                return []
            variety = {form: sum(form & of_count != 0 for of_count in bits.values()) for form in FORM_BITS}
            most = max(variety[form] for form in FORM_BITS if form & bits[count])
            number = draw_pattern(self.rng, bits[count], [form for form in FORM_BITS if variety[form] == most])
            bits[count] ^= 1 << number
            if not bits[count]:
                del bits[count]
            questions.append((_TEXTS[number], count))
        return questions

    def select_expected_answer(self, i: int, n: int) -> Answer | None:
        return self.balanced(i, range(_COUNTS))

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_count(expected, actual, self.question)

    def _count_parts(self, shapes: Sequence[Shape], selected_answer: Answer | None) -> list[Question]:
        crowded = sum(bits for count, bits in bits_by_count(shapes).items() if count >= _COUNTS)
        questions: dict[str, Answer] = {}
        for wanted in (selected_answer, None, None):
            count = int(self.rng.random() * _COUNTS) if wanted is None else int(wanted)
            pattern = PATTERNS[draw_pattern(self.rng, crowded)]
            texts = [text for text in _part_texts(shapes, pattern, count) if text not in questions]
            if not texts:
                return []
            questions[pick(self.rng, texts)] = count
        return list(questions.items())


def _part_texts(shapes: Sequence[Shape], pattern: Pattern, count: int) -> list[str]:
    """Return all questions about this pattern on one side of a shape that have this answer."""
    matching = [shape.center for shape in shapes if matches(pattern, shape.kind)]
    texts = []
    for words, axis, sign in SIDES:
        places = [math.inf, *sorted((sign * center[axis] for center in matching), reverse=True), -math.inf]
        if count + 1 < len(places):
            texts += [
                f"How many {noun(pattern)}s have their center {words} that of the {reference.name}?"
                for reference in nameable(shapes)
                if places[count + 1] <= sign * reference.center[axis] < places[count]
            ]
    return texts
