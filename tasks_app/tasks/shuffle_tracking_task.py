"""shuffle_tracking: shapes in line swap positions; which one is where in the end?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from tasks_app.canvas.descriptions import shape_count
from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.answers import judge_shape
from tasks_app.tasks.draw import draw, pick
from tasks_app.tasks.lines import X, Y, line_up
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict
from tasks_app.tasks.wording import listing, ordinal

_ENDS = {X: ("left", "right"), Y: ("bottom", "top")}

Swap = tuple[int, int]
"""Two shapes that swap positions, by their first places in the line."""


class ShuffleTrackingTask(Task):
    """Lines shapes up, swaps pairs of three or four of them, and asks which shape is at the place of one of these.

    Swaps of few shapes overlap, so that all of them matter. With three swaps of three shapes, each of the three is at
    the asked place equally often, whatever one sentence says. Two swaps of three leave none at its place, so one of two
    others is there; half the questions are about the place of the one that only the first swap names, so that a single
    sentence does not tell which. The examples ask about places that no swap concerns,
    which tells nothing of the others; in a line without such places, about one other place. Shapes that share a
    coordinate with another are left out of the line, which the text then says.
    """

    name = "shuffle_tracking"
    instruction = "Answer for the order after all swaps, with the size, color and shape of the shape, in this order."
    requirement = "three shapes of kinds that are not repeated, not level with each other"

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        axis, line = self._line(shapes)
        if len(line) < 3 or selected_answer is not None:
            return []
        moving = draw(self.rng, range(len(line)), min(len(line), 3 if self.tracking_steps <= 3 else 4))
        swaps, place_of = self._swaps(len(line), moving)
        names = [shape.name for shape in line]
        self.description = self._tell(names, swaps, axis, len(shapes))
        self.difficulty = {"tracking_steps": len(swaps), "line_length": len(line)}
        scope = "" if len(line) == len(shapes) else f" of these {len(line)}"
        only_first = [it for it in moving if len(swaps) == 2 and it not in swaps[1]]
        place = pick(self.rng, [*moving, *only_first])
        places = [(place, self.rng.random() < 0.5)]
        still = [it for it in range(len(line)) if it not in moving]
        others = still or [pick(self.rng, [it for it in range(len(line)) if it != place])]
        places += draw(self.rng, [(other, low) for other in others for low in (True, False)], 2)
        return [
            (f"What shape is {_position(each, len(line), low, axis)}{scope}?", names[place_of.index(each)])
            for each, low in places
        ]

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_shape(expected, actual, self.question)

    def _line(self, shapes: Sequence[Shape]) -> tuple[int, list[Shape]]:
        """Return an axis and the line along it: the axis that keeps more shapes, either one if they keep as many."""
        first, second = (X, Y) if self.rng.random() < 0.5 else (Y, X)
        line = line_up(shapes, first, self.rng)
        if len(line) < len(shapes) and len(other := line_up(shapes, second, self.rng)) > len(line):
            return second, other
        return first, line

    def _swaps(self, length: int, moving: Sequence[int]) -> tuple[list[Swap], list[int]]:
        """Draw swaps of the moving shapes, none of which undoes the one before; also return each shape's last place."""
        pairs = list(combinations(moving, 2))
        swaps: list[Swap] = []
        place_of = list(range(length))
        for _ in range(self.tracking_steps):
            first, second = pick(self.rng, [pair for pair in pairs if pair not in swaps[-1:]])
            place_of[first], place_of[second] = place_of[second], place_of[first]
            swaps.append((first, second))
        return swaps, place_of

    def _tell(self, names: list[str], swaps: list[Swap], axis: int, n_shapes: int) -> str:
        low, high = _ENDS[axis]
        rising = self.rng.random() < 0.5
        start, end = (low, high) if rising else (high, low)
        who = "the shapes" if len(names) == n_shapes else f"{len(names)} of the shapes"
        line = listing(names if rising else names[::-1])
        sentences = [shape_count(n_shapes), f"From {start} to {end}, {who} are {line}. "]
        for pair in swaps:
            first, second = pair if self.rng.random() < 0.5 else pair[::-1]
            sentences.append(f"The {names[first]} and the {names[second]} swap positions. ")
        return "".join(sentences)


def _position(place: int, length: int, from_low_end: bool, axis: int) -> str:
    low, high = _ENDS[axis]
    return f"{ordinal(place + 1)} from the {low}" if from_low_end else f"{ordinal(length - place)} from the {high}"
