"""A judge on loopback is calibrated through the engine; its verdicts on correct and wrong answers become numbers."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

import pytest

from benchmarks.codec import stored
from benchmarks.engine.canvas_sets.generation import grow
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.executor import STOPPING
from benchmarks.models import AuditEntry, Dataset, DatasetVersion, Run, RunStatus, Task, WebhookDelivery
from benchmarks.queries.datasets import dataset_list, runnable_datasets
from benchmarks.queries.judges import agreement_of, answers_to_judge, latest_calibrations
from benchmarks.queries.leaderboard import ranked_datasets
from benchmarks.queries.runs import models_used, runs
from benchmarks.services.canvas_sets.control import delete_canvas_set
from benchmarks.services.datasets.editing import create_dataset
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.judges import calibratable_metrics, start_calibration
from benchmarks.services.runs.control import cancel_run, delete_run, resume_judging
from benchmarks.services.runs.start import start_run
from tasks_app.models import CanvasSet, Question
from tasks_app.tasks.registered_tasks import REGISTERED_TASKS
from tests.loopback.replies import Asked, Reply
from tests.support.canvas_sets import make_canvas_set
from tests.support.commands import run_command
from tests.support.factories import JUDGE
from tests.support.running import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


def verdict(score: int) -> str:
    return json.dumps({"score": score, "reason": "because"})


def harsh(asked: Asked) -> str:
    """Rejects every answer."""
    return verdict(0)


def knowing(asked: Asked) -> str:
    """Compares as the task classes do, with the answer and the reference from the prompt it is sent."""
    answer, reference = (_between(asked.prompt, name) for name in ("ANSWER", "REFERENCE"))
    rules = (task.verdict(reference, answer).value == 1.0 for task in REGISTERED_TASKS.values())
    return verdict(10 if any(rules) else 0)


def silent(asked: Asked) -> str:
    return "I'd rather not say."


def _between(prompt: str, name: str) -> str:
    match = re.search(rf"<<{name} ([0-9a-f]+)>>\n(.*?)\n<</{name} \1>>", prompt, re.DOTALL)
    assert match is not None, prompt
    return match[2]


@pytest.fixture
def canvas_set() -> CanvasSet:
    return make_canvas_set(shapes="5", count=6)


def started(canvas_set: CanvasSet, **request: Any) -> Run:
    return start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug, "questions": 18, **request})


def worked_on(run: Run) -> Run:
    work_on_run_once(run.pk)
    run.refresh_from_db()
    return run


def calibrated(canvas_set: CanvasSet, **request: Any) -> Run:
    return worked_on(started(canvas_set, **{"repeats": 1, **request}))


def answers(run: Run) -> list[dict[str, Any]]:
    return list(run.dataset_version.tasks.order_by("position").values_list("known_answer", flat=True))


def test_a_judge_that_knows_the_truth_agrees_with_it(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    server = endpoint(knowing)
    run = calibrated(canvas_set, repeats=2)
    numbers = agreement_of(run)
    assert run.status == RunStatus.COMPLETED, run.error_message
    assert run.done == run.total == server.stats.requests == numbers.calls
    assert run.total == 2 * len(answers(run)), "answers identical to the reference are judged too"
    assert numbers.kappa.kappa == pytest.approx(1.0)
    assert (numbers.kappa.n_clusters, numbers.kappa.n) == (6, numbers.n_answers)
    assert numbers.accuracy.mean == 1.0
    assert numbers.spread.deviation == 0.0
    assert run.cost_usd == 0.0
    assert run.judge_cost_usd == pytest.approx(run.judge_tokens_in / 1e6 + 2 * run.judge_tokens_out / 1e6)
    spent = (run.judge_tokens_in, run.judge_tokens_out, run.judge_cost_usd)
    assert (numbers.tokens_in, numbers.tokens_out, numbers.cost_usd) == pytest.approx(spent)


def test_no_dataset_takes_the_slug_of_a_sets_known_answers(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(knowing)
    slug = f"_calibration-{canvas_set.pk}"
    task = {"id": "a", "name": "a", "input": "a", "expected_output": ""}
    with pytest.raises(InvalidRequest, match="do not begin with _"):
        create_dataset(slug, {"name": "a", "description": "a", "tasks": [task]})
    assert started(canvas_set).dataset.slug == slug


def test_a_judge_that_rejects_everything_agrees_by_chance_only(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(harsh)
    run = calibrated(canvas_set)
    numbers = agreement_of(run)
    assert numbers.kappa.kappa == pytest.approx(0.0)
    assert (numbers.false_rejects.mean, numbers.false_accepts.mean) == (1.0, 0.0)
    assert numbers.confusion["correct_as_wrong"] + numbers.confusion["wrong_as_wrong"] == run.total


def test_a_judge_without_any_verdict_fails_and_can_be_resumed(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    server = endpoint(silent)
    run = calibrated(canvas_set, questions=12)
    assert run.status == RunStatus.FAILED
    assert run.error_message.startswith("The judge returned no verdict on any answer. Example: The judge ")
    assert agreement_of(run) is None
    wasted = run.judge_tokens_in
    server.script = knowing
    assert resume_judging(run) == run.total
    worked_on(run)
    assert run.status == RunStatus.COMPLETED
    assert run.judge_tokens_in > wasted > 0, "both attempts are counted"
    assert agreement_of(run).errors == 0


def test_answers_without_a_verdict_are_counted_and_judged_when_resumed(
    endpoint: Endpoint, canvas_set: CanvasSet
) -> None:
    server = endpoint(lambda asked: silent(asked) if server.stats.requests % 3 == 0 else knowing(asked))
    run = calibrated(canvas_set, questions=12)
    missing = run.errors
    assert run.status == RunStatus.COMPLETED_WITH_ERRORS
    assert 0 < missing == agreement_of(run).errors == run.total - agreement_of(run).n_answers
    server.script = knowing
    assert resume_judging(run) == missing
    assert worked_on(run).status == RunStatus.COMPLETED
    assert agreement_of(run).n_answers == run.total


def test_a_judge_that_cannot_be_reached_ends_the_calibration_early(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    server = endpoint(harsh, api_key="right")
    run = calibrated(canvas_set, repeats=3, concurrency=2)
    assert run.status == RunStatus.FAILED
    assert "401" in run.error_message
    assert server.stats.requests < run.total / 4
    assert agreement_of(run) is None


def test_what_a_judge_does_not_report_is_unknown(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(lambda asked: Reply(knowing(asked), reports_usage=False))
    run = calibrated(canvas_set)
    assert run.status == RunStatus.COMPLETED
    assert (run.judge_tokens_in, run.judge_tokens_out, run.judge_cost_usd) == (None, None, None)


def test_equal_requests_share_their_answers_and_another_seed_has_others(
    endpoint: Endpoint, canvas_set: CanvasSet
) -> None:
    endpoint()
    first, second, other = (started(canvas_set, seed=seed) for seed in (3, 3, 4))
    assert first.dataset_version == second.dataset_version
    assert answers(first) != answers(other)


def test_task_classes_share_the_questions_evenly(endpoint: Endpoint) -> None:
    endpoint()
    canvas_set = make_canvas_set(shapes="7", count=6)  # every class is applicable: transitivity needs seven shapes
    assert not any(canvas_set.not_applicable.values())
    tasks = started(canvas_set, questions=36).dataset_version.tasks.all()
    questions = {(task.group, (task.known_answer or {})["question"]) for task in tasks}
    assert {name for name, _ in questions} == set(canvas_set.task_classes)
    for name in canvas_set.task_classes:
        assert sum(group == name for group, _ in questions) in (4, 5, 6), name


def test_a_question_whose_reference_is_known_to_be_wrong_is_not_used(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint()
    Question.objects.filter(canvas__canvas_set=canvas_set).exclude(task_name="existence").update(audit="wrong")
    run = started(canvas_set, questions=50)
    assert set(run.dataset_version.tasks.values_list("group", flat=True)) == {"existence"}


def test_a_set_that_grows_does_not_change_a_calibration(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint()
    run = started(canvas_set, questions=12)
    before, size = answers(run), Task.objects.filter(version__dataset__canvas_set=canvas_set).count()
    CanvasSet.objects.filter(pk=canvas_set.pk).update(wanted=canvas_set.count + 3)
    grow(canvas_set.pk)
    assert Task.objects.filter(version__dataset__canvas_set=canvas_set).count() > size
    assert answers(run) == before


def test_a_canceled_calibration_keeps_its_verdicts_and_resumes(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    def stopping(asked: Asked) -> str:
        if server.stats.requests == 10:
            STOPPING.set()
        return knowing(asked)

    server = endpoint(stopping, delay_ms=20)
    try:
        run = calibrated(canvas_set, concurrency=2)
    finally:
        STOPPING.clear()
    cancel_run(run)
    run.refresh_from_db()
    kept = run.scores.filter(value__isnull=False).count()
    assert run.status == RunStatus.CANCELLED
    assert 0 < kept < run.total
    assert agreement_of(run) is None
    server.script = knowing
    assert resume_judging(run) == run.total - kept
    assert worked_on(run).status == RunStatus.COMPLETED
    assert server.stats.requests == run.total, "no verdict is paid for twice"


def test_only_what_fits_its_status_can_be_done(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(knowing)
    done, waiting = calibrated(canvas_set), started(canvas_set, seed=1)
    for run, action in ((waiting, resume_judging), (waiting, delete_run), (done, resume_judging)):
        with pytest.raises(NotPossible):
            action(run)
    cancel_run(waiting)
    delete_run(done)
    assert list(Run.objects.all()) == [waiting]
    assert DatasetVersion.objects.filter(dataset__kind=Dataset.Kind.CALIBRATION).count() == 1, "its answers go with it"
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions[-4:] == ["calibration.start", "calibration.start", "run.cancel", "run.delete"]


def test_a_calibration_stays_out_of_lists_of_runs_and_datasets(
    endpoint: Endpoint, canvas_set: CanvasSet, settings: Any
) -> None:
    endpoint(knowing)
    run = calibrated(canvas_set)
    for name, rows in {
        "runs": runs(),
        "models": models_used(),
        "leaderboard": ranked_datasets(),
        "webhook deliveries": WebhookDelivery.objects.all(),
    }.items():
        assert list(rows) == [], name
    for name, datasets in {"datasets": dataset_list(), "launch form": runnable_datasets()}.items():
        assert [dataset.slug for dataset in datasets] == [canvas_set.slug], name
    for request in (
        {"dataset": run.dataset.slug, "model": "baseline/reference", "metrics": ["exact_match"]},
        {"dataset": canvas_set.slug, "model": run.model},
    ):
        with pytest.raises(InvalidRequest):
            start_run(request)


def test_a_canvas_set_takes_its_calibrations_with_it_unless_one_is_live(
    endpoint: Endpoint, canvas_set: CanvasSet
) -> None:
    endpoint(knowing)
    calibrated(canvas_set)
    live = started(canvas_set)
    with pytest.raises(NotPossible, match=f"Run {live.pk}"):
        delete_canvas_set(canvas_set)
    cancel_run(live)
    delete_canvas_set(canvas_set)
    assert not any(model.objects.exists() for model in (CanvasSet, Dataset, Task, Run))


def test_the_latest_completed_calibration_of_a_judge_counts(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(harsh)
    assert latest_calibrations(JUDGE) == {}
    calibrated(canvas_set)
    second = calibrated(canvas_set)
    started(canvas_set)
    assert latest_calibrations(JUDGE) == {"correctness": second}
    assert latest_calibrations("loop/other") == {}


def test_a_bad_request_names_its_field(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint()
    for field, value in (
        ("judge_model", "nowhere/judge"),
        ("judge_model", "baseline/reference"),
        ("canvas_set", "none"),
        ("metric", "exact_match"),
        ("metric", "faithfulness"),
        ("questions", 1),
        ("questions", 6),
        ("repeats", "many"),
        ("model", JUDGE),
    ):
        with pytest.raises(InvalidRequest) as refused:
            start_calibration({"judge_model": JUDGE, "canvas_set": canvas_set.slug, field: value})
        assert list(refused.value.errors) == [field], (field, value)
    assert not Run.objects.exists()


def test_judges_are_calibrated_for_metrics_that_compare_with_the_reference() -> None:
    assert calibratable_metrics() == ["correctness"]


judge = partial(run_command, "judge")


@pytest.mark.usefixtures("impatient")
def test_the_command_prints_the_agreement(endpoint: Endpoint, canvas_set: CanvasSet) -> None:
    endpoint(knowing)
    code, output = judge("calibrate", "--judge", JUDGE, "--canvas-set", canvas_set.slug, "--questions", 18)
    assert code == 0
    run = latest_calibrations(JUDGE)["correctness"]
    confusion = agreement_of(run).confusion
    rows = {line.split("  ")[0]: line.split() for line in output.splitlines()}
    assert rows["correct"][1:] == [str(confusion["correct_as_correct"]), "0", "0"]
    assert rows["wrong"][1:] == ["0", "0", str(confusion["wrong_as_wrong"])]
    assert "(Cohen's κ): 1.000" in output
    assert "Consistency across repeats: standard deviation 0.000" in output
    assert judge("show", run.pk)[1] == output
    shown = json.loads(judge("show", run.pk, "--json")[1])
    assert (shown["numbers"], shown["total"]) == (stored(agreement_of(run)), answers_to_judge(run))
    assert len(judge("list")[1].splitlines()) == 2


@pytest.mark.usefixtures("impatient")
def test_the_command_reports_refusals_and_failures_by_exit_code_and_resumes(
    endpoint: Endpoint, canvas_set: CanvasSet
) -> None:
    server = endpoint(knowing, api_key="right")
    code, output = judge("calibrate", "--judge", "gpt", "--canvas-set", "none")
    assert code == 2
    assert "--judge: " in output
    assert "--canvas-set: Canvas set 'none' does not exist." in output
    code, output = judge("calibrate", "--judge", JUDGE, "--canvas-set", canvas_set.slug, "--questions", 18)
    assert (code, "401" in output) == (3, True)
    failed = Run.objects.get()
    assert judge("show", 4711)[0] == judge("cancel", failed.pk)[0] == 2
    server.api_key = None
    code, output = judge("resume", failed.pk)
    assert (code, "(Cohen's κ): 1.000" in output) == (0, True)
    assert judge("resume", failed.pk)[0] == 2
    assert judge("delete", failed.pk) == (0, f"Calibration {failed.pk} deleted.\n")
    assert not Run.objects.exists()
