"""Adaptive runs: where canvases are added, when a run stops, and why crashes and races change neither."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import F, Max

from benchmarks.engine.execution import adaptive
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.engine.summary.adaptive import ORDINARY, asked_of
from benchmarks.engine.summary.summarize import summarize
from benchmarks.models import Dataset, Result, ResultState, Run, RunStatus, Score
from benchmarks.run_parameters import ADAPTIVE
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.control import cancel_run, resume_run
from benchmarks.services.runs.estimate import plan_run
from benchmarks.services.runs.start import request_of, start_run
from benchmarks.statistics.sequential import AdaptiveRule, decide
from tasks_app.models import Canvas
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db(transaction=True)


def adaptive_run(dataset: Dataset, model: str = "random", **request: Any) -> Run:
    given = {"target_half_width": 0.15, "max_canvases": 120, "tasks": ["existence", "coordinate"], **request}
    return start_run({"dataset": dataset.slug, "model": f"baseline/{model}", **given})


def worked_to_the_end(run: Run) -> Run:
    while work_on_run_once(run.pk):
        pass
    run.refresh_from_db()
    return run


def canvas_means(run: Run) -> dict[str, list[float]]:
    """Number of shapes → the mean score of each canvas, in order; computed here, not by the database."""
    canvas = "result__task__question__canvas__number"
    scores: dict[tuple[int, int], list[float]] = {}
    for n_shapes, number, value in run.scores.filter(value__isnull=False).values_list(
        "result__n_shapes", canvas, "value"
    ):
        scores.setdefault((n_shapes, number), []).append(value)
    means: dict[str, list[float]] = {}
    for (n_shapes, _), values in sorted(scores.items()):
        means.setdefault(str(n_shapes), []).append(sum(values) / len(values))
    return means


@pytest.fixture
def dataset() -> Dataset:
    return make_canvas_set("4-6", 6).dataset


def test_a_run_adds_canvases_until_every_interval_meets_the_target(dataset: Dataset) -> None:
    run = worked_to_the_end(adaptive_run(dataset, max_canvases=2_000))
    assert run.status == RunStatus.COMPLETED
    numbers = run.summary["adaptive"]
    assert numbers["reached"]
    assert numbers["reason"] == "every interval meets the target"
    assert all((stratum["high"] - stratum["low"]) / 2 <= 0.15 for stratum in numbers["strata"])
    assert numbers["canvases"] < 2_000
    assert run.done == run.total == run.results.count() == 2 * numbers["canvases"]


def test_a_consistent_model_needs_fewer_canvases_than_a_random_one(dataset: Dataset) -> None:
    consistent, random = (
        worked_to_the_end(adaptive_run(dataset, model, max_canvases=2_000)) for model in ("reference", "random")
    )
    assert consistent.summary["adaptive"]["canvases"] < random.summary["adaptive"]["canvases"]


def test_the_maximum_ends_a_run_that_does_not_meet_its_target(dataset: Dataset) -> None:
    run = worked_to_the_end(adaptive_run(dataset, target_half_width=0.02))
    numbers = run.summary["adaptive"]
    assert run.status == RunStatus.COMPLETED
    assert numbers["canvases"] == 120 == sum(stratum["asked"] for stratum in numbers["strata"])
    assert not numbers["reached"]
    assert "the maximum of 120 canvases is reached" in numbers["reason"]


def test_the_numbers_are_those_of_the_rule_over_the_canvases(dataset: Dataset) -> None:
    run = worked_to_the_end(adaptive_run(dataset))
    expected = decide(canvas_means(run), AdaptiveRule(0.15, 120, 16))
    numbers = run.summary["adaptive"]
    for stratum in numbers["strata"]:
        interval = expected.intervals[str(stratum["n_shapes"])]
        assert (stratum["low"], stratum["high"], stratum["n"]) == (interval.low, interval.high, interval.n)
        assert stratum["mean"] == pytest.approx(interval.mean)
        assert stratum["method"] == "confidence sequence"
    for where in (numbers["overall"], run.summary["metrics"]["task_score"]):
        assert (where["low"], where["high"]) == pytest.approx((expected.overall.low, expected.overall.high))
        assert where["mean"] == pytest.approx(expected.overall.mean)
        assert where["method"] == "average of confidence sequences"


def test_ordinary_intervals_of_an_adaptive_run_are_marked(dataset: Dataset) -> None:
    run = worked_to_the_end(adaptive_run(dataset))
    assert all(ORDINARY in levels["task_score"]["note"] for levels in run.breakdown["group"].values())
    assert all(levels["task_score"]["method"] == "confidence sequence" for levels in run.breakdown["n_shapes"].values())
    assert ORDINARY not in run.summary["metrics"]["task_score"]["note"]


def test_canvases_come_from_the_same_seed_and_none_is_used_twice(dataset: Dataset) -> None:
    run = worked_to_the_end(adaptive_run(dataset))
    asked = asked_of(run)
    whole = make_canvas_set("4-6", Canvas.objects.filter(canvas_set=dataset.canvas_set).count(), name="elsewhere")
    for n_shapes, number in asked.items():
        results = run.results.filter(n_shapes=n_shapes)
        same = whole.dataset.current_version.tasks.filter(
            n_shapes=n_shapes, question__canvas__number__lt=number, group__in=run.task_classes
        )
        assert sorted(results.values_list("task__content_hash", flat=True)) == sorted(
            same.values_list("content_hash", flat=True)
        )
    positions = list(run.results.order_by("position").values_list("position", flat=True))
    assert positions == list(range(1, run.total + 1))


def test_the_next_canvases_have_the_number_of_shapes_with_the_widest_interval(dataset: Dataset) -> None:
    run = adaptive_run(dataset, "reference")
    work_on_run_once(run.pk)
    run.results.filter(state=ResultState.PENDING).delete()
    for place, score in enumerate(run.scores.filter(result__n_shapes=5).order_by("pk")):
        Score.objects.filter(pk=score.pk).update(value=float(place % 4 < 2))
    answered = run.results.values_list("n_shapes").annotate(last=Max("task__question__canvas__number"))
    asked = {str(n_shapes): last + 1 for n_shapes, last in answered}
    Run.objects.filter(pk=run.pk).update(total=run.results.count(), adaptive={"asked": asked})
    run.refresh_from_db()
    before = asked_of(run)
    assert adaptive.extend(run.pk)
    run.refresh_from_db()
    gained = {stratum: number - before[stratum] for stratum, number in asked_of(run).items()}
    assert gained["5"] > 0
    assert gained["4"] == gained["6"] == 0


def test_a_crash_between_generating_and_inserting_changes_nothing(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = make_canvas_set("4-6", 6, name="twin").dataset  # a random baseline picks from the answers of its set
    undisturbed = worked_to_the_end(adaptive_run(twin))
    run = adaptive_run(dataset)

    def dies(*args: Any) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(adaptive, "_insert", dies)
        with pytest.raises(KeyboardInterrupt):
            work_on_run_once(run.pk)
    assert Run.objects.get(pk=run.pk).status == RunStatus.RUNNING
    assert run.pk in runs_without_worker()
    worked_to_the_end(run)
    assert run.adaptive == undisturbed.adaptive
    assert run.summary["adaptive"] == undisturbed.summary["adaptive"]


def test_of_two_workers_that_decide_at_once_only_one_adds(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    run = adaptive_run(dataset)
    insert = adaptive._insert

    def after_another(*args: Any) -> bool:
        assert insert(*args)
        return insert(*args)

    monkeypatch.setattr(adaptive, "_insert", after_another)
    worked_to_the_end(run)
    assert run.total == 2 * sum(asked_of(run).values())
    assert run.status == RunStatus.COMPLETED


def test_a_canceled_run_adds_canvases_once_it_is_resumed(dataset: Dataset) -> None:
    run = adaptive_run(dataset)
    work_on_run_once(run.pk)
    run.refresh_from_db()
    cancel_run(run)
    resume_run(run)
    worked_to_the_end(run)
    assert (
        run.summary["adaptive"]["canvases"] == worked_to_the_end(adaptive_run(dataset)).summary["adaptive"]["canvases"]
    )


def test_numbers_of_shapes_without_scores_get_no_more_canvases(dataset: Dataset) -> None:
    run = adaptive_run(dataset, "reference", max_canvases=2_000)
    work_on_run_once(run.pk)
    run.refresh_from_db()
    deleted, _ = run.results.filter(state=ResultState.PENDING).delete()
    Run.objects.filter(pk=run.pk).update(total=F("total") - deleted)
    lost = Result.objects.filter(run=run, n_shapes=4)
    Score.objects.filter(result__in=lost).update(value=None, status=Score.Status.JUDGE_ERROR)
    worked_to_the_end(run)
    numbers = run.summary["adaptive"]
    assert numbers["without_scores"] == ["4"]
    assert not numbers["reached"]
    assert {stratum["n_shapes"] for stratum in numbers["strata"]} == {5, 6}


def test_missing_scores_weigh_what_their_number_of_shapes_weighs(dataset: Dataset) -> None:
    run = worked_to_the_end(adaptive_run(dataset, "reference"))
    of_four = list(Result.objects.filter(run=run, n_shapes=4).values_list("pk", flat=True))
    Result.objects.filter(run=run, n_shapes=5).update(n_shapes=6)
    lost = of_four[: len(of_four) // 2]
    Score.objects.filter(result__in=lost).update(value=None, status=Score.Status.JUDGE_ERROR)
    summary, breakdown = summarize(run)
    Run.objects.filter(pk=run.pk).update(summary=summary, breakdown=breakdown)
    run.refresh_from_db()
    numbers = run.numbers_of("task_score")
    assert numbers.mean == 1.0
    assert numbers.if_missing_wrong == pytest.approx((0.5 + 1) / 2)
    assert numbers.if_missing_wrong < numbers.n / numbers.n_expected
    assert numbers.if_missing_right == 1.0


def test_a_class_that_never_applies_ends_the_run() -> None:
    dataset = make_canvas_set("1-9", 90).dataset
    run = worked_to_the_end(adaptive_run(dataset, "reference", tasks=["transitivity"], max_canvases=60))
    assert run.status == RunStatus.COMPLETED
    assert "1" in run.summary["adaptive"]["without_scores"]


def test_running_it_again_makes_the_same_request(dataset: Dataset) -> None:
    run = adaptive_run(dataset)
    assert {name: request_of(run)[name] for name in ADAPTIVE} == {"target_half_width": 0.15, "max_canvases": 120}


def test_a_plan_counts_the_most_requests_an_adaptive_run_may_take(dataset: Dataset) -> None:
    request = request_of(adaptive_run(dataset))
    assert plan_run(request).requests == 2 * 120


def test_a_request_that_makes_no_adaptive_run_is_refused(dataset: Dataset) -> None:
    make_dataset(3)
    for request, field in (
        ({"target_half_width": 0.1}, "max_canvases"),
        ({"max_canvases": 100}, "target_half_width"),
        ({"target_half_width": 0.1, "max_canvases": 2}, "max_canvases"),
        ({"target_half_width": 0.1, "max_canvases": 50, "limit": 3}, "limit"),
        ({"target_half_width": 0.1, "max_canvases": 50, "metrics": ["latency", "task_score"]}, "target_half_width"),
        ({"target_half_width": 0.6, "max_canvases": 50}, "target_half_width"),
    ):
        with pytest.raises(InvalidRequest) as refused:
            start_run({"dataset": dataset.slug, "model": "baseline/random", **request})
        assert list(refused.value.errors) == [field], request
    for field in ADAPTIVE:
        value = 0.3 if "width" in field else 9
        with pytest.raises(InvalidRequest) as refused:
            start_run({"dataset": "sums", "model": "baseline/random", "metrics": ["exact_match"], field: value})
        assert "applies only to canvas sets" in refused.value.errors[field][0], "a YAML dataset cannot grow"


def test_a_set_that_cannot_grow_is_refused(dataset: Dataset) -> None:
    canvas_set = dataset.canvas_set
    canvas_set.origin = "imported"
    canvas_set.save()
    with pytest.raises(InvalidRequest, match="was imported and cannot grow"):
        adaptive_run(dataset)
    canvas_set.origin, canvas_set.generator_version = "generated", "0"
    canvas_set.save()
    with pytest.raises(InvalidRequest, match="generated by generator 0"):
        adaptive_run(dataset)
