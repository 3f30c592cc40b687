from __future__ import annotations

import io
import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from tasks_app.canvas.generator import canvas_rng
from tasks_app.tasks.existence_task import ExistenceTask
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import AnswerFileError, Task, TaskError
from tasks_app.tasks.tests.canvases import drawn
from tasks_app.tasks.transitivity_task import TransitivityTask


class Scripted(Task):
    """Returns what its test put into `script`."""

    name = "scripted"
    script: ClassVar[list] = []

    def generate_questions(self, shapes, selected_answer=None):
        return self.script


def scripted(*questions: tuple[str, str]) -> type[Scripted]:
    return type("Made", (Scripted,), {"script": list(questions)})


def test_every_class_is_registered_under_its_own_name() -> None:
    assert {name: task.name for name, task in REGISTERED_TASKS.items()} == {name: name for name in REGISTERED_TASKS}
    assert list(REGISTERED_TASKS) == [
        "existence", "count", "transitivity", "coordinate", "existence_tracking", "shuffle_tracking",
    ]  # fmt: skip


@pytest.mark.parametrize("task", REGISTERED_TASKS.values())
def test_the_same_source_asks_the_same(task: type[Task]) -> None:
    canvas = drawn(7)
    assert task.ask(canvas, canvas_rng(1, 7, 0, task.name)) == task.ask(canvas, canvas_rng(1, 7, 0, task.name))


@pytest.mark.parametrize("task", REGISTERED_TASKS.values())
def test_no_class_draws_from_the_global_source(task: type[Task]) -> None:
    before = random.getstate()
    task.ask(drawn(7), canvas_rng(1, 7, 0, task.name))
    assert random.getstate() == before


@pytest.mark.parametrize("task", REGISTERED_TASKS.values())
def test_only_the_method_with_a_stable_sequence_is_drawn_from(task: type[Task]) -> None:
    class OnlyRandom:
        random = canvas_rng(1, 7, 0, task.name).random

    assert task.ask(drawn(7), OnlyRandom()) == task.ask(drawn(7), canvas_rng(1, 7, 0, task.name))


def test_nothing_of_one_canvas_stays_for_the_next() -> None:
    assert TransitivityTask.ask(drawn(7), canvas_rng(1, 7, 0, "t")).description is not None
    asked = TransitivityTask.ask(drawn(2), canvas_rng(1, 2, 0, "t"))
    assert (asked.questions, asked.description, asked.difficulty) == ((), None, {})


@pytest.mark.parametrize("task", REGISTERED_TASKS.values())
def test_threads_that_share_a_class_do_not_mix_their_canvases(task: type[Task]) -> None:
    def ask(index: int):
        return task.ask(drawn(6, index), canvas_rng(2, 6, index, task.name))

    one_by_one = [ask(index) for index in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(200))) == one_by_one


def test_a_class_that_repeats_a_question_is_reported() -> None:
    with pytest.raises(TaskError, match="2 or more different questions"):
        scripted(("A?", "Yes"), ("A?", "Yes"), ("B?", "No")).ask(drawn(3), random.Random(0))


def test_two_questions_are_enough_and_one_is_reported() -> None:
    assert len(scripted(("A?", "Yes"), ("B?", "No")).ask(drawn(3), random.Random(0)).questions) == 2
    with pytest.raises(TaskError, match=r"Made\.generate_questions"):
        scripted(("A?", "Yes")).ask(drawn(3), random.Random(0))


def test_shapes_are_a_list_that_can_be_sorted_and_printed() -> None:
    class Sorting(Scripted):
        def generate_questions(self, shapes, selected_answer=None):
            shapes.sort()
            return [(str(shape), shape.color) for shape in shapes]

    canvas = drawn(5)
    questions = Sorting.ask(canvas, random.Random(0)).questions
    assert [text for text, _ in questions] == [shape.name for shape in sorted(canvas)]
    assert canvas == drawn(5), "a class sorts its own list"


def test_a_class_that_ignores_the_selected_answer_is_reported() -> None:
    with pytest.raises(TaskError, match="asked for the answer 'No' and returned 'Yes'"):
        scripted(("A?", "Yes"), ("B?", "No"), ("C?", "No")).ask(drawn(3), random.Random(0), "No")


def answers(expected, actual) -> str:
    return json.dumps({"expected": expected, "actual": actual})


def test_score_reads_a_path_and_an_open_file(tmp_path) -> None:
    path = tmp_path / "answers.json"
    path.write_text(answers("Yes", "Answer: Yes"))
    assert ExistenceTask().score(path) == 1
    assert ExistenceTask().score(str(path)) == 1
    with path.open() as text, path.open("rb") as binary:
        assert (ExistenceTask().score(text), ExistenceTask().score(binary)) == (1, 1)


@pytest.mark.parametrize(
    ("name", "expected", "actual", "score"),
    [
        ("existence", "No", "I do not know.", 0),
        ("existence", "No", "mumble", 0),
        ("count", 0, "There are 10.", 0),
        ("count", 2, "There are two.", 1),
        ("transitivity", "Left", "Left.", 1),
        ("coordinate", "Above Left", "above-left", 1),
        ("coordinate", "Above Left", "left left", 0.5),
        ("coordinate", "Above ", "Above", 1),
        ("existence_tracking", "Yes", "yes", 1),
        ("shuffle_tracking", "large blue square", "Large blue square.", 1),
    ],
)
def test_score_judges_by_the_kind_of_answer(name: str, expected, actual: str, score: float) -> None:
    assert REGISTERED_TASKS[name]().score(io.StringIO(answers(expected, actual))) == score


@pytest.mark.parametrize(
    "content", ["", "Yes", "[]", '{"expected": "Yes"}', '{"actual": "Yes"}', answers(None, "Yes"), answers(True, "Yes"),
                answers("Yes", 3), "[" * 100_000],
)  # fmt: skip
def test_a_file_in_another_layout_is_an_error_that_shows_the_layout(content: str) -> None:
    with pytest.raises(AnswerFileError, match='"expected": "Yes", "actual"'):
        ExistenceTask().score(io.StringIO(content))


def test_a_reply_is_judged_by_the_class_own_score_where_it_has_one() -> None:
    class Half(Scripted):
        def score(self, file) -> float:
            with open(file) as opened:  # as the README says
                read = json.load(opened)
            return 0.5 if read == {"expected": 3, "actual": "three"} else 0.0

    assert Half.verdict(3, "three").value == 0.5


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_a_score_outside_its_range_is_reported(value: float) -> None:
    class Wild(Scripted):
        def score(self, file) -> float:
            return value

    with pytest.raises(TaskError, match="from 0 to 1"):
        Wild.verdict("Yes", "Yes")


def test_guess_rates_are_what_guessing_each_possible_answer_alike_scores() -> None:
    for name, possible in {
        "existence": ["Yes", "No"],
        "existence_tracking": ["Yes", "No"],
        "transitivity": ["Above", "Below", "Left", "Right"],
        "coordinate": [
            "Above", "Below", "Left", "Right", "Above Left", "Above Right", "Below Left", "Below Right",
        ],
    }.items():  # fmt: skip
        task = REGISTERED_TASKS[name]
        values = [task.verdict(expected, guess).value for expected in possible for guess in possible]
        assert values.count(1.0) / len(values) == task.guess_rate, name
        assert sum(values) / len(values) == (task.guess_score or task.guess_rate), name
