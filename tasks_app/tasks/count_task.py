"""count: "How many small red circles are there?"."""

from __future__ import annotations

from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.attributes import PATTERNS, bits_by_count, draw_pattern, plural
from tasks_app.tasks.draw import pick
from tasks_app.tasks.judging import judge_count
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict

_TEXTS = tuple(f"How many {plural(pattern)} are there?" for pattern in PATTERNS)


class CountTask(Task):
    """Asks how many shapes with some attributes are on the canvas.

    The count is drawn first, then the form of the question, so that 0 is not the answer to nearly everything.
    """

    name = "count"
    instruction = "Answer with a number in digits; it may be 0."
    requirement = "a canvas on which the wanted count can be had"

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        bits = bits_by_count(shapes)
        questions: list[Question] = []
        for wanted in (selected_answer, None, None):
            count = pick(self.rng, sorted(bits)) if wanted is None else int(wanted)
            if count not in bits:
                return []
            number = draw_pattern(self.rng, bits[count])
            bits[count] ^= 1 << number
            if not bits[count]:
                del bits[count]
            questions.append((_TEXTS[number], count))
        return questions

    def select_expected_answer(self, i: int, n: int) -> Answer | None:
        return i % 4

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_count(expected, actual)
