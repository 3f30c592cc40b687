"""The judge is tried on one known pair before the first question is asked."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest
from django.db import OperationalError

from benchmarks.engine import lease as leases
from benchmarks.engine.execution import lifecycle
from benchmarks.engine.execution.budget import WorstCase
from benchmarks.engine.execution.dispatch import lease_run
from benchmarks.engine.execution.judge_trial import judge_is_usable, reserve_trial
from benchmarks.engine.execution.preparing import prepare_run
from benchmarks.models import Experiment, Run, RunStatus, Task
from benchmarks.services.experiments.start import start_experiment
from benchmarks.services.runs.control import raise_budget, resume_run
from tests.loopback.faults import FAULTS, Fault
from tests.loopback.replies import Asked, Reply
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import VERDICT, Endpoint, is_trial, model_requests, worked, working

pytestmark = pytest.mark.django_db(transaction=True)


def judged_run(tasks: Any = 3, **request: Any) -> Run:
    return make_run(make_dataset(tasks), judge_tried=False, metrics=["correctness"], **request)


def judge_requests(server: LoopbackServer) -> int:
    return [body["model"] for body in server.stats.bodies].count("judge")


def trial_with(reply: str | Reply | Fault, then: str = VERDICT) -> Any:
    def script(asked: Asked) -> str | Reply | Fault:
        return reply if is_trial(asked) else then if asked.body["model"] == "judge" else "2"

    return script


def test_a_judge_is_tried_once_and_the_trial_is_paid_and_shown(endpoint: Endpoint) -> None:
    server = endpoint(trial_with(VERDICT))
    run = worked(judged_run())
    assert (run.status, judge_requests(server)) == (RunStatus.COMPLETED, 1 + 3)
    assert run.judge_trial == {"value": 1.0, "reason": "right", "calls": 1}
    verdicts = sum(result.judge_cost_usd or 0.0 for result in run.results.all())
    assert run.judge_cost_usd is not None
    assert run.judge_cost_usd > verdicts > 0


@pytest.mark.parametrize(
    ("reply", "requests", "says"),
    [
        (FAULTS["unauthorized_401"], 1, "Check the provider's API key"),
        (FAULTS["not_found_404"], 1, "Check the model's name"),
        (FAULTS["bad_request_400"], 1, "messages: too few"),
        ("I cannot say.", 2, "gave no verdict"),
        ('{"score": 0.8, "reason": "right"}', 1, "0.8 on a scale of 0 to 10"),
        (Reply("", finish_reason="length"), 2, "Raise `judge.max_tokens`"),
    ],
)
def test_a_judge_that_cannot_judge_stops_the_run_before_any_question(
    endpoint: Endpoint, reply: str | Reply | Fault, requests: int, says: str
) -> None:
    server = endpoint(trial_with(reply))
    run = worked(judged_run(50))
    assert run.status == RunStatus.FAILED
    assert says in run.error_message
    assert "No question was asked" in run.error_message
    assert (judge_requests(server), model_requests(server)) == (requests, 0)
    server.script = trial_with(VERDICT)
    resume_run(run)
    worked(run)
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED, 50, 0)
    assert judge_requests(server) == requests + 1 + 50


REFUSES_TEMPERATURE = "Unsupported value: 'temperature' does not support 0 with this model."


def refusal(message: str) -> Fault:
    return Fault("a refusal", 400, lambda ordinary: json.dumps({"error": {"message": message}}).encode())


def step_by_step(plainly: Reply | Fault | str, formats: str = "'response_format' of type '{}' is not supported") -> Any:
    """A judge that refuses the temperature, then a response format, and replies ``plainly`` to what has neither."""

    def script(asked: Asked) -> str | Reply | Fault:
        if asked.body["model"] != "judge":
            return "2"
        if "temperature" in asked.body:
            return refusal(REFUSES_TEMPERATURE)
        form = asked.body.get("response_format")
        return refusal(formats.format(form["type"])) if form else plainly

    return script


@pytest.mark.parametrize(
    ("plainly", "says"),
    [
        (refusal("Unsupported parameter: 'messages' is not supported with this model."), "Remove messages"),
        (refusal("Something is wrong."), "Something is wrong"),
        (refusal(REFUSES_TEMPERATURE), "Do not set temperature"),
        ("I cannot say.", "gave no verdict"),
        (FAULTS["unauthorized_401"], "Check the provider's API key"),
    ],
)
def test_a_judge_that_refuses_one_thing_after_another_and_then_everything_costs_two_requests(
    endpoint: Endpoint, plainly: Fault | str, says: str
) -> None:
    server = endpoint(step_by_step(plainly))
    run = worked(judged_run(50))
    assert run.status == RunStatus.FAILED
    assert says in run.error_message
    assert (judge_requests(server), model_requests(server)) == (2, 0)
    last = server.stats.bodies[-1]
    assert not last.keys() & {"temperature", "response_format"}


def test_a_judge_that_refuses_one_thing_after_another_and_answers_plainly_judges(endpoint: Endpoint) -> None:
    server = endpoint(step_by_step(VERDICT))
    run = worked(judged_run())
    assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
    assert run.adjustments["judge"].keys() == {"temperature", "json_schema", "json_object"}
    refused, plain, found = 3, 1, 1
    assert judge_requests(server) == refused + plain + found + 3


def test_what_a_judge_refuses_without_a_name_is_left_out_if_it_answers_plainly(endpoint: Endpoint) -> None:
    server = endpoint(step_by_step(VERDICT, formats="Something is wrong."))
    run = worked(judged_run())
    assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
    notes = run.adjustments["judge"]
    assert notes.keys() == {"temperature", "json_schema", "json_object"}
    assert "or another parameter that was not sent either" in notes["json_schema"]
    assert judge_requests(server) == 3 + 3


def test_what_a_judge_refuses_in_one_error_is_left_out_together(endpoint: Endpoint) -> None:
    def script(asked: Asked) -> str | Fault:
        refused = [name for name in ("temperature", "response_format") if name in asked.body]
        names = [f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.' for name in refused]
        return "2" if asked.body["model"] != "judge" else refusal("\n".join(names)) if names else VERDICT

    server = endpoint(script)
    run = worked(judged_run())
    assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
    # Refused in full, answered plainly, refused as json_object, answered; then the verdicts.
    assert judge_requests(server) == 4 + 3


def test_a_judge_that_is_overloaded_at_the_moment_does_not_stop_the_run(endpoint: Endpoint) -> None:
    server = endpoint(trial_with(FAULTS["rate_limited"]))
    run = worked(judged_run())
    assert (run.status, run.judge_trial) == (RunStatus.COMPLETED, None)
    assert judge_requests(server) == 2 + 3


def test_a_judge_is_not_tried_if_no_task_needs_it(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    tasks = [make_task(1, expected_output=""), make_task(2)]
    run = judged_run(tasks, limit=1)
    worked(run)
    assert (run.judge_trial, judge_requests(server)) == (None, 0)


def test_a_budget_that_does_not_cover_the_trial_pauses_the_run_until_it_is_raised(endpoint: Endpoint) -> None:
    server = endpoint(trial_with(VERDICT))
    run = worked(judged_run(budget_usd=0.001, max_tokens=10))
    assert run.status == RunStatus.PAUSED
    assert "does not cover trying the judge" in run.error_message
    assert server.stats.requests == 0
    raise_budget(run, 5.0)
    worked(run)
    assert (run.status, judge_requests(server)) == (RunStatus.COMPLETED, 1 + 3)


def two_runs(budget: float) -> list[Run]:
    """Two queued runs of one experiment with a judge."""
    make_dataset(2, slug="sums")
    request = {"datasets": ["sums"], "models": ["loop/model", "loop/other"], "metrics": ["correctness"]}
    experiment = start_experiment({"name": "Both", **request, "budget_usd": budget, "max_tokens": 10})
    return list(experiment.runs.select_related("experiment").order_by("pk"))


def test_a_worker_that_lost_its_lease_writes_nothing_of_its_trial(endpoint: Endpoint) -> None:
    """Another one tries the judge meanwhile, and its costs must stay."""
    began, may_reply = threading.Event(), threading.Event()

    def slow(asked: Asked) -> str:
        began.set()
        may_reply.wait(10)
        return VERDICT

    endpoint(slow)
    run = judged_run(budget_usd=1.0, max_tokens=10)
    lease = lease_run(run.pk, preparing=True)
    assert lease is not None
    assert lifecycle.begin_preparing(run.pk)

    def lose() -> bool:
        if began.is_set() and not may_reply.is_set():
            Run.objects.filter(pk=run.pk).update(judge_cost_usd=0.5)
            leases.release(lease)
            may_reply.set()
        return True  # it was frozen, and does not know

    assert not judge_is_usable(run, Task.objects.all(), lose, lease)
    assert Run.objects.get(pk=run.pk).judge_cost_usd == 0.5
    assert reserve_trial(run, lease) is None
    assert not lifecycle.begin_running(run.pk, lease)


def test_a_trial_is_counted_though_the_database_failed_meanwhile(endpoint: Endpoint) -> None:
    server = endpoint(trial_with(VERDICT), delay_ms=800)
    run = judged_run()
    looks: list[int] = []

    def failing() -> bool:
        looks.append(judge_requests(server))
        if looks.count(1) == 1:
            raise OperationalError("the database is unavailable")
        return True

    assert prepare_run(run, failing)
    assert judge_requests(server) == 1
    assert looks.count(1) > 1
    assert Run.objects.get(pk=run.pk).judge_trial


def test_a_trial_is_reserved_in_the_budget_of_its_experiment(endpoint: Endpoint, settings: Any) -> None:
    endpoint(trial_with(VERDICT))
    settings.CODEFORGE.models["loop/other"] = settings.CODEFORGE.models["loop/model"]
    first, second = two_runs(1.0)
    most = WorstCase(first).trial()
    Experiment.objects.update(budget_usd=1.5 * most)
    assert reserve_trial(first) is True
    assert reserve_trial(second) is None, "it waits for the trial of the first"
    Run.objects.filter(pk=first.pk).update(reserved_usd=0.0, judge_cost_usd=0.4 * most, judge_tokens_in=100)
    assert reserve_trial(second) is True, "the first one cost less than its worst case"
    Run.objects.filter(pk=second.pk).update(reserved_usd=0.0)
    Run.objects.filter(pk=first.pk).update(judge_cost_usd=0.6 * most)
    assert reserve_trial(second) is False, "what the first one paid is counted before it is prepared"


def test_runs_of_an_experiment_wait_for_each_others_trials_and_leave_no_reservation(
    endpoint: Endpoint, settings: Any
) -> None:
    server = endpoint(trial_with(VERDICT), delay_ms=20)
    settings.CODEFORGE.models["loop/other"] = settings.CODEFORGE.models["loop/model"]
    runs = two_runs(5.0)
    most = WorstCase(runs[0]).trial()
    threads = [threading.Thread(target=lambda run=run: worked(run)) for run in runs]  # type: ignore[misc]
    Run.objects.filter(pk=runs[0].pk).update(reserved_usd=5.0 - most / 2)  # as if it had requests in flight
    threads[1].start()
    while Run.objects.get(pk=runs[1].pk).status != RunStatus.PREPARING:
        time.sleep(0.05)
    time.sleep(0.2)
    assert Run.objects.get(pk=runs[1].pk).status == RunStatus.PREPARING
    assert server.stats.requests == 0
    Run.objects.filter(pk=runs[0].pk).update(reserved_usd=0.0)
    threads[0].start()
    for thread in threads:
        thread.join()
    assert set(Run.objects.values_list("status", "reserved_usd")) == {(RunStatus.COMPLETED, 0.0)}


def test_a_trial_is_cached_with_the_verdicts(endpoint: Endpoint) -> None:
    server = endpoint(trial_with(VERDICT))
    dataset = make_dataset(3)
    for _ in range(2):
        run = make_run(dataset, judge_tried=False, metrics=["correctness"], use_cache=True)
        assert worked(run).judge_trial
    assert judge_requests(server) == 1 + 3
    assert run.judge_cost_usd == 0.0


def test_several_workers_try_the_judge_once(endpoint: Endpoint) -> None:
    server = endpoint(trial_with(VERDICT))
    run = judged_run(20, concurrency=256)
    with working(run, workers=3):
        pass
    worked(run)
    assert run.status == RunStatus.COMPLETED
    assert sum("capital of France" in body["messages"][0]["content"] for body in server.stats.bodies) == 1


def test_a_judge_that_finds_a_correct_answer_wrong_is_pointed_out(endpoint: Endpoint) -> None:
    endpoint(trial_with('{"score": 2, "reason": "Paris it is not"}'))
    run = worked(judged_run())
    assert run.status == RunStatus.COMPLETED
    assert run.judge_trial["value"] == pytest.approx(0.2)


def test_the_judge_section_says_how_a_judge_is_asked_and_is_stored_with_the_run(endpoint: Endpoint) -> None:
    judge = {"temperature": None, "max_tokens": 500, "effort": "low", "structured_output": "json_object"}
    server = endpoint(trial_with(VERDICT), judge=judge)
    run = worked(judged_run())
    sent = next(body for body in server.stats.bodies if body["model"] == "judge")
    assert "temperature" not in sent
    assert (sent["max_tokens"], sent["reasoning_effort"]) == (500, "low")
    assert sent["response_format"] == {"type": "json_object"}
    assert run.judge_settings == {**judge, "reasoning_tokens": 8192, "params": {}}
