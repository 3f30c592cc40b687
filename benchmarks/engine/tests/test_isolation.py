"""One unexpected task, answer or metric costs its own result an error, and the run continues."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DataError

from benchmarks.engine.execution import prompts
from benchmarks.engine.execution.result_store import ResultStore
from benchmarks.metrics.base import Item, Score
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import CachedResponse, Outcome, Result, ResultState, Run, RunStatus, Task
from benchmarks.services.runs.control import retry_failed
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import VERDICT, Endpoint, judged_by, worked

pytestmark = pytest.mark.django_db(transaction=True)


def failed_result(run: Run) -> Result:
    """The one result with an error; all others are done and right."""
    assert run.status == RunStatus.COMPLETED_WITH_ERRORS, run.error_message
    assert (run.done, run.errors) == (run.total, 1)
    assert set(run.results.exclude(state=ResultState.ERROR).values_list("value", flat=True)) == {1.0}
    return run.results.get(state=ResultState.ERROR)


def two() -> list[Any]:
    """Three tasks to which 2 is the answer."""
    return [make_task(n, expected_output="2") for n in (1, 2, 3)]


def test_a_prompt_that_cannot_be_built_is_an_error_of_its_result(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = endpoint(lambda asked: "2")
    build = prompts.PromptBuilder.prompt

    def prompt(self: prompts.PromptBuilder, task: Task) -> Any:
        if task.task_id == "task-2":
            raise LookupError("no such representation")
        return build(self, task)

    monkeypatch.setattr(prompts.PromptBuilder, "prompt", prompt)
    failed = failed_result(worked(make_run(make_dataset(two()))))
    assert failed.task.task_id == "task-2"
    assert (failed.outcome, failed.error_kind, failed.value) == (Outcome.INTERNAL_ERROR, "internal", None)
    assert "no such representation" in failed.error_message
    assert server.stats.requests == 2
    monkeypatch.setattr(prompts.PromptBuilder, "prompt", build)
    assert retry_failed(failed.run) == 1
    assert worked(failed.run).status == RunStatus.COMPLETED


def test_a_cached_response_that_cannot_be_read_is_an_error_of_its_result(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    dataset = make_dataset(two())
    worked(make_run(dataset, use_cache=True))
    CachedResponse.objects.filter(pk=CachedResponse.objects.values("pk")[:1]).update(
        reply={"words": "of another version"}
    )
    run = worked(make_run(dataset, use_cache=True))
    assert failed_result(run).error_kind == "internal"


def test_a_metric_that_raises_is_an_error_that_can_be_retried(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = endpoint(lambda asked: "2")
    metric = type(REGISTERED_METRICS["exact_match"])
    score = metric.score

    def raising(self: Any, item: Item) -> Score:
        if item.input.startswith("What is 2"):
            raise RecursionError("too deep")
        return score(self, item)

    monkeypatch.setattr(metric, "score", raising)
    run = worked(make_run(make_dataset(two())))
    failed = failed_result(run)
    assert (failed.outcome, failed.value) == (Outcome.METRIC_ERROR, None)
    assert failed.scores.get().status == "metric_error"
    assert "too deep" in failed.error_message
    assert failed.cost_usd
    assert run.cost_usd == pytest.approx(sum(run.results.values_list("cost_usd", flat=True)))
    monkeypatch.setattr(metric, "score", score)
    assert retry_failed(run) == 1
    worked(run)
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED, 3, 0)
    assert server.stats.requests == 3, "the answer is stored, only the metric is computed again"


def test_a_judged_metric_that_raises_is_an_error_of_its_result(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint(judged_by(VERDICT))
    metric = type(REGISTERED_METRICS["correctness"])
    judge = metric.judge

    async def raising(self: Any, item: Item, asked: Any) -> Score:
        if item.input.startswith("What is 2"):
            raise KeyError("verdict")
        return await judge(self, item, asked)

    monkeypatch.setattr(metric, "judge", raising)
    failed = failed_result(worked(make_run(make_dataset(two()), metrics=["correctness"])))
    assert (failed.outcome, failed.error_kind) == (Outcome.METRIC_ERROR, "metric")
    assert failed.transcript.actual_output == "2"


def test_an_answer_that_the_database_rejects_is_an_error_of_its_result(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint(lambda asked: "2")
    write = ResultStore.write_answers

    def rejecting(store: ResultStore, batch: Any) -> list[int]:
        bad = [scored for scored in batch if scored.answer.reply and "What is 2" in str(scored.answer.messages)]
        if bad:
            raise DataError("integer out of range")
        return write(store, batch)

    monkeypatch.setattr(ResultStore, "write_answers", rejecting)
    failed = failed_result(worked(make_run(make_dataset(two()))))
    assert failed.error_kind == "internal"
    assert "integer out of range" in failed.error_message
