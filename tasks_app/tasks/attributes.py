"""What a question can ask of shapes by their attributes: "red circle", "small shape", "large green square".

A pattern fixes a size, a color, a shape, or several of these. There are 59 of them in seven forms (which attributes are
fixed). Patterns are numbered, and a set of patterns is an integer with their bits, so that the patterns any shape of a
canvas matches are one "or" a shape.

The attributes alone decide nothing on a canvas that has nearly every kind. There, questions are about a part of the
canvas: the shapes with their center above, below, left or right of another shape's.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import product

from tasks_app.canvas.shapes import COLORS, KINDS, SHAPES, SIZES, Kind, Shape
from tasks_app.tasks.draw import pick
from tasks_app.tasks.lines import nameable

Pattern = tuple[str | None, str | None, str | None]
"""(size, color, shape); None matches any."""


PATTERNS: tuple[Pattern, ...] = tuple(
    pattern for pattern in product((*SIZES, None), (*COLORS, None), (*SHAPES, None)) if any(pattern)
)


def _form(pattern: Pattern) -> tuple[bool, ...]:
    return tuple(part is not None for part in pattern)


FORM_BITS: tuple[int, ...] = tuple(
    sum(1 << number for number, pattern in enumerate(PATTERNS) if _form(pattern) == fixed)
    for fixed in product((True, False), repeat=3)
    if any(fixed)
)
"""The patterns of each form."""

ALL_BITS = (1 << len(PATTERNS)) - 1


def matches(pattern: Pattern, kind: Kind) -> bool:
    """Whether a shape of this kind fits the pattern."""
    return all(wanted is None or wanted == value for wanted, value in zip(pattern, kind, strict=True))


_MATCHED_BITS = {kind: sum(1 << n for n, pattern in enumerate(PATTERNS) if matches(pattern, kind)) for kind in KINDS}


def matched_bits(kinds: Iterable[Kind]) -> int:
    """Return the patterns that some shape of these kinds fits."""
    bits = 0
    for kind in kinds:
        bits |= _MATCHED_BITS[kind]
    return bits


def bits_by_count(shapes: Sequence[Shape]) -> dict[int, int]:
    """Return, for each count that occurs, the patterns that this number of shapes fits.

    All patterns are counted at once, in binary: bit p of `digits[k]` is digit k of pattern p's count.
    """
    digits: list[int] = []
    for shape in shapes:
        carry = _MATCHED_BITS[shape.kind]
        for k, digit in enumerate(digits):
            digits[k], carry = digit ^ carry, digit & carry
            if not carry:
                break
        else:
            digits.append(carry)
    groups = {0: ALL_BITS}
    for digit in reversed(digits):
        zeros = {2 * count: bits & ~digit for count, bits in groups.items() if bits & ~digit}
        ones = {2 * count + 1: bits & digit for count, bits in groups.items() if bits & digit}
        groups = zeros | ones
    return groups


def draw_pattern(rng: random.Random, bits: int, forms: Sequence[int] = FORM_BITS) -> int:
    """Draw a form that has patterns in `bits`, each alike, then one of these patterns; return its number."""
    drawn = pick(rng, [form & bits for form in forms if form & bits])
    for _ in range(int(rng.random() * drawn.bit_count())):
        drawn &= drawn - 1  # clears the lowest bit
    return (drawn & -drawn).bit_length() - 1


SIDES = (("above", 1, 1), ("below", 1, -1), ("left of", 0, -1), ("right of", 0, 1))
"""(words, axis, sign): beyond a shape on this side, sign * coordinate is greater than the shape's."""


def draw_part(rng: random.Random, shapes: Sequence[Shape]) -> tuple[str, Shape, list[Shape]]:
    """Draw a side of a shape with shapes on it; return the words for it, that shape, and the shapes on this side."""
    words, axis, sign = pick(rng, SIDES)
    farthest = max(sign * shape.center[axis] for shape in shapes)
    reference = pick(rng, [shape for shape in nameable(shapes) if sign * shape.center[axis] < farthest])
    bound = sign * reference.center[axis]
    part = [shape for shape in shapes if sign * shape.center[axis] > bound]
    return f"{words} that of the {reference.name}", reference, part


def singular(pattern: Pattern) -> str:
    """Return the pattern after "a": "small red circle", "small shape", "shape that is red"."""
    size, color, shape = pattern
    return f"shape that is {color.lower()}" if color and not size and not shape else noun(pattern)


def noun(pattern: Pattern) -> str:
    """Return the pattern with its attributes first: "small red circle", "red shape". An s makes it plural."""
    size, color, shape = pattern
    return " ".join(part.lower() for part in (size, color, shape or "shape") if part)
