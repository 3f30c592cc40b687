"""Two real runs of models of different skill: what the API and the page tell is what their answers amount to."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.finishing import refresh_summary
from benchmarks.models import Dataset, Run
from benchmarks.presentation.comparisons import comparison_sentences
from benchmarks.presentation.numbers import points, whole_points
from benchmarks.statistics.paired import compare, holm
from tests.loopback.faults import FAULTS, Fault
from tests.loopback.replies import Asked
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


def scripted(asked: Asked) -> str | Fault:
    """``good`` fails at every 13th sum, ``poor`` at every 4th and with an error at every 29th."""
    number = int(asked.prompt.removeprefix("What is ").split(" ")[0])
    if asked.body["model"] == "poor" and number % 29 == 0:
        return FAULTS["bad_request_400"]
    wrong = number % (13 if asked.body["model"] == "good" else 4) == 0
    return str(2 * number + wrong)


def finished(dataset: Dataset, **request: Any) -> Run:
    run = make_run(dataset, **request)
    work_on_run_once(run.pk)
    run.refresh_from_db()
    return run


@pytest.fixture
def two_runs(endpoint: Endpoint) -> tuple[Run, Run]:
    endpoint(scripted)
    dataset = make_dataset(120)
    metrics = ["exact_match", "contains"]
    return (
        finished(dataset, model="loop/poor", metrics=metrics),
        finished(dataset, model="loop/good", metrics=metrics),
    )


def scores_of(run: Run, metric: str) -> dict[str, float | None]:
    scored = dict(run.scores.filter(metric=metric).values_list("result", "value"))
    return {content: scored.get(pk) for pk, content in run.results.values_list("pk", "task__content_hash")}


def words(page: bytes) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page.decode())))


def test_the_api_and_the_page_tell_what_the_answers_amount_to(two_runs: tuple[Run, Run]) -> None:
    poor, good = two_runs
    answer = APIClient().get(f"/api/v1/benchmarks/compare?runs={poor.pk},{good.pk}").json()
    assert [(one["a"], one["b"], one["metric"]) for one in answer["comparisons"]] == [
        (poor.pk, good.pk, "exact_match"),
        (poor.pk, good.pk, "contains"),
    ]
    expected = [compare(scores_of(poor, metric), scores_of(good, metric)) for metric in poor.metrics]
    adjusted = holm([found.p_value for found in expected if found.p_value is not None])
    for one, found, p_adjusted in zip(answer["comparisons"], expected, adjusted, strict=True):
        for name in ("n_shared", "n_missing", "n_changed", "n_better", "worst_case", "best_case", "p_value"):
            assert one[name] == getattr(found, name), name
        for name in ("difference", "low", "high", "detectable_difference", "effect_size"):
            assert one[name] == pytest.approx(getattr(found, name), abs=1e-9), name
        for name in ("interval_a", "interval_b"):
            assert one[name]["mean"] == pytest.approx(getattr(found, name).mean, abs=1e-9), name
            assert one[name]["low"] < one[name]["mean"] < one[name]["high"], name
        assert (one["p_adjusted"], one["family_size"]) == (p_adjusted, 2)
        assert one["is_clear"] is (found.is_clear and p_adjusted <= 0.05) is True
        assert one["sentence"] == " ".join(
            comparison_sentences(found, "loop/poor", "loop/good", p_adjusted=p_adjusted, family_size=2)
        )
    for one in answer["comparisons"]:
        page = words(Client().get(f"/compare/?runs={poor.pk},{good.pk}&metric={one['metric']}").content)
        assert one["sentence"].split(". ")[0] in page
        assert one["missing_sentence"] in page


def test_the_sentence_holds_against_a_count_by_hand(two_runs: tuple[Run, Run]) -> None:
    """The scripts say which sums each model gets wrong, so every number follows without the product's own code."""
    poor, good = two_runs
    right = {
        "poor": {n: n % 4 != 0 for n in range(1, 121) if n % 29},
        "good": {n: n % 13 != 0 for n in range(1, 121)},
    }
    shared = list(right["poor"])
    better = sum(right["good"][n] and not right["poor"][n] for n in shared)
    worse = sum(right["poor"][n] and not right["good"][n] for n in shared)
    difference = (better - worse) / len(shared)
    p_value = binomtest(better, better + worse).pvalue
    one = (
        APIClient()
        .get(f"/api/v1/benchmarks/compare?runs={poor.pk},{good.pk}&metric=exact_match")
        .json()["comparisons"][0]
    )
    assert (one["n_shared"], one["n_missing"]) == (116, 4)
    assert (one["n_better"], one["n_worse"]) == (better, worse)
    assert one["p_value"] == pytest.approx(p_value)
    assert one["p_adjusted"] == pytest.approx(multipletests([p_value, p_value], method="holm")[1][0])
    assert one["sentence"].startswith(f"loop/good is better than loop/poor by {points(difference)} points (")
    counts = (
        f"{better} of 116 shared tasks favor loop/good, {worse} favor loop/poor, {116 - better - worse} are equal ("
    )
    assert counts in one["sentence"]
    lacking = sum(right["good"][n] for n in (29, 58, 87, 116))
    assert one["worst_case"] == pytest.approx((better - worse + lacking - 4) / 120)
    assert one["best_case"] == pytest.approx((better - worse + lacking) / 120)


def test_runs_that_answer_alike_are_not_told_apart(endpoint: Endpoint) -> None:
    endpoint(scripted)
    dataset = make_dataset(60)
    a, b, c = (finished(dataset, model="loop/good") for _ in range(3))
    answer = APIClient().get(f"/api/v1/benchmarks/compare?runs={a.pk},{b.pk},{c.pk}").json()
    assert [(one["a"], one["b"]) for one in answer["comparisons"]] == [(a.pk, b.pk), (a.pk, c.pk), (b.pk, c.pk)]
    assert {one["family_size"] for one in answer["comparisons"]} == {3}
    assert all(" tie at " in one["sentence"] for one in answer["comparisons"])


def test_only_tasks_of_identical_content_are_compared(endpoint: Endpoint) -> None:
    endpoint(scripted)
    a = finished(make_dataset(40, slug="forty"), model="loop/good")
    b = finished(make_dataset(25, slug="twenty-five"), model="loop/poor")
    one = APIClient().get(f"/api/v1/benchmarks/compare?runs={a.pk},{b.pk}").json()["comparisons"][0]
    assert (one["n_shared"], one["n_only_a"], one["n_only_b"]) == (25, 15, 0)


def test_tasks_of_one_cluster_are_compared_together(endpoint: Endpoint) -> None:
    endpoint(scripted)
    dataset = make_dataset([make_task(number, cluster=f"text-{number % 8}") for number in range(1, 41)])
    a, b = (finished(dataset, model=f"loop/{name}") for name in ("good", "poor"))
    one = APIClient().get(f"/api/v1/benchmarks/compare?runs={a.pk},{b.pk}").json()["comparisons"][0]
    assert (one["n_shared"], one["n_clusters"]) == (39, 8), "one answer is lost"
    numbers = APIClient().get(f"/api/v1/benchmarks/runs/{a.pk}/statistics").json()["metrics"]["exact_match"]
    assert (numbers["n"], numbers["n_clusters"]) == (40, 8)


def test_results_on_one_canvas_are_compared_together(endpoint: Endpoint) -> None:
    endpoint(scripted)
    dataset = make_canvas_set("4-6", 9).dataset
    a, b = (finished(dataset, model=f"baseline/{name}", metrics=["task_score"]) for name in ("reference", "random"))
    one = APIClient().get(f"/api/v1/benchmarks/compare?runs={a.pk},{b.pk}").json()["comparisons"][0]
    assert one["n_clusters"] == 9
    assert one["n_shared"] == a.total
    assert "cluster differences" in one["method"]


@pytest.mark.parametrize("query", ["", "runs=", "runs=1", "runs=1,x", "runs=1,1", "runs=998,999", "runs=1,2,3,4,5,6,7"])
def test_a_comparison_of_no_two_runs_is_refused(client: Client, query: str) -> None:
    answer = client.get(f"/api/v1/benchmarks/compare?{query}")
    assert answer.status_code == 400
    assert "runs" in answer.json()


def test_an_unknown_metric_is_refused_with_those_there_are(two_runs: tuple[Run, Run], client: Client) -> None:
    answer = client.get(f"/api/v1/benchmarks/compare?runs={two_runs[0].pk},{two_runs[1].pk}&metric=latency")
    assert answer.status_code == 400
    assert "exact_match, contains" in answer.json()["metric"][0]


def test_a_comparison_costs_a_fixed_number_of_queries_and_none_over_results_the_second_time(endpoint: Endpoint) -> None:
    endpoint(scripted)
    counts = []
    for size in (10, 30):
        dataset = make_dataset(size, slug=f"sums-{size}")
        pair = [finished(dataset, model=f"loop/{name}").pk for name in ("poor", "good")]
        cache.clear()
        for _ in range(2):
            with CaptureQueriesContext(connection) as captured:
                APIClient().get(f"/api/v1/benchmarks/compare?runs={pair[0]},{pair[1]}")
            counts.append(len(captured))
    assert counts[0] == counts[2]
    assert counts[1] == counts[3] == 1


def test_new_numbers_of_a_run_make_a_comparison_new(two_runs: tuple[Run, Run]) -> None:
    poor, good = two_runs
    address = f"/api/v1/benchmarks/compare?runs={poor.pk},{good.pk}"
    before = APIClient().get(address).json()["comparisons"][0]
    good.scores.update(value=0.0)
    refresh_summary(good.pk)
    after = APIClient().get(address).json()["comparisons"][0]
    assert before["difference"] > 0 > after["difference"]


def test_the_statistics_of_a_run_are_those_that_were_stored(endpoint: Endpoint, client: Client) -> None:
    endpoint(scripted)
    dataset = make_canvas_set("3-8", 12).dataset
    run = finished(dataset, model="baseline/random", metrics=["task_score"], repeats=3)
    answer = client.get(f"/api/v1/benchmarks/runs/{run.pk}/statistics").json()
    assert answer["metrics"]["task_score"]["n_clusters"] == 12
    for name in ("mean", "low", "high", "n", "method", "note"):
        assert answer["metrics"]["task_score"][name] == run.summary["metrics"]["task_score"][name]
    assert answer["chance"] == run.summary["chance"]
    assert answer["thresholds"] == run.summary["thresholds"]
    assert answer["reliability"] == run.summary["reliability"]
    assert answer["breakdown"] == run.breakdown
    assert {one["group"] for one in answer["thresholds"] if one["measure"] == "n_shapes"} >= {"", "existence"}


def test_a_run_that_has_not_ended_has_no_statistics_yet(endpoint: Endpoint, client: Client) -> None:
    endpoint(scripted)
    run = make_run()
    answer = client.get(f"/api/v1/benchmarks/runs/{run.pk}/statistics").json()
    assert (answer["metrics"], answer["chance"], answer["thresholds"]) == ({}, {}, [])
    assert client.get("/api/v1/benchmarks/runs/999/statistics").status_code == 404


def test_a_size_is_planned_for_a_difference(endpoint: Endpoint, client: Client) -> None:
    endpoint(scripted)
    make_dataset(100)
    request = {"dataset": "sums", "model": "loop/model", "metrics": ["exact_match"], "max_tokens": 10, "to_see": 5}
    answer = client.post("/api/v1/benchmarks/plan", request, content_type="application/json").json()
    needed = f"you need {answer['tasks']:,} tasks with 1 repeat."
    assert answer["needed"] == f"To detect a difference of 5.0 points with 80% power, {needed}"
    assert 900 < answer["tasks"] < 1000
    assert answer["plan"]["requests"] == answer["tasks"]
    assert answer["plan"]["cost_low"] > 0
    assert answer["tasks_there"] == 100
    assert answer["detectable"] > 0.05
    assert whole_points(answer["detectable"]) in answer["available"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "to_see"),
        ({"to_see": "x"}, "to_see"),
        ({"to_see": "NaN"}, "to_see"),
        ({"to_see": True}, "to_see"),
        ({"to_see": 60}, "to_see"),
        ({"to_see": 5, "model": "x"}, "model"),
        ({"to_see": 5, "correlation": -1}, "correlation"),
        ({"to_see": 5, "correlation": "inf"}, "correlation"),
    ],
)
def test_an_impossible_size_is_refused(endpoint: Endpoint, client: Client, given: dict[str, Any], field: str) -> None:
    endpoint(scripted)
    make_dataset(3)
    request = {"dataset": "sums", "model": "loop/good", "metrics": ["exact_match"], **given}
    answer = client.post("/api/v1/benchmarks/plan", request, content_type="application/json")
    assert answer.status_code == 400
    assert field in answer.json()


def test_two_runs_are_compared_within_a_margin_of_the_reader(two_runs: tuple[Run, Run], client: Client) -> None:
    address = f"/api/v1/benchmarks/compare?runs={two_runs[0].pk},{two_runs[1].pk}"
    wide, default = (client.get(f"{address}{more}").json()["comparisons"][0] for more in ("&margin=100", ""))
    assert (wide["margin"], wide["same"]) == (1.0, True)
    assert (default["margin"], default["same"]) == (0.02, False)
    assert default["same_sentence"] == "They differ by more than 2.0 points."


@pytest.mark.parametrize("margin", ["0", "-1", "101", "x", "nan", "inf"])
def test_a_margin_that_is_none_is_refused(two_runs: tuple[Run, Run], client: Client, margin: str) -> None:
    address = f"/api/v1/benchmarks/compare?runs={two_runs[0].pk},{two_runs[1].pk}&margin={margin}"
    answer = client.get(address)
    assert (answer.status_code, [*answer.json()]) == (400, ["margin"])
