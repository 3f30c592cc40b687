"""The faults of the original data, by name, and the comparison of edges that causes most of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum

from tasks_app.canvas.geometry import outline
from tasks_app.canvas.shapes import Shape


class Verdict(StrEnum):
    """What a fault does to the text or answer that has it, gravest first."""

    WRONG = "wrong"  # it says what is not so
    UNDETERMINED = "undetermined"  # it cannot be known from what is given
    WEAK = "weak"  # it is right, but measures less than it seems
    FORM = "form"  # it is right, but not written as it should be


class Fault(Enum):
    """A named fault: what it does, and what it is in words."""

    def __init__(self, verdict: Verdict, meaning: str) -> None:
        self.verdict = verdict
        self.meaning = meaning

    @property
    def slug(self) -> str:
        """The name in files, requests and pages, e.g. "direction_dropped"."""
        return self.name.lower()

    DIRECTION_DROPPED = (
        Verdict.WRONG,
        "The centers differ along this axis, but no word says so, because one shape spans the other.",
    )
    ASYMMETRIC_RELATION = (
        Verdict.WRONG,
        "A word that the opposite relation has is missing, because the two shapes share the edge that was compared.",
    )
    DIRECTION_FROM_EDGES = (
        Verdict.WRONG,
        "A word says that the shapes differ along this axis; only their edges do, their centers are level.",
    )
    ORDER_BY_EDGES = (
        Verdict.WRONG,
        "A line of shapes is ordered by their outer edges, against the order of their centers.",
    )
    TIE_IN_ORDERED_LINE = (Verdict.WRONG, "A line of shapes puts one before another although their centers are level.")
    REPEATED_KIND = (
        Verdict.UNDETERMINED,
        "Two shapes on the canvas have the same name, so texts that use it are ambiguous.",
    )
    SHAPES_TOUCH = (Verdict.WRONG, "Two shapes on the canvas touch or overlap.")
    IMPOSSIBLE_CHANGE = (
        Verdict.WRONG,
        "A shape is added although it is on the canvas, or removed or swapped although it is not.",
    )
    WRONG_ANSWER = (Verdict.WRONG, "The answer does not follow from the canvas.")
    ANSWER_CONTRADICTS_TEXT = (Verdict.WRONG, "The task's description contradicts the answer.")
    ANSWER_NOT_IN_TEXT = (Verdict.UNDETERMINED, "The task's description does not determine the answer.")
    UNREADABLE_QUESTION = (
        Verdict.UNDETERMINED,
        "The question does not have the form of this task's questions, or names something that is not described.",
    )
    ASKS_ABOUT_NEIGHBORS = (
        Verdict.WEAK,
        "The evaluated question asks about a relation that the description states, so no inference is needed.",
    )
    NO_TRACKING_NEEDED = (
        Verdict.WEAK,
        "The answer is the same before and after the changes, so they can be ignored.",
    )
    REPEATED_QUESTION = (Verdict.WEAK, "The same question occurs earlier in the list.")
    TOO_FEW_QUESTIONS = (Verdict.WEAK, "There are fewer than three questions.")
    TRAILING_SPACE = (Verdict.FORM, "The answer starts or ends with white space.")
    UNEXPLAINED = (Verdict.WRONG, "The text differs from the computed one, and no known fault explains it.")


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault at one place, such as `descriptions.full` or `questions.count[0]`; `ours` is what would be right."""

    place: str
    fault: Fault
    theirs: str
    ours: str


TOLERANCE = 1e-9
"""Edges nearer than this are level; edges that are not differ by more than a hundredth."""


def edges(shape: Shape) -> tuple[float, float, float, float]:
    """Return the least and greatest x, then the least and greatest y of a shape."""
    corners, radius = outline((shape.shape, shape.size))
    x, y = shape.center
    return (
        x + min(corner for corner, _ in corners) - radius,
        x + max(corner for corner, _ in corners) + radius,
        y + min(corner for _, corner in corners) - radius,
        y + max(corner for _, corner in corners) + radius,
    )


def edge_directions(shape: Shape, reference: Shape) -> tuple[str, str]:
    """Return the (vertical, horizontal) words the original gives a pair: "" for none.

    A shape is left of another if its left edge is further left, unless it spans the other on both sides; likewise for
    the other three.
    """
    left, right, bottom, top = edges(shape)
    other_left, other_right, other_bottom, other_top = edges(reference)
    vertical = _word(bottom < other_bottom - TOLERANCE, top > other_top + TOLERANCE, "below", "above")
    horizontal = _word(left < other_left - TOLERANCE, right > other_right + TOLERANCE, "left", "right")
    return vertical, horizontal


def _word(beyond_low: bool, beyond_high: bool, low: str, high: str) -> str:
    if beyond_low == beyond_high:
        return ""
    return low if beyond_low else high


def along(word: str, shape: Shape) -> int:
    """Return how far a shape's center lies to the side that a word names."""
    x, y = shape.center
    return {"above": y, "below": -y, "right": x, "left": -x}[word]


def edges_along(word: str, shape: Shape) -> tuple[float, float]:
    """Return how far a shape's near and far edge lie to the side that a word names."""
    left, right, bottom, top = edges(shape)
    return {"above": (bottom, top), "below": (-top, -bottom), "right": (left, right), "left": (-right, -left)}[word]


def center_directions(shape: Shape, reference: Shape) -> tuple[str, str]:
    """Return the (vertical, horizontal) words that compare centers: "" for none."""
    (x, y), (other_x, other_y) = shape.center, reference.center
    return _word(y < other_y, y > other_y, "below", "above"), _word(x < other_x, x > other_x, "left", "right")


def relation_faults(shape: Shape, reference: Shape) -> Iterator[Fault]:
    """Name why the original's words for a pair differ from ours; nothing where they agree.

    Opposite words cannot occur: for shapes at integer centers an edge never contradicts the center (tested).
    """
    for theirs, ours, reverse in zip(
        edge_directions(shape, reference),
        center_directions(shape, reference),
        edge_directions(reference, shape),
        strict=True,
    ):
        if theirs and not ours:
            yield Fault.DIRECTION_FROM_EDGES
        elif ours and not theirs:
            yield Fault.ASYMMETRIC_RELATION if reverse else Fault.DIRECTION_DROPPED
