"""The second solver against the task classes: it answers every question that is asked, from the prompt's text alone."""

from __future__ import annotations

import re

import pytest

from tasks_app.canvas.descriptions import DESCRIPTIONS
from tasks_app.loader import CanvasDocument, build_canvas, build_prompt
from tasks_app.solver import Unsolvable, solve
from tasks_app.solver.audit import SetAudit, audit_set
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS

REPRESENTATIONS = tuple(DESCRIPTIONS)


def asked(document: CanvasDocument) -> list[str]:
    return [name for name in REGISTERED_TASKS if document.questions[name]]


@pytest.mark.parametrize("n_shapes", range(1, 25))
def test_it_solves_every_question_of_many_canvases(n_shapes: int) -> None:
    for index in range(90):
        document = build_canvas(n_shapes, 31, index, 90)
        representation = REPRESENTATIONS[index % len(REPRESENTATIONS)]
        for name in asked(document):
            prompt = build_prompt(document, name, representation, few_shot=index % 3)
            assert solve(prompt.text) == prompt.expected, prompt.text


@pytest.mark.parametrize("n_shapes", [1, 2, 3, 8, 24])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("few_shot", [0, 1, 2])
def test_it_solves_in_every_representation(n_shapes: int, representation: str, few_shot: int) -> None:
    for index in range(4):
        document = build_canvas(n_shapes, 32, index, 4)
        for name in asked(document):
            prompt = build_prompt(document, name, representation, few_shot)
            assert solve(prompt.text) == prompt.expected, prompt.text


def test_every_step_between_two_shapes_is_needed_to_know_how_they_lie() -> None:
    for index in range(100):
        document = build_canvas(7, 33, index, 100)
        prompt = build_prompt(document, "transitivity", "full")
        links = re.findall(r"(?:Above|Below|To the left of|To the right of) the [^.]*\. ?", prompt.text)
        needed = 0
        for link in links:
            try:
                assert solve(prompt.text.replace(link, "")) == prompt.expected
            except Unsolvable:
                needed += 1
        assert needed == document.difficulty["transitivity"]["inference_steps"]


def test_tracking_without_the_changes_is_right_only_in_the_shares_meant() -> None:
    for name, changes, most in (
        ("existence_tracking", r"(?:A|The) [a-z ]+ is (?:added to|removed from) the canvas\. ?", 0.75),
        ("shuffle_tracking", r"The [a-z ]+ swap positions\. ?", 0.45),
    ):
        right = 0
        for index in range(200):
            prompt = build_prompt(build_canvas(7, 34, index, 200), name, "coordinates")
            right += solve(re.sub(changes, "", prompt.text)) == prompt.expected
        assert right / 200 < most, name


@pytest.fixture(scope="module")
def seven() -> dict[str, SetAudit]:
    return audit_set(build_canvas(7, 35, index, 240) for index in range(240))


@pytest.mark.parametrize("name", REGISTERED_TASKS)
def test_a_generated_set_has_no_ambiguous_question_and_no_duplicate(seven: dict[str, SetAudit], name: str) -> None:
    audit = seven[name]
    assert (audit.agreement, audit.duplicates, audit.not_applicable) == (1.0, 0, 0)


@pytest.mark.parametrize(
    ("name", "most"),
    [("existence", 0.5), ("existence_tracking", 0.5), ("transitivity", 0.25), ("count", 0.3), ("coordinate", 0.3),
     ("shuffle_tracking", 0.1)],
)  # fmt: skip
def test_always_giving_the_most_frequent_answer_scores_near_chance(
    seven: dict[str, SetAudit], name: str, most: float
) -> None:
    assert seven[name].majority_score <= most
