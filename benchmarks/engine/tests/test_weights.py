"""Weights of tasks: what a file may say of them, and the second mean that they make."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks.dataset_format.dumping import dump_dataset, task_hash
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.tests.examples import task_values
from benchmarks.dataset_format.validation import validate_task_fields
from benchmarks.engine.summary.summarize import summarize
from benchmarks.models import Score
from benchmarks.presentation.sentences import headline_numbers, weighted
from benchmarks.queries.leaderboard import by_setting, whole_runs
from benchmarks.services.datasets.versions import spec_of
from benchmarks.services.runs.exports import export_pieces
from benchmarks.summary import MetricNumbers, Weighted
from tests.support.factories import make_dataset, make_run, make_task
from tests.support.running import Endpoint, worked

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (0, "must be at least 0.001"),
        (-1, "must be at least 0.001"),
        (1_001, "must be at most 1,000"),
        (10**400, "finite"),
        (float("nan"), "finite"),
        (True, "must be a number above 0"),
        ("2", "must be a number above 0"),
        (None, "has no value"),
    ],
)
def test_a_weight_is_a_bounded_positive_number(weight: object, message: str) -> None:
    task, problems = validate_task_fields(task_values(weight=weight))
    assert task is None
    assert message in str(problems["weight"])


def test_a_weight_is_stored_and_written_and_does_not_change_what_is_asked() -> None:
    dataset = make_dataset([make_task(1, weight=2.5), make_task(2)])
    spec = spec_of(dataset.current_version)
    assert [task.weight for task in spec.tasks] == [2.5, 1.0]
    assert "weight: 2.5" in (written := dump_dataset(spec))
    assert parse_dataset(written.encode(), "x.yaml").spec == spec
    assert task_hash(spec.tasks[0], spec) == task_hash(make_task(1), spec)
    assert dataset.current_version.facets["weights"] == [1.0, 2.5]


def test_a_run_has_a_weighted_mean_beside_its_strict_mean(endpoint: Endpoint, client: Client) -> None:
    endpoint(lambda asked: "2")  # which answers only the first task
    dataset = make_dataset([make_task(number, weight=3 if number == 1 else 1) for number in range(1, 31)])
    run = worked(make_run(dataset))
    numbers = run.summary["metrics"]["exact_match"]
    assert numbers["mean"] == pytest.approx(1 / 30)
    assert (numbers["weighted"]["mean"], numbers["weighted"]["n"]) == (pytest.approx(3 / 32), 30)
    assert numbers["weighted"]["n_effective"] == pytest.approx(32**2 / (9 + 29))
    assert numbers["weighted"]["low"] < 3 / 32 < numbers["weighted"]["high"]
    assert headline_numbers(run.numbers, run.metrics)["exact_match"]["weighted"]["mean"] == pytest.approx(3 / 32)
    found, _ = whole_runs(dataset.current_version)
    ((ranked,),) = by_setting(found).values()
    assert ranked.summary["metrics"]["exact_match"]["mean"] == pytest.approx(1 / 30)
    out = StringIO()
    call_command("benchmark", "show", str(run.pk), stdout=out)
    assert "Weighted mean of exact_match: 9.4% (" in out.getvalue()
    assert ", counts as 27 equal tasks" in out.getvalue()
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "30 scores count as 27 equal tasks" in page
    assert "0.094" in page
    task = dataset.current_version.tasks.get(task_id="task-1")
    assert "weight 3" in client.get(f"/datasets/{dataset.slug}/tasks/{task.pk}/").content.decode()
    summary = client.get(f"/api/v1/benchmarks/runs/{run.pk}").json()["summary"]
    assert summary["exact_match"]["weighted"]["mean"] == pytest.approx(3 / 32)
    scores = b"".join(export_pieces(run, "scores.csv")).decode()
    assert "exact_match,weighted by task,,0.09375" in scores


def test_equal_weights_make_no_second_mean(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = worked(make_run(make_dataset([make_task(number, weight=3) for number in range(1, 4)])))
    assert "weighted" not in run.summary["metrics"]["exact_match"]


def test_tasks_of_one_cluster_are_one_in_the_weighted_mean_whatever_their_weights(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    tasks = [make_task(number, weight=1 + number % 2, cluster=f"text-{number // 2}") for number in range(2, 82)]
    numbers = worked(make_run(make_dataset(tasks))).summary["metrics"]["exact_match"]["weighted"]
    assert (numbers["n"], numbers["n_clusters"]) == (80, 40)
    assert numbers["n_effective"] == pytest.approx(40), "each cluster has the weights 1 and 2"


def test_a_weighted_mean_says_what_it_is_if_the_tasks_without_a_score_are_wrong(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    run = worked(make_run(make_dataset([make_task(number, weight=1 + number % 2) for number in range(1, 61)])))
    heavy = run.scores.filter(result__task__weight=2).order_by("-pk")[:5]
    Score.objects.filter(pk__in=[score.pk for score in heavy]).update(value=None, status=Score.Status.JUDGE_ERROR)
    numbers = summarize(run)[0]["metrics"]["exact_match"]["weighted"]
    assert numbers["if_missing_wrong"] == pytest.approx(numbers["mean"] * (90 - 10) / 90)
    assert weighted(MetricNumbers(weighted=Weighted(**numbers))).endswith(
        f", at least {numbers['if_missing_wrong']:.3f}"
    )


def test_repeats_of_a_task_are_one_cluster_of_its_weight(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    dataset = make_dataset([make_task(number, weight=1 + number % 2) for number in range(1, 41)])
    once, thrice = (worked(make_run(dataset, repeats=repeats)) for repeats in (1, 3))
    first, second = (run.summary["metrics"]["exact_match"]["weighted"] for run in (once, thrice))
    assert second["n_clusters"] == 40
    assert [second[name] for name in ("mean", "low", "high", "n_effective")] == pytest.approx(
        [first[name] for name in ("mean", "low", "high", "n_effective")]
    )
