"""transitivity: chains of neighbors are described, and the question is about two shapes that are not neighbors."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from itertools import pairwise

from tasks_app.canvas.descriptions import shape_count
from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.answers import judge_directions
from tasks_app.tasks.draw import draw, pick, shuffled
from tasks_app.tasks.lines import X, Y, line_up
from tasks_app.tasks.task import Answer, Question, Task
from tasks_app.tasks.verdict import Verdict

ANSWERS = ("Above", "Left", "Below", "Right")
_WORDS = {X: ("Left", "Right"), Y: ("Below", "Above")}
_PHRASES = {"Left": "To the left of", "Right": "To the right of", "Below": "Below", "Above": "Above"}
_FEWEST, _SHORTEST = 7, 6
"""Shapes of a canvas, and of a line: one may be level with another and left out."""
_ATTEMPTS = 8
"""Other links, or another of two shapes that are level with each other, may do where the first ones did not."""

Link = tuple[str, str]
"""The names of two shapes, by rising coordinate."""
Linked = tuple[list[Link], list[Link], Link, Link]
"""The links on the axis of the answer and on the other one, and a pair for an example about each."""


class TransitivityTask(Task):
    """Describes how shapes lie along both axes, mostly neighbors, and asks how two of them lie.

    The two are at least two steps apart on the axis of the answer, and neither is at an end of that line. On the other
    axis, what connects them is left out, so the text does not say how they lie there. Each of them is in two sentences
    about either axis. So no sentence alone says on which side, or on which axis, the other one is. Of the two examples,
    about other shapes, one has an answer on each axis, which takes a gap in both lines, and so enough shapes.
    """

    name = "transitivity"
    instruction = "Answer with one word: Left, Right, Above or Below."
    requirement = "seven shapes of kinds that are not repeated, no two of them level with each other"
    guess_rate = 1 / len(ANSWERS)

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        longest = {axis: len(line_up(shapes, axis, self.rng)) for axis in _WORDS}
        axes = [
            axis
            for axis, words in _WORDS.items()
            if longest[axis] >= _SHORTEST and (selected_answer is None or selected_answer in words)
        ]
        if not axes or len(shapes) < _FEWEST:
            return []
        for axis in [it for it in shuffled(self.rng, axes) for _ in range(_ATTEMPTS)]:
            line, other_line = (
                [shape.name for shape in line_up(shapes, it, self.rng)] for it in (axis, Y if axis == X else X)
            )
            for start, end in self._places(len(line)):
                if linked := self._linked(line, other_line, start, end):
                    self.difficulty = {"inference_steps": end - start, "line_length": len(line)}
                    answer = pick(self.rng, _WORDS[axis]) if selected_answer is None else str(selected_answer)
                    return self._tell(axis, answer, (line[start], line[end]), linked, len(shapes))
        return []

    def select_expected_answer(self, i: int, n: int) -> Answer | None:
        return self.balanced(i, ANSWERS)

    def judge(self, expected: str, actual: str) -> Verdict:
        return judge_directions(expected, actual, self.question)

    def _tell(self, axis: int, answer: str, question: Link, linked: Linked, n_shapes: int) -> list[Question]:
        """Describe the links, and ask about the asked pair and, as examples, one pair on each axis."""
        links, other_links, pair, other_pair = linked
        other_axis = Y if axis == X else X
        stated = [*((axis, link) for link in links), *((other_axis, link) for link in other_links)]
        self.description = self._describe(stated, n_shapes)
        examples = [_question(pair, pick(self.rng, _WORDS[axis]))]
        examples.append(_question(other_pair, pick(self.rng, _WORDS[other_axis])))
        return [_question(question, answer), *shuffled(self.rng, examples)]

    def _places(self, length: int) -> Iterator[tuple[int, int]]:
        """Yield pairs of places, at least two steps apart and not at an end; each number of steps may come first.

        Beyond one of the two, there is room for a gap between two other shapes.
        """
        for steps in shuffled(self.rng, range(2, length - 3)):
            for start in shuffled(self.rng, range(1, length - 1 - steps)):
                yield start, start + steps

    def _linked(self, line: list[str], other_line: list[str], start: int, end: int) -> Linked | None:
        """Return the links of both lines, and a pair of other shapes for an example about each, or None.

        The text may say of these pairs, too, how they lie on one axis alone. Both lines have as many links more than
        their neighbors, so their number does not tell which axis the question is about.
        """
        question = (line[start], line[end])
        other_links, added = self._disconnected(other_line, question)
        other_links += added
        if not all(sum(name in link for link in other_links) == 2 for name in question):
            return None
        other_order = _ordered(other_links)
        for gap in shuffled(self.rng, [*range(start - 1), *range(end + 1, len(line) - 1)]):
            links = self._with_gap(line, gap, (start, end), len(added))
            order = _ordered(links)
            pairs, other_pairs = _only_in(order, other_order, question), _only_in(other_order, order, question)
            if pairs and other_pairs and len(links) == len(line) - 2 + len(added):
                distant = [pair for pair in pairs if pair not in links]
                return links, other_links, pick(self.rng, distant or pairs), pick(self.rng, other_pairs)
        return None

    def _with_gap(self, line: list[str], gap: int, question: tuple[int, int], count: int) -> list[Link]:
        """Return the links of a line without the one after place ``gap``, and up to ``count`` that do not bridge it.

        The latter begin and end at none of the places ``asked``.
        """
        links = [(low, high) for low, high in pairwise(range(len(line))) if low != gap]
        possible = [(low, gap + 1) for low in range(gap)] + [(gap, high) for high in range(gap + 2, len(line))]
        possible = [link for link in possible if not {*link} & {*question}]
        return _shapes_at(line, [*links, *draw(self.rng, possible, min(count, len(possible)))])

    def _disconnected(self, line: list[str], question: Link) -> tuple[list[Link], list[Link]]:
        """Return the links of a line without one between the asked shapes, and more that do not connect the two.

        With the second list, each of the two has two links, as on the axis of the answer, if the line allows.
        """
        places = sorted(line.index(shape) for shape in question if shape in line)
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


def _only_in(order: Collection[Link], other_order: Container[Link], question: Link) -> list[Link]:
    """Return the pairs, of shapes that are not asked about, that one axis orders and the other does not."""
    free = [pair for pair in order if not {*pair} & {*question}]
    return [pair for pair in free if pair not in other_order and pair[::-1] not in other_order]


def _ordered(links: Sequence[Link]) -> dict[Link, None]:
    """Return the pairs that chains of links order, always in the same sequence."""
    beyond: dict[str, list[str]] = {}
    for low, high in links:
        beyond.setdefault(low, []).append(high)
    return {(low, high): None for low in beyond for high in sorted(_reached(low, beyond))}


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
