"""Names in a chart never cover each other or a dot, however many there are and wherever they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.label_places import CHARACTER, HEIGHT, LINE, LONGEST, PLACES, WIDTH, label_places, share_of

SHARES = st.floats(0, 1)
SPOTS = st.lists(st.tuples(SHARES, SHARES, st.integers(1, 60)), min_size=1, max_size=20)


def box(label: str, point: tuple[float, float], name: str) -> tuple[float, float, float, float]:
    place = PLACES[name]
    width = min(LONGEST, CHARACTER * len(label))
    left = point[0] * WIDTH + place.dx - (width if place.align == "right" else 0)
    middle = (1 - point[1]) * HEIGHT + place.dy
    return left, middle - LINE / 2, left + width, middle + LINE / 2


@given(SPOTS)
def test_placed_names_are_apart_and_inside_the_plot(spots: list[tuple[float, float, int]]) -> None:
    labels, points = ["n" * length for *_, length in spots], [(x, y) for x, y, _ in spots]
    found = label_places(labels, points, steps=sorted(range(len(points)), key=lambda one: points[one]))
    boxes = [box(labels[one], points[one], name) for one, name in enumerate(found) if name is not None]
    for place, one in enumerate(boxes):
        assert one[0] >= 0
        assert one[2] <= WIDTH
        for other in boxes[:place]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_a_name_alone_stands_beside_its_point_and_turns_where_the_plot_ends() -> None:
    assert label_places(["a/model"], [(0.2, 0.5)]) == ["right, above"]
    assert label_places(["a/model"], [(0.99, 0.5)]) == ["left, above"]
    assert label_places(["a/model"], [(0.2, 1.0)]) == ["right, below"]


def test_a_line_is_avoided_where_there_is_room_elsewhere() -> None:
    above, below = label_places(["a/first", "a/second"], [(0.1, 0.4), (0.2, 0.5)], steps=[0, 1])
    assert (above, below) != ("right, above", "right, above")
    assert above is not None
    assert below is not None


def test_of_a_crowd_on_one_spot_some_stay_without_a_name() -> None:
    found = label_places(["a/model of some length"] * 30, [(0.5, 0.5)] * 30)
    assert None in found


@pytest.mark.parametrize(
    ("value", "low", "high", "log", "share"),
    [(2.0, 0.0, 8.0, False, 0.25), (10.0, 1.0, 100.0, True, 0.5), (3.0, 3.0, 3.0, False, 0.5)],
)
def test_the_place_of_a_value_on_its_axis(value: float, low: float, high: float, log: bool, share: float) -> None:
    assert share_of(value, low, high, log=log) == pytest.approx(share)
