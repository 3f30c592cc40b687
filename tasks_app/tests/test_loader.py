from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from tasks_app.canvas.descriptions import DESCRIPTIONS
from tasks_app.canvas.generator import canvas_rng, generate_shapes
from tasks_app.canvas.shapes import CanvasError
from tasks_app.loader import (
    REPRESENTATIONS,
    CanvasDocument,
    PromptError,
    build_canvas,
    build_prompt,
    check_supported,
    describe,
    supports,
)
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import Task


@pytest.fixture
def document() -> CanvasDocument:
    return build_canvas(7, 11, 0, 10)


def test_a_canvas_is_the_same_whenever_it_is_built() -> None:
    assert build_canvas(7, 11, 3, 10).to_json() == build_canvas(7, 11, 3, 10).to_json()


def test_a_set_grows_without_changing_what_it_had() -> None:
    assert build_canvas(7, 11, 3, 10) == build_canvas(7, 11, 3, 100_000)


def test_a_canvas_differs_by_seed_and_index() -> None:
    files = {build_canvas(7, seed, index, 10).to_json() for seed in range(5) for index in range(5)}
    assert len(files) == 25


def test_its_shapes_do_not_depend_on_the_task_classes() -> None:
    assert build_canvas(7, 11, 3, 10, tasks={}).shapes == generate_shapes(7, canvas_rng(11, 7, 3, "shapes"))


def test_each_class_draws_from_a_source_of_its_own() -> None:
    document = build_canvas(7, 11, 0, 10)
    for name in ("existence", "transitivity", "existence_tracking", "shuffle_tracking"):
        task = REGISTERED_TASKS[name]
        wanted = task().select_expected_answer(7, 10)  # the first canvas of seven shapes
        assert document.questions[name] == task.ask(document.shapes, canvas_rng(11, 7, 0, name), wanted).questions


def test_no_class_has_the_name_of_a_representation() -> None:
    assert not set(REGISTERED_TASKS) & set(REPRESENTATIONS)


def test_the_file_has_the_original_layout(document: CanvasDocument) -> None:
    file = json.loads(document.to_json())
    assert list(file) == ["canvas", "descriptions", "questions"]
    assert list(file["descriptions"]) == [
        "full", "partial", "coordinates", "transitivity", "existence_tracking", "shuffle_tracking",
    ]  # fmt: skip
    assert list(file["questions"]) == list(REGISTERED_TASKS)
    assert all(len(questions) == 3 for questions in file["questions"].values())


def test_a_file_read_again_has_the_same_content(document: CanvasDocument) -> None:
    again = CanvasDocument.from_json(document.to_json(), "canvas_7_0.json")
    assert (again.shapes, again.descriptions, again.questions) == (
        document.shapes, document.descriptions, document.questions,
    )  # fmt: skip


def test_difficulty_is_recorded(document: CanvasDocument) -> None:
    assert document.difficulty["existence_tracking"] == {"tracking_steps": 3}
    assert document.difficulty["shuffle_tracking"]["tracking_steps"] == 3
    assert document.difficulty["transitivity"]["inference_steps"] >= 2


def test_the_number_of_tracking_steps_can_be_chosen() -> None:
    difficulty = build_canvas(7, 11, 0, 10, tracking_steps=9).difficulty
    assert difficulty["existence_tracking"]["tracking_steps"] == difficulty["shuffle_tracking"]["tracking_steps"] == 9


def test_what_cannot_be_asked_is_listed_with_its_reason() -> None:
    document = build_canvas(2, 11, 0, 10)
    assert document.not_applicable == {
        "transitivity": "needs seven shapes of kinds that are not repeated, no two of them level with each other",
        "coordinate": "needs three shapes of kinds that are not repeated",
        "shuffle_tracking": "needs three shapes of kinds that are not repeated, not level with each other",
    }
    assert document.questions["coordinate"] == ()


@pytest.mark.parametrize("n_shapes", [0, -1, 25, 10**9])
def test_an_impossible_number_of_shapes_is_an_error_at_once(n_shapes: int) -> None:
    with pytest.raises(CanvasError, match="1 to 24"):
        build_canvas(n_shapes, 11, 0, 10)


def test_a_prompt_asks_the_evaluated_question_last(document: CanvasDocument) -> None:
    question, answer = document.questions["count"][0]
    prompt = build_prompt(document, "count", "full")
    assert prompt.text.endswith(f"\n\nQuestion: {question}\n")
    assert (prompt.expected, prompt.needs_image, prompt.examples) == (str(answer), False, 0)


@pytest.mark.parametrize(("few_shot", "shown"), [(False, 0), (0, 0), (1, 1), (2, 2), (True, 2)])
def test_a_prompt_shows_as_many_examples_as_asked(document: CanvasDocument, few_shot: bool | int, shown: int) -> None:
    prompt = build_prompt(document, "coordinate", "coordinates", few_shot)
    examples = re.findall(r"Question: (.*)\nAnswer: (.*)\n", prompt.text)
    assert prompt.examples == shown
    assert examples == list(document.questions["coordinate"][1 : 1 + shown])


@pytest.mark.parametrize("few_shot", [-1, 3])
def test_more_examples_than_there_are_is_an_error(document: CanvasDocument, few_shot: int) -> None:
    with pytest.raises(PromptError, match="Use 0 to 2"):
        build_prompt(document, "count", "full", few_shot)


@pytest.mark.parametrize("representation", DESCRIPTIONS)
def test_a_question_about_the_canvas_comes_with_its_description(document: CanvasDocument, representation: str) -> None:
    text = build_prompt(document, "coordinate", representation).text
    assert DESCRIPTIONS[representation](document.shapes).strip() in text
    assert describe(document, representation).strip() in text


@pytest.mark.parametrize("representation", DESCRIPTIONS)
def test_a_class_with_its_own_text_is_asked_of_that_text_alone(document: CanvasDocument, representation: str) -> None:
    for name in ("transitivity", "shuffle_tracking"):
        text = build_prompt(document, name, representation).text
        assert f"Canvas:\n{document.descriptions[name].strip()}\n\nQuestion" in text


@pytest.mark.parametrize("representation", DESCRIPTIONS)
def test_changes_follow_the_description(document: CanvasDocument, representation: str) -> None:
    text = build_prompt(document, "existence_tracking", representation).text
    shown = describe(document, representation) + document.descriptions["existence_tracking"]
    assert f"Canvas:\n{shown.strip()}\n\nQuestion" in text


def test_a_picture_prompt_says_so_and_describes_nothing_but_changes(document: CanvasDocument) -> None:
    prompt = build_prompt(document, "existence_tracking", "image")
    assert prompt.needs_image
    assert f"Canvas:\nSee the picture. {document.descriptions['existence_tracking'].strip()}\n" in prompt.text


def test_an_image_supports_no_class_with_a_text_of_its_own(document: CanvasDocument) -> None:
    assert {name for name in REGISTERED_TASKS if not supports(name, "image")} == {"transitivity", "shuffle_tracking"}
    with pytest.raises(PromptError) as error:
        check_supported(list(REGISTERED_TASKS), "image")
    assert "image supports existence, count, coordinate, existence_tracking;" in str(error.value)
    assert str(error.value).endswith("Not supported by image: transitivity, shuffle_tracking.")
    with pytest.raises(PromptError, match="Not supported by image: transitivity"):
        build_prompt(document, "transitivity", "image")


def test_every_text_supports_every_class() -> None:
    assert all(supports(name, representation) for name in REGISTERED_TASKS for representation in DESCRIPTIONS)
    assert list(REPRESENTATIONS) == [*DESCRIPTIONS, "image"]


def test_unknown_names_are_errors_that_list_the_known() -> None:
    with pytest.raises(PromptError, match="use one of: existence, count"):
        supports("new", "full")
    with pytest.raises(PromptError, match="Use one of: full, partial"):
        supports("count", "telepathy")


def test_a_prompt_for_what_is_not_applicable_says_why() -> None:
    with pytest.raises(PromptError, match="no question about this canvas: needs three shapes"):
        build_prompt(build_canvas(2, 11, 0, 10), "coordinate", "full")


def test_an_imported_text_is_shown_as_it_is(document: CanvasDocument) -> None:
    document.descriptions["full"] = "Their own words. "
    assert "Canvas:\nTheir own words.\n" in build_prompt(document, "count", "full").text


def test_an_answer_with_a_stray_space_is_expected_without_it(document: CanvasDocument) -> None:
    document.questions["coordinate"] = (("Where is it?", "Above "),)
    prompt = build_prompt(document, "coordinate", "full", few_shot=True)
    assert (prompt.expected, prompt.examples) == ("Above", 0)


class Unbalanced(Task):
    """Never has the answer that is wanted."""

    name = "unbalanced"

    def generate_questions(self, shapes, selected_answer=None):
        return [] if selected_answer else [("A?", "Yes"), ("B?", "No"), ("C?", "No")]

    def select_expected_answer(self, i, n):
        return "Maybe"


def test_where_the_wanted_answer_cannot_be_had_another_question_is_asked() -> None:
    document = build_canvas(3, 11, 0, 10, tasks={"unbalanced": Unbalanced})
    assert document.questions["unbalanced"][0] == ("A?", "Yes")
    assert document.not_applicable == {}


def test_any_first_part_of_a_set_is_balanced() -> None:
    for low, high in ((3, 24), (5, 9), (7, 7)):
        period = high - low + 1
        places = [(low + index % period, index // period) for index in range(10 * period)]
        for name, answers in (("existence", 2), ("count", 4), ("coordinate", 8)):
            task = REGISTERED_TASKS[name]()
            counts: Counter[object] = Counter()
            for number, task.place in enumerate(places):
                counts[task.select_expected_answer(number, number + 1)] += 1
                missing = counts.total() / answers - min(counts[it] for it in counts)
                assert missing <= 3 or len(counts) < answers, (name, low, high, number)


def test_the_first_canvases_of_a_set_do_not_expect_one_answer() -> None:
    answers = [build_canvas(n_shapes, 11, 0, 1).questions["existence"][0][1] for n_shapes in range(3, 25)]
    assert Counter(answers) == {"Yes": 11, "No": 11}
