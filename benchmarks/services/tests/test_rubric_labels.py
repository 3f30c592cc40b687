"""People label on the scale of a rubric, and its threshold says which labels pass."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.models import Label, Run
from benchmarks.queries.judge_agreement import judge_agreement
from benchmarks.queries.reviews import levels_of
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.labels import label_result
from benchmarks.services.reviews.queues import close_review, create_review
from tests.support.factories import JUDGE, make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
TONE = "rubric:tone"


def make_rubric_run(scale: str, values: tuple[float, ...] = (1.0, 0.5, 0.0), **rubric: Any) -> Run:
    given = {"name": "tone", "criteria": "Polite.", "scale": scale, **rubric}
    run = make_scored_run(make_dataset(len(values)), values, metrics=(TONE,), judge_model=JUDGE)
    Run.objects.filter(pk=run.pk).update(rubrics={"tone": given})
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(
    ("scale", "offered", "taken", "refused"),
    [
        ("1 to 5", {"1": 0, "2": 0.25, "3": 0.5, "4": 0.75, "5": 1}, 0.75, 0.7),
        ("pass or fail", {"Fail": 0, "Pass": 1}, 1, 0.5),
        ("0 to 1", {"0": 0, "0.25": 0.25, "0.5": 0.5, "0.75": 0.75, "1": 1}, 0.7, 1.1),
    ],
)
def test_labels_have_the_values_of_the_rubrics_scale(
    scale: str, offered: dict[str, float], taken: float, refused: float
) -> None:
    result = make_rubric_run(scale).results.all()[0]
    assert {level.title: level.value for level in levels_of(TONE, result)} == offered
    assert label_result(result, {"metric": TONE, "value": taken}).value == taken
    with pytest.raises(InvalidRequest, match="value"):
        label_result(result, {"metric": TONE, "value": refused})


def test_the_scale_is_known_where_only_a_rescoring_has_the_rubric() -> None:
    again = make_rubric_run("pass or fail")
    source = make_scored_run(again.dataset, (1.0, 0.0, 1.0))
    Run.objects.filter(pk=again.pk).update(rescored_from=source.pk)
    result = source.results.order_by("position")[0]
    assert [level.title for level in levels_of(TONE, result)] == ["Fail", "Pass"]
    assert [level.title for level in levels_of("exact_match", result)] == ["Wrong", "Partly right", "Right"]


def test_each_task_is_labeled_on_the_scale_of_its_own_rubric() -> None:
    tasks = [make_task(1, rubric="tone"), make_task(2, rubric={"criteria": "It rhymes."}), make_task(3)]
    rubrics = ({"name": "tone", "criteria": "Polite.", "scale": "1 to 5"},)
    run = make_scored_run(make_dataset(tasks, rubrics=rubrics), (1.0, 1.0, 1.0), metrics=("rubric",))
    numbers = [len(levels_of("rubric", result)) for result in run.results.order_by("position")]
    titles = [levels_of("rubric", result)[1].title for result in run.results.order_by("position")]
    assert (numbers, titles) == ([5, 5, 3], ["2", "0.25", "Partly right"])


def test_people_and_judge_agree_by_the_threshold_of_the_rubric() -> None:
    run = make_rubric_run("1 to 5", (0.5, 0.5, 0.25), threshold=3)
    queue = create_review({"name": "Tone", "metric": TONE, "runs": [run.pk]})
    for result, value in zip(run.results.order_by("position"), (0.75, 0.25, 0.0), strict=True):
        Label.objects.create(result=result, metric=TONE, value=value, queue=queue, author_name="ida")
    close_review(queue)
    found = judge_agreement(JUDGE, TONE)
    assert found is not None
    assert [(answer.judge_passes, answer.people_pass) for answer in found.answers] == [
        (True, True),
        (True, False),
        (False, False),
    ]
