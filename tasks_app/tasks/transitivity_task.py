"""transitivity: a chain of neighbors is described, and the question is about two shapes that are not neighbors."""

from __future__ import annotations

from functools import cache
from itertools import combinations

from tasks_app.canvas.descriptions import shape_count
from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.draw import draw, pick
from tasks_app.tasks.judging import judge_directions
from tasks_app.tasks.lines import X, Y, line_up
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict

ANSWERS = ("Above", "Left", "Below", "Right")
_WORDS = {X: ("Left", "Right"), Y: ("Below", "Above")}
_PHRASES = {"Left": "To the left of", "Right": "To the right of", "Below": "Below", "Above": "Above"}


class TransitivityTask(Task):
    """Describes shapes in line, each by its neighbor, and asks how two that are at least two steps apart lie.

    The examples are about other such pairs. In a line of three there is only one, so its examples ask about neighbors;
    the evaluated question never does.
    """

    name = "transitivity"
    instruction = "Answer with one word: Left, Right, Above or Below."
    requirement = "three shapes of kinds that are not repeated, no two of them level with each other"
    guess_rate = 1 / len(ANSWERS)

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        axes = [axis for axis, words in _WORDS.items() if selected_answer is None or selected_answer in words]
        lines = [(axis, line) for axis in axes if len(line := line_up(shapes, axis, self.rng)) >= 3]
        if not lines:
            return []
        axis, line = pick(self.rng, lines)
        answer = pick(self.rng, _WORDS[axis]) if selected_answer is None else str(selected_answer)
        self.description = self._describe(line, axis, len(shapes))
        steps = 2 + int(self.rng.random() * (len(line) - 2))
        start = int(self.rng.random() * (len(line) - steps))
        evaluated = (start, start + steps)
        self.difficulty = {"inference_steps": steps, "line_length": len(line)}
        others = [pair for pair in _example_pairs(len(line)) if pair != evaluated]
        return [
            _question(line, evaluated, answer),
            *(_question(line, pair, pick(self.rng, _WORDS[axis])) for pair in draw(self.rng, others, 2)),
        ]

    def select_expected_answer(self, i: int, n: int) -> Answer | None:
        return ANSWERS[i % len(ANSWERS)]

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_directions(expected, actual)

    def _describe(self, line: list[Shape], axis: int, n_shapes: int) -> str:
        """Start anywhere in the line and tell it shape by shape, at either end of what was told."""
        low = high = int(self.rng.random() * len(line))
        sentences = [shape_count(n_shapes), f"There is a {line[low].name} in the canvas. "]
        downward, upward = (_PHRASES[word] for word in _WORDS[axis])
        while high - low < len(line) - 1:
            if low == 0 or (high < len(line) - 1 and self.rng.random() < 0.5):
                sentences.append(f"{upward} the {line[high].name} is a {line[high + 1].name}. ")
                high += 1
            else:
                sentences.append(f"{downward} the {line[low].name} is a {line[low - 1].name}. ")
                low -= 1
        return "".join(sentences)


@cache
def _example_pairs(length: int) -> tuple[tuple[int, int], ...]:
    """Return the places examples may ask about: two steps apart or more, and any pair in a line of three."""
    pairs = combinations(range(length), 2)
    return tuple(pairs) if length == 3 else tuple((low, high) for low, high in pairs if high - low > 1)


def _question(line: list[Shape], places: tuple[int, int], answer: str) -> Question:
    low, high = (line[place].name for place in places)
    shape, other = (high, low) if answer in ("Above", "Right") else (low, high)
    return f"Where is the {shape} relative to the {other}?", answer
