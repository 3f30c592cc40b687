"""Runs that ask a drawn part of the tasks and estimate the score on all of them."""

from __future__ import annotations

import pytest
from django.test import Client

from benchmarks.analysis.rankings import MEAN, places, unranked_reason
from benchmarks.management.experiments import plan_text as experiment_plan_text
from benchmarks.management.printing import plan_text
from benchmarks.models import Run
from benchmarks.queries.leaderboard import whole_runs
from benchmarks.queries.matrix import matrix, matrix_rows
from benchmarks.services.datasets.versions import mark_doubtful
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.experiments.start import plan_experiment
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.start import start_run
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run
from tests.support.running import worked

pytestmark = pytest.mark.django_db(transaction=True)
TASKS = 60


def finished(**request: object) -> Run:
    return worked(start_run({"dataset": "sums", "metrics": ["exact_match"], **request}))


@pytest.fixture
def run() -> Run:
    dataset = make_dataset(TASKS)
    for place in range(3):
        make_scored_run(dataset, [float(at % 3 > 0 or at % 4 < place) for at in range(TASKS)], model=f"a/m{place}")
    return finished(model="baseline/reference", subset=24)


def test_it_asks_the_drawn_tasks_and_estimates_the_score_on_all(run: Run) -> None:
    assert (run.status, run.total) == ("completed", 24)
    design = run.subset_design
    drawn = [design["tasks"][at] for stratum in design["strata"] for at in stratum["drawn"]]
    assert sorted(run.results.values_list("task", flat=True)) == sorted(drawn)
    assert (len(design["strata"]), len(design["tasks"])) == (3, TASKS)
    assert run.summary["subset"] == {"n": 24, "n_tasks": TASKS, "n_all": TASKS}
    numbers = run.summary["metrics"]["exact_match"]
    assert (numbers["n"], numbers["n_expected"], numbers["method"]) == (24, 24, "subset-regression")
    assert numbers["note"] == "estimated from 24 of 60 tasks"
    assert numbers["low"] < numbers["mean"] == 1.0 == numbers["high"]
    assert (run.summary["chance"], run.summary["thresholds"]) == ({}, [])


def test_tasks_with_a_doubtful_reference_are_not_drawn(run: Run) -> None:
    mark_doubtful(run.dataset_version, [f"task-{number}" for number in range(1, 11)])
    design = finished(model="baseline/reference", subset=24).subset_design
    assert (len(design["tasks"]), design["n_all"]) == (50, TASKS)
    assert len(finished(model="baseline/reference", subset=24, include_doubtful=True).subset_design["tasks"]) == TASKS


def test_it_stands_beside_full_runs_without_a_rank(run: Run, client: Client) -> None:
    runs, _ = whole_runs(run.dataset_version)
    of_model = {place.run.model: place for place in places(runs, "exact_match", rank=MEAN)}
    assert of_model["a/m0"].rank is not None
    assert of_model["baseline/reference"].rank is None
    reason = "Its score is an estimate from 24 of 60 tasks, which saved 60% of the requests."
    assert unranked_reason(run, "exact_match") == reason
    row = next(row for row in matrix(runs).rows if row.model == "baseline/reference")
    assert (row.place, row.reason) == (None, f"Run {run.pk}: {reason}")
    assert matrix([run]).verdict == ""
    assert matrix([run]).no_verdict == "No row is ranked. The reason is beside each model."
    assert {row["subset"] for row in matrix_rows(matrix(runs))} == {None, 24}
    for address in (f"/runs/{run.pk}/", "/runs/", "/leaderboard/?dataset=sums"):
        assert "Estimated from 24 of 60 tasks" in " ".join(client.get(address).content.decode().split()), address


def test_the_launch_page_says_what_an_estimate_saves(run: Run, client: Client) -> None:
    form = {"dataset": "sums", "model": "baseline/reference", "metrics": "exact_match", "subset": "24"}
    page = client.post("/runs/new/plan/", form).content.decode()
    assert "Estimates the score on all tasks from 24 of 60, drawn by the results of 3 models: saves 60%" in page


def test_the_planner_says_what_a_tenth_to_a_third_of_the_tasks_shows(run: Run, client: Client) -> None:
    asked = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"], "to_see": 10}
    sized = client.post("/api/v1/benchmarks/plan", asked, content_type="application/json").json()
    # A tenth and a fifth of 60 tasks are too few for an interval.
    assert [(each["n"], each["n_tasks"], each["n_models"]) for each in sized["fewer_tasks"]] == [(20, TASKS, 3)]
    assert 0 < sized["fewer_tasks"][0]["half_width"] < 0.25
    page = client.post("/runs/new/size/", asked).content.decode()
    assert sized["fewer_tasks"][0]["sentence"] in page
    asked["metrics"] = ["latency"]
    assert client.post("/api/v1/benchmarks/plan", asked, content_type="application/json").json()["fewer_tasks"] == []


def test_plans_of_runs_and_experiments_say_what_an_estimate_saves(run: Run, client: Client) -> None:
    asked = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
    address = "/api/v1/benchmarks/runs/plan"
    plain = client.post(address, asked, content_type="application/json").json()
    part = client.post(address, {**asked, "subset": 24}, content_type="application/json").json()
    assert (plain["subset"], part["requests"], part["subset"]["saved"]) == (None, 24, pytest.approx(0.6))
    assert plan_text(plan_run({**asked, "subset": 24})).splitlines()[-1].startswith("Estimates the score on all tasks")
    several = {"name": "x", "datasets": ["sums"], "models": ["baseline/reference"], "metrics": ["exact_match"]}
    plan = plan_experiment({**several, "subset": 24})
    assert (list(plan.subsets), plan.detectable) == (["sums"], {})
    assert "sums: Estimates the score on all tasks from 24 of 60" in experiment_plan_text(plan)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"subset": 60}, "The estimate is about 60 tasks."),
        ({"subset": 30, "limit": 40}, "Remove limit"),
        ({"subset": 5}, "greater than or equal to 20"),
        ({"subset": 30, "metrics": ["latency", "exact_match"]}, "latency is not a score"),
    ],
)
def test_it_draws_a_part_of_all_tasks_for_a_score(request_: dict[str, object], message: str) -> None:
    make_dataset(TASKS)
    with pytest.raises(InvalidRequest) as refused:
        start_run({"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"], **request_})
    assert message in str(refused.value.errors["subset"])
