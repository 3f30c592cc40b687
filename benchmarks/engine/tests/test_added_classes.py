"""The three ways of adding a task class, each written from the README alone and used in whole runs."""

import json
from itertools import pairwise
from typing import Any

import pytest

from benchmarks.engine.canvas_sets.generation import GenerationFailed, generate_canvas
from benchmarks.models import Outcome, RunStatus
from benchmarks.services.errors import InvalidRequest
from tasks_app import loader
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tasks_app.tasks.task import Task
from tests.support.canvas_sets import accept_images, canvas_run, make_canvas_set
from tests.support.running import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


class Smallest(Task):
    """A class of the plain kind: sorts the shapes it is given, prints them, and opens the file to score."""

    def generate_questions(self, shapes, selected_answer=None):
        shapes.sort(key=str)
        pairs = [
            (f"Is a {shapes[0]} before a {shapes[-1]} in the alphabet?", "Yes"),
            (f"Is a {shapes[-1]} before a {shapes[0]} in the alphabet?", "No"),
        ]
        if selected_answer == "No":
            pairs.reverse()
        return pairs

    def select_expected_answer(self, i, n):
        return ["Yes", "No"][i % 2]

    def score(self, file):
        with open(file) as f:
            answers = json.load(f)
        return 1 if answers["expected"] in answers["actual"] else 0


class Chain(Task):
    """Case 1: a text of its own; as many questions as the canvas has shapes."""

    def generate_questions(self, shapes, selected_answer=None):
        self.description = " ".join(f"After the {a} comes the {b}." for a, b in pairwise(shapes))
        return [(f"What comes after the {a}?", str(b)) for a, b in pairwise(shapes)]


class Painted(Task):
    """Case 2: its text is added to the description of the canvas, or to its picture."""

    def generate_questions(self, shapes, selected_answer=None):
        first, second = sorted(shapes)[:2]
        self.description = f"The {first} is painted black. "
        return [(f"Is the {first} black?", "Yes"), (f"Is the {second} black?", "No")]


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, task in {"smallest": Smallest, "chain": Chain, "painted": Painted}.items():
        monkeypatch.setitem(REGISTERED_TASKS, name, task)
    monkeypatch.setattr(loader, "ADDED_TO_DESCRIPTION", loader.ADDED_TO_DESCRIPTION | {"painted"})


def test_all_three_are_asked_and_scored_in_a_run() -> None:
    canvas_set = make_canvas_set("7", 40)
    assert not any(canvas_set.not_applicable.values())
    for few_shot in (False, True):
        run = canvas_run(canvas_set, "baseline/reference", tasks=["smallest", "chain", "painted"], few_shot=few_shot)
        assert (run.status, run.errors, run.total) == (RunStatus.COMPLETED, 0, 120)
        assert set(run.results.values_list("value", flat=True)) == {1.0}
    answers = list(run.results.filter(group="smallest").values_list("task__expected_output", flat=True))
    assert answers == ["Yes", "No"] * 20


def test_the_first_question_is_evaluated_and_the_others_are_examples() -> None:
    canvas_set = make_canvas_set("5", 1)
    examples = {"smallest": 1, "chain": 3, "painted": 1}
    run = canvas_run(canvas_set, "baseline/reference", tasks=list(examples), few_shot=True)
    for result in run.results.all():
        prompt = result.transcript.messages[0]["content"]
        assert prompt.count("\nAnswer: ") == examples[result.group]
        assert prompt.count("Question: ") == examples[result.group] + 1


def test_its_own_score_reads_a_file_and_judges_wrong_answers_too(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "Answer: Yes")
    run = canvas_run(make_canvas_set("5", 40), "loop/model", tasks=["smallest"])
    assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
    assert run.summary["metrics"]["task_score"]["mean"] == 0.5


def test_a_text_that_is_added_keeps_the_picture_and_a_text_of_its_own_has_none(
    endpoint: Endpoint, settings: Any
) -> None:
    endpoint(lambda asked: "Answer: Yes")
    accept_images(settings)
    canvas_set = make_canvas_set("5", 1)
    run = canvas_run(canvas_set, "loop/model", tasks=["painted"], representation="image")
    result = run.results.get()
    assert result.transcript.picture
    assert "See the picture. The " in result.transcript.messages[0]["content"][-1]["text"]
    with pytest.raises(InvalidRequest, match="does not support the task classes chain"):
        canvas_run(canvas_set, "loop/model", tasks=["chain"], representation="image")


def test_a_class_that_this_process_does_not_know_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    canvas_set = make_canvas_set("5", 4)
    monkeypatch.delitem(REGISTERED_TASKS, "smallest")
    with pytest.raises(InvalidRequest, match="restart the web server and the workers"):
        canvas_run(canvas_set, "baseline/reference")
    with pytest.raises(GenerationFailed, match="'smallest' does not exist in this process"):
        generate_canvas(canvas_set, 4)


def test_a_class_that_only_the_worker_lacks_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    canvas_set = make_canvas_set("5", 4)
    monkeypatch.setattr("benchmarks.services.runs.checks.REGISTERED_TASKS", dict(REGISTERED_TASKS))
    monkeypatch.setattr("benchmarks.services.runs.checks.supports", lambda name, representation: True)
    monkeypatch.delitem(REGISTERED_TASKS, "smallest")
    run = canvas_run(canvas_set, "baseline/reference", tasks=["smallest"])
    assert (run.status, run.errors) == (RunStatus.COMPLETED_WITH_ERRORS, 4)
    assert set(run.results.values_list("outcome", "error_kind")) == {(Outcome.INTERNAL_ERROR, "internal")}
    assert "restart the web server and the workers" in run.results.first().error_message
    assert run.summary["metrics"]["task_score"]["n_internal_error"] == 4
    assert run.summary["metrics"]["task_score"]["n_provider_error"] == 0


def test_half_of_a_set_asks_for_each_answer_by_the_rule_of_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Smallest, "select_expected_answer", lambda self, i, n: "Yes" if i < n / 2 else "No")
    canvas_set = make_canvas_set("3-8", 12)
    answers = canvas_set.dataset.current_version.tasks.filter(group="smallest").order_by("position")
    assert list(answers.values_list("expected_output", flat=True)) == ["Yes"] * 6 + ["No"] * 6
