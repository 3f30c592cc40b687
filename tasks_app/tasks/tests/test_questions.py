"""What holds of every question of the six classes, over many canvases of 1 to 24 shapes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from tasks_app.canvas.generator import canvas_rng
from tasks_app.canvas.shapes import KIND_NAMES
from tasks_app.tasks.attributes import PATTERNS, bits_by_count, matches
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import Asked
from tasks_app.tasks.tests.canvases import drawn, shapes
from tasks_app.tasks.wording import listing, ordinal

CANVASES = 25
LEAST_SHAPES = {
    "existence": 1,
    "count": 1,
    "existence_tracking": 1,
    "shuffle_tracking": 2,
    "coordinate": 3,
    "transitivity": 3,
}
NAME = r"((?:small|large) (?:red|blue|yellow|green) (?:circle|square|triangle))"


def ask(name: str, canvas, index: int = 0, selected=None, **options) -> Asked:
    return REGISTERED_TASKS[name].ask(canvas, canvas_rng(5, len(canvas), index, name), selected, **options)


def test_there_are_59_patterns_and_none_twice() -> None:
    assert len(PATTERNS) == len(set(PATTERNS)) == 59
    assert matches((None, "Red", "Circle"), ("Small", "Red", "Circle"))
    assert not matches((None, "Red", "Circle"), ("Small", "Red", "Square"))


@pytest.mark.parametrize("name", REGISTERED_TASKS)
@pytest.mark.parametrize("n_shapes", range(1, 25))
def test_three_different_questions_are_asked_of_any_canvas_with_enough_shapes(name: str, n_shapes: int) -> None:
    for index in range(CANVASES):
        asked = ask(name, drawn(n_shapes, index), index)
        if n_shapes < LEAST_SHAPES[name]:
            assert asked.questions == ()
        elif not (name == "transitivity" and n_shapes == 3 and asked.questions == ()):  # both axes may have a tie
            assert len({question for question, _ in asked.questions}) == 3


@pytest.mark.parametrize("name", REGISTERED_TASKS)
def test_the_first_answer_is_the_selected_one_or_nothing_is_asked(name: str) -> None:
    task = REGISTERED_TASKS[name]()
    for index in range(60):
        wanted = task.select_expected_answer(index, 60)
        asked = ask(name, drawn(6, index), index, wanted)
        assert wanted is None or not asked.questions or asked.questions[0][1] == wanted


@pytest.mark.parametrize("name", ["existence", "existence_tracking", "transitivity"])
def test_every_wanted_answer_can_be_had_of_seven_shapes(name: str) -> None:
    task = REGISTERED_TASKS[name]()
    found = Counter(
        ask(name, drawn(7, index), index, task.select_expected_answer(index, 80)).questions[0][1] for index in range(80)
    )
    assert len(set(found.values())) == 1


@pytest.mark.parametrize("n_shapes", [2, 4, 8, 16, 23])
def test_the_form_of_an_existence_question_does_not_give_its_answer_away(n_shapes: int) -> None:
    answers = defaultdict(Counter)
    for index in range(300):
        for question, answer in ask("existence", drawn(n_shapes, index), index).questions[:1]:
            form = re.sub("small|large", "S", re.sub("red|blue|yellow|green", "C", question))
            answers[re.sub("circle|square|triangle", "N", form)][answer] += 1
    for counted in answers.values():
        assert sum(counted.values()) < 25 or set(counted) == {"Yes", "No"}


def test_with_every_kind_there_existence_is_always_yes() -> None:
    assert ask("existence", drawn(24), 0, "No").questions == ()
    assert {answer for _, answer in ask("existence", drawn(24)).questions} == {"Yes"}


def test_zero_is_one_count_among_others() -> None:
    counts = Counter(ask("count", drawn(7, index), index).questions[0][1] for index in range(300))
    assert counts[0] < 100
    assert len(counts) > 3


def test_counts_are_numbers_as_in_canvas_files() -> None:
    assert all(type(answer) is int for _, answer in ask("count", drawn(5)).questions)


@pytest.mark.parametrize("n_shapes", [3, 7, 20])
def test_an_example_is_never_the_evaluated_pair_turned_round(n_shapes: int) -> None:
    for name in ("coordinate", "transitivity"):
        for index in range(60):
            pairs = [
                frozenset(re.findall(NAME, question)) for question, _ in ask(name, drawn(n_shapes, index)).questions
            ]
            assert len(set(pairs)) == len(pairs)


def test_directions_compare_centres_and_leave_out_an_axis_without_difference() -> None:
    canvas = shapes("large red square 0 0", "small blue circle 0 9", "small green circle 1 -9")
    found = dict(ask("coordinate", canvas, index).questions[0] for index in range(60))
    assert found["Where is the small blue circle relative to the large red square?"] == "Above"
    assert found["Where is the large red square relative to the small blue circle?"] == "Below"
    assert found["Where is the small green circle relative to the large red square?"] == "Below Right"


def test_a_repeated_kind_is_never_asked_for_by_name() -> None:
    canvas = shapes(
        "large red square 0 0", "large red square 9 9", "small blue circle -9 1", "small green circle 5 -9",
        "small red circle 20 -20", "small red triangle -20 -23",
    )  # fmt: skip
    for name in ("transitivity", "coordinate", "existence_tracking", "shuffle_tracking"):
        for index in range(40):
            asked = ask(name, canvas, index)
            told = f"{asked.description} {asked.questions}"
            assert asked.questions
            assert "large red square" not in told


@pytest.mark.parametrize("n_shapes", [3, 4, 7, 15, 24])
def test_a_transitivity_question_takes_the_recorded_number_of_steps(n_shapes: int) -> None:
    for index in range(60):
        asked = ask("transitivity", drawn(n_shapes, index), index)
        if not asked.questions:
            continue
        stated = {frozenset(re.findall(NAME, sentence)) for sentence in asked.description.split(". ")[2:-1]}
        distances = [_distance(stated, *re.findall(NAME, question)) for question, _ in asked.questions]
        assert distances[0] == asked.difficulty["inference_steps"] >= 2
        assert n_shapes == 3 or asked.difficulty["line_length"] == 3 or min(distances) >= 2


def _distance(stated: set[frozenset[str]], start: str, goal: str) -> int:
    reached, steps = {start}, 0
    while goal not in reached:
        reached |= {name for pair in stated if pair & reached for name in pair}
        steps += 1
        assert steps <= len(stated)
    return steps


def test_a_line_has_no_ties() -> None:
    center = {shape.name: shape.center for shape in drawn(24, 3)}
    for index in range(20):
        asked = ask("shuffle_tracking", drawn(24, 3), index)
        start, line = re.search(r"From (\w+) to \w+, [\w ]+ are ([^.]*)", asked.description).groups()
        axis = 0 if start in ("left", "right") else 1
        along = [center[name][axis] for name in re.findall(NAME, line)]
        rising = start in ("left", "bottom")
        assert all((a < b) == rising and a != b for a, b in pairwise(along))


def test_of_shapes_level_with_each_other_any_may_be_the_one_in_line() -> None:
    canvas = shapes(
        "large red square 0 0", "small blue circle 0 9", "small green circle 9 9", "small red circle -9 -20"
    )
    told = " ".join(ask("shuffle_tracking", canvas, index).description for index in range(40))
    assert all(shape.name in told for shape in canvas)
    left_out = Counter(
        shape.name
        for index in range(40)
        for shape in canvas
        if shape.name not in ask("shuffle_tracking", canvas, index).description
    )
    assert set(left_out) == {"large red square", "small blue circle", "small green circle"}


def test_shapes_left_out_of_a_line_are_announced_in_text_and_question() -> None:
    canvas = shapes(
        "large red square 0 0", "small blue circle 0 9", "small green circle 9 9", "small red circle -9 -20"
    )
    asked = ask("shuffle_tracking", canvas)
    assert asked.description.startswith("There are 4 shapes in a canvas. From ")
    assert ", 3 of the shapes are a " in asked.description
    assert all(question.endswith(" of these 3?") for question, _ in asked.questions)


@pytest.mark.parametrize("n_shapes", [*range(2, 10), 16, 24])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7])
def test_no_shuffle_question_can_be_answered_from_the_line_as_first_told(n_shapes: int, steps: int) -> None:
    for index in range(20):
        asked = ask("shuffle_tracking", drawn(n_shapes, index), index, tracking_steps=steps)
        if n_shapes == 2 and steps % 2 == 0:
            assert not asked.questions
            continue
        assert asked.description.count("swap positions") == steps == asked.difficulty["tracking_steps"]
        start, end, line = re.search(r"From (\w+) to (\w+), [\w ]+ are ([^.]*)", asked.description).groups()
        names = re.findall(NAME, line)
        for question, answer in asked.questions:
            number, side = re.match(r"What shape is (.+) from the (\w+)", question).groups()
            place = [ordinal(n) for n in range(1, 25)].index(number)
            assert {start: names, end: names[::-1]}[side][place] != answer


@pytest.mark.parametrize("n_shapes", range(1, 24))
@pytest.mark.parametrize("steps", [3, 4, 6])
def test_no_existence_after_changes_can_be_answered_from_the_canvas_before(n_shapes: int, steps: int) -> None:
    for index in range(20):
        canvas = drawn(n_shapes, index)
        asked = ask("existence_tracking", canvas, index, tracking_steps=steps)
        assert asked.description.count(" the canvas. ") == steps == asked.difficulty["tracking_steps"]
        for question, answer in asked.questions:
            assert (question[len("Is there a ") : -len(" in the canvas? ")] in {shape.name for shape in canvas}) == (
                answer == "No"
            )


def test_with_every_kind_there_a_shape_that_is_there_in_the_end_was_taken_away_and_brought_back() -> None:
    asked = ask("existence_tracking", drawn(24), 0, "Yes")
    name = re.search(NAME, asked.questions[0][0])[1]
    removed, added = f"The {name} is removed from the canvas.", f"A {name} is added to the canvas."
    assert asked.description.index(removed) < asked.description.index(added)
    assert asked.difficulty == {"tracking_steps": 4}


@pytest.mark.parametrize("steps", [3, 4, 5, 8, 11])
def test_changes_are_possible_and_lead_to_the_answers(steps: int) -> None:
    for n_shapes in range(1, 25):
        for index in range(10):
            canvas = drawn(n_shapes, index)
            present = {shape.name for shape in canvas}
            asked = ask("existence_tracking", canvas, index, tracking_steps=steps)
            for name, change in re.findall(rf"{NAME} is (added|removed)", asked.description):
                assert (name in present) == (change == "removed")
                present ^= {name}
            assert present <= set(KIND_NAMES.values())
            for question, answer in asked.questions:
                assert (re.search(NAME, question)[1] in present) == (answer == "Yes")


def test_wording_is_that_of_the_published_canvases() -> None:
    canvas = shapes("large blue square -9 1", "small blue square 0 9", "large yellow square 9 -5")
    swap = r"(The N and the N swap positions\. ){3}"
    patterns = {
        "transitivity": r"There are 3 shapes in a canvas\. There is a N in the canvas\. "
        r"((Above|Below|To the (left|right) of) the N is a N\. ){2}",
        "existence_tracking": r"((A N is added to|The N is removed from) the canvas\. ){3}",
        "shuffle_tracking": r"There are 3 shapes in a canvas\. "
        r"From (left to right|right to left|top to bottom|bottom to top), "
        rf"the shapes are a N, a N, and a N\. {swap}",
    }
    for name, pattern in patterns.items():
        for index in range(20):
            assert re.fullmatch(pattern.replace("N", NAME), ask(name, canvas, index).description)


@pytest.mark.parametrize(
    ("n", "word"),
    [(1, "first"), (3, "third"), (9, "ninth"), (10, "tenth"), (12, "twelfth"), (20, "twentieth"), (21, "twenty-first"),
     (24, "twenty-fourth"), (40, "fortieth"), (90, "ninetieth"), (99, "ninety-ninth"), (100, "100th"), (101, "101st"),
     (111, "111th"), (122, "122nd")],
)  # fmt: skip
def test_ordinals_do_not_end_at_ninth(n: int, word: str) -> None:
    assert ordinal(n) == word


def test_two_names_are_listed_without_a_comma() -> None:
    assert listing(["x", "y"]) == "a x and a y"
    assert listing(["x", "y", "z"]) == "a x, a y, and a z"


@pytest.mark.parametrize("n_shapes", [1, 2, 3, 7, 16, 24])
def test_patterns_are_counted_as_one_by_one(n_shapes: int) -> None:
    for index in range(20):
        kinds = [shape.kind for shape in drawn(n_shapes, index)]
        counted = {
            number: count
            for count, bits in bits_by_count(drawn(n_shapes, index)).items()
            for number in range(len(PATTERNS))
            if bits >> number & 1
        }
        assert counted == {
            number: sum(matches(pattern, kind) for kind in kinds) for number, pattern in enumerate(PATTERNS)
        }
