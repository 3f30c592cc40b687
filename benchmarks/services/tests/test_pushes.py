"""Runs that are pushed in batches: what is stored, what a repeat changes, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.models import Dataset, PushedResult, PushedRun, Result, Run, Score, Task
from benchmarks.queries.leaderboard import whole_runs
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.pushes import receiving
from benchmarks.services.pushes.closing import close_push
from benchmarks.services.pushes.receiving import add_results, delete_push, open_push
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db

OPEN = {"model": "gpt-4o", "provider": "openai", "dataset_name": "Capitals", "metrics": ["accuracy"]}


def opened(**fields: Any) -> PushedRun:
    return open_push({**OPEN, **fields})


def result(number: int = 1, **fields: Any) -> dict[str, Any]:
    given = {"key": f"r{number}", "input": f"Question {number}?", "expected_output": "yes", "answer": "yes"}
    return {**given, "scores": {"accuracy": 1}, **fields}


def send(pushed: PushedRun, *results: Any) -> tuple[int, int]:
    received = add_results(pushed.pk, {"results": list(results)})
    return received.new, received.repeated


def stored() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Run, Result, Score, Dataset, PushedRun, PushedResult))


def test_a_pushed_run_looks_like_an_imported_one() -> None:
    pushed = opened(tool="ragas 0.4", parameters={"temperature": 0.5, "seed": 7}, name="nightly", tags=["ci"])
    judged = {"accuracy": {"value": 0.5, "reason": "Half of it."}}
    numbers = {"tokens_in": 10, "tokens_out": 5, "cost_usd": 0.25, "duration_ms": 12.5}
    send(pushed, result(1, **numbers), result(2, answer="n\0", scores=judged, tags=["geo"], **numbers))
    send(pushed, result(3, answer="", scores={}, error="Rate limit"))
    run = close_push(pushed.pk, {"count": 3, "means": {"accuracy": 0.75}})
    assert (run.model, run.dataset.slug, run.status) == ("openai/gpt-4o", "api-capitals", "completed_with_errors")
    assert (run.name, run.tags, run.parameters) == ("nightly", ["ci"], {"temperature": 0.5, "seed": 7})
    assert (run.total, run.errors, run.tokens_in, run.cost_usd) == (3, 1, 20, 0.5)
    assert run.environment["tool"] == "ragas 0.4"
    assert run.metrics == ["api:accuracy", "exact_match"]
    assert run.summary["metrics"]["api:accuracy"]["mean"] == 0.75
    assert run.summary["metrics"]["exact_match"]["mean"] == 0.5
    first, second, third = run.results.select_related("task", "transcript").order_by("position")
    assert (first.outcome, second.outcome, third.outcome) == ("correct", "partial", "provider_error")
    assert (second.task.input, second.task.tags) == ("Question 2?", ["geo"])
    assert second.transcript.actual_output == "n␀"
    assert second.scores.get(metric="api:accuracy").reason == "Half of it."
    assert third.error_message == "Rate limit"
    assert not PushedResult.objects.exists()


def test_a_task_that_a_result_brings_is_called_by_its_question() -> None:
    pushed = opened()
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who wrote it?"}]
    send(
        pushed,
        {"key": "a", "input": "  What is\n2 + 2?\u200b" + " And then?" * 20, "answer": "4", "scores": {"accuracy": 1}},
        {"key": "b", "messages": asked, "answer": "Ada", "scores": {"accuracy": 1}},
        {"key": "c", "input": "What?", "name": "Mine", "answer": "4", "scores": {"accuracy": 1}},
    )
    run = close_push(pushed.pk, {"count": 3})
    names = list(Task.objects.filter(version=run.dataset_version).order_by("position").values_list("name", flat=True))
    assert names == [("What is 2 + 2?" + " And then?" * 20)[:80].strip(), "Who wrote it?", "Mine"]


def test_a_score_that_is_null_or_left_out_is_an_error_of_the_metric() -> None:
    pushed = opened(metrics=["accuracy", "tone"], measurements=["words"])
    send(pushed, result(1, scores={"accuracy": 1, "tone": 1, "words": 5}))
    send(pushed, result(2, scores={"accuracy": {"value": None, "reason": "The grader timed out."}, "tone": 1}))
    send(pushed, result(3, scores={"accuracy": 1}))
    send(pushed, result(4, scores={"accuracy": 1, "tone": {"not_applicable": True, "reason": "No tone asked."}}))
    run = close_push(pushed.pk, {"count": 4})
    accuracy, tone, words = (run.summary["metrics"][name] for name in ("api:accuracy", "api:tone", "api#words"))
    assert (accuracy["n"], accuracy["n_expected"], accuracy["n_metric_error"]) == (3, 4, 1)
    assert (tone["n"], tone["n_expected"], tone["n_metric_error"], tone["n_not_applicable"]) == (2, 3, 1, 1)
    assert (words["n"], words["n_metric_error"]) == (1, 3)
    assert (run.status, run.errors) == ("completed_with_errors", 2)
    assert [(each.outcome, each.error_message) for each in run.results.order_by("position")] == [
        ("correct", ""),
        ("metric_error", "The grader timed out."),
        ("metric_error", "The tool sent no score."),
        ("correct", ""),
    ]


def test_a_score_is_either_a_value_or_not_applicable() -> None:
    for score in ({"value": 1, "not_applicable": True}, {"not_applicable": "yes"}):
        with pytest.raises(InvalidRequest, match="not_applicable is true if the task lacks"):
            send(opened(), result(1, scores={"accuracy": score}))


def test_a_run_on_a_dataset_of_ours_joins_its_leaderboard_once_it_is_closed() -> None:
    dataset = make_dataset(2)
    pushed = open_push({"model": "m/x", "dataset": "sums", "own_metrics": ["exact_match"]})
    send(pushed, {"key": "a", "task_id": "task-1", "answer": "2"})
    send(pushed, {"key": "b", "input": " What is  2 + 2?", "answer": "5"})
    assert not Run.objects.exists()
    assert dataset.current_version
    assert whole_runs(dataset.current_version)[0] == []
    run = close_push(pushed.pk, {"count": 2})
    assert run.summary["metrics"]["exact_match"]["mean"] == 0.5
    assert whole_runs(dataset.current_version)[0] == [run]


def test_a_repeated_request_changes_nothing() -> None:
    pushed = open_push(OPEN, "job-1")
    assert open_push(OPEN, "job-1") == pushed
    assert send(pushed, result(1), result(2)) == (2, 0)
    before = stored()
    assert send(pushed, result(1), result(2)) == (0, 2)
    assert stored() == before
    assert send(pushed, result(2), result(3)) == (1, 1)
    run = close_push(pushed.pk, {"count": 3})
    before = stored()
    assert close_push(pushed.pk, {"count": 3}) == run
    assert open_push(OPEN, "job-1").run == run
    assert stored() == before


def test_a_wrong_count_or_mean_keeps_the_run_open() -> None:
    pushed = opened(expected=3)
    send(pushed, result(1), result(2, scores={"accuracy": 0}))
    before = stored()
    for end, problem in (
        ({}, "has received 2 results; 3 are expected"),
        ({"count": 3}, "has received 2 results; 3 are expected"),
        ({"count": 2}, "has received 2 results; 3 are expected"),
    ):
        with pytest.raises(NotPossible, match=problem):
            close_push(pushed.pk, end)
    send(pushed, result(3))
    for end, problem in (
        ({"means": {"accuracy": 0.5}}, "mean of accuracy is 0.5 as given, and 0.666667 here"),
        ({"means": {"precision": 0.5}}, "no result has this score"),
        ({"count": 2}, "has received 3 results; 2 are expected"),
    ):
        with pytest.raises(NotPossible, match=problem):
            close_push(pushed.pk, end)
    assert stored() == (*before[:-1], 3)
    assert close_push(pushed.pk, {"means": {"accuracy": 2 / 3}}).total == 3
    with pytest.raises(InvalidRequest, match="opened without it"):
        close_push(opened().pk, {})


def test_what_cannot_be_stored_is_refused_with_its_place_and_nothing_of_the_batch_is_stored() -> None:
    pushed = opened(measurements=["points"])
    send(pushed, result(1))
    before = stored()
    cases: list[tuple[Any, str]] = [
        ([], "results"),
        ("x", "results"),
        ([result(2), 7], r"results\[1\]"),
        ([result(2, key="")], r"results\[0\]\.key"),
        ([result(2, foo=1)], r"results\[0\]\.foo: Unknown field"),
        ([result(2, scores={"speed": 1})], "speed was not named when the run was opened, but: accuracy, points"),
        ([result(2, scores={"accuracy": 2})], "2 is not from 0 to 1"),
        ([result(2, scores={"accuracy": 10**400})], "not a number"),
        ([result(2, scores={"accuracy": True})], "not a number"),
        ([result(2, scores={"accuracy": {"value": 1, "why": ""}})], "value and reason"),
        ([result(2, scores=[1])], r"results\[0\]\.scores"),
        ([result(2, error="no")], "neither an answer nor scores"),
        ([result(2, duration_ms=10**400)], r"results\[0\]\.duration_ms"),
        ([result(2, tokens_in=-1)], r"results\[0\]\.tokens_in"),
        ([result(2, tokens_in=2**40)], r"results\[0\]\.tokens_in"),
        ([result(2, repeat=0)], r"results\[0\]\.repeat"),
        ([result(2, input="")], r"results\[0\]\.input"),
        ([result(2, input={"a": 1})], r"results\[0\]\.input"),
        ([result(2, input=None)], r"results\[0\]\.input"),
        ([result(2, tags=[[[]]])], r"results\[0\]\.tags"),
        ([result(2, metadata={"a": {}})], r"results\[0\]\.metadata"),
        ([result(2, messages=[{"role": "boss", "content": ""}])], r"results\[0\]"),
        ([result(2), result(2)], "same key"),
        ([result(2, key="r1")], "other content"),
        ([result(1, key="other")], "same task"),
        ([result(2, task_id="t"), result(3, task_id="t", repeat=2)], "another input or expected answer"),
        ([result(n) for n in range(2, 1_003)], "results"),
    ]
    for sent, problem in cases:
        with pytest.raises((InvalidRequest, NotPossible), match=problem):
            add_results(pushed.pk, {"results": sent})
        assert stored() == before, problem


def test_a_run_that_cannot_be_opened_names_the_fields() -> None:
    make_dataset(2)
    for fields, field in (
        ({"dataset": "sums"}, "dataset"),
        ({"dataset_name": None}, "dataset_name"),
        ({"model": ""}, "model"),
        ({"provider": "p" * 100, "model": "m" * 100}, "model"),
        ({"metrics": ["a", "a"]}, "metrics"),
        ({"metrics": ["a"], "measurements": ["a"]}, "metrics"),
        ({"metrics": ["m"] * 21}, "metrics"),
        ({"own_metrics": ["correctness"]}, "own_metrics"),
        ({"parameters": {"temperature": "hot"}}, "parameters"),
        ({"parameters": {"extra": "x"}}, "parameters"),
        ({"parameters": {"speed": 1}}, "parameters"),
        ({"expected": 20_001}, "expected"),
        ({"unknown": 1}, "unknown"),
    ):
        with pytest.raises(InvalidRequest) as refused:
            opened(**fields)
        assert field in refused.value.errors, fields
    with pytest.raises(InvalidRequest, match="does not exist"):
        open_push({"model": "m", "dataset": "none"})
    open_push(OPEN, "key")
    with pytest.raises(NotPossible, match="used by another request"):
        open_push({**OPEN, "model": "other"}, "key")
    with pytest.raises(InvalidRequest, match="Idempotency-Key"):
        open_push(OPEN, "k" * 201)


def test_results_on_a_dataset_have_its_tasks_and_all_of_them() -> None:
    make_dataset(2)
    pushed = open_push({"model": "m", "dataset": "sums"})
    for sent, problem in (
        ({"task_id": "task-9"}, "sums has no task task-9"),
        ({"input": "What?"}, "No task of sums has this input"),
        ({}, "No task of sums has this input"),
        ({"task_id": "task-1", "expected_output": "3"}, "the tasks are those of sums"),
    ):
        with pytest.raises(InvalidRequest, match=problem):
            send(pushed, {"key": "a", **sent})
    send(pushed, {"key": "a", "task_id": "task-1"}, {"key": "b", "task_id": "task-1", "repeat": 2})
    with pytest.raises(NotPossible, match="2 tasks, so 2 repeats are 4 results; the run has received 2"):
        close_push(pushed.pk, {"count": 2})


def test_an_open_run_is_deleted_and_a_closed_one_takes_nothing_more() -> None:
    pushed, other = opened(), opened()
    send(pushed, result())
    delete_push(pushed)
    assert not PushedResult.objects.exists()
    send(other, result())
    run = close_push(other.pk, {"count": 1})
    for refused in (lambda: send(other, result(2)), lambda: delete_push(other)):
        with pytest.raises(NotPossible, match=f"is run {run.pk} now"):
            refused()


def test_what_is_stored_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "MAX_OPEN", 1)
    monkeypatch.setattr(receiving, "MAX_RESULTS", 2)
    pushed = opened()
    with pytest.raises(NotPossible, match="receive results"):
        opened()
    with pytest.raises(NotPossible, match="at most 2 results"):
        send(pushed, *map(result, range(3)))
    monkeypatch.setattr(receiving, "MAX_RESULT_BYTES", 100)
    with pytest.raises(NotPossible, match="at most"):
        send(pushed, result(answer="x" * 200))


def test_a_batch_takes_a_bounded_number_of_queries(django_assert_max_num_queries: Any) -> None:
    pushed = opened()
    with django_assert_max_num_queries(20):
        send(pushed, *map(result, range(1_000)))
