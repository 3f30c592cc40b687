"""transitivity: chains of neighbors are described, and the question is about two shapes that are not neighbors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from tasks_app.canvas.descriptions import shape_count
from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.draw import draw, pick, shuffled
from tasks_app.tasks.judging import judge_directions
from tasks_app.tasks.lines import X, Y, line_up
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict

ANSWERS = ("Above", "Left", "Below", "Right")
_WORDS = {X: ("Left", "Right"), Y: ("Below", "Above")}
_PHRASES = {"Left": "To the left of", "Right": "To the right of", "Below": "Below", "Above": "Above"}
_SHORTEST = 5

Link = tuple[str, str]
"""The names of two shapes, by rising coordinate."""


class TransitivityTask(Task):
    """Describes how shapes lie along both axes, mostly neighbors, and asks how two of them lie.

    The two are at least two steps apart on the axis of the answer, and neither is at an end of that line. On the other
    axis, what connects them is left out, so the text does not say how they lie there. Each of them is in two sentences
    about either axis. So no sentence alone says on which side, or on which axis, the other one is. That takes a line of
    five: in a shorter one, a single sentence about a shape at its end would give the answer away.
    """

    name = "transitivity"
    instruction = "Answer with one word: Left, Right, Above or Below."
    requirement = "five shapes of kinds that are not repeated, no two of them level with each other"
    guess_rate = 1 / len(ANSWERS)

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        lines = {axis: [shape.name for shape in line_up(shapes, axis, self.rng)] for axis in _WORDS}
        axes = [
            axis
            for axis, words in _WORDS.items()
            if len(lines[axis]) >= _SHORTEST and (selected_answer is None or selected_answer in words)
        ]
        if not axes:
            return []
        axis = pick(self.rng, axes)
        line, other_axis = lines[axis], Y if axis == X else X
        answer = pick(self.rng, _WORDS[axis]) if selected_answer is None else str(selected_answer)
        for start, end in self._places(len(line)):
            asked = (line[start], line[end])
            other_links, added = self._disconnected(lines[other_axis], asked)
            # A question may only be about shapes of which the text says how they lie on one axis alone.
            examples = _unordered(line, asked, other_links + added)
            if len(examples) > 1 and all(sum(name in link for link in other_links + added) == 2 for name in asked):
                other_links += added
                break
        else:
            examples = _unordered(line, asked, other_links)
        links = [(axis, link) for link in pairwise(line)] + [(other_axis, link) for link in other_links]
        self.description = self._describe(links, len(shapes))
        self.difficulty = {"inference_steps": end - start, "line_length": len(line)}
        neighbors = set(pairwise(line))
        distant = [pair for pair in examples if pair not in neighbors]
        drawn = draw(self.rng, distant if len(distant) > 1 else examples, 2)
        return [_question(asked, answer), *(_question(pair, pick(self.rng, _WORDS[axis])) for pair in drawn)]

    def select_expected_answer(self, i: int, n: int) -> Answer | None:
        return ANSWERS[i % len(ANSWERS)]

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_directions(expected, actual)

    def _places(self, length: int) -> Iterator[tuple[int, int]]:
        """Yield all pairs of places at least two steps apart and not at an end; each number of steps may come first."""
        for steps in shuffled(self.rng, range(2, length - 2)):
            for start in shuffled(self.rng, range(1, length - 1 - steps)):
                yield start, start + steps

    def _disconnected(self, line: list[str], asked: Link) -> tuple[list[Link], list[Link]]:
        """Return the links of a line without one between the asked shapes, and more that do not connect the two.

        With the second list, each of the two has two links, as on the axis of the answer, if the line allows.
        """
        places = sorted(line.index(shape) for shape in asked if shape in line)
        if len(places) < 2:
            return list(pairwise(line)), []  # level with another shape, one of them was left out of the line
        low, high = places
        cut = low + 1 + int(self.rng.random() * (high - low))
        links = [*pairwise(range(cut)), *pairwise(range(cut, len(line)))]
        beyond, before = range(high + 1, len(line)), range(low)
        possible = {
            low: [(low, at) for at in (*range(low + 2, cut), *beyond)] + [(at, low) for at in range(low - 1)],
            high: [(at, high) for at in (*before, *range(cut, high - 1))] + [(high, at) for at in beyond[1:]],
        }
        added: list[tuple[int, int]] = []
        for place, more in possible.items():
            missing = 2 - sum(place in link for link in links)
            added += draw(self.rng, more, min(missing, len(more)))
        return _shapes_at(line, links), _shapes_at(line, added)

    def _describe(self, links: Sequence[tuple[int, Link]], n_shapes: int) -> str:
        """State every link once, in random order, from either of its shapes."""
        sentences = [shape_count(n_shapes)]
        for axis, (low, high) in shuffled(self.rng, links):
            downward, upward = (_PHRASES[word] for word in _WORDS[axis])
            if self.rng.random() < 0.5:
                sentences.append(f"{upward} the {low} is a {high}. ")
            else:
                sentences.append(f"{downward} the {high} is a {low}. ")
        return "".join(sentences)


def _shapes_at(line: Sequence[str], places: Sequence[tuple[int, int]]) -> list[Link]:
    return [(line[low], line[high]) for low, high in places]


def _unordered(line: Sequence[str], asked: Link, links: Sequence[Link]) -> list[Link]:
    """Return the pairs of a line, except the asked one, that chains of links do not order."""
    beyond: dict[str, list[str]] = {name: [] for name in line}
    for low, high in links:
        beyond.setdefault(low, []).append(high)
    reach = {name: _reached(name, beyond) for name in line}
    return [
        (low, high)
        for low, high in combinations(line, 2)
        if (low, high) != asked and high not in reach[low] and low not in reach[high]
    ]


def _reached(start: str, beyond: Mapping[str, Sequence[str]]) -> set[str]:
    reached: set[str] = set()
    pending = [start]
    while pending:
        news = set(beyond.get(pending.pop(), ())) - reached
        reached |= news
        pending += news
    return reached


def _question(pair: Link, answer: str) -> Question:
    shape, other = pair[::-1] if answer in ("Above", "Right") else pair
    return f"Where is the {shape} relative to the {other}?", answer
