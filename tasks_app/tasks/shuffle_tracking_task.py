"""shuffle_tracking: shapes in line swap positions; which one is where in the end?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations

from tasks_app.canvas.descriptions import shape_count
from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.draw import draw, pick
from tasks_app.tasks.judging import judge_shape
from tasks_app.tasks.lines import X, Y, line_up
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict
from tasks_app.tasks.wording import listing, ordinal

_ENDS = {X: ("left", "right"), Y: ("bottom", "top")}

Swap = tuple[int, int]
"""Two shapes that swap positions, by their first places in the line."""


class ShuffleTrackingTask(Task):
    """Lines shapes up, swaps pairs of them, and asks which shape is at a place.

    Only places are asked whose shape has changed, so the line as first told gives the wrong answer. The examples ask
    about other places; where only two have changed, the second example asks about the first one's place, counted from
    the other end. Shapes that share a coordinate with another are left out of the line, which the text then says.
    """

    name = "shuffle_tracking"
    instruction = "Answer for the order after all swaps, with the size, color and shape of the shape, in this order."
    requirement = (
        "two shapes of kinds that are not repeated, not level with each other, and an odd number of swaps for two"
    )

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        axis, line = self._line(shapes)
        if len(line) < 2 or selected_answer is not None:
            return []
        swaps, place_of = self._swaps(len(line))
        shape_at = {place: shape for shape, place in enumerate(place_of) if shape != place}
        changed = sorted(shape_at)
        if not changed:
            return []
        names = [shape.name for shape in line]
        self.description = self._tell(names, swaps, axis, len(shapes))
        self.difficulty = {"tracking_steps": len(swaps), "line_length": len(line)}
        scope = "" if len(line) == len(shapes) else f" of these {len(line)}"
        places = draw(self.rng, changed, min(3, len(changed)))
        from_low_end = [self.rng.random() < 0.5 for _ in places]
        if len(places) == 2:
            places.append(places[1])
            from_low_end.append(not from_low_end[1])
        return [
            (f"What shape is {_position(place, len(line), low, axis)}{scope}?", names[shape_at[place]])
            for place, low in zip(places, from_low_end, strict=True)
        ]

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_shape(expected, actual)

    def _line(self, shapes: Sequence[Shape]) -> tuple[int, list[Shape]]:
        """Return an axis and the line along it: the axis that keeps more shapes, either one if they keep as many."""
        first, second = (X, Y) if self.rng.random() < 0.5 else (Y, X)
        line = line_up(shapes, first, self.rng)
        if len(line) < len(shapes) and len(other := line_up(shapes, second, self.rng)) > len(line):
            return second, other
        return first, line

    def _swaps(self, length: int) -> tuple[list[Swap], list[int]]:
        """Draw swaps and return them with the place of each shape after them.

        None undoes the one before it, and the last does not restore the line, if there is a choice.
        """
        swaps: list[Swap] = []
        place_of = list(range(length))
        for step in range(self.tracking_steps):
            unwanted = swaps[-1:]
            if step == self.tracking_steps - 1:
                displaced = [shape for shape, place in enumerate(place_of) if shape != place]
                unwanted += [(displaced[0], displaced[1])] if len(displaced) == 2 else []
            first, second = pick(self.rng, [pair for pair in _pairs(length) if pair not in unwanted] or _pairs(length))
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


@cache
def _pairs(length: int) -> tuple[Swap, ...]:
    return tuple(combinations(range(length), 2))


def _position(place: int, length: int, from_low_end: bool, axis: int) -> str:
    low, high = _ENDS[axis]
    return f"{ordinal(place + 1)} from the {low}" if from_low_end else f"{ordinal(length - place)} from the {high}"
