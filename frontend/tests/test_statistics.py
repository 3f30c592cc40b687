"""The statistics on pages are those that are stored, and those of the API."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.codec import stored
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Dataset, Run, RunStatus
from benchmarks.presentation.comparisons import threshold_sentence
from benchmarks.presentation.labels import sentence_case
from benchmarks.presentation.numbers import score
from benchmarks.services.runs.sizing import size_run
from benchmarks.services.runs.start import start_run
from benchmarks.summary import Threshold
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db(transaction=True)


def ended(dataset: Dataset, model: str, **request: Any) -> Run:
    run = start_run({"dataset": dataset.slug, "model": f"baseline/{model}", **request})
    while work_on_run_once(run.pk):
        pass
    run.refresh_from_db()
    return run


def words(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())))


def shown(numbers: dict[str, Any]) -> str:
    """A mean with its interval as pages write it."""
    return f"{score(numbers['mean'])} {score(numbers['low'])} to {score(numbers['high'])}"


@pytest.fixture
def canvases() -> Dataset:
    return make_canvas_set("3-8", 24).dataset


def test_the_page_of_a_canvas_run_shows_the_numbers_of_the_api(canvases: Dataset, client: Client) -> None:
    run = ended(canvases, "random", repeats=2)
    page = words(client, f"/runs/{run.pk}/")
    stored = client.get(f"/api/v1/benchmarks/runs/{run.pk}/statistics").json()
    corrected = stored["chance"]["task_score"]
    assert len(corrected["groups"]) == 6
    for row in corrected["groups"]:
        name = row["group"].replace("_", " ")
        assert f"{sentence_case(name)} {score(row['guess'])} {shown(row['raw'])} {shown(row['corrected'])}" in page
    assert f"Average of task classes {shown(corrected['average'])}" in page
    for threshold in Run.objects.get(pk=run.pk).numbers.thresholds or ():
        assert threshold_sentence(threshold) in page
    repeats = stored["reliability"]["task_score"]
    assert f"At least 1 of 2 repeats correct (pass@2) {shown(repeats['pass_at']['2'])}" in page
    assert f"All 2 repeats correct (pass^2) {shown(repeats['pass_hat']['2'])}" in page
    assert f"Tasks with differing repeats {shown(repeats['flipped'])}" in page


def test_the_mean_above_best_guess_is_shown_beside_the_raw_one(canvases: Dataset, client: Client) -> None:
    run = ended(canvases, "random")
    raw = shown(run.summary["metrics"]["task_score"])
    corrected = shown(run.summary["chance"]["task_score"]["average"])
    head = words(client, f"/runs/{run.pk}/status/")
    assert f"{raw} 95% interval" in head
    assert f"Scores: {run.total} of {run.total}" in head
    assert f"may be below 0. All words {corrected}" in head
    board = words(client, f"/leaderboard/?dataset={canvases.slug}")
    assert "Above best guess" in board
    assert f"{raw} {corrected}" in board


def test_a_leaderboard_without_a_guess_rate_has_no_such_column(client: Client) -> None:
    run = make_scored_run()
    assert "bove best guess" not in words(client, f"/leaderboard/?dataset={run.dataset.slug}")


def test_a_run_leads_to_comparisons_with_comparable_runs_and_with_the_one_before_it(client: Client) -> None:
    dataset = make_dataset(3)
    old, _, other = (make_scored_run(dataset, model=model) for model in ("a/new", "b/other", "b/other"))
    make_scored_run(make_dataset(3, slug="elsewhere"), model="c/elsewhere")
    run = make_scored_run(dataset, model="a/new")
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert re.findall(r'href="/compare/\?runs=([\d,]+)"', page) == [f"{old.pk},{run.pk}", f"{run.pk},{other.pk}"]
    live = make_scored_run(dataset, status=RunStatus.RUNNING)
    assert "/compare/?runs=" not in client.get(f"/runs/{live.pk}/").content.decode()


def test_a_fitted_threshold_is_drawn_with_its_curve(client: Client) -> None:
    run = make_scored_run(make_dataset(3))
    levels = [{"difficulty": n, "mean": 1 / (1 + 2.0 ** (n - 7)), "n": 50, "n_expected": 60} for n in range(3, 12)]
    fitted = {
        "measure": "n_shapes",
        "guess": 0.0,
        "slope": 0.693,
        "lapse": 0.0,
        "low": 6.4,
        "high": 7.6,
        "n": 450,
        "n_expected": 540,
    }
    fitted |= {"group": "count", "status": "fitted", "threshold": 7.0, "note": "", "levels": levels}
    run.summary["thresholds"] = [fitted]
    run.save()
    page = words(client, f"/runs/{run.pk}/")
    assert "7.0 (6.4 to 7.6) 450 of 540 (83.3%)" in page
    assert page.count(" 50 of 60 (83.3%)") == 2 * len(levels), "in tooltips and in the table"
    drawn = client.get(f"/runs/{run.pk}/thresholds/threshold-shapes.svg")
    assert drawn.status_code == 200
    assert b"Count" in drawn.content
    assert client.get(f"/runs/{run.pk}/thresholds/other.svg").status_code == 404
    assert client.get("/runs/999/thresholds/threshold-shapes.svg").status_code == 404


def test_an_adaptive_run_names_its_intervals_and_why_it_stopped(canvases: Dataset, client: Client) -> None:
    sent = {"dataset": canvases.slug, "model": "baseline/reference", "metrics": ["task_score"], "tasks": ["existence"]}
    client.post("/runs/new/", {**sent, "target_half_width": "0.3", "max_canvases": "200"})
    run = Run.objects.get()
    while work_on_run_once(run.pk):
        pass
    run.refresh_from_db()
    adaptive = run.summary["adaptive"]
    page = words(client, f"/runs/{run.pk}/")
    assert f"{adaptive['canvases']} of at most 200 canvases: {adaptive['reason']}. Target half-width" in page
    assert "for every number of shapes: reached." in page
    assert "(confidence sequences)" in page
    for row in adaptive["strata"]:
        n = run.results.filter(n_shapes=row["n_shapes"]).count()
        assert f"{row['n_shapes']} {row['asked']} {shown(row)} {n} of {n} " in page
    assert (
        f"Average of all numbers of shapes {adaptive['canvases']} {shown(adaptive['overall'])} {run.total} of" in page
    )
    run.summary["metrics"]["task_score"]["n"] -= 1
    run.save()
    share = f"{100 * (1 - 1 / run.total):.3g}%"
    assert (
        f"{run.total - 1} of {run.total} ({share}), at least {1 - 1 / run.total:.3f}"
        in words(client, f"/runs/{run.pk}/").partition("Average of all numbers of shapes")[2]
    )


def test_a_contamination_check_is_started_and_shown_on_the_page(canvases: Dataset, client: Client) -> None:
    run = ended(canvases, "solver")
    assert "Check for contamination" in words(client, f"/runs/{run.pk}/")
    client.post(f"/runs/{run.pk}/do/check/")
    fresh = run.fresh_runs.get()
    assert f"Run {fresh.pk} repeats the questions on fresh canvases" in words(client, f"/runs/{run.pk}/")
    while work_on_run_once(fresh.pk):
        pass
    stored = client.get(f"/api/v1/benchmarks/runs/{run.pk}/statistics").json()["contamination"]
    assert "published set" in stored["sentence"]
    for pk in (run.pk, fresh.pk):
        assert stored["sentence"] in words(client, f"/runs/{pk}/")
    assert "Check for contamination" not in words(client, f"/runs/{fresh.pk}/")
    again = client.post(f"/runs/{run.pk}/do/check/", follow=True)
    assert "already checks this run" in again.content.decode()


def test_a_run_without_such_statistics_has_no_section_for_them(client: Client) -> None:
    run = make_scored_run()
    page = words(client, f"/runs/{run.pk}/")
    assert "Above best guess" not in page
    assert "Check for contamination" not in page


@pytest.mark.parametrize("address", ["/runs/new/size/", "/runs/new/"])
def test_the_launch_form_shows_how_many_tasks_a_run_needs(client: Client, address: str) -> None:
    make_dataset(100)
    request = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
    response = client.post(address, {**request, "do": "size", "to_see": "5", "power": "0.9", "discordance": "0.2"})
    expected = size_run({**request, "to_see": 5, "power": 0.9, "discordance": 0.2})
    page = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())))
    assert f"{expected.needed} {expected.available} {expected.assuming}" in page
    assert not Run.objects.exists()


def test_an_impossible_size_is_reported_at_its_field(client: Client) -> None:
    make_dataset(3)
    sent = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"], "to_see": "60"}
    page = client.post("/runs/new/size/", sent).content.decode()
    assert "To calculate the size, fix the following" in page
    assert "at most the discordance of 0.3" in page


def test_the_leaderboard_ranks_by_the_threshold(canvases: Dataset, client: Client) -> None:
    far, near, throughout, unknown = (ended(canvases, "reference", use_cache=False) for _ in range(4))
    thresholds = [
        (far, "far/model", "fitted", 9.5, 0.2),
        (near, "near/model", "fitted", 4.5, 0.9),
        (throughout, "all/model", "beyond", None, 0.1),
        (unknown, "flat/model", "flat", None, 0.95),
    ]
    for run, model, status, threshold, mean in thresholds:
        run.model = model
        run.summary["metrics"]["task_score"]["mean"] = mean
        row = Threshold("n_shapes", "", 0.0, status, threshold, note=f"{status} it is")
        run.summary["thresholds"] = [stored(row)]
        run.save()

    def ranking(query: str) -> list[str]:
        page = words(client, f"/leaderboard/?dataset={canvases.slug}&{query}")
        return re.findall(r"(\w+)/model", page[page.index("Rank ") :].split("Table, SVG")[0])[:4]

    assert ranking("rank=threshold") == ["all", "far", "near", "flat"]
    assert ranking("rank=mean") == ["flat", "near", "far", "all"]
    assert "9.5; fitted it is" in words(client, f"/leaderboard/?dataset={canvases.slug}")


def test_a_run_on_some_task_classes_is_not_ranked_among_full_runs(canvases: Dataset, client: Client) -> None:
    ended(canvases, "reference")
    ended(canvases, "solver", tasks=["existence"])
    page = words(client, f"/leaderboard/?dataset={canvases.slug}")
    assert "baseline/reference" in page
    assert "baseline/solver" not in page


def test_a_page_costs_the_same_number_of_queries_for_more_statistics(client: Client) -> None:
    counts = []
    for count in (12, 36):
        run = ended(make_canvas_set("3-8", count, seed=count).dataset, "random", repeats=2)
        cache.clear()
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/runs/{run.pk}/")
        counts.append(len(captured))
    assert counts[0] == counts[1]
