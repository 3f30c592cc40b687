"""A run counts its results from the moment they exist, however early it ends. The other tests of the engine check the
same for every other way in which a run can end (``conftest.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from benchmarks.engine.execution import preparing
from benchmarks.engine.execution.preparing import prepare_run
from benchmarks.models import Run, RunStatus
from benchmarks.services.imports import import_runs
from benchmarks.services.pushes.closing import close_push
from benchmarks.services.pushes.receiving import add_results, open_push
from benchmarks.services.runs.control import cancel_run, delete_run, pause_run, resume_run
from benchmarks.services.runs.rescoring import start_rescoring
from tests.loopback.faults import FAULTS
from tests.support.counts import miscounted
from tests.support.factories import make_dataset, make_run
from tests.support.running import VERDICT, Endpoint, is_trial, worked

pytestmark = pytest.mark.django_db(transaction=True)


def with_failed_trial(endpoint: Endpoint, tasks: int = 24) -> Run:
    server = endpoint(lambda asked: FAULTS["unauthorized_401"] if is_trial(asked) else VERDICT)
    run = worked(make_run(make_dataset(tasks), judge_tried=False, metrics=["correctness"]))
    server.script = lambda asked: VERDICT if asked.body["model"] == "judge" else "2"
    return run


def test_a_run_whose_judge_fails_its_trial_counts_its_results(endpoint: Endpoint) -> None:
    run = with_failed_trial(endpoint)
    assert (run.status, run.total, run.done, run.errors) == (RunStatus.FAILED, 24, 0, 0)
    assert run.summary["outcomes"] == {"cancelled": 24}
    numbers = run.summary["metrics"]["correctness"]
    assert (numbers["n"], numbers["n_pending"], numbers["n_cancelled"]) == (0, 0, 24)
    assert (run.cost_usd, run.is_prepared) == (0.0, False), "nothing was sent to its model"


def test_its_page_says_what_was_not_sent(endpoint: Endpoint, client: Client) -> None:
    run = with_failed_trial(endpoint)
    page = " ".join(client.get(f"/runs/{run.pk}/").content.decode().split())
    counted = page.partition('id="verdict-title"')[2].partition("</section>")[0]
    assert re.search(r"Not sent</span></span> <b>24</b>", counted)
    assert not re.search(r"Not sent yet|[-−]24|0 of 0", counted)
    progress = client.get(f"/api/v1/benchmarks/runs/{run.pk}").json()["progress"]
    assert progress == {"total": 24, "done": 0, "errors": 0, "judging": False}


def test_it_is_prepared_again_when_it_is_resumed(endpoint: Endpoint) -> None:
    run = with_failed_trial(endpoint)
    resume_run(run)
    assert Run.objects.get(pk=run.pk).status == RunStatus.QUEUED
    worked(run)
    assert (run.status, run.total, run.done, run.is_prepared) == (RunStatus.COMPLETED, 24, 24, True)
    assert run.judge_trial is not None


def stopped_after(batches: int) -> Callable[[], bool]:
    left = [True] * (batches - 1)
    return lambda: bool(left and left.pop())


@pytest.mark.parametrize("stop", [cancel_run, pause_run], ids=["canceled", "paused"])
def test_a_run_that_stops_while_it_is_prepared_counts_what_is_there(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, stop: Callable[[Run], None]
) -> None:
    endpoint(lambda asked: "2")
    monkeypatch.setattr(preparing, "BATCH", 4)
    run = make_run(make_dataset(10), repeats=2)
    assert not prepare_run(run, stopped_after(3))
    assert Run.objects.get(pk=run.pk).total == run.results.count() == 12
    stop(run)
    assert miscounted() == []
    resume_run(run)
    assert (worked(run).status, run.total, run.done) == (RunStatus.COMPLETED, 20, 20)


def test_a_run_that_ends_before_it_has_results_counts_none(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run()
    cancel_run(run)
    run.refresh_from_db()
    assert (run.status, run.total) == (RunStatus.CANCELLED, 0)
    nothing = make_run(run.dataset)
    nothing.task_classes = ["count"]
    nothing.save()
    assert (worked(nothing).status, nothing.total) == (RunStatus.FAILED, 0)


def test_a_rescoring_counts_answers_and_lost_answers_as_they_are_copied(endpoint: Endpoint) -> None:
    endpoint(lambda asked: FAULTS["bad_request_400"] if "1 + 1" in asked.prompt else "2")
    source = worked(make_run())
    again = start_rescoring(source, {"metrics": ["contains"]})
    source.results.filter(position=3).update(position=9_000)
    delete_run(source)
    assert (worked(again).status, again.total) == (RunStatus.FAILED, 0)
    second = worked(make_run(source.dataset))
    rescored = worked(start_rescoring(second, {"metrics": ["contains"]}))
    assert (rescored.total, rescored.done, rescored.errors) == (3, 3, 1)


def test_imported_and_pushed_runs_count_their_results() -> None:
    logs = Path(__file__).parents[2] / "imports" / "tests" / "tool_logs"
    for name in ("inspect_unscored.eval", "inspect_interrupted.eval", "promptfoo_rejected.json", "deepeval.json"):
        import_runs(logs / name)
    pushed = open_push({"model": "m", "dataset_name": "Pushed", "metrics": ["accuracy"]})
    sent = [{"key": str(number), "input": f"{number}?", "answer": "x"} for number in range(3)]
    add_results(pushed.pk, {"results": [*sent, {"key": "e", "input": "e?", "error": "Rate limit"}]})
    close_push(pushed.pk, {"count": 4})


def test_no_run_may_count_more_ended_results_than_it_has(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run()
    for wrong in ({"done": 1}, {"total": 1, "errors": 1}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Run.objects.filter(pk=run.pk).update(**wrong)
