"""Whole runs on canvas sets: generated, sent, answered by a baseline, scored and summarized."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarks.engine.canvas_sets.generation import audit_set
from benchmarks.models import Outcome, Result, Run, RunStatus
from benchmarks.services.errors import InvalidRequest
from tasks_app.canvas.descriptions import DESCRIPTIONS
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tests.loopback.replies import Asked
from tests.support.canvas_sets import accept_images, canvas_run, make_canvas_set
from tests.support.running import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


def means_by_class(run: Run) -> dict[str, float]:
    """Means computed here from the results, not taken from the summary."""
    means: dict[str, float] = {}
    for name in run.task_classes:
        values = list(Result.objects.filter(run=run, group=name).values_list("value", flat=True))
        scored = [value for value in values if value is not None]
        means[name] = math.fsum(scored) / len(scored)
    return means


@pytest.mark.parametrize("representation", DESCRIPTIONS)
def test_the_solver_is_right_on_every_number_of_shapes_zero_and_few_shot(representation: str) -> None:
    canvas_set = make_canvas_set("1-24", 24, seed=len(representation))
    for few_shot in (False, True):
        run = canvas_run(canvas_set, representation=representation, few_shot=few_shot)
        assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
        assert run.total == 24 * len(REGISTERED_TASKS) - sum(canvas_set.not_applicable.values())
        assert set(run.results.values_list("outcome", "value")) == {(Outcome.CORRECT, 1.0)}
        assert run.summary["metrics"]["task_score"]["mean"] == 1.0


def test_the_majority_baseline_scores_what_the_audit_says_of_always_guessing_the_most_frequent() -> None:
    canvas_set = make_canvas_set("7", 60)
    audit = audit_set(canvas_set.pk)["tasks"]
    measured = means_by_class(canvas_run(canvas_set, "baseline/majority"))
    assert measured == pytest.approx({name: audit[name]["majority_score"] for name in measured})


def test_the_blind_baseline_scores_what_the_audit_says_can_be_scored_without_the_canvas() -> None:
    canvas_set = make_canvas_set("7-9", 90)
    audit = audit_set(canvas_set.pk)["tasks"]
    measured = means_by_class(canvas_run(canvas_set, "baseline/blind"))
    assert measured == pytest.approx({name: audit[name]["blind_score"] for name in measured})
    for name in measured:
        by_shapes = audit[name]["blind_by_shapes"]
        assert [n for n, *_ in by_shapes] == [7, 8, 9]
        assert sum(score * n for _, score, n in by_shapes) / 90 == pytest.approx(measured[name])


def test_the_blind_baseline_uses_the_examples_of_a_few_shot_prompt_where_they_help() -> None:
    canvas_set = make_canvas_set("3", 90)
    audit = audit_set(canvas_set.pk)["tasks"]["shuffle_tracking"]
    # Of three shapes, the examples' answer leaves two.
    assert audit["examples_score"] > 0.4 > audit["blind_score"]
    zero_shot, few_shot = (
        canvas_run(canvas_set, "baseline/blind", tasks=["shuffle_tracking"], few_shot=few_shot)
        for few_shot in (False, True)
    )
    for run, score in ((zero_shot, audit["blind_score"]), (few_shot, audit["examples_score"])):
        assert run.summary["metrics"]["task_score"]["mean"] == pytest.approx(score)
    guesses = [run.summary["chance"]["task_score"]["groups"][0]["guess"] for run in (zero_shot, few_shot)]
    assert guesses[0] < 0.4 < guesses[1]


def test_the_random_baseline_is_near_what_the_audit_expects_of_guessing() -> None:
    canvas_set = make_canvas_set("7", 300)
    audit = audit_set(canvas_set.pk)["tasks"]
    measured = means_by_class(canvas_run(canvas_set, "baseline/random"))
    for name, mean in measured.items():
        expected = audit[name]["random_score"]
        assert abs(mean - expected) < 4 * math.sqrt(expected * (1 - expected) / 300), name


def test_the_empty_baseline_is_unparsable() -> None:
    run = canvas_run(make_canvas_set("7", 4), "baseline/empty")
    assert set(run.results.values_list("outcome", flat=True)) == {Outcome.UNPARSABLE}


def test_an_image_goes_only_to_a_model_that_accepts_images_with_its_question(endpoint: Endpoint, settings: Any) -> None:
    seen: list[Asked] = []
    endpoint(lambda asked: seen.append(asked) or "Answer: 0")
    canvas_set = make_canvas_set("7", 2)
    with pytest.raises(InvalidRequest, match="not known to accept images"):
        canvas_run(canvas_set, "loop/model", tasks=["count"], representation="image")
    accept_images(settings)
    run = canvas_run(canvas_set, "loop/model", tasks=["count"], representation="image")
    assert (run.status, run.total) == (RunStatus.COMPLETED, 2)
    picture, text = seen[0].body["messages"][-1]["content"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    assert text["text"].rstrip().endswith("?")


def test_a_run_of_some_classes_has_only_their_tasks() -> None:
    run = canvas_run(make_canvas_set("7", 3), tasks=["count", "coordinate"])
    assert set(run.results.values_list("group", flat=True)) == {"count", "coordinate"}
    assert run.total == 6


def test_a_few_shot_prompt_has_two_examples() -> None:
    run = canvas_run(make_canvas_set("7", 1), tasks=["count"], few_shot=True)
    sent = Result.objects.get(run=run).transcript.messages[0]["content"]
    assert sent.count("Question: ") == 3
    assert sent.count("\nAnswer: ") == 2
