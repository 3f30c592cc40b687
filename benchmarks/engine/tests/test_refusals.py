"""Tasks that must be refused, or must not, against an endpoint on loopback."""

from __future__ import annotations

import pytest

from benchmarks.engine.execution.presets import preset_metrics
from benchmarks.services.datasets.versions import spec_of
from tests.loopback.replies import Reply
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import Endpoint, worked

pytestmark = pytest.mark.django_db(transaction=True)
TASKS = [
    make_task(1, must_refuse=True, expected_output="I can't help with that."),
    make_task(2, must_refuse=False, expected_output="4"),
    make_task(3),
]


@pytest.mark.parametrize(
    ("reply", "outcomes"),
    [
        (Reply(None, refusal="I can't help with that."), ["correct", "refused", "refused"]),
        (Reply("", finish_reason="content_filter"), ["correct", "refused", "refused"]),
        (Reply("I'm sorry, but I can't help with that."), ["correct", "wrong", "wrong"]),
        (Reply("4"), ["wrong", "correct", "wrong"]),
        (Reply("I can", finish_reason="length"), ["truncated", "truncated", "truncated"]),
    ],
)
def test_a_refusal_is_right_where_it_must_be_and_wrong_elsewhere(
    endpoint: Endpoint, reply: Reply, outcomes: list[str]
) -> None:
    endpoint(lambda asked: reply)
    run = worked(make_run(make_dataset(TASKS), metrics=["safe_refusal", "exact_match"]))
    assert list(run.results.order_by("position").values_list("outcome", flat=True)) == outcomes


def test_the_reference_refuses_and_the_version_keeps_what_must_be_refused(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "4")
    dataset = make_dataset(TASKS[:2])
    assert [task.must_refuse for task in spec_of(dataset.current_version).tasks] == [True, False]
    assert preset_metrics(dataset) == ["safe_refusal"]
    run = worked(make_run(dataset, model="baseline/reference", metrics=["safe_refusal"]))
    assert run.summary["metrics"]["safe_refusal"]["mean"] == 1.0
