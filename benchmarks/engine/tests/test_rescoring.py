"""The stored answers of a run are scored again without a request to its model; both scorings stay."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Outcome, ResultState, Run, RunKind, RunStatus, Transcript
from benchmarks.queries.history import latest_runs
from benchmarks.queries.leaderboard import completed_runs
from benchmarks.queries.runs import scorings
from benchmarks.services.datasets.versions import import_dataset
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.control import cancel_run, delete_run, resume_run, retry_failed
from benchmarks.services.runs.rescoring import plan_rescoring, start_rescoring
from benchmarks.services.runs.start import start_run
from tests.loopback.faults import FAULTS
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import VERDICT, Endpoint, model_requests, worked

pytestmark = pytest.mark.django_db(transaction=True)

_TRANSCRIPT = ("messages", "actual_output", "reasoning", "tool_calls", "attempts", "notes", "prompt_hash")
_ANSWER = ("task", "repeat", "position", "duration_ms", "tokens_in", "tokens_out", "finish_reason", "attempts")


def rescored(run: Run, **request: Any) -> Run:
    return worked(start_rescoring(run, {"metrics": ["contains"], **request}))


def answers(run: Run) -> list[tuple[Any, ...]]:
    texts = Transcript.objects.filter(result__run=run).order_by("result__position").values_list(*_TRANSCRIPT)
    return [(*row, *text) for row, text in zip(run.results.values_list(*_ANSWER), texts, strict=True)]


def scores(run: Run) -> list[tuple[str, float | None, str]]:
    return list(run.scores.order_by("result__position", "metric").values_list("metric", "value", "status"))


def test_a_thousand_answers_get_another_metric_without_a_request_to_the_model(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "It is 2.")
    source = worked(make_run(make_dataset(500), repeats=2))
    sent = len(server.stats.bodies)
    before = scores(source)
    again = rescored(source)
    assert (again.status, again.done, again.errors, again.total) == (RunStatus.COMPLETED, 1_000, 0, 1_000)
    assert len(server.stats.bodies) == sent == 1_000
    assert answers(again) == answers(source)
    assert scores(source) == before
    assert {metric for metric, _, _ in scores(again)} == {"contains"}
    assert again.summary["metrics"]["contains"]["n"] == 1_000
    assert (again.cost_usd, again.judge_cost_usd) == (0.0, 0.0)
    assert scorings(source) == scorings(again) == [source, again]
    assert latest_runs(dataset=source.dataset_id) == [source], "no later measurement"
    assert list(completed_runs()) == [source], "only one of the two ranks"


def test_the_same_metrics_give_the_same_scores(endpoint: Endpoint) -> None:
    endpoint(lambda asked: ("2", "I refuse", "", "x" * 50)[hash(asked.prompt) % 4])
    source = worked(make_run(make_dataset(20), metrics=["exact_match", "contains", "length", "latency"]))
    again = rescored(source, metrics=source.metrics)
    assert scores(again) == scores(source)
    outcomes = ("outcome", "failure", "value", "state", "cluster", "difficulty")
    assert list(again.results.values_list(*outcomes)) == list(source.results.values_list(*outcomes))
    assert again.summary["metrics"] == source.summary["metrics"]


def test_a_judge_scores_stored_answers_and_is_the_only_one_paid(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: VERDICT if asked.body["model"] == "judge" else "2")
    source = worked(make_run())
    plan = plan_rescoring(source, {"metrics": ["correctness"]})
    assert (plan.requests, plan.judge_requests) == (0, 3)
    assert plan.cost_high is not None
    again = rescored(source, metrics=["correctness"], budget_usd=1.0)
    assert (again.status, model_requests(server)) == (RunStatus.COMPLETED, 3)
    assert again.summary["metrics"]["correctness"]["mean"] == 1.0
    assert again.cost_usd == 0.0
    assert 0 < (again.judge_cost_usd or 0.0) < plan.cost_high


def test_what_was_not_answered_stays_an_error_and_is_not_asked_again(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: FAULTS["bad_request_400"] if "2 + 2" in asked.prompt else "2")
    source = worked(make_run())
    lost = source.results.get(outcome=Outcome.PROVIDER_ERROR)
    again = rescored(source)
    assert (again.status, again.done, again.errors) == (RunStatus.COMPLETED_WITH_ERRORS, 3, 1)
    copied = again.results.get(outcome=Outcome.PROVIDER_ERROR)
    assert (copied.task, copied.error_message) == (lost.task, lost.error_message)
    numbers = again.summary["metrics"]["contains"]
    assert (numbers["n"], numbers["n_expected"]) == (2, 3)
    sent = len(server.stats.bodies)
    with pytest.raises(NotPossible, match="no errors to retry"):
        retry_failed(again)
    assert len(server.stats.bodies) == sent


def test_a_canceled_rescoring_resumes_with_the_judge_alone(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: VERDICT if asked.body["model"] == "judge" else "2")
    source = worked(make_run())
    again = start_rescoring(source, {"metrics": ["correctness"]})
    cancel_run(again)
    resume_run(again)
    work_on_run_once(again.pk)
    again.refresh_from_db()
    assert (again.status, again.results.filter(state=ResultState.DONE).count()) == (RunStatus.COMPLETED, 3)
    assert model_requests(server) == 3


def test_a_corrected_reference_moves_the_mean_and_a_changed_question_is_refused(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "3")
    dataset = make_dataset([make_task(1, expected_output="2"), make_task(2, expected_output="3")])
    source = worked(make_run(dataset))
    assert source.summary["metrics"]["exact_match"]["mean"] == 0.5
    corrected = [make_task(1, expected_output="3"), make_task(2, expected_output="3")]
    for tasks in (corrected, [corrected[0], make_task(2, input="What else?")], [*corrected, make_task(3)]):
        spec = DatasetSpec(name="Sums", description="Additions", tasks=tuple(tasks))
        import_dataset(spec, dataset.slug, "upload")
    again = rescored(source, metrics=["exact_match"], version=2)
    assert (again.dataset_version.number, again.summary["metrics"]["exact_match"]["mean"]) == (2, 1.0)
    assert set(again.results.values_list("task__version__number", flat=True)) == {2}
    assert list(completed_runs()) == [again, source], "each ranks in its version"
    assert again.answers_cost_usd is None, "it is not free"
    for version, said in ((3, "1 task of version 3 .* task-2"), (4, "task-3"), (9, "has no version 9. Choose one of")):
        with pytest.raises(InvalidRequest, match=said):
            start_rescoring(source, {"metrics": ["exact_match"], "version": version})


def test_a_source_that_is_deleted_first_fails_the_rescoring_and_asks_nothing(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    source = worked(make_run())
    again = start_rescoring(source, {"metrics": ["contains"]})
    number = source.pk
    delete_run(source)
    worked(again)
    assert (again.status, model_requests(server)) == (RunStatus.FAILED, 3)
    assert again.error_message == f"Run {number}, whose answers were to be scored, was deleted or changed."


def test_later_the_source_may_go(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    source = worked(make_run())
    again = rescored(source)
    delete_run(source)
    assert scorings(again) == []
    assert rescored(again, metrics=["exact_match"]).status == RunStatus.COMPLETED


@pytest.mark.parametrize(
    ("change", "request_", "said"),
    [
        ({"status": RunStatus.RUNNING}, {}, "Rescore it after it completes"),
        ({"subset": 2}, {}, "selected its tasks"),
        ({"calibration": {}, "kind": RunKind.CALIBRATION}, {}, "judge calibration"),
        ({}, {"metrics": []}, "at least one metric"),
        ({}, {"metrics": ["json_schema"]}, "no task has schema"),
        ({}, {"model": "loop/model"}, "model"),
        ({}, {"metrics": ["correctness"], "judge_model": "loop/model"}, "judge its own answers"),
    ],
)
def test_what_cannot_be_rescored_is_refused_with_the_reason(
    endpoint: Endpoint, change: dict[str, Any], request_: dict[str, Any], said: str
) -> None:
    endpoint(lambda asked: "2")
    source = worked(make_run())
    Run.objects.filter(pk=source.pk).update(**change)
    source.refresh_from_db()
    with pytest.raises((InvalidRequest, NotPossible)) as refused:
        start_rescoring(source, {"metrics": ["contains"], **request_})
    assert said in str(refused.value)


def test_an_imported_run_is_rescored_though_its_provider_is_unknown(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    source = worked(start_run({"dataset": make_dataset().slug, "model": "baseline/reference", "metrics": ["contains"]}))
    Run.objects.filter(pk=source.pk).update(model="elsewhere/model", import_format="inspect")
    source.refresh_from_db()
    assert rescored(source, metrics=["exact_match"]).status == RunStatus.COMPLETED
