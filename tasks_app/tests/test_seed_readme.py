"""What the README of the published canvases promises to whoever adds a task class, sentence by sentence."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tasks_app import loader
from tasks_app.loader import CanvasDocument, build_canvas, build_prompt
from tasks_app.tasks.answers import judge_phrase
from tasks_app.tasks.existence_task import ExistenceTask
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import Task


class Halves(Task):
    """Written as the README says, with its own rule for a balanced set."""

    def generate_questions(self, shapes, selected_answer=None):
        pairs = [("Is a shape on the canvas?", "Yes"), ("Is the canvas empty?", "No"), ("Is nothing there?", "No")]
        return sorted(pairs, key=lambda pair: pair[1] != selected_answer)

    def select_expected_answer(self, i, n):
        return "Yes" if i < n / 2 else "No"


class Bare(Task):
    """Defines the only method that a class must define."""

    def generate_questions(self, shapes, selected_answer=None):
        assert selected_answer is None
        return [(f"What is the {place} shape?", str(shape)) for place, shape in enumerate(shapes[:3])]


def canvases(task: type[Task], low: int, high: int, count: int) -> list[CanvasDocument]:
    period = high - low + 1
    return [
        build_canvas(low + item % period, 5, item // period, count // period, item=(item, count), tasks={"new": task})
        for item in range(count)
    ]


def score(tmp_path: Path, expected: object, actual: str, task: type[Task] = Bare) -> float:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"expected": expected, "actual": actual}))
    return task().score(file)


def test_a_class_needs_to_define_generate_questions_alone() -> None:
    with pytest.raises(NotImplementedError):
        Task().generate_questions([])
    (document,) = canvases(Bare, 5, 5, 1)
    assert len(document.questions["new"]) == 3


def test_the_first_pair_is_the_question_and_the_others_are_few_shot_examples() -> None:
    (document,) = canvases(Bare, 5, 5, 1)
    (question, answer), *others = document.questions["new"]
    tasks = {"new": Bare}
    plain = build_prompt(document, "new", "full", False, tasks)
    assert plain.text.endswith(f"Question: {question}\n")
    assert plain.expected == answer
    few_shot = build_prompt(document, "new", "full", True, tasks).text
    assert all(f"Question: {text}\nAnswer: {given}" in few_shot for text, given in others)


def test_all_shipped_classes_return_three_pairs() -> None:
    questions = build_canvas(9, 11, 0, 1).questions
    assert {name: len(pairs) for name, pairs in questions.items()} == dict.fromkeys(REGISTERED_TASKS, 3)


def test_the_first_answer_is_the_selected_one() -> None:
    asked = [document.questions["new"][0][1] for document in canvases(Halves, 4, 4, 6)]
    assert asked == ["Yes"] * 3 + ["No"] * 3


@pytest.mark.parametrize(
    ("expected", "actual", "value"),
    [
        ("Yes", "Yes", 1), ("Yes", "yes, there is", 1), ("Yes", "YES", 1), ("red", "It is Infrared.", 1),
        ("Yes", "Is it Yes or No? I say No.", 1), (3, "13", 1), ("Above left", "above left", 1),
        ("Yes", "No", 0), ("Yes", "", 0), ("Above Left", "Left above", 0), (3, "three", 0),
    ],
)  # fmt: skip
def test_the_default_score_is_1_if_the_expected_answer_is_contained(
    tmp_path: Path, expected: object, actual: str, value: int
) -> None:
    assert score(tmp_path, expected, actual) == value
    assert (Bare.verdict(expected, actual).value or 0) == value


def test_a_class_may_override_score_with_a_number_from_0_to_1(tmp_path: Path) -> None:
    class Own(Bare):
        def score(self, file):
            with open(file) as opened:
                return 0.25 if json.load(opened)["actual"] == "nearly" else 0

    assert score(tmp_path, "x", "nearly", Own) == Own.verdict("x", "nearly").value == 0.25


def test_the_stricter_reading_is_chosen_by_name(tmp_path: Path) -> None:
    class Strict(Bare):
        def judge(self, expected, actual):
            return judge_phrase(expected, actual)

    assert score(tmp_path, "red", "It is Infrared.", Strict) == 0
    assert score(tmp_path, "Yes", "Yes or No?\nAnswer: No", Strict) == 0
    assert score(tmp_path, "Yes", "Yes or No?\nAnswer: No") == 1


def test_shipped_classes_do_not_read_by_the_default() -> None:
    assert all(task.judge is not Task.judge or task.score is not Task.score for task in REGISTERED_TASKS.values())


@pytest.mark.parametrize(("low", "high", "count"), [(3, 3, 12), (3, 12, 40), (5, 7, 24), (8, 9, 10)])
def test_the_ith_of_n_items_is_counted_over_the_set(low: int, high: int, count: int) -> None:
    seen: list[tuple[int, int]] = []

    class Counting(Halves):
        def select_expected_answer(self, i, n):
            seen.append((i, n))
            return super().select_expected_answer(i, n)

    documents = canvases(Counting, low, high, count)
    assert seen == [(item, count) for item in range(count)]
    answers = Counter(document.questions["new"][0][1] for document in documents)
    assert answers == {"Yes": count / 2, "No": count / 2}


def test_the_example_named_for_it_gives_half() -> None:
    assert Counter(ExistenceTask().select_expected_answer(i, 12) for i in range(12)) == {"Yes": 6, "No": 6}


def test_the_default_leaves_the_answer_to_chance() -> None:
    assert Task().select_expected_answer(3, 12) is None
    assert len({document.questions["new"][0][1] for document in canvases(Bare, 5, 5, 20)}) > 5


def test_a_description_set_with_the_questions_replaces_that_of_the_canvas() -> None:
    class Coupled(Bare):
        def generate_questions(self, shapes, selected_answer=None):
            self.description = f"In a row: {', '.join(map(str, shapes))}."
            return super().generate_questions(shapes, selected_answer)

    (document,) = canvases(Coupled, 4, 4, 1)
    prompt = build_prompt(document, "new", "full", False, {"new": Coupled})
    assert f"Canvas:\n{document.descriptions['new']}\n\nQuestion" in prompt.text
    assert document.descriptions["full"].strip() not in prompt.text


def test_text_named_in_the_loader_is_added_to_the_description(monkeypatch: pytest.MonkeyPatch) -> None:
    class Painted(Bare):
        def generate_questions(self, shapes, selected_answer=None):
            self.description = f"Then the {shapes[0]} is painted black."
            return super().generate_questions(shapes, selected_answer)

    monkeypatch.setattr(loader, "ADDED_TO_DESCRIPTION", frozenset({"new"}))
    (document,) = canvases(Painted, 4, 4, 1)
    prompt = build_prompt(document, "new", "full", False, {"new": Painted})
    assert document.descriptions["full"].strip() in prompt.text
    assert document.descriptions["new"] in prompt.text
