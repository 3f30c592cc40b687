"""Reads the canvas in a prompt, sentence by sentence. A sentence that is not understood makes the prompt unsolvable.

This is the reading half of the second solver. It shares no code with what writes descriptions and questions, so that an
error on either side shows up as a disagreement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

Center = tuple[int, int]

NAME = r"((?:small|large) (?:red|blue|yellow|green) (?:circle|square|triangle)(?: \d+)?)"
"""A shape's name; a number tells shapes of one kind apart."""

HORIZONTAL, VERTICAL = "horizontal", "vertical"
WORDS = {"left": (HORIZONTAL, -1), "right": (HORIZONTAL, 1), "below": (VERTICAL, -1), "above": (VERTICAL, 1)}
ENDS = {"left": (HORIZONTAL, -1), "right": (HORIZONTAL, 1), "bottom": (VERTICAL, -1), "top": (VERTICAL, 1)}


class Unsolvable(Exception):
    """The prompt does not determine an answer; the text says why."""


@dataclass(slots=True)
class World:
    """What a prompt says about its canvas, no more."""

    stated_total: int | None = None
    shapes: list[tuple[str, Center | None]] = field(default_factory=list)
    facts: list[tuple[str, str, str, int]] = field(default_factory=list)
    """(axis, a, b, sign): on this axis a lies at a greater (1), a smaller (-1) or the same (0) coordinate than b."""
    line: list[str] = field(default_factory=list)
    """Shapes by rising coordinate on `line_axis`, after all swaps."""
    line_axis: str = ""
    changes: list[tuple[str, int]] = field(default_factory=list)
    """(name, 1 for added or -1 for removed), in order."""

    def declare(self, name: str, center: Center | None = None) -> None:
        """Note a shape. A name without a center may be one known before; a center always makes a new one."""
        if center is not None or all(known != name for known, _ in self.shapes):
            self.shapes.append((name, center))

    def center_of(self, name: str) -> Center | None:
        centers = [center for known, center in self.shapes if known == name]
        if len(centers) > 1:
            raise Unsolvable(f"several shapes are called {name}")
        return centers[0] if centers else None


def read_canvas(text: str) -> World:
    """Read the part of a prompt that shows the canvas. Raises `Unsolvable`."""
    world = World()
    for line in _without_grid(world, text):
        rest = line
        if line.startswith("{"):
            rest = _read_json(world, line)
        for sentence in re.findall(r"[^.]+", rest):
            if sentence.strip():
                _read_sentence(world, sentence.strip())
    return world


def _read_sentence(world: World, sentence: str) -> None:
    for pattern, read in _SENTENCES:
        match = pattern.fullmatch(sentence)
        if match:
            read(world, match)
            return
    raise Unsolvable(f"the sentence is not understood: {sentence[:80]}")


def _total(world: World, match: re.Match[str]) -> None:
    world.stated_total = int(match[1])


def _declared(world: World, match: re.Match[str]) -> None:
    world.declare(match[1])


def _placed(world: World, match: re.Match[str]) -> None:
    world.declare(match[1], (int(match[2]), int(match[3])))


def _related(world: World, match: re.Match[str]) -> None:
    """ "A X is above left of this Y": what is not said is equal."""
    name, phrase, other = match.groups()
    world.declare(other)
    world.declare(name)
    signs = dict.fromkeys((HORIZONTAL, VERTICAL), 0) | dict(WORDS[word] for word in phrase.split() if word in WORDS)
    world.facts += [(axis, name, other, sign) for axis, sign in signs.items()]


def _distant(world: World, match: re.Match[str]) -> None:
    """ "A X is 3 units above and 1 unit left of this Y"."""
    name, phrase, other = match.groups()
    center = world.center_of(other)
    if center is None:
        raise Unsolvable(f"the center of the {other} is not given")
    offset = {HORIZONTAL: 0, VERTICAL: 0}
    for units, word in re.findall(r"(\d+) units? (above|below|left|right)", phrase):
        axis, sign = WORDS[word]
        offset[axis] = sign * int(units)
    world.declare(name, (center[0] + offset[HORIZONTAL], center[1] + offset[VERTICAL]))


def _chained(world: World, match: re.Match[str]) -> None:
    """ "Above the X is a Y": one axis only."""
    axis, sign = WORDS[match[1].lower().split()[-1]] if match[1] in ("Above", "Below") else WORDS[match[1].split()[2]]
    world.declare(match[2])
    world.declare(match[3])
    world.facts.append((axis, match[3], match[2], sign))


def _lined_up(world: World, match: re.Match[str]) -> None:
    (axis, start), (end_axis, end) = ENDS[match[1]], ENDS[match[2]]
    names = re.findall(f"a {NAME}", match[4])
    listed = "a " + ", a ".join(names)
    if axis != end_axis or start == end or re.sub(r",? and a ", ", a ", match[4]) != listed:
        raise Unsolvable(f"the line is not understood: {match[0][:80]}")
    if match[3] != "the" and int(match[3].split()[0]) != len(names):
        raise Unsolvable(f"{match[3]} shapes are announced, {len(names)} listed")
    if len(set(names)) < len(names):
        raise Unsolvable("a shape is listed twice")
    world.line_axis, world.line = axis, names if start < 0 else names[::-1]


def _swapped(world: World, match: re.Match[str]) -> None:
    if match[1] not in world.line or match[2] not in world.line:
        raise Unsolvable("a shape is swapped that is not in the line")
    first, second = world.line.index(match[1]), world.line.index(match[2])
    world.line[first], world.line[second] = match[2], match[1]


def _added(world: World, match: re.Match[str]) -> None:
    world.changes.append((match[1], 1))


def _removed(world: World, match: re.Match[str]) -> None:
    world.changes.append((match[1], -1))


def _ignored(world: World, match: re.Match[str]) -> None:
    """Nothing to learn from this sentence alone."""


_DIRECTION = "(?:above|below)(?: (?:left|right))?|left|right"
_STEPS = r"(?:\d+ units? (?:above|below)(?: and )?)?(?:\d+ units? (?:left|right) of)?"

_SENTENCES: tuple[tuple[re.Pattern[str], Callable[[World, re.Match[str]], None]], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"There (?:is|are) (\d{1,6}) shapes? in a canvas", _total),
        (rf"There is a {NAME} in the canvas", _declared),
        (rf"There is a {NAME} at \((-?\d+), (-?\d+)\)(?: with (?:radius|side length) \d+)?", _placed),
        (rf"A {NAME} is ((?:to the )?(?:{_DIRECTION})(?: of)?|at the place of) this {NAME}", _related),
        (rf"A {NAME} is ({_STEPS}) this {NAME}", _distant),
        (rf"(Above|Below|To the left of|To the right of) the {NAME} is a {NAME}", _chained),
        (r"From (left|right|top|bottom) to (left|right|top|bottom), (the|\d+ of the) shapes are (.*)", _lined_up),
        (rf"The {NAME} and the {NAME} swap positions", _swapped),
        (rf"A {NAME} is added to the canvas", _added),
        (rf"The {NAME} is removed from the canvas", _removed),
        (r"Each letter in the grid is at the center of a shape", _ignored),
        (r"Columns go from x = .*", _ignored),
    )
)


def _without_grid(world: World, text: str) -> list[str]:
    """Take the grid and its legend out of a text and note its shapes; return the other lines."""
    lines = text.split("\n")
    rows = [line for line in lines if re.fullmatch(r"[.A-Za-z]+", line) and "." in line[1:-1]]
    if not rows:
        return lines
    frame = re.search(r"x = (-?\d+) on the left .* y = (-?\d+) at the top", text)
    if frame is None:
        raise Unsolvable("the grid has no scale")
    left, top = int(frame[1]), int(frame[2])
    legend = {match[1]: match[2] for line in lines if (match := re.fullmatch(f"([A-Za-z]): {NAME}", line))}
    for y, row in enumerate(rows):
        for match in re.finditer("[A-Za-z]", row):
            if match[0] not in legend:
                raise Unsolvable(f"the letter {match[0]} is not explained")
            world.declare(legend[match[0]], (left + match.start(), top - y))
    return [line for line in lines if line not in rows and not re.fullmatch(f"[A-Za-z]: {NAME}", line)]


def _read_json(world: World, line: str) -> str:
    """Note the shapes of a JSON object and return the text behind it."""
    try:
        document, end = json.JSONDecoder().raw_decode(line)
        for shape in document["shapes"]:
            name = f"{shape['size']} {shape['color']} {shape['shape']}"
            world.declare(name, (int(shape["x"]), int(shape["y"])))
        if (document["x_axis"], document["y_axis"]) != ("right", "up"):
            raise Unsolvable("the axes of the JSON are not understood")
    except (ValueError, KeyError, TypeError) as error:
        raise Unsolvable(f"the JSON is not understood: {error!r}") from error
    return line[end:]
