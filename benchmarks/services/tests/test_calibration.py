"""A judge on loopback is examined through the engine; what it says of right and wrong answers becomes numbers."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from benchmarks.engine import calibrating
from benchmarks.engine.calibrating import calibrations_without_worker, cases_of, work_on_calibration
from benchmarks.engine.canvas_sets.generation import grow
from benchmarks.engine.execution.executor import STOPPING
from benchmarks.jobs import calibrate_judge
from benchmarks.models import AuditEntry, JudgeCalibration, JudgeVerdict, Task
from benchmarks.queries.judges import latest_calibration
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.judges import (
    cancel_calibration,
    delete_calibration,
    examinable_metrics,
    resume_calibration,
    start_calibration,
)
from tasks_app.models import CanvasSet, Question
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tests.loopback.replies import Asked, Reply
from tests.loopback.server import LoopbackServer
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import JUDGE

pytestmark = pytest.mark.django_db(transaction=True)
Endpoint = Callable[..., LoopbackServer]


Status = JudgeCalibration.Status


def verdict(score: int) -> str:
    return json.dumps({"score": score, "reason": "because"})


def harsh(asked: Asked) -> str:
    """Calls everything wrong."""
    return verdict(0)


def knowing(asked: Asked) -> str:
    """A judge that compares as the task classes do: it finds answer and reference in the prompt it was sent."""
    answer, reference = (_between(asked.prompt, name) for name in ("ANSWER", "REFERENCE"))
    rules = (task.verdict(reference, answer).value == 1.0 for task in REGISTERED_TASKS.values())
    return verdict(10 if any(rules) else 0)


def _between(prompt: str, name: str) -> str:
    found = re.search(rf"<<{name} ([0-9a-f]+)>>\n(.*?)\n<</{name} \1>>", prompt, re.DOTALL)
    assert found is not None, prompt
    return found[2]


@pytest.fixture
def canvas_set() -> CanvasSet:
    return make_canvas_set(shapes="5", count=6)


def calibrated(canvas_set: CanvasSet, **request: Any) -> JudgeCalibration:
    asked = {"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 18, "repeats": 1, **request}
    calibration = start_calibration(asked)
    work_on_calibration(calibration.pk)
    calibration.refresh_from_db()
    return calibration


def test_a_judge_that_knows_the_truth_agrees_with_it(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    server = endpoint(knowing)
    calibration = calibrated(canvas_set, repeats=2)
    assert calibration.status == Status.COMPLETED, calibration.error_message
    assert calibration.done == calibration.total == server.stats.requests
    assert calibration.numbers["kappa"]["kappa"] == pytest.approx(1.0)
    assert calibration.numbers["accuracy"]["mean"] == 1.0
    assert calibration.numbers["spread"]["deviation"] == 0.0
    assert calibration.cost_usd == pytest.approx(calibration.tokens_in / 1e6 + 2 * calibration.tokens_out / 1e6)


def test_a_judge_that_calls_everything_wrong_agrees_by_chance_alone(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(harsh)
    calibration = calibrated(canvas_set)
    assert calibration.numbers["kappa"]["kappa"] == pytest.approx(0.0)
    assert calibration.numbers["false_rejects"]["mean"] == 1.0
    assert calibration.numbers["false_accepts"]["mean"] == 0.0
    confusion = calibration.numbers["confusion"]
    assert confusion["right_as_wrong"] + confusion["wrong_as_wrong"] == calibration.total


def test_a_judge_that_talks_nonsense_fails_with_its_reason_and_no_numbers(
    endpoint: Endpoint, canvas_set: CanvasSet
) -> None:
    endpoint(lambda asked: "I'd rather not say.")
    calibration = calibrated(canvas_set, questions=12)
    assert calibration.status == Status.FAILED
    assert calibration.numbers == {}
    assert calibration.error_message
    assert calibration.tokens_in > 0, "what it cost is counted nevertheless"


def test_a_judge_that_cannot_be_reached_ends_the_calibration_early(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    server = endpoint(harsh, api_key="right")
    calibration = calibrated(canvas_set, repeats=3, concurrency=2)
    assert calibration.status == Status.FAILED
    assert "401" in calibration.error_message
    assert server.stats.requests < calibration.total / 4


def test_the_same_seed_asks_the_same(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(harsh)
    asked = {"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 18}
    first, second, other = (start_calibration({**asked, "seed": seed}) for seed in (3, 3, 4))
    assert cases_of(first) == cases_of(second)
    assert cases_of(first) != cases_of(other)


def test_task_classes_share_the_questions_evenly(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(harsh)
    calibration = start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 36})
    groups = [case.question.group for case in cases_of(calibration)]
    classes = set(canvas_set.task_classes)
    assert set(groups) == classes
    questions = {(case.question.group, case.question.id) for case in cases_of(calibration)}
    assert {sum(group == name for group, _ in questions) for name in classes} <= {4, 5, 6}


def test_a_question_whose_reference_is_known_to_be_wrong_is_not_used(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(harsh)
    Question.objects.filter(canvas__canvas_set=canvas_set).exclude(task_name="existence").update(audit="wrong")
    calibration = start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 50})
    assert {case.question.group for case in cases_of(calibration)} <= {"existence"}


def test_a_calibration_is_done_once_however_often_its_job_comes(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    server = endpoint(harsh)
    calibration = calibrated(canvas_set)
    requests = server.stats.requests
    calibrate_judge(calibration.pk)
    assert server.stats.requests == requests


def test_one_whose_worker_died_waits_for_another_and_one_nobody_began_is_rung_for(
    endpoint: Endpoint, canvas_set: CanvasSet
) -> None:
    endpoint(harsh)
    asked = {"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 18}
    dead, waiting, _fresh = (start_calibration(asked) for _ in range(3))
    long_ago = timezone.now() - timedelta(minutes=5)
    JudgeCalibration.objects.filter(pk=dead.pk).update(
        status=Status.RUNNING, heartbeat_at=long_ago, created_at=long_ago
    )
    JudgeCalibration.objects.filter(pk=waiting.pk).update(created_at=long_ago)
    assert calibrations_without_worker() == [dead.pk, waiting.pk]


class Interrupted(BaseException):
    """What a killed worker looks like from inside its job."""


def killed_after(verdicts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worker die as soon as so many verdicts are stored."""
    store = calibrating._store

    def dying(calibration: JudgeCalibration, *args: Any) -> bool:
        goes_on = store(calibration, *args)
        if calibration.verdicts.count() >= verdicts:
            raise Interrupted
        return goes_on

    monkeypatch.setattr(calibrating, "_store", dying)


def test_a_calibration_whose_worker_is_killed_goes_on_with_the_verdicts_it_has(
    endpoint: Endpoint, canvas_set: CanvasSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = endpoint(knowing, delay_ms=20)
    calibration = start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 18})
    with monkeypatch.context() as dying:
        dying.setattr(calibrating, "HEARTBEAT_SECONDS", 0.01)
        killed_after(20, dying)
        with pytest.raises(Interrupted):
            work_on_calibration(calibration.pk)
    calibration.refresh_from_db()
    stored = calibration.verdicts.count()
    assert (calibration.status, calibration.done) == (Status.RUNNING, stored)
    assert 20 <= stored < calibration.total
    JudgeCalibration.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=5))
    server.delay_ms = 0
    calibrations_without_worker()
    assert work_on_calibration(calibration.pk)
    calibration.refresh_from_db()
    assert (calibration.status, calibration.done) == (Status.COMPLETED, calibration.total)
    assert calibration.verdicts.count() == calibration.total
    calls = list(calibration.verdicts.values_list("calls", flat=True))
    assert calls == [1] * calibration.total, "no stored verdict is paid for twice"
    assert calibration.numbers["kappa"]["kappa"] == pytest.approx(1.0)
    assert calibration.tokens_in == sum(calibration.verdicts.values_list("tokens_in", flat=True))


def test_a_worker_that_is_told_to_stop_leaves_the_rest_to_another(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    def stopping(asked: Asked) -> str:
        if server.stats.requests > 10:
            STOPPING.set()
        return knowing(asked)

    server = endpoint(stopping)
    try:
        calibration = calibrated(canvas_set)
    finally:
        STOPPING.clear()
    assert calibration.status == Status.QUEUED
    assert 0 < calibration.done == calibration.verdicts.count() < calibration.total
    server.script = knowing
    assert work_on_calibration(calibration.pk)
    calibration.refresh_from_db()
    assert calibration.status == Status.COMPLETED
    assert server.stats.requests == calibration.total


def test_a_cancelled_calibration_asks_nothing_more_and_goes_on_where_it_was(
    endpoint: Endpoint, canvas_set: CanvasSet
) -> None:
    def cancelling(asked: Asked) -> str:
        if server.stats.requests == 10:
            thread = threading.Thread(target=_cancel_all)
            thread.start()
        return knowing(asked)

    server = endpoint(cancelling, delay_ms=50)
    calibration = calibrated(canvas_set, repeats=3, concurrency=2)
    assert calibration.status == Status.CANCELLED
    assert calibration.completed_at is not None
    assert 0 < calibration.done == calibration.verdicts.count() < calibration.total
    assert calibration.verdicts.count() == server.stats.requests, "what was in flight was paid for and is kept"
    assert (calibration.tokens_in or 0) > 0
    assert calibration.numbers == {}
    server.script, server.delay_ms = knowing, 0
    assert resume_calibration(calibration) == calibration.total - calibration.done
    assert work_on_calibration(calibration.pk)
    calibration.refresh_from_db()
    assert (calibration.status, calibration.done) == (Status.COMPLETED, calibration.total)
    assert server.stats.requests == calibration.total
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions[-3:] == ["calibration.start", "calibration.cancel", "calibration.resume"]


def _cancel_all() -> None:
    try:
        for calibration in JudgeCalibration.objects.all():
            cancel_calibration(calibration)
    finally:
        connection.close()


def test_resuming_tries_the_answers_without_a_verdict_again_and_counts_both(
    endpoint: Endpoint, canvas_set: CanvasSet
) -> None:
    server = endpoint(lambda asked: "I'd rather not say.")
    calibration = calibrated(canvas_set, questions=12)
    assert calibration.status == Status.FAILED
    wasted = calibration.tokens_in or 0
    server.script = knowing
    assert resume_calibration(calibration) == calibration.total
    assert work_on_calibration(calibration.pk)
    calibration.refresh_from_db()
    assert calibration.status == Status.COMPLETED
    assert (calibration.tokens_in or 0) > wasted > 0
    assert calibration.numbers["errors"] == 0


def test_a_set_that_grows_meanwhile_changes_nothing_of_a_calibration_that_goes_on(
    endpoint: Endpoint, canvas_set: CanvasSet
) -> None:
    endpoint(knowing)
    calibration = start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 12})
    before = cases_of(calibration)
    had = Task.objects.filter(version=canvas_set.dataset.current_version).count()
    CanvasSet.objects.filter(pk=canvas_set.pk).update(wanted=canvas_set.count + 3)
    grow(canvas_set.pk)
    canvas_set.dataset.refresh_from_db()
    assert Task.objects.filter(version=canvas_set.dataset.current_version).count() > had
    assert cases_of(JudgeCalibration.objects.get(pk=calibration.pk)) == before


def test_what_a_judge_does_not_report_is_unknown(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(lambda asked: Reply(knowing(asked), reports_usage=False))
    calibration = calibrated(canvas_set)
    assert calibration.status == Status.COMPLETED
    assert (calibration.tokens_in, calibration.tokens_out, calibration.cost_usd) == (None, None, None)


def test_only_what_fits_its_status_can_be_done_with_a_calibration(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(knowing)
    waiting = start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 18})
    for impossible in (resume_calibration, delete_calibration):
        with pytest.raises(NotPossible, match="queued"):
            impossible(waiting)
    cancel_calibration(waiting)
    assert not work_on_calibration(waiting.pk)
    with pytest.raises(NotPossible, match="cancelled"):
        cancel_calibration(waiting)
    done = calibrated(canvas_set)
    for impossible in (resume_calibration, cancel_calibration):
        with pytest.raises(NotPossible, match="completed"):
            impossible(done)
    delete_calibration(done)
    assert list(JudgeCalibration.objects.all()) == [waiting]
    assert not JudgeVerdict.objects.exists()
    assert AuditEntry.objects.latest("pk").action == "calibration.delete"


def test_a_calibration_deleted_under_its_worker_ends_it(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    def deleting(asked: Asked) -> str:
        if server.stats.requests == 10:
            threading.Thread(target=_delete_all).start()
        return knowing(asked)

    server = endpoint(deleting, delay_ms=50)
    asked = {"judge_model": JUDGE, "canvas_set": canvas_set.slug, "repeats": 3, "concurrency": 2}
    calibration = start_calibration(asked)
    assert work_on_calibration(calibration.pk)
    assert not JudgeCalibration.objects.exists()
    assert server.stats.requests < calibration.total


def _delete_all() -> None:
    try:
        JudgeCalibration.objects.all().delete()
    finally:
        connection.close()


def test_answers_about_one_canvas_are_a_cluster_of_kappa(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(harsh)
    kappa = calibrated(canvas_set).numbers["kappa"]
    assert kappa["n_clusters"] == 6
    assert kappa["n"] > 6


def test_the_latest_completed_calibration_of_a_judge_is_found(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(harsh)
    assert latest_calibration(JUDGE) is None
    calibrated(canvas_set)
    second = calibrated(canvas_set)
    start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug})
    assert latest_calibration(JUDGE) == second
    assert latest_calibration(JUDGE, "correctness") == second
    assert latest_calibration(JUDGE, "faithfulness") is None
    assert latest_calibration("loop/other") is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"judge_model": "nowhere/judge"}, "judge_model"),
        ({"judge_model": "baseline/reference"}, "judge_model"),
        ({"canvas_set": "none"}, "canvas_set"),
        ({"metric": "exact_match"}, "metric"),
        ({"metric": "faithfulness"}, "metric"),
        ({"questions": 1}, "questions"),
        ({"questions": 6}, "questions"),
        ({"repeats": "many"}, "repeats"),
        ({"model": JUDGE}, "model"),
    ],
)
def test_a_bad_request_names_its_field(
    endpoint: Endpoint, canvas_set: CanvasSet, change: dict[str, Any], field: str
) -> None:
    endpoint()
    with pytest.raises(InvalidRequest) as refused:
        start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug, **change})
    assert list(refused.value.errors) == [field]
    assert not JudgeCalibration.objects.exists()


def test_only_metrics_that_hold_an_answer_against_the_reference_can_be_examined() -> None:
    assert examinable_metrics() == ["correctness"]


def judge(*arguments: object) -> tuple[int, str]:
    output = StringIO()
    try:
        call_command("judge", *map(str, arguments), stdout=output, stderr=StringIO(), no_color=True)
    except SystemExit as stop:
        return int(stop.code or 0), output.getvalue()
    except CommandError as refusal:
        return refusal.returncode, str(refusal)
    return 0, output.getvalue()


def test_the_command_prints_what_was_found(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(knowing)
    code, output = judge("calibrate", "--judge", JUDGE, "--canvas-set", canvas_set.slug, "--questions", 18)
    assert code == 0
    rows = {line.split("  ")[0]: line.split() for line in output.splitlines()}
    found = latest_calibration(JUDGE)
    assert found is not None
    confusion = found.numbers["confusion"]
    assert rows["right"][1:] == [str(confusion["right_as_correct"]), "0", "0"]
    assert rows["wrong"][1:] == ["0", "0", str(confusion["wrong_as_wrong"])]
    assert "(Cohen's κ): 1.00" in output
    assert "Spread over repeats: standard deviation 0.0 points" in output
    assert judge("show", found.pk)[1] == output
    assert json.loads(judge("show", found.pk, "--json")[1])["numbers"] == found.numbers
    assert len(judge("list")[1].splitlines()) == 2


def test_the_command_tells_a_refusal_and_a_failure_by_its_exit_code(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(harsh, api_key="right")
    code, output = judge("calibrate", "--judge", "gpt", "--canvas-set", "none")
    assert code == 2
    assert "--judge: " in output
    assert "--canvas-set: Unknown" in output
    code, output = judge("calibrate", "--judge", JUDGE, "--canvas-set", canvas_set.slug, "--questions", 18)
    assert code == 3
    assert "401" in output
    assert judge("show", 4711)[0] == 2


def test_the_command_resumes_cancels_and_deletes(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    server = endpoint(knowing, api_key="right")
    judge("calibrate", "--judge", JUDGE, "--canvas-set", canvas_set.slug, "--questions", 18)
    failed = JudgeCalibration.objects.get()
    assert failed.status == Status.FAILED
    assert judge("cancel", failed.pk)[0] == 2
    server.api_key = None
    code, output = judge("resume", failed.pk)
    assert code == 0
    assert "(Cohen's κ): 1.00" in output
    assert judge("resume", failed.pk)[0] == 2
    assert "Deleted calibration" in judge("delete", failed.pk)[1]
    assert not JudgeCalibration.objects.exists()
    assert judge("delete", failed.pk)[0] == 2
