"""What holds of every question of the six classes, over many canvases of 1 to 24 shapes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from tasks_app.canvas.generator import canvas_rng
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
    "shuffle_tracking": 3,
    "coordinate": 3,
    "transitivity": 7,
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
        else:
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


@pytest.mark.parametrize("n_shapes", [2, 4, 8, 16, 23, 24])
@pytest.mark.parametrize("name", ["existence", "existence_tracking"])
def test_the_form_of_a_yes_or_no_question_does_not_give_its_answer_away(name: str, n_shapes: int) -> None:
    answers = defaultdict(Counter)
    for index in range(300):
        for question, answer in ask(name, drawn(n_shapes, index), index, ("Yes", "No")[index % 2]).questions[:1]:
            form = re.sub("small|large", "S", re.sub("red|blue|yellow|green", "C", question))
            answers[re.sub("circle|square|triangle", "N", form)][answer] += 1
    assert {answer: sum(it[answer] for it in answers.values()) for answer in ("Yes", "No")} == {"Yes": 150, "No": 150}
    # A share of 0.75 of 25 questions or more is 2.5 standard errors from one half.
    assert all(max(it.values()) < 0.75 * it.total() for it in answers.values() if it.total() >= 25)


@pytest.mark.parametrize("n_shapes", [13, 20, 24])
def test_every_count_from_0_to_3_can_be_had_on_a_crowded_canvas(n_shapes: int) -> None:
    for index in range(60):
        asked = ask("count", drawn(n_shapes, index), index, index % 4)
        assert asked.questions[0][1] == index % 4
        assert re.fullmatch(
            rf"How many [a-z ]+s have their center (above|below|left of|right of) that of the {NAME}\?",
            asked.questions[0][0],
        )


def test_zero_is_one_count_among_others() -> None:
    counts = Counter(ask("count", drawn(7, index), index).questions[0][1] for index in range(300))
    assert counts[0] < 100
    assert len(counts) > 3


def test_counts_are_numbers_as_in_canvas_files() -> None:
    assert all(type(answer) is int for _, answer in ask("count", drawn(5)).questions)


@pytest.mark.parametrize("n_shapes", [3, 7, 20])
def test_an_example_is_never_the_evaluated_pair_turned_round(n_shapes: int) -> None:
    for name in ("coordinate", *(("transitivity",) if n_shapes > 6 else ())):
        for index in range(60):
            pairs = [
                frozenset(re.findall(NAME, question)) for question, _ in ask(name, drawn(n_shapes, index)).questions
            ]
            assert len(set(pairs)) == len(pairs)


def test_the_examples_of_transitivity_do_not_tell_the_axis_of_the_answer() -> None:
    for index in range(60):
        answers = [answer for _, answer in ask("transitivity", drawn(9, index), index).questions[1:]]
        assert sorted(answer in ("Left", "Right") for answer in answers) == [False, True]


def test_the_examples_of_shuffle_tracking_are_about_places_without_a_swap_if_there_are_any() -> None:
    for index in range(60):
        asked = ask("shuffle_tracking", drawn(7, index), index)
        swapped = {name for sentence in asked.description.split(". ")[2:] for name in re.findall(NAME, sentence)}
        assert asked.questions[0][1] in swapped
        assert not swapped & {answer for _, answer in asked.questions[1:]}


@pytest.mark.parametrize("n_shapes", [22, 23])
def test_the_answers_of_examples_do_not_tell_whether_a_shape_exists_if_one_form_is_left(n_shapes: int) -> None:
    seen: Counter[tuple[str, int]] = Counter()
    for index in range(600):
        wanted = ("Yes", "No")[index % 2]
        (_, answer), *examples = ask("existence", drawn(n_shapes, index), index, wanted).questions
        seen[answer, [answer for _, answer in examples].count("No")] += 1
    # 300 questions of each answer; 45 are about 3.7 standard errors of the difference.
    assert all(abs(seen["Yes", negative] - seen["No", negative]) < 45 for negative in range(3)), seen


def test_directions_compare_centres_and_leave_out_an_axis_without_difference() -> None:
    canvas = shapes("large red square 0 0", "small blue circle 0 9", "small green circle 1 -9")
    found = dict(ask("coordinate", canvas, index).questions[0] for index in range(60))
    assert found["Where is the small blue circle relative to the large red square?"] == "Above"
    assert found["Where is the large red square relative to the small blue circle?"] == "Below"
    assert found["Where is the small green circle relative to the large red square?"] == "Below Right"


def test_a_repeated_kind_is_never_asked_for_by_name() -> None:
    canvas = shapes(
        "large red square 0 0", "large red square 9 9", "small blue circle -9 1", "small green circle 5 -9",
        "small red circle 20 -20", "small red triangle -20 -23", "small blue square 13 13", "large blue circle 15 20",
        "large yellow circle -4 5",
    )  # fmt: skip
    for name in ("transitivity", "coordinate", "existence_tracking", "shuffle_tracking"):
        for index in range(40):
            asked = ask(name, canvas, index)
            assert asked.questions
            assert "large red square" not in f"{asked.description} {asked.questions[0]}"


CLAIM = re.compile(rf"(Above|Below|To the left of|To the right of) the {NAME} is a {NAME}")


def claims(text: str) -> dict[str, list[tuple[str, str]]]:
    """Axis → (lower, higher) of every claim about it."""
    ordered: dict[str, list[tuple[str, str]]] = {"y": [], "x": []}
    for word, reference, name in CLAIM.findall(text):
        pair = (reference, name) if word in ("Above", "To the right of") else (name, reference)
        ordered["y" if word in ("Above", "Below") else "x"].append(pair)
    return ordered


def steps_up(pairs: list[tuple[str, str]], start: str, goal: str) -> int | None:
    """The fewest claims that lead upward from a shape to another."""
    reached, steps = {start}, 0
    while goal not in reached:
        news = {high for low, high in pairs if low in reached} - reached
        if not news:
            return None
        reached |= news
        steps += 1
    return steps


@pytest.mark.parametrize("n_shapes", [7, 8, 15, 24])
def test_a_transitivity_text_orders_the_asked_shapes_on_one_axis_in_the_recorded_steps(n_shapes: int) -> None:
    for index in range(60):
        asked = ask("transitivity", drawn(n_shapes, index), index)
        ordered = claims(asked.description)
        for number, (question, answer) in enumerate(asked.questions):
            name, reference = re.findall(NAME, question)
            low, high = (reference, name) if answer in ("Above", "Right") else (name, reference)
            axis, other = ("y", "x") if answer in ("Above", "Below") else ("x", "y")
            steps = steps_up(ordered[axis], low, high)
            assert number > 0 or steps == asked.difficulty["inference_steps"] >= 2
            assert steps is not None
            assert steps_up(ordered[other], low, high) is steps_up(ordered[other], high, low) is None


def test_sentences_about_an_asked_shape_name_every_direction_equally_often() -> None:
    said: Counter[tuple[str, str]] = Counter()
    for index in range(800):
        wanted = ("Above", "Left", "Below", "Right")[index % 4]
        asked = ask("transitivity", drawn(9, index), index, wanted)
        name = re.findall(NAME, asked.questions[0][0])[0]
        for axis, pairs in claims(asked.description).items():
            for low, high in pairs:
                if name in (low, high):
                    said[wanted, f"{axis}{'+' if name == high else '-'}"] += 1
    for wanted in ("Above", "Left", "Below", "Right"):
        counts = [said[wanted, direction] for direction in ("x+", "x-", "y+", "y-")]
        assert max(counts) < 1.25 * min(counts), (wanted, counts)


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


def told_and_swaps(asked: Asked) -> tuple[str, list[tuple[str, str]]]:
    """The shape that the line has at the place asked about, and the pairs that are swapped."""
    start, end, line = re.search(r"From (\w+) to (\w+), [\w ]+ are ([^.]*)", asked.description).groups()
    names = re.findall(NAME, line)
    number, side = re.match(r"What shape is (.+) from the (\w+)", asked.questions[0][0]).groups()
    told = {start: names, end: names[::-1]}[side][[ordinal(n) for n in range(1, 25)].index(number)]
    return told, re.findall(rf"The {NAME} and the {NAME} swap", asked.description)


def test_with_three_swaps_each_moving_shape_is_at_the_asked_place_equally_often() -> None:
    at_place: Counter[str] = Counter()
    for index in range(900):
        asked = ask("shuffle_tracking", drawn(7, index), index)
        told, swaps = told_and_swaps(asked)
        assert len(swaps) == 3
        assert len({name for swap in swaps for name in swap}) <= 3
        assert all(set(first) != set(second) for first, second in pairwise(swaps))
        answer = asked.questions[0][1]
        at_place["as told"] += answer == told
        at_place["first of the last swap"] += answer == swaps[-1][0]
    # A third each; 0.05 are 3 standard errors.
    assert all(abs(count / 900 - 1 / 3) < 0.05 for count in at_place.values()), at_place


def test_with_two_swaps_the_shape_swapped_first_with_the_one_asked_for_is_right_half_the_time() -> None:
    right = 0
    for index in range(900):
        asked = ask("shuffle_tracking", drawn(7, index), index, tracking_steps=2)
        told, swaps = told_and_swaps(asked)
        right += any(set(swap) == {told, asked.questions[0][1]} for swap in swaps[: 1 if told in swaps[0] else 2])
    assert abs(right / 900 - 1 / 2) < 0.05


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7])
def test_a_shuffle_has_as_many_swaps_as_wanted(steps: int) -> None:
    for n_shapes in range(3, 25):
        asked = ask("shuffle_tracking", drawn(n_shapes), tracking_steps=steps)
        assert asked.description.count("swap positions") == steps == asked.difficulty["tracking_steps"]


def fits(wanted: str, name: str) -> bool:
    return set(wanted.split()) - {"shape"} <= set(name.split())


@pytest.mark.parametrize("n_shapes", [2, 3, 5, 7, 12, 20, 23])
def test_neither_the_changes_nor_the_canvas_alone_give_what_exists_in_the_end(n_shapes: int) -> None:
    last_word, before_right = Counter(), 0
    for index in range(200):
        canvas = drawn(n_shapes, index)
        asked = ask("existence_tracking", canvas, index, ("Yes", "No")[index % 2])
        wanted = re.match("Is there a (.+) in the canvas", asked.questions[0][0])[1]
        mentions = [
            change
            for name, change in re.findall(rf"{NAME} is (added|removed)", asked.description)
            if fits(wanted, name)
        ]
        last_word[mentions[-1] if mentions else "never mentioned", asked.questions[0][1]] += 1
        before = any(fits(wanted, shape.name) for shape in canvas)
        before_right += before == (asked.questions[0][1] == "Yes")
    assert last_word["added", "Yes"] == last_word["added", "No"] == 0
    for mention in ("removed", "never mentioned"):
        yes, no = last_word[mention, "Yes"], last_word[mention, "No"]
        assert abs(yes - no) < 3 * (yes + no + 1) ** 0.5, last_word
    assert n_shapes == 2 or before_right < 160


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 8, 40])
def test_changes_are_possible_and_lead_to_the_answers(steps: int) -> None:
    for n_shapes in range(1, 24):
        for index in range(10):
            canvas = drawn(n_shapes, index)
            present = {shape.name for shape in canvas}
            asked = ask("existence_tracking", canvas, index, tracking_steps=steps)
            changes = re.findall(rf"{NAME} is (added|removed)", asked.description)
            assert len(changes) == steps == asked.difficulty["tracking_steps"]
            for name, change in changes:
                assert (name in present) == (change == "removed")
                present ^= {name}
            for question, answer in asked.questions:
                wanted = re.match("Is there a (.+) in the canvas", question)[1]
                assert any(fits(wanted, name) for name in present) == (answer == "Yes")


def test_wording_is_that_of_the_published_canvases() -> None:
    canvas = shapes(
        "large blue square -9 1", "small blue square 0 9", "large yellow square 9 -5", "small red circle 20 20",
        "large green circle -20 -20", "small green triangle 12 -12", "large red triangle -14 14",
    )  # fmt: skip
    swap = r"(The N and the N swap positions\. ){3}"
    patterns = {
        "transitivity": r"There are 7 shapes in a canvas\. ((Above|Below|To the (left|right) of) the N is a N\. ){10,}",
        "existence_tracking": r"((A N is added to|The N is removed from) the canvas\. ){3}",
        "shuffle_tracking": r"There are 7 shapes in a canvas\. "
        r"From (left to right|right to left|top to bottom|bottom to top), "
        rf"the shapes are (a N, ){{6}}and a N\. {swap}",
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
