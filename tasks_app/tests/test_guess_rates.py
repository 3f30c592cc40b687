import math

import pytest

from tasks_app.canvas.generator import GENERATOR_VERSION, MAX_SHAPES
from tasks_app.guess_rates import CANVASES, STEPS, TRACKING, rate, rates_of
from tasks_app.loader import build_canvas
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import DEFAULT_TRACKING_STEPS

SHUFFLED = "shuffle_tracking"


def test_every_class_and_number_of_steps_has_rates_from_thousands_of_canvases_up_to_most_shapes() -> None:
    measured = [(name, steps) for name in REGISTERED_TASKS for steps in (STEPS if name in TRACKING else (7,))]
    for name, steps in measured:
        rates, task = rates_of(GENERATOR_VERSION, name, steps), REGISTERED_TASKS[name]
        assert set(range(7, MAX_SHAPES + 1)) <= rates.keys(), (name, steps)
        known = task.guess_score or task.guess_rate
        for n_shapes, found in rates.items():
            assert 0.9 * CANVASES <= found.n <= CANVASES or n_shapes < 7, (name, n_shapes)
            assert known is None or found.blind > known - 4 * math.sqrt(0.25 / found.n), (name, n_shapes)


@pytest.mark.parametrize(("name", "n_shapes", "steps"), [("count", 7, 3), (SHUFFLED, 5, 3), (SHUFFLED, 5, 4)])
def test_other_canvases_have_the_stored_rates(name: str, n_shapes: int, steps: int) -> None:
    canvases = [
        build_canvas(n_shapes, 5, at, 800, tracking_steps=steps, tasks={name: REGISTERED_TASKS[name]})
        for at in range(800)
    ]
    found, stored = rate(name, n_shapes, canvases), rates_of(GENERATOR_VERSION, name, steps)[n_shapes]
    assert found is not None
    assert abs(found.blind - stored.blind) < 4 * math.sqrt(0.25 / 800)
    assert abs(found.by_examples - stored.by_examples) < 4 * math.sqrt(0.25 / 800)


def test_what_was_not_measured_has_no_rates() -> None:
    assert rates_of("0", "count", DEFAULT_TRACKING_STEPS) == {}
    assert rates_of(GENERATOR_VERSION, "unknown", DEFAULT_TRACKING_STEPS) == {}
    assert rates_of(GENERATOR_VERSION, SHUFFLED, max(STEPS) + 1) == {}


def test_only_tracking_depends_on_the_number_of_steps() -> None:
    assert rates_of(GENERATOR_VERSION, "count", 12) == rates_of(GENERATOR_VERSION, "count", DEFAULT_TRACKING_STEPS)
    one, two, many = (rates_of(GENERATOR_VERSION, SHUFFLED, steps)[10].blind for steps in (1, 2, 12))
    assert one == 1, "one sentence says it all"
    assert 0.45 < two < 0.55, "the other two of three are left"
    assert many < 0.3


def test_examples_tell_nothing_of_existence_in_crowded_canvases() -> None:
    rates = rates_of(GENERATOR_VERSION, "existence", DEFAULT_TRACKING_STEPS)
    assert all(found.by_examples < 0.55 for n_shapes, found in rates.items() if n_shapes > 7), rates
