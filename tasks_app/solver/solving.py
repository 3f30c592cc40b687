"""Answers the question of a prompt from its text alone: the second solver.

It reads nothing but the prompt and shares no code with the task classes or the geometry. Where the text does not
determine the answer, it says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from tasks_app.solver.reading import ENDS, HORIZONTAL, NAME, VERTICAL, WORDS, Unsolvable, World, read_canvas

_SIZE = "(?:(?P<size>small|large) )?"
_COLOR = "(?:(?P<color>red|blue|yellow|green) )?"
_NOUN = "(?P<noun>shape|circle|square|triangle)"
_BEYOND = rf"(?P<side>above|below|left|right)(?: of)? that of the (?P<reference>{NAME})"
_UNITS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
}
_IRREGULAR = {"tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15}
_IRREGULAR |= {"sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19}
_TENS = {"twent": 20, "thirt": 30, "fort": 40, "fift": 50, "sixt": 60, "sevent": 70, "eight": 80, "ninet": 90}


def solve(prompt: str) -> str:
    """Return the answer to the last question of a prompt. Raises `Unsolvable` where the text does not determine it."""
    shown = re.search(r"(?:^|\n)Canvas:\n(.*?)(?=\n\nQuestion: )", prompt, re.DOTALL)
    question = prompt.rpartition("\nQuestion: ")[2].strip()
    if shown is None:
        raise Unsolvable("the prompt shows no canvas")
    return answer(read_canvas(shown[1].strip()), question)


def answer(world: World, question: str) -> str:
    """Answer one question about a canvas that was read. Raises `Unsolvable`."""
    for pattern, find in _QUESTIONS:
        match = pattern.fullmatch(question)
        if match:
            return find(world, match)
    raise Unsolvable(f"the question is not understood: {question[:80]}")


def _exists(world: World, match: re.Match[str]) -> str:
    return "Yes" if _count(world, match) else "No"


def _how_many(world: World, match: re.Match[str]) -> str:
    return str(_count(world, match))


def _count(world: World, match: re.Match[str]) -> int:
    """Count the shapes with the attributes asked for; if a side is asked for, those that lie on it."""
    parts = match.groupdict()
    wanted = {parts[part] for part in ("size", "color", "noun") if parts.get(part)} - {"shape"}
    names = {name: number for name, number in _final_shapes(world).items() if number and wanted <= set(name.split())}
    if parts.get("side"):
        axis, sign = WORDS[parts["side"]]
        reference = parts["reference"]
        names.pop(reference, None)
        names = {name: number for name, number in names.items() if _signs(world, name, reference).get(axis) == sign}
    return sum(names.values())


def _final_shapes(world: World) -> Counter[str]:
    """Return how many there are of each kind after all changes."""
    if len(world.shapes) != world.stated_total and world.stated_total is not None:
        raise Unsolvable(f"{world.stated_total} shapes are announced, {len(world.shapes)} described")
    if not world.shapes:
        raise Unsolvable("no shape is described")
    shapes = Counter(_kind(name) for name, _ in world.shapes)
    for name, change in world.changes:
        shapes[name] += change
        if shapes[name] < 0:
            raise Unsolvable(f"a {name} is removed that is not there")
    return shapes


def _kind(name: str) -> str:
    return re.sub(r" \d+$", "", name)


def _where(world: World, match: re.Match[str]) -> str:
    name, other = match.groups()
    signs = _signs(world, name, other)
    words = [
        {1: "Above", -1: "Below"}.get(signs.get(VERTICAL, 0)),
        {1: "Right", -1: "Left"}.get(signs.get(HORIZONTAL, 0)),
    ]
    phrase = " ".join(word for word in words if word)
    if not phrase:
        raise Unsolvable("the text gives no direction for these shapes")
    return phrase


def _signs(world: World, name: str, other: str) -> dict[str, int]:
    """Return the signs of the differences by axis, for every axis that the text determines, at least one."""
    center, other_center = world.center_of(name), world.center_of(other)
    if center is not None and other_center is not None:
        return {
            axis: (here > there) - (here < there)
            for axis, here, there in zip((HORIZONTAL, VERTICAL), center, other_center, strict=True)
        }
    inferred = {axis: _infer(world, axis, name, other) for axis in (VERTICAL, HORIZONTAL)}
    signs = {axis: sign for axis, sign in inferred.items() if sign is not None}
    if not signs:
        raise Unsolvable(f"the text does not say how the {name} and the {other} lie to each other")
    return signs


def _infer(world: World, axis: str, name: str, other: str) -> int | None:
    """Return the sign of a difference on an axis by chains of stated ones; None if none connects."""
    signs = {sign for sign in (1, -1) if _reaches(world, axis, name, other, sign)}
    if len(signs) == 2:
        raise Unsolvable(f"the text contradicts itself about the {name} and the {other}")
    if signs:
        return signs.pop()
    return 0 if _reaches(world, axis, name, other, 0) else None


def _reaches(world: World, axis: str, start: str, goal: str, sign: int) -> bool:
    """Tell whether stated differences lead from `start` to `goal`, all of them `sign` or 0, at least one `sign`."""
    steps: dict[str, list[tuple[str, int]]] = {}
    for fact_axis, a, b, fact in world.facts:
        if fact_axis == axis:
            steps.setdefault(a, []).append((b, fact))
            steps.setdefault(b, []).append((a, -fact))
    seen, todo = set(), [(start, sign == 0)]
    while todo:
        name, moved = state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        todo += [(b, moved or fact == sign) for b, fact in steps.get(name, []) if fact in (0, sign)]
    return (goal, True) in seen


def _place(world: World, match: re.Match[str]) -> str:
    number, (axis, side) = _read_ordinal(match[1]), ENDS[match[2]]
    if not world.line or axis != world.line_axis:
        raise Unsolvable(f"no line from the {match[2]} is described")
    scope = int(match[3]) if match[3] else world.stated_total
    if scope != len(world.line):
        raise Unsolvable(f"the question is about {scope} shapes, the line has {len(world.line)}")
    if not 1 <= number <= len(world.line):
        raise Unsolvable(f"the line has no {match[1]} place")
    return world.line[number - 1] if side < 0 else world.line[-number]


def _read_ordinal(word: str) -> int:
    tens, _, unit = word.rpartition("-")
    if not tens and word in (known := _UNITS | _IRREGULAR):
        return known[word]
    stem = tens.removesuffix("y") if tens else word.removesuffix("ieth")
    digits = re.fullmatch(r"(\d+)(?:st|nd|rd|th)", word)
    if digits:
        return int(digits[1])
    if stem not in _TENS or (tens and unit not in _UNITS):
        raise Unsolvable(f"{word!r} is not understood")
    return _TENS[stem] + (_UNITS[unit] if tens else 0)


_QUESTIONS: tuple[tuple[re.Pattern[str], Callable[[World, re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern), find)
    for pattern, find in (
        (rf"Is there a {_SIZE}{_COLOR}{_NOUN}(?: in the canvas)?\?", _exists),
        (rf"Is there a {_SIZE}{_COLOR}{_NOUN} with its center {_BEYOND}(?: in the canvas)?\?", _exists),
        (r"Is there a shape that is (?P<color>red|blue|yellow|green)\?", _exists),
        (rf"How many {_SIZE}{_COLOR}{_NOUN}s are there\?", _how_many),
        (rf"How many {_SIZE}{_COLOR}{_NOUN}s have their center {_BEYOND}\?", _how_many),
        (rf"Where is the {NAME} relative to the {NAME}\?", _where),
        (r"What shape is ([a-z0-9-]+) from the (left|right|top|bottom)(?: of these (\d+))?\?", _place),
    )
)
