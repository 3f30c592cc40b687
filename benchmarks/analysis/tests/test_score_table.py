"""The one reader of single scores."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.analysis.score_table import compare_scores, joined_clusters, read_scores, scores_of, task_scores
from benchmarks.models import Outcome, Result, Run, Score
from benchmarks.statistics.panel import Verdict
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return make_scored_run(make_dataset(4), (1.0, None, 0.5, 0.0), metrics=("exact_match", "contains"))


def test_every_result_is_a_row_also_without_a_score(run: Run) -> None:
    Score.objects.filter(result__position=3, metric="exact_match").delete()
    table = read_scores(run, "exact_match", "result", "status", "cluster")
    results = run.results.order_by("position")
    assert table["result"].tolist() == [result.pk for result in results]
    assert table["cluster"].tolist() == [result.cluster for result in results]
    assert [status == "scored" for status in table["status"]] == [bool(known) for known in ~np.isnan(table.value)]
    assert len(read_scores(run, "contains").scored) - len(table.scored) == 1


def test_rows_come_in_the_order_of_results_with_the_columns_as_asked(run: Run) -> None:
    Result.objects.filter(run=run, position=1).update(position=9)
    scored = read_scores(run, "exact_match", "difficulty", "repeat").scored
    assert [row[1:] for row in scored.rows()] == [(1, 0.5), (1, 0.0), (1, 1.0)]
    assert list(scored.rows("value", "repeat")) == [(0.5, 1), (0.0, 1), (1.0, 1)]


def test_several_runs_follow_each_other(run: Run) -> None:
    other = make_scored_run(run.dataset, (0.0,))
    table = read_scores([other.pk, run.pk], "exact_match", "run")
    assert table["run"].tolist() == [run.pk] * 4 + [other.pk]


def test_means_are_over_the_rows_that_have_a_score(run: Run) -> None:
    first, second, third, fourth = run.results.order_by("position")
    Result.objects.filter(pk=third.pk).update(task=first.task, repeat=2)
    tasks, means = read_scores(run, "exact_match", "task").means("task")
    assert tasks == [first.task_id, second.task_id, fourth.task_id]
    assert means.tolist() == [0.75, pytest.approx(float("nan"), nan_ok=True), 0.0]


def test_several_metrics_together_have_the_values_and_faults_of_the_results(run: Run) -> None:
    Result.objects.filter(run=run, position=4).update(outcome=Outcome.REFUSED)
    Result.objects.filter(run=run, position=3).update(value=None, outcome="")
    Score.objects.filter(result__position=3, metric="contains").update(value=None, status="doubtful")
    table = read_scores(run, "task:exact_match,contains", "status")
    assert table["status"].tolist() == ["scored", None, "doubtful", "refused"]


def test_a_run_without_results_has_empty_columns() -> None:
    table = read_scores([], "exact_match", "task", "content")
    assert len(table) == 0
    assert table.means("content")[0] == []


def test_what_a_score_stores_of_its_verdicts_is_read(run: Run) -> None:
    verdicts = [{"judge": "loop/judge", "value": 0.5, "reordered": True, "reason": "half"}]
    Score.objects.filter(result__position=1).update(detail={"passes_at": 0.7, "verdicts_of": verdicts})
    table = read_scores(run, "exact_match", "verdicts", "passes_at")
    assert table["verdicts"].tolist() == [(Verdict("loop/judge", 0.5, reordered=True),), (), (), ()]
    assert table["passes_at"][0] == 0.7
    assert np.isnan(table["passes_at"][1:]).all()


def test_tasks_belong_together_if_any_of_the_compared_versions_says_so() -> None:
    apart = [make_task(number) for number in range(8)]
    shared = [make_task(number, cluster=f"text-{number // 2}") for number in range(8)]
    runs = [
        make_scored_run(make_dataset(tasks, slug="versions"), values=[float(task % own == 0) for task in range(8)])
        for tasks, own in ((apart, 2), (shared, 3))
    ]
    first, second = (task_scores(run, "exact_match") for run in runs)
    assert compare_scores(first, first).n_clusters == 8
    assert compare_scores(first, second).n_clusters == compare_scores(second, first).n_clusters == 4
    for members in (runs, runs[::-1]):
        assert len(set(scores_of(members, "exact_match").clusters.tolist())) == 4
    assert len(set(scores_of(runs[:1], "exact_match").clusters.tolist())) == 8


def test_clusters_that_overlap_become_one() -> None:
    joined = joined_clusters([{1: "a", 2: "a", 3: "b", 4: "c"}, {2: "x", 3: "x", 4: "y", 5: "y"}])
    groups = {name: {task for task in joined if joined[task] == name} for name in joined.values()}
    assert sorted(map(sorted, groups.values())) == [[1, 2, 3], [4, 5]]
