import random
from itertools import combinations_with_replacement, product

import pytest

from tasks_app.canvas.geometry import (
    FORMS,
    MARGIN,
    Form,
    center_bounds,
    free_center,
    free_centers,
    gap,
    lies_inside,
    touch,
    touching_offsets,
)
from tasks_app.canvas.shapes import COLORS, HALF, Shape
from tasks_app.canvas.tests.slow_geometry import are_apart, is_inside


def at(form: Form, x: int, y: int) -> Shape:
    return Shape(form[0], "Red", form[1], (x, y))


@pytest.mark.parametrize(("first", "second"), list(combinations_with_replacement(FORMS, 2)))
def test_the_offsets_at_which_two_forms_touch_are_those_found_the_long_way(first: Form, second: Form) -> None:
    for x, y in product(range(-10, 11), repeat=2):
        expected = not are_apart(at(first, 0, 0), at(second, x, y))
        assert touch(at(first, 0, 0), at(second, x, y)) == expected, (x, y)
        assert touch(at(second, x, y), at(first, 0, 0)) == expected, (x, y)


def test_no_gap_is_so_narrow_that_rounding_could_decide() -> None:
    gaps = {gap(a, b, (x, y)) for a, b in product(FORMS, FORMS) for x, y in product(range(-10, 11), repeat=2)}
    assert not [width for width in gaps if 1e-12 < abs(width) < 1e-3]
    assert 1e-12 < MARGIN < 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_the_bounds_of_a_centre_are_where_the_form_just_fits(form: Form) -> None:
    for x, y in product(range(-HALF - 1, HALF + 2), (0, -HALF, HALF)):
        assert lies_inside(at(form, x, y)) == is_inside(at(form, x, y))
        assert lies_inside(at(form, y, x)) == is_inside(at(form, y, x))
    for x, y in product(range(-HALF, HALF + 1), repeat=2):
        assert lies_inside(at(form, x, y)) == (lies_inside(at(form, x, 0)) and lies_inside(at(form, 0, y)))


@pytest.mark.parametrize("form", FORMS)
def test_23_other_kinds_can_never_fill_the_canvas(form: Form) -> None:
    left, right, bottom, top = center_bounds(form)
    centers = (right - left + 1) * (top - bottom + 1)
    taken_at_most = sum(len(touching_offsets(other, form)) * (len(COLORS) - (other == form)) for other in FORMS)
    assert taken_at_most < centers


def test_free_centres_are_exactly_those_where_nothing_is_touched() -> None:
    placed = [at(("Circle", "Large"), 0, 0), at(("Triangle", "Large"), 12, 3)]
    free = set(free_centers(("Square", "Small"), placed))
    for x, y in product(range(-15, 16), repeat=2):
        candidate = at(("Square", "Small"), x, y)
        assert ((x, y) in free) == all(are_apart(candidate, other) for other in placed)


class UnluckyRandom(random.Random):
    """Always draws the middle, where something stands, and so leaves the choice to the list of free centres."""

    def random(self) -> float:
        return 0.5


def test_a_centre_is_found_even_if_every_draw_hits_a_shape() -> None:
    placed = [at(("Circle", "Large"), 0, 0)]
    center = free_center(("Circle", "Small"), placed, UnluckyRandom())
    assert are_apart(placed[0], at(("Circle", "Small"), *center))


def test_a_full_canvas_is_an_error_and_not_an_endless_loop() -> None:
    placed = [at(("Circle", "Large"), x, y) for x, y in product(range(-28, 29, 8), repeat=2)]
    with pytest.raises(ValueError, match="no room is left on the canvas for a large circle"):
        free_center(("Circle", "Large"), placed, random.Random(1))
