import json
import re
from collections.abc import Callable
from itertools import permutations

import pytest

from tasks_app.canvas.descriptions import DESCRIPTIONS, direction
from tasks_app.canvas.generator import MAX_SHAPES, canvas_rng, generate_shapes
from tasks_app.canvas.shapes import CanvasError, Shape

CIRCLE = Shape("Circle", "Red", "Small", (-3, 4))
SQUARE = Shape("Square", "Blue", "Large", (5, 4))
TRIANGLE = Shape("Triangle", "Green", "Large", (5, -9))

Places = dict[str, tuple[int, int]]


def canvases(each: int = 5) -> list[tuple[Shape, ...]]:
    return [
        generate_shapes(n_shapes, canvas_rng(5, n_shapes, index, "shapes"))
        for n_shapes in range(1, MAX_SHAPES + 1)
        for index in range(each)
    ]


def places(shapes: tuple[Shape, ...]) -> Places:
    return {shape.name: shape.center for shape in shapes}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "full",
            "There are 3 shapes in a canvas. "
            "There is a small red circle in the canvas. A large blue square is right of this small red circle. "
            "A large green triangle is to the below right of this small red circle. "
            "There is a large blue square in the canvas. A small red circle is left of this large blue square. "
            "A large green triangle is below this large blue square. "
            "There is a large green triangle in the canvas. "
            "A small red circle is to the above left of this large green triangle. "
            "A large blue square is above this large green triangle. ",
        ),
        (
            "partial",
            "There are 3 shapes in a canvas. "
            "There is a small red circle in the canvas. A large blue square is right of this small red circle. "
            "A large green triangle is to the below right of this small red circle. "
            "There is a large blue square in the canvas. A large green triangle is below this large blue square. "
            "There is a large green triangle in the canvas. ",
        ),
        (
            "coordinates",
            "There are 3 shapes in a canvas. There is a small red circle at (-3, 4) with radius 1. "
            "There is a large blue square at (5, 4) with side length 4. "
            "There is a large green triangle at (5, -9) with side length 4. ",
        ),
        (
            "short",
            "There are 3 shapes in a canvas. There is a small red circle at (-3, 4). "
            "A large blue square is 8 units right of this small red circle. "
            "A large green triangle is 13 units below this large blue square. ",
        ),
        (
            "json",
            '{"x_axis": "right", "y_axis": "up", "shapes": ['
            '{"size": "small", "color": "red", "shape": "circle", "x": -3, "y": 4, "radius": 1}, '
            '{"size": "large", "color": "blue", "shape": "square", "x": 5, "y": 4, "side": 4}, '
            '{"size": "large", "color": "green", "shape": "triangle", "x": 5, "y": -9, "side": 4}]}\n',
        ),
    ],
)
def test_a_canvas_is_worded(name: str, text: str) -> None:
    assert DESCRIPTIONS[name]([CIRCLE, SQUARE, TRIANGLE]) == text


@pytest.mark.parametrize("name", ["full", "partial", "coordinates", "short", "ascii"])
def test_a_single_shape_is_counted_in_the_singular(name: str) -> None:
    assert DESCRIPTIONS[name]([CIRCLE]).startswith("There is 1 shape in a canvas. ")


@pytest.mark.parametrize(
    ("center", "expected"),
    [
        ((-4, 9), "above left"),
        ((-3, 9), "above"),
        ((0, 9), "above right"),
        ((0, 4), "right"),
        ((0, 0), "below right"),
        ((-3, 0), "below"),
        ((-9, 3), "below left"),
        ((-9, 4), "left"),
        ((-3, 4), ""),
    ],
)
def test_a_direction_compares_centres(center: tuple[int, int], expected: str) -> None:
    assert direction(Shape("Triangle", "Red", "Large", center), CIRCLE) == expected


def stated_relations(text: str) -> list[tuple[str, str, str]]:
    pattern = r"A ([a-z ]+?) is (?:to the )?((?:above|below)?(?: ?(?:left|right))?)(?: of)? this ([a-z ]+?)\. "
    return re.findall(pattern, text)


def opposite(words: str) -> str:
    opposites = {"above": "below", "below": "above", "left": "right", "right": "left"}
    return " ".join(opposites[word] for word in words.split())


def test_full_states_every_ordered_pair_and_its_opposite() -> None:
    for shapes in canvases():
        relations = {
            (name, reference): words for name, words, reference in stated_relations(DESCRIPTIONS["full"](shapes))
        }
        assert set(relations) == {(one.name, other.name) for one, other in permutations(shapes, 2)}
        for (name, reference), words in relations.items():
            assert words
            assert relations[reference, name] == opposite(words)


def test_partial_states_every_pair_once_as_full_does() -> None:
    for shapes in canvases():
        in_full = stated_relations(DESCRIPTIONS["full"](shapes))
        in_partial = stated_relations(DESCRIPTIONS["partial"](shapes))
        assert set(in_partial) <= set(in_full)
        pairs = {frozenset((name, reference)) for name, _, reference in in_partial}
        assert len(pairs) == len(in_partial) == len(shapes) * (len(shapes) - 1) / 2


def places_from_coordinates(text: str) -> Places:
    found = re.findall(r"There is a ([a-z ]+) at \((-?\d+), (-?\d+)\) with (?:radius|side length) \d\. ", text)
    return {name: (int(x), int(y)) for name, x, y in found}


def places_from_short(text: str) -> Places:
    first = re.search(r"There is a ([a-z ]+) at \((-?\d+), (-?\d+)\)\. ", text)
    assert first is not None
    found = {first[1]: (int(first[2]), int(first[3]))}
    relations = re.findall(r"A ([a-z ]+) is (\d.*?) this ([a-z ]+)\. ", text)
    for name, steps, reference in relations:
        moved = {word: int(number) for number, word in re.findall(r"(\d+) units? (above|below|left|right)", steps)}
        x, y = found[reference]
        x += moved.get("right", 0) - moved.get("left", 0)
        y += moved.get("above", 0) - moved.get("below", 0)
        found[name] = (x, y)
    assert len(relations) == len(found) - 1
    return found


def places_from_ascii(text: str) -> Places:
    lines = text.splitlines()
    legend = dict(line.split(": ") for line in lines[64:])
    grid = {letter: (x - 31, 31 - y) for y, row in enumerate(lines[1:64]) for x, letter in enumerate(row)}
    return {name: grid[letter] for letter, name in legend.items()}


def places_from_json(text: str) -> Places:
    return {f"{s['size']} {s['color']} {s['shape']}": (s["x"], s["y"]) for s in json.loads(text)["shapes"]}


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("coordinates", places_from_coordinates),
        ("short", places_from_short),
        ("ascii", places_from_ascii),
        ("json", places_from_json),
    ],
)
def test_every_centre_can_be_found_again_from(name: str, read: Callable[[str], Places]) -> None:
    for shapes in canvases():
        assert read(DESCRIPTIONS[name](shapes)) == places(shapes)


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_sentences_can_be_added_to(name: str) -> None:
    assert DESCRIPTIONS[name]([CIRCLE, SQUARE])[-1].isspace()


@pytest.mark.parametrize("name", ["full", "partial", "short", "ascii"])
def test_shapes_of_one_kind_are_told_apart_in(name: str) -> None:
    text = DESCRIPTIONS[name]([CIRCLE, Shape("Circle", "Red", "Small", (20, 20))])
    assert "small red circle 1" in text
    assert "small red circle 2" in text


def test_a_grid_refuses_more_shapes_than_letters() -> None:
    shapes = [Shape("Circle", "Red", "Small", (index % 60 - 30, 0)) for index in range(53)]
    with pytest.raises(CanvasError, match="letters for 52 shapes, not for 53"):
        DESCRIPTIONS["ascii"](shapes)


def test_a_grid_refuses_two_shapes_at_one_center() -> None:
    with pytest.raises(CanvasError, match=r"Two shapes have their center at \(-3, 4\)"):
        DESCRIPTIONS["ascii"]([CIRCLE, CIRCLE])
