"""Each repeat of a task sends a seed of its own: repeat r sends the seed plus r − 1. Runs that were started before keep
one seed for all, and say so."""

from __future__ import annotations

from importlib import import_module
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import Client

from benchmarks.analysis.comparisons import differing_settings
from benchmarks.engine.execution.verification import verify_prompts
from benchmarks.management.commands.benchmark import Command
from benchmarks.models import Run, RunStatus
from benchmarks.run_parameters import LAST_SEED, seeds_shown
from benchmarks.services.runs.control import retry_failed
from benchmarks.services.runs.rescoring import start_rescoring
from tests.support.factories import make_dataset, make_run
from tests.support.running import Endpoint, worked

pytestmark = pytest.mark.django_db(transaction=True)
API = "/api/v1/benchmarks"


def sent_by(endpoint: Endpoint, run: Run) -> list[int | None]:
    """The seeds that arrive while the run is worked on."""
    arrived: list[int | None] = []

    def reply(asked: Any) -> str:
        arrived.append(asked.body.get("seed"))
        return "2"

    endpoint(reply)
    worked(run)
    return sorted(arrived, key=str)


def as_before(run: Run) -> Run:
    """The run as 0.1.0 stored it, with the columns that migrations add since."""
    Run.objects.filter(pk=run.pk).update(asked={}, question_key="", answer_key="")
    editor = SimpleNamespace(connection=connection)
    import_module("benchmarks.migrations.0004_how_runs_ask").fill_in(apps, editor)
    import_module("benchmarks.migrations.0007_seed_per_repeat").keep_the_old_rule(apps, editor)
    run.refresh_from_db()
    return run


def test_every_repeat_sends_a_seed_of_its_own(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    dataset = make_dataset(2)
    assert sent_by(endpoint, make_run(dataset, seed=5, repeats=3)) == [5, 5, 6, 6, 7, 7]
    assert sent_by(endpoint, make_run(dataset, seed=5)) == [5, 5]
    assert sent_by(endpoint, make_run(dataset, repeats=2)) == [None] * 4


def test_after_the_last_seed_comes_0(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = make_run(make_dataset(1), seed=LAST_SEED - 1, repeats=4)
    assert sent_by(endpoint, run) == sorted([LAST_SEED - 1, LAST_SEED, 0, 1], key=str)
    assert run.seeds == f"{LAST_SEED - 1} to 1 (0 follows {LAST_SEED}), one for each repeat"
    assert seeds_shown(5, 3, per_repeat=True) == "5 to 7, one for each repeat"


def test_the_random_baseline_answers_as_a_run_with_the_seed_of_the_repeat(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    dataset = make_dataset(20)

    def answers(repeat: int, **request: Any) -> list[str]:
        run = worked(make_run(dataset, model="baseline/random", **request))
        rows = run.results.filter(repeat=repeat).order_by("task__position")
        return list(rows.values_list("transcript__actual_output", flat=True))

    assert answers(2, seed=5, repeats=2) == answers(1, seed=6) != answers(1, seed=5)


def test_the_page_and_the_api_show_the_seed_that_was_sent(endpoint: Endpoint, client: Client) -> None:
    endpoint(lambda asked: "2")
    run = worked(make_run(make_dataset(1), seed=5, repeats=3))
    rows = client.get(f"{API}/runs/{run.pk}/results").json()["results"]
    assert sorted((row["repeat"], row["seed"]) for row in rows) == [(1, 5), (2, 6), (3, 7)]
    last = run.results.get(repeat=3)
    assert "<dt>Seed</dt><dd>7</dd>" in "".join(
        client.get(f"/runs/{run.pk}/results/{last.pk}/").content.decode().split()
    )
    html = client.get(f"/runs/{run.pk}/").content.decode()
    assert "5 to 7, one for each repeat" in html
    assert "with one seed" not in html
    told = client.get(f"{API}/runs/{run.pk}").json()
    assert (told["seed_per_repeat"], told["parameters"]["seed"]) == (True, 5)
    assert client.get(f"{API}/runs/{run.pk}/statistics").json()["repeats_same_seed"] is False


def test_a_run_that_was_started_before_goes_on_with_one_seed_and_says_so(endpoint: Endpoint, client: Client) -> None:
    endpoint(lambda asked: "2")
    run = as_before(make_run(make_dataset(2), seed=5, repeats=3))
    assert sent_by(endpoint, run) == [5] * 6
    run.refresh_from_db()
    assert verify_prompts(run).holds
    words = "Every repeat was sent with seed 5, so repeats may be copies of each other"
    html = client.get(f"/runs/{run.pk}/").content.decode()
    assert words in html
    assert "3 repeats with one seed" in html
    assert "5 in every repeat" in html
    assert client.get(f"{API}/runs/{run.pk}/statistics").json()["repeats_same_seed"] is True
    output = StringIO()
    call_command(Command(), "show", str(run.pk), stdout=output)
    assert words in output.getvalue()


def test_errors_of_a_run_that_was_started_before_are_retried_with_its_one_seed(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = worked(as_before(make_run(make_dataset(1), seed=5, repeats=2)))
    run.results.filter(repeat=2).update(state="error", outcome="provider_error", error_kind="timeout")
    Run.objects.filter(pk=run.pk).update(status=RunStatus.COMPLETED_WITH_ERRORS, errors=1)
    run.refresh_from_db()
    retry_failed(run)
    assert sent_by(endpoint, run) == [5]


def test_the_rule_goes_with_the_answers_that_are_scored_again(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    before = worked(as_before(make_run(make_dataset(2), seed=5, repeats=2)))
    now = worked(make_run(before.dataset, seed=5, repeats=2))
    again = [start_rescoring(run, {"metrics": ["contains"]}) for run in (before, now)]
    assert [run.seed_per_repeat for run in again] == [False, True]
    assert [run.answer_key for run in again] == [before.answer_key, now.answer_key]
    assert verify_prompts(now).holds


def test_runs_of_both_rules_are_told_apart(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    dataset = make_dataset(1)
    before, now = as_before(make_run(dataset, seed=5, repeats=2)), make_run(dataset, seed=5, repeats=2)
    assert before.asked["answer"] == {"seed": "5 in every repeat"}
    assert differing_settings(before, now) == ["seed"]
    single = as_before(make_run(dataset, seed=5))
    assert single.answer_key == now.answer_key
    assert not single.repeats_same_seed


def test_the_form_says_what_each_repeat_sends(client: Client) -> None:
    make_dataset(1)
    assert "Repeat r of a task sends the seed plus r − 1" in client.get("/runs/new/").content.decode()
