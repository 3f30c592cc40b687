"""Whole runs through the engine, against an endpoint on loopback, without Celery in between."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Outcome, RunStatus
from tests.loopback.replies import Asked
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run, make_task

pytestmark = pytest.mark.django_db(transaction=True)
Endpoint = Callable[..., LoopbackServer]


def adds(asked: Asked) -> str:
    """Answers the sums of the factories."""
    number = asked.prompt.removeprefix("What is ").split(" ")[0]
    return str(2 * int(number))


def test_every_task_is_asked_once_and_scored(endpoint: Endpoint) -> None:
    server = endpoint(adds)
    run = make_run(make_dataset(40))
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.COMPLETED
    assert (run.total, run.done, run.errors) == (40, 40, 0)
    assert run.summary["metrics"]["exact_match"]["mean"] == 1.0
    assert run.summary["metrics"]["exact_match"]["n"] == 40
    assert server.stats.requests == 40
    assert not server.stats.asked_again
    assert run.tokens_in > 0
    assert run.cost_usd is not None
    assert run.cost_usd == pytest.approx(run.tokens_in / 1e6 + run.tokens_out * 2 / 1e6)


def test_a_wrong_answer_is_wrong_and_an_error_is_no_zero(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "5" if "What is 1" in asked.prompt else adds(asked))
    broken = make_task(3, input="[[fault:bad_request_400]] What is 3 + 3?")
    run = make_run(make_dataset([make_task(1), make_task(2), broken]))
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.COMPLETED_WITH_ERRORS
    outcomes = list(run.results.order_by("position").values_list("outcome", flat=True))
    assert outcomes == [Outcome.WRONG, Outcome.CORRECT, Outcome.PROVIDER_ERROR]
    exact = run.summary["metrics"]["exact_match"]
    assert (exact["mean"], exact["n"], exact["n_missing"]) == (0.5, 2, 1)
    failed = run.results.get(outcome=Outcome.PROVIDER_ERROR)
    assert failed.error_kind == "bad_request"
    assert failed.error_message
    assert not failed.scores.exists()


def test_working_on_a_finished_run_again_asks_nothing(endpoint: Endpoint) -> None:
    server = endpoint(adds)
    run = make_run()
    work_on_run_once(run.pk)
    work_on_run_once(run.pk)
    assert server.stats.requests == 3


def test_a_run_without_an_endpoint_fails_early_with_the_reason(endpoint: Endpoint) -> None:
    server = endpoint(adds, api_key="right")
    run = make_run(make_dataset(200), concurrency=4)
    work_on_run_once(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.FAILED
    assert "401" in run.error_message
    assert server.stats.requests < 50
    assert run.results.filter(outcome=Outcome.CANCELLED).count() > 100
