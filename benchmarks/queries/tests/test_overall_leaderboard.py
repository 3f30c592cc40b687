"""The leaderboard over several datasets: which runs count, the rule of the ranks, and who has none; page and API."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.models import Dataset, Run
from benchmarks.queries.overall_leaderboard import overall_leaderboard
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
N = 20


def run(dataset: Dataset, right: int, model: str, **fields: object) -> Run:
    values = [1.0] * right + [0.0] * (N - right)
    return make_scored_run(dataset, values, model=model, summarized_at=timezone.now(), **fields)


def two_datasets() -> tuple[Dataset, Dataset]:
    first, second = make_dataset(N, slug="first"), make_dataset(N, slug="second")
    for model, right, later in (("a/one", 20, 12), ("a/two", 10, 20), ("a/three", 0, 0)):
        run(first, right, model)
        run(second, later, model)
    return first, second


def test_models_are_ranked_by_the_mean_of_their_ranks() -> None:
    two_datasets()
    board = overall_leaderboard()
    assert [column.dataset.slug for column in board.columns] == ["first", "second"]
    rows = {row.model: row for row in board.rows}
    assert {model: row.mean_rank and row.mean_rank.mean for model, row in rows.items()} == {
        "a/one": 1.5,
        "a/two": 1.5,
        "a/three": 3.0,
    }
    assert [rows[model].rank for model in ("a/one", "a/two", "a/three")] == [1, 1, 3]
    assert [cell and cell.mean for cell in rows["a/one"].cells] == [1.0, 0.6]
    assert [row.model for row in overall_leaderboard(["first"]).rows] == ["a/one", "a/two", "a/three"]
    assert not overall_leaderboard(["nonsense", "first"]).columns


def test_the_leaderboard_says_who_has_the_best_mean_rank_and_who_is_next() -> None:
    first, second = two_datasets()
    tied, behind = overall_leaderboard().sentences
    assert tied.startswith("a/one and a/two have the best mean rank over 2 benchmarks, 1.50 (")
    assert behind.startswith("a/three is next with 3.00 (")
    run(first, 20, "a/two")
    run(second, 0, "a/one")
    alone = overall_leaderboard(["second"]).sentences[0]
    assert alone.startswith("a/two has the best mean rank over 1 benchmark, 1.00 (")
    assert not overall_leaderboard(["nonsense"]).sentences


def test_models_whose_ranges_overlap_share_their_ranks(client: Client) -> None:
    first, second = make_dataset(N, slug="first"), make_dataset(N, slug="second")
    for dataset in (first, second):
        for model, right in {"a/one": 20, "a/two": 18, "a/three": 0}.items():
            run(dataset, right, model)
    board = overall_leaderboard()
    assert [(row.model, row.rank, row.ranks) for row in board.rows] == [
        ("a/one", 1, "1–2"),
        ("a/two", 2, "1–2"),
        ("a/three", 3, "3"),
    ]
    assert board.sentences == [
        "a/one and a/two share the lead over 2 benchmarks; the ranges of their mean ranks overlap.",
        "a/three is next with 3.00 (3.00 to 3.00).",
    ]
    assert client.get("/leaderboard/overall/").content.decode().count('data-label="Rank">1–2<') == 2


def test_only_the_latest_full_run_in_the_setting_of_most_models_counts() -> None:
    first, _ = two_datasets()
    run(first, 20, "a/three", limit=5)
    run(first, 20, "a/three", parameters={"system_prompt": "Think."})
    estimated = run(first, 20, "a/three", subset=10)
    Run.objects.filter(pk=estimated.pk).update(summary={**estimated.summary, "subset": {"n_all": N}})
    latest = run(first, 5, "a/two")
    cells = {row.model: row.cells[0] for row in overall_leaderboard().rows}
    two, three = cells["a/two"], cells["a/three"]
    assert two is not None
    assert three is not None
    assert (two.run, two.mean, three.mean) == (latest, 0.25, 0.0)


def test_a_model_without_enough_scores_on_each_dataset_has_no_rank_and_says_why() -> None:
    first, second = two_datasets()
    run(first, 20, "a/half")
    run(first, 20, "a/gaps")
    make_scored_run(second, [1.0] * 10 + [None] * 10, model="a/gaps")
    reasons = {row.model: row.reason for row in overall_leaderboard().rows if row.rank is None}
    assert reasons["a/half"] == "No full run on Sums."
    assert "10 of 20" in reasons["a/gaps"]
    assert {row.model: row.rank for row in overall_leaderboard(["first"]).rows}["a/half"] == 1


def test_without_a_choice_some_models_are_ranked() -> None:
    first, second = two_datasets()
    alone = make_dataset(N, slug="alone")
    for model in ("b/one", "b/two"):
        run(alone, 3, model)
    board = overall_leaderboard()
    assert [dataset.slug for dataset in board.offered] == ["alone", "first", "second"]
    assert [column.dataset for column in board.columns] == [first, second]
    assert all(row.rank for row in board.rows)
    assert len(overall_leaderboard(["alone", "first"]).columns) == 2


def test_the_page_and_the_api_have_the_same_numbers(client: Client) -> None:
    two_datasets()
    html = " ".join(client.get("/leaderboard/overall/").content.decode().split())
    assert "1.50 <span" in html
    assert html.index("a/one") < html.index("a/three")
    answer = client.get("/api/v1/benchmarks/leaderboard?datasets=first,second").json()
    assert answer["datasets"] == ["first", "second"]
    best = answer["results"][0]
    assert (best["model"], best["rank"], best["mean_rank"]["mean"]) == ("a/one", 1, 1.5)
    assert [(score["dataset"], score["n"], score["total"]) for score in best["scores"]] == [
        ("first", N, N),
        ("second", N, N),
    ]
    refused = client.get("/api/v1/benchmarks/leaderboard?datasets=first,nonsense")
    problem = "Not a dataset with full runs of two models: nonsense. Choose from: first, second."
    assert (refused.status_code, refused.json()) == (400, {"datasets": [problem]})
    html = client.get("/leaderboard/overall/?dataset=nonsense").content.decode()
    assert problem in html
    assert "a/one" not in html
    html = client.get("/leaderboard/?dataset=nonsense").content.decode()
    assert "There are no completed runs on nonsense. Choose another dataset." in html
    assert "a/one" not in html


def test_a_model_that_answers_in_two_ways_has_two_rows_that_say_so(client: Client) -> None:
    first, second = two_datasets()
    for dataset in (first, second):
        run(dataset, 18, "a/one", parameters={"temperature": 0.0, "extra": {"reasoning_effort": "high"}})
    board = overall_leaderboard()
    told = {(row.model, row.differs): [cell and cell.mean for cell in row.cells] for row in board.rows}
    assert told["a/one", "temperature 0, reasoning_effort high"] == [0.9, 0.9]
    assert told["a/one", "default parameters"] == [1.0, 0.6]
    answer = client.get("/api/v1/benchmarks/leaderboard").json()
    assert {(row["model"], row["differs"]) for row in answer["results"]} == told.keys()
    assert "temperature 0, reasoning_effort high" in client.get("/leaderboard/overall/").content.decode()
    assert "temperature 0, reasoning_effort high" in client.get("/leaderboard/?dataset=first").content.decode()
    assert "temperature 0, reasoning_effort high" in client.get("/").content.decode()


def test_without_runs_there_is_nothing_to_rank(client: Client) -> None:
    assert "nothing to rank" in client.get("/leaderboard/overall/").content.decode()
    assert client.get("/api/v1/benchmarks/leaderboard").json() == {"datasets": [], "datasets_missing": 0, "results": []}
