"""A judge's endpoint that misbehaves in every known way: no answer is asked twice, and no fault becomes a score."""

from __future__ import annotations

import pytest

from benchmarks.models import TERMINAL, Outcome, Run, Score
from tests.loopback.faults import FAULTS
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import VERDICT, Endpoint, judged_by, model_requests, worked

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

HANGS = 1.0
"""Seconds without a byte after which a request times out."""
HARMLESS = ("wrong_content_type", "slow_drip", "no_usage", "absurd_usage")
"""After these the verdict can be read."""


def judged(endpoint: Endpoint, name: str, attempts: int) -> tuple[Run, int]:
    """A run of which the judge's reply to the second answer has the fault so often, and the requests to the model."""
    server = endpoint(judged_by(VERDICT), first_byte=HANGS, retry_after_s=0.05, drip_ms=1.0)
    # In the reference, which only the judge is shown.
    references = {"first": "2", "second": f"2 [[fault:{name}*{attempts}]]"}
    tasks = [make_task(1, id=place, input=place, expected_output=text) for place, text in references.items()]
    run = worked(make_run(make_dataset(tasks), metrics=["correctness", "exact_match"], concurrency=1))
    return run, model_requests(server)


def verdict(run: Run, task: str) -> Score | None:
    return Score.objects.filter(run=run, metric="correctness", result__task__task_id=task).first()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_at_the_judge_costs_no_answer_and_is_no_score(endpoint: Endpoint, name: str) -> None:
    run, asked = judged(endpoint, name, attempts=1_000)
    assert run.status in TERMINAL, run.status
    assert asked == 2
    first, second = verdict(run, "first"), verdict(run, "second")
    assert first is not None
    assert first.value == 1.0
    if second is not None and second.value is not None:
        assert name in HARMLESS
        assert second.value == 1.0
        return
    assert name not in HARMLESS
    result = run.results.get(task__task_id="second")
    assert result.outcome in (Outcome.JUDGE_ERROR, Outcome.CANCELLED)
    assert result.value is None
    assert result.transcript.actual_output == "2"
    assert second is None or (second.value is None and second.reason), second
    assert run.error_message or result.error_message
    assert run.summary["metrics"]["correctness"]["n"] == 1


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_happens_once_at_the_judge_is_no_score_either(endpoint: Endpoint, name: str) -> None:
    run, asked = judged(endpoint, name, attempts=1)
    assert asked == 2
    second = verdict(run, "second")
    if second is not None and second.value is not None:
        assert second.value == 1.0
    else:
        assert run.results.get(task__task_id="second").value is None
