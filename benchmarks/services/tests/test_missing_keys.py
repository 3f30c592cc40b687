"""A run whose provider lacks its key is refused before anything is stored or sent."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from benchmarks.models import Experiment, Run, RunStatus, Schedule
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.experiments.start import plan_experiment, start_experiment
from benchmarks.services.runs.control import cancel_run, resume_run
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.rescoring import start_rescoring
from benchmarks.services.runs.start import start_run
from benchmarks.services.schedules import save_schedule, start_due
from codeforge.config import parse_config
from tests.support.factories import make_dataset, make_run
from tests.support.running import worked

pytestmark = pytest.mark.django_db(transaction=True)

PROVIDERS = {
    "locked": {"base_url": "http://127.0.0.1:9/v1", "api_key_env": "NO_SUCH_KEY"},
    "open": {"base_url": "http://127.0.0.1:9/v1"},
    "lenient": {"base_url": "http://127.0.0.1:9/v1", "api_key_env": "NO_SUCH_KEY", "key_required": False},
}
PROBLEM = "locked has no key. NO_SUCH_KEY is not set."
SUMS = {"dataset": "sums", "metrics": ["exact_match"]}


@pytest.fixture(autouse=True)
def configured(settings: Any) -> None:
    settings.CODEFORGE = parse_config({"providers": PROVIDERS}, environ={})
    make_dataset()


def refused(start: Any, *given: Any) -> dict[str, list[str]]:
    with pytest.raises(InvalidRequest) as found:
        start(*given)
    assert not Run.objects.filter(model__startswith="locked/").exists()
    return found.value.errors


def test_model_and_judge_are_named_with_what_to_do() -> None:
    (problem,) = refused(start_run, {**SUMS, "model": "locked/m"})["model"]
    assert problem.startswith(PROBLEM)
    assert "`providers.locked.key_required: false`" in problem
    judged = {"dataset": "sums", "metrics": ["correctness"], "judge_model": "locked/judge", "model": "open/m"}
    assert PROBLEM in refused(start_run, judged)["judge_model"][0]


@pytest.mark.parametrize("model", ["open/m", "lenient/m", "baseline/reference"])
def test_a_provider_that_needs_no_key_is_asked(model: str) -> None:
    assert start_run({**SUMS, "model": model}).pk


def test_a_key_in_the_environment_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_SUCH_KEY", "sk-0123456789")
    assert start_run({**SUMS, "model": "locked/m"}).pk


def test_plans_warn_instead() -> None:
    assert PROBLEM in plan_run({**SUMS, "model": "locked/m"}).warnings[0]
    assert (
        PROBLEM
        in plan_experiment(
            {"name": "e", "datasets": ["sums"], "models": ["locked/m", "open/m"], "metrics": ["exact_match"]}
        ).warnings[0]
    )


def test_an_experiment_is_refused_as_a_whole() -> None:
    request = {"name": "e", "datasets": ["sums"], "models": ["open/m", "locked/m"], "metrics": ["exact_match"]}
    assert PROBLEM in refused(start_experiment, request)["models"][0]
    assert not Experiment.objects.exists()


def test_a_rescoring_needs_the_key_of_its_judge_only() -> None:
    run = worked(make_run(model="baseline/reference", dataset=make_dataset(slug="others")))
    Run.objects.filter(pk=run.pk).update(model="gone/m")
    run.refresh_from_db()
    assert start_rescoring(run, {"metrics": ["contains"]}).pk
    judged = {"metrics": ["correctness"], "judge_model": "locked/judge"}
    assert PROBLEM in refused(start_rescoring, run, judged)["judge_model"][0]


def test_a_run_is_resumed_and_retried_only_with_the_keys_that_are_left_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_SUCH_KEY", "sk-0123456789")
    run = start_run({**SUMS, "model": "locked/m"})
    cancel_run(run)
    monkeypatch.delenv("NO_SUCH_KEY")
    with pytest.raises(NotPossible, match="locked has no key"):
        resume_run(run)
    assert Run.objects.get(pk=run.pk).status == RunStatus.CANCELLED
    monkeypatch.setenv("NO_SUCH_KEY", "sk-0123456789")
    resume_run(run)


def test_a_schedule_says_that_the_key_is_missing() -> None:
    schedule = save_schedule("nightly", "03:00", {**SUMS, "model": "locked/m"})
    Schedule.objects.update(next_run_at=timezone.now())
    assert start_due() == []
    schedule.refresh_from_db()
    assert PROBLEM in schedule.last_problem


def test_the_api_answers_in_one_sentence_that_names_the_variable(client: Client) -> None:
    answer = client.post("/api/v1/benchmarks/runs", {**SUMS, "model": "locked/m"}, content_type="application/json")
    assert answer.status_code == 400
    assert list(answer.json()) == ["model"]
    assert PROBLEM in answer.json()["model"][0]


def test_the_form_shows_it_at_its_field(client: Client) -> None:
    page = client.post("/runs/new/", {"dataset": "sums", "model": "locked/m", "metrics": "exact_match"})
    assert page.status_code == 400
    assert PROBLEM in page.content.decode()


def test_the_doctor_says_what_is_not_checked() -> None:
    output = StringIO()
    call_command("doctor", stdout=output)
    lines = {
        line.split("Provider ")[1].split(":")[0]: line.split()[0]
        for line in output.getvalue().splitlines()
        if "Provider " in line
    }
    assert lines == {"locked": "optional", "open": "not", "lenient": "not", "openai": "optional"}
