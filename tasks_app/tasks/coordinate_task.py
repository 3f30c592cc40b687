"""coordinate: "Where is the small red circle relative to the large blue square?"."""

from __future__ import annotations

from itertools import combinations

from tasks_app.canvas.descriptions import direction
from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.answers import judge_directions
from tasks_app.tasks.draw import draw, pick
from tasks_app.tasks.lines import nameable
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict

_SIGNS = {
    "Above Left": (-1, 1),
    "Right": (1, 0),
    "Below Left": (-1, -1),
    "Above": (0, 1),
    "Below Right": (1, -1),
    "Left": (-1, 0),
    "Above Right": (1, 1),
    "Below": (0, -1),
}
"""Direction → signs of the differences in x and y."""

DIRECTIONS = tuple(_SIGNS)

Pair = tuple[Shape, Shape]


class CoordinateTask(Task):
    """Asks in which direction one shape lies from another, by their centers.

    The three questions are about three different pairs: an example that turned the evaluated pair round would give its
    answer away. That takes three shapes.
    """

    name = "coordinate"
    instruction = (
        "Compare the centers of the shapes; x grows to the right, y upward. Answer Left, Right, Above or Below, or "
        "with two of these, such as Above Left, where the centers differ both vertically and horizontally."
    )
    requirement = "three shapes of kinds that are not repeated"
    guess_rate = 1 / len(DIRECTIONS)
    guess_score = 1 / 4  # one exact hit (1) and two half correct ones (½) in eight

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        pairs = list(combinations(nameable(shapes), 2))
        if len(pairs) < 3:
            return []
        evaluated = self._evaluated(pairs, selected_answer)
        if evaluated is None:
            return []
        used = (evaluated, evaluated[::-1])
        examples = [pair for pair in draw(self.rng, pairs, 3) if pair not in used][:2]
        return [_question(evaluated), *(_question(self._turned(pair)) for pair in examples)]

    def select_expected_answer(self, i: int, n: int) -> Answer | None:
        return self.balanced(i, DIRECTIONS)

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_directions(expected, actual, self.question)

    def _turned(self, pair: Pair) -> Pair:
        return pair if self.rng.random() < 0.5 else (pair[1], pair[0])

    def _evaluated(self, pairs: list[Pair], wanted: Answer | None) -> Pair | None:
        if wanted is None:
            return self._turned(pick(self.rng, pairs))
        if wanted not in _SIGNS:
            return None
        sign_x, sign_y = _SIGNS[str(wanted)]
        fitting = []
        for pair in pairs:
            (x, y), (other_x, other_y) = pair[0].center, pair[1].center
            signs = (x > other_x) - (x < other_x), (y > other_y) - (y < other_y)
            if signs == (sign_x, sign_y):
                fitting.append(pair)
            elif signs == (-sign_x, -sign_y):
                fitting.append((pair[1], pair[0]))
        return pick(self.rng, fitting) if fitting else None


def _question(pair: Pair) -> Question:
    shape, other = pair
    return f"Where is the {shape.name} relative to the {other.name}?", direction(shape, other).title()
