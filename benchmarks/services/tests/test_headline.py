"""The headline of a run: one score per task, over all tasks of the version."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from benchmarks.analysis.comparisons import common_metrics, compared_runs
from benchmarks.analysis.rankings import places
from benchmarks.engine.execution.subsets import design_of
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import Run
from benchmarks.queries.leaderboard import scored_runs
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.start import run_of, start_run
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import worked

pytestmark = pytest.mark.django_db(transaction=True)

MIXED = "task:numeric,exact_match"


def mixed_dataset(slug: str = "mixed"):
    """Four tasks with a number as their reference, and four with a word."""
    answers = ["1", "2", "3", "4", "red", "green", "blue", "pink"]
    tasks = [make_task(n, id=f"t-{n}", input=f"Say {text}", expected_output=text) for n, text in enumerate(answers)]
    return make_dataset(tasks, slug=slug)


def finished(metrics: list[str], model: str = "baseline/reference") -> Run:
    dataset = mixed_dataset() if not Run.objects.exists() else Run.objects.first().dataset
    return worked(make_run(dataset, model=model, metrics=metrics))


def test_the_headline_covers_the_tasks_of_all_metrics_that_decide_some() -> None:
    run = finished(["numeric", "exact_match", "contains"])
    assert run.headline == MIXED
    numbers = run.summary["metrics"]
    assert (numbers[MIXED]["n"], numbers[MIXED]["n_expected"], numbers[MIXED]["coverage"]) == (8, 8, 1.0)
    assert (numbers["numeric"]["n"], numbers["numeric"]["n_expected"]) == (4, 4)


def test_a_metric_that_decides_every_task_is_the_headline_itself() -> None:
    assert finished(["exact_match", "numeric"]).headline == "exact_match"
    assert finished(["latency", "exact_match"]).headline == "exact_match"


def test_coverage_counts_tasks_that_no_metric_of_the_run_applies_to() -> None:
    run = finished(["numeric"])
    Run.objects.filter(pk=run.pk).update(model="loop/model")  # baselines have no rank
    numbers = run.summary["metrics"][run.headline]
    assert (run.headline, numbers["n"], numbers["n_expected"], numbers["n_ungraded"]) == ("task:numeric", 4, 8, 4)
    (place,) = places(scored_runs(10), run.headline)
    assert place.rank is None
    assert "4 that no metric applies to" in place.reason
    assert places(scored_runs(10), "numeric")[0].rank == 1


def test_a_subset_is_drawn_by_the_scores_of_all_tasks() -> None:
    texts = [*map(str, range(1, 21)), *(f"word {letter}" for letter in "abcdefghijklmnopqrst")]
    tasks = [make_task(n, id=f"t-{n}", input=f"Say {text}", expected_output=text) for n, text in enumerate(texts)]
    request = {"metrics": ["numeric", "exact_match"]}
    known = worked(make_run(make_dataset(tasks, slug="larger"), model="baseline/reference", **request))
    Run.objects.filter(pk=known.pk).update(model="demo/one")
    known.results.filter(task__expected_output__startswith="word").update(value=0.0)
    asked = validated({"dataset": "larger", "model": "baseline/empty", "subset": 24, **request})
    predictions = design_of(run_of(asked))["predictions"]
    assert min(predictions[:20]) > 0.5 > max(predictions[20:])  # 0.5 is what is said of a task without scores


def test_comparisons_use_the_headline_first_and_over_all_tasks() -> None:
    runs = [finished(["numeric", "exact_match"], model) for model in ("baseline/reference", "baseline/empty")]
    assert common_metrics(runs) == [MIXED, "numeric", "exact_match"]
    compared = {each.metric: each.comparison for each in compared_runs(runs)}
    assert (compared[MIXED].n_shared, compared["numeric"].n_shared) == (8, 4)
    assert compared[MIXED].difference == -1.0


def test_the_migration_has_workers_compute_the_headline_of_old_runs() -> None:
    run = finished(["numeric", "exact_match"])
    old = {"metrics": {name: run.summary["metrics"][name] for name in run.metrics}}
    Run.objects.filter(pk=run.pk).update(headline="", summary=old)
    run.results.filter(task__position__gt=4).update(value=None)
    import_module("benchmarks.migrations.0003_headline").fill_headlines(apps, SimpleNamespace(connection=connection))
    runs_without_worker()
    run.refresh_from_db()
    assert (run.headline, run.summary["metrics"][MIXED]["n"]) == (MIXED, 8)
    assert run.results.filter(value=None).count() == 0


def test_a_baseline_that_applies_to_no_task_is_refused() -> None:
    dataset = mixed_dataset()
    with pytest.raises(InvalidRequest) as refused:
        start_run({"dataset": dataset.slug, "model": "baseline/solver", "metrics": ["exact_match"]})
    assert "only canvas questions" in refused.value.errors["model"][0]


def test_who_asks_for_one_metric_is_told_how_many_tasks_it_covers(client: Client) -> None:
    run = finished(["numeric", "exact_match"])
    told = client.get(f"/api/v1/benchmarks/runs/{run.pk}").json()
    assert (told["headline"], told["summary"][MIXED]["n_not_applicable"]) == (MIXED, 0)
    assert (told["summary"]["numeric"]["n"], told["summary"]["numeric"]["n_not_applicable"]) == (4, 4)
    other = finished(["numeric", "exact_match"], "baseline/majority")
    words = "Numeric on Sums applies to 4 of 8 results."
    compared = f"/compare/?runs={run.pk},{other.pk},{finished(['numeric', 'exact_match'], 'baseline/random').pk}"
    assert words in client.get(f"{compared}&metric=numeric").content.decode()
    assert words not in client.get(compared).content.decode()


def test_a_leaderboard_names_the_models_that_only_other_metrics_score(client: Client) -> None:
    finished(["numeric", "exact_match"])
    other = finished(["numeric"])
    Run.objects.filter(pk=other.pk).update(model="demo/numbers-only")
    board = client.get("/leaderboard/?dataset=mixed&metric=numeric").content.decode()
    assert "Scored by other metrics only" not in board
    board = client.get(f"/leaderboard/?dataset=mixed&metric={MIXED}").content.decode()
    assert "Scored by other metrics only: demo/numbers-only." in " ".join(board.split())
