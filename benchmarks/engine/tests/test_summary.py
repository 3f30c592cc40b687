"""A run's stored numbers against the same numbers computed from its values, all in memory."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from scipy import stats

from benchmarks.engine.summary.guessing import guesses_of
from benchmarks.engine.summary.summarize import summarize
from benchmarks.models import Dataset, Outcome, Result, ResultState, Run, RunStatus, Score, Task, Transcript
from benchmarks.statistics.chance import Guess, corrected_interval
from benchmarks.statistics.intervals import Interval, mean_interval
from benchmarks.statistics.psychometric import Level, fit_threshold
from benchmarks.statistics.reliability import judge_spread
from tasks_app.canvas.generator import GENERATOR_VERSION
from tasks_app.guess_rates import rates_of
from tasks_app.models import CanvasSet
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import make_dataset, make_task
from tests.support.statistics import Group, average_above_guessing, reliability

pytestmark = pytest.mark.django_db
NUMBERS = ("mean", "low", "high", "n")


def scored_run(
    dataset: Dataset, metrics: Iterable[str], repeats: int = 1, seed: int = 1, shapes_are_hard: bool = False
) -> Run:
    """An ended run with random scores, one in nine missing: 0, ½ or 1, and any number for measurements."""
    rng = random.Random(seed)
    version = dataset.current_version
    run = Run.objects.create(
        dataset=dataset,
        dataset_version=version,
        model="loop/model",
        metrics=list(metrics),
        repeats=repeats,
        status=RunStatus.COMPLETED,
        representation="full" if dataset.kind == Dataset.Kind.CANVAS else "",
        task_classes=sorted(version.facets.get("group", {})),
    )
    results = Result.objects.bulk_create(
        Result(
            run=run,
            task=task,
            repeat=repeat,
            position=task.position * 10 + repeat,
            state=ResultState.DONE,
            outcome="answered",
            difficulty=task.difficulty,
            group=task.group,
            n_shapes=task.n_shapes,
            cluster=task.cluster or str(task.pk),
            duration_ms=rng.lognormvariate(5, 1),
        )
        for task in version.tasks.all()
        for repeat in range(1, repeats + 1)
    )
    Score.objects.bulk_create(
        _score(result, metric, rng, shapes_are_hard) for result in results for metric in run.metrics
    )
    run.total = run.done = len(results)
    run.save()
    return run


def _score(result: Result, metric: str, rng: random.Random, shapes_are_hard: bool) -> Score:
    score = Score(result=result, run=result.run, metric=metric, status=Score.Status.JUDGE_ERROR)
    if rng.random() >= 1 / 9:
        right = rng.random() < (1 / (1 + 2.0 ** ((result.n_shapes or 0) - 8)) if shapes_are_hard else 0.6)
        score.status = Score.Status.SCORED
        score.value = result.duration_ms if metric == "latency" else float(right) if rng.random() < 0.8 else 0.5
        score.judge = {"raw": ""} if metric == "correctness" else None
    return score


def values_of(run: Run, metric: str, **only: Any) -> tuple[list[float], list[str]]:
    rows = Score.objects.filter(run=run, metric=metric, value__isnull=False, **only).order_by("result__position")
    pairs = list(rows.values_list("value", "result__cluster"))
    return [value for value, _ in pairs], [cluster for _, cluster in pairs]


def assert_same(stored: dict[str, Any], computed: Interval) -> None:
    found = [stored[name] for name in NUMBERS]
    assert found == pytest.approx([asdict(computed)[name] for name in NUMBERS], abs=1e-9)
    assert (stored["method"], stored["note"]) == (computed.method, computed.note)


@pytest.fixture
def canvases() -> Dataset:
    return make_canvas_set("3-12", 40).dataset


def test_means_by_label_are_those_of_the_tasks_that_have_it() -> None:
    tasks = [make_task(n, tags=("odd", "o") if n % 2 else ("even",), metadata={"third": n % 3}) for n in range(1, 13)]
    for repeats in (1, 3):
        run = scored_run(make_dataset(tasks, slug=f"labels-{repeats}"), ["exact_match", "latency"], repeats)
        _, breakdown = summarize(run)
        assert (set(breakdown["tags"]), list(breakdown["third"])) == ({"even", "odd", "o"}, ["0", "1", "2"])
        for key, level, label in (("tags", "even", "tags: even"), ("tags", "o", "tags: o"), ("third", "1", "third: 1")):
            results = run.results.filter(task__labels__icontains=f'"{label}"')
            scores = Score.objects.filter(result__in=results, metric="exact_match", value__isnull=False)
            pairs = list(scores.values_list("value", "result__task"))
            expected = mean_interval(
                [value for value, _ in pairs], [task for _, task in pairs] if repeats > 1 else None
            )
            found = breakdown[key][level]["exact_match"]
            for name in NUMBERS:
                assert found[name] == pytest.approx(getattr(expected, name)), (repeats, level, name)
            assert found["n_expected"] == results.count() == {"1": 4}.get(level, 6) * repeats


def test_means_of_a_canvas_run_are_clustered_by_canvas(canvases: Dataset) -> None:
    for repeats in (1, 3):
        run = scored_run(canvases, ["task_score"], repeats)
        summary, breakdown = summarize(run)
        assert_same(summary["metrics"]["task_score"], mean_interval(*values_of(run, "task_score")))
        for group, levels in breakdown["group"].items():
            assert_same(levels["task_score"], mean_interval(*values_of(run, "task_score", result__group=group)))
        for n_shapes, levels in breakdown["n_shapes"].items():
            assert_same(levels["task_score"], mean_interval(*values_of(run, "task_score", result__n_shapes=n_shapes)))
        for cell in breakdown["surface"]:
            where = {"result__group": cell["group"], "result__n_shapes": cell["n_shapes"]}
            assert_same(cell, mean_interval(*values_of(run, "task_score", **where)))
        assert list(breakdown["n_shapes"]) == [str(n) for n in range(3, 13)]
        assert len(breakdown["surface"]) == len({(c["group"], c["n_shapes"]) for c in breakdown["surface"]})


def test_means_of_a_yaml_run_are_clustered_by_task_only_if_it_repeats() -> None:
    dataset = make_dataset([make_task(n, difficulty=("easy", "medium", "hard")[n % 3]) for n in range(1, 50)])
    for repeats in (1, 3):
        run = scored_run(dataset, ["exact_match", "rouge_l"], repeats)
        summary, breakdown = summarize(run)
        for metric in run.metrics:
            values, tasks_of = values_of(run, metric)
            assert_same(summary["metrics"][metric], mean_interval(values, tasks_of if repeats > 1 else None))
            missing = Score.objects.filter(run=run, metric=metric, value=None).count()
            assert summary["metrics"][metric]["n_judge_error"] == missing > 0
        assert list(breakdown["difficulty"]) == ["easy", "medium", "hard"]
        assert "group" not in breakdown
        assert breakdown["surface"] == []


def test_a_measurement_has_a_t_interval_and_its_quantiles() -> None:
    run = scored_run(make_dataset(60), ["latency"])
    summary, _ = summarize(run)
    values, _ = values_of(run, "latency")
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    found = summary["metrics"]["latency"]
    assert (found["low"], found["mean"], found["high"]) == pytest.approx((max(0, low), np.mean(values), high))
    assert found["method"] == "t"
    times = list(run.results.values_list("duration_ms", flat=True))
    assert summary["latency_ms"] == pytest.approx(
        {
            **{"n": 60, "mean": np.mean(times), "max": max(times)},
            **{"p50": np.quantile(times, 0.5), "p95": np.quantile(times, 0.95)},
        }
    )
    counts, edges = np.histogram(values, 10, (0, max(values)))
    assert summary["histograms"]["latency"]["counts"] == list(counts)
    assert summary["histograms"]["latency"]["edges"] == pytest.approx(list(edges))


def test_a_judge_that_failed_hides_no_latency() -> None:
    run = scored_run(make_dataset(9), ["exact_match"])
    run.results.update(state=ResultState.ERROR, outcome=Outcome.JUDGE_ERROR)
    Run.objects.filter(pk=run.pk).update(errors=9)
    assert summarize(run)[0]["latency_ms"]["n"] == 9
    run.results.filter(task__position__lte=4).update(outcome=Outcome.PROVIDER_ERROR)
    assert summarize(run)[0]["latency_ms"]["n"] == 5


def test_no_number_of_a_summary_has_rounding_errors(canvases: Dataset) -> None:
    run = scored_run(canvases, ["task_score"])
    Score.objects.filter(run=run, value__isnull=False).update(value=0.7)
    assert reduce(add, [0.7] * 63) / 63 != 0.7
    summary, breakdown = summarize(run)
    means = [summary["metrics"]["task_score"], *summary["thresholds"][0]["levels"], *breakdown["surface"]]
    assert {row["mean"] for row in means} == {0.7}


def test_scores_are_corrected_for_the_guess_rate_of_their_class(canvases: Dataset) -> None:
    run = scored_run(canvases, ["task_score"])
    found = summarize(run)[0]["chance"]["task_score"]
    guesses = guesses_of(run)
    assert guesses["existence"] == Guess(0.5)
    assert guesses["coordinate"].rate >= 0.25
    assert guesses["count"].error > 0
    assert set(guesses) == set(run.task_classes)
    groups = {
        name: Group(values, guesses[name].rate, clusters, guesses[name].error)
        for name in guesses
        for values, clusters in [values_of(run, "task_score", result__group=name)]
    }
    for stored in found["groups"]:
        group = groups[stored["group"]]
        raw = mean_interval(group.values, group.clusters)
        assert_same(stored["raw"], raw)
        assert_same(stored["corrected"], corrected_interval(raw, group.guess_rate, group.guess_error))
        share = stored["raw"]["n"] / stored["raw"]["n_expected"]
        assert share < 1
        wrong = (raw.mean * share - group.guess_rate) / (1 - group.guess_rate)
        right = (1 - share + raw.mean * share - group.guess_rate) / (1 - group.guess_rate)
        assert stored["corrected"]["if_missing_wrong"] == pytest.approx(wrong)
        moved = stored["corrected"]["mean"] - wrong
        assert stored["corrected"]["low_missing"] == pytest.approx(stored["corrected"]["low"] - moved)
        highest = min(1, stored["corrected"]["high"] + right - stored["corrected"]["mean"])
        assert stored["corrected"]["high_missing"] == pytest.approx(highest)
    moves = [each["corrected"]["mean"] - each["corrected"]["if_missing_wrong"] for each in found["groups"]]
    assert found["average"]["mean"] - found["average"]["if_missing_wrong"] == pytest.approx(np.mean(moves))
    assert_same(found["average"], average_above_guessing(groups))
    assert len(found["groups"]) == len(groups)
    assert found["left_out"] == []


def imported(dataset: Dataset, audit: dict[str, object]) -> None:
    """Make a canvas set one of which only its audit is known."""
    CanvasSet.objects.filter(dataset=dataset).update(origin=CanvasSet.Origin.IMPORTED, audit={"tasks": audit})


def test_the_guess_rate_on_generated_canvases_is_that_of_the_generator_not_of_the_set(canvases: Dataset) -> None:
    run = scored_run(canvases, ["task_score"])
    CanvasSet.objects.filter(dataset=canvases).update(audit={"tasks": {"count": {"asked": 40, "majority_score": 0.9}}})
    rates = rates_of(GENERATOR_VERSION, "count", 3)
    questions = list(run.results.filter(group="count").values_list("n_shapes", flat=True))
    found = guesses_of(Run.objects.get(pk=run.pk))["count"]
    assert found.rate == pytest.approx(np.mean([rates[n_shapes].blind for n_shapes in questions]))
    assert 0.001 < found.error < 0.005


def test_the_guess_rate_of_counting_on_imported_canvases_is_the_score_of_the_most_frequent_answer(
    canvases: Dataset,
) -> None:
    run = scored_run(canvases, ["task_score"])
    answers = list(Task.objects.filter(version=run.dataset_version, group="count").values_list("expected_output"))
    most_frequent = max(answers.count(answer) for answer in answers) / len(answers)
    imported(canvases, {})
    assert guesses_of(Run.objects.get(pk=run.pk))["count"].rate == pytest.approx(most_frequent)
    imported(canvases, {"count": {"majority_score": 0.375}})
    assert guesses_of(Run.objects.get(pk=run.pk))["count"].rate == 0.375


def test_what_was_scored_without_an_imported_canvas_is_the_guess_rate_if_it_is_clearly_higher(
    canvases: Dataset,
) -> None:
    run = scored_run(canvases, ["task_score"])
    for asked, score, rate in ((100, 0.71, 0.71), (20, 0.71, 0.5), (100, 0.55, 0.5), (100, 0.4, 0.5)):
        audit = {"asked": asked, "majority_score": 0.5, "blind_score": score}
        imported(canvases, {"existence_tracking": audit})
        assert guesses_of(Run.objects.get(pk=run.pk))["existence_tracking"].rate == rate
    imported(canvases, {"existence_tracking": audit | {"blind_score": 1.0}})
    assert "existence_tracking" not in guesses_of(Run.objects.get(pk=run.pk))


def test_multiple_choice_is_corrected_for_the_number_of_its_choices() -> None:
    tasks = [make_task(n, choices=list("ABCD" if n % 2 else "ABCDEFGH"), expected_output="A") for n in range(1, 41)]
    run = scored_run(make_dataset(tasks), ["multiple_choice"])
    (group,) = summarize(run)[0]["chance"]["multiple_choice"]["groups"]
    sizes = [
        len(score.result.task.choices)
        for score in run.scores.filter(value__isnull=False).select_related("result__task")
    ]
    guess = np.mean([1 / size for size in sizes])
    assert group["guess"] == pytest.approx(guess)
    assert group["corrected"]["mean"] == pytest.approx((group["raw"]["mean"] - guess) / (1 - guess))


def test_a_run_without_guesses_of_has_nothing_to_correct() -> None:
    summary, _ = summarize(scored_run(make_dataset(5), ["exact_match"]))
    assert (summary["chance"], summary["thresholds"], summary["reliability"]) == ({}, [], {})


def test_the_threshold_of_each_class_is_fitted_to_its_scores_by_shapes() -> None:
    run = scored_run(make_canvas_set("4-14", 110).dataset, ["task_score"], shapes_are_hard=True)
    summary, breakdown = summarize(run)
    found = {(one["measure"], one["group"]): one for one in summary["thresholds"]}
    cells = [cell for cell in breakdown["surface"] if cell["group"] == "existence"]
    levels = [Level(cell["n_shapes"], cell["mean"] * cell["n"], cell["n"]) for cell in cells]
    expected = fit_threshold(levels, 0.5)
    stored = found["n_shapes", "existence"]
    assert stored["status"] == expected.status
    assert stored["threshold"] == pytest.approx(expected.threshold, abs=1e-6)
    assert (stored["low"], stored["high"]) == pytest.approx((expected.low, expected.high), abs=1e-4)
    together = found["n_shapes", ""]
    # The simulated scores fall to 0, so they are halfway to guessing about where they begin.
    assert (together["status"], together["low"]) == ("before", None)
    assert 7 < together["high"] < 11
    for level in together["levels"]:
        means = [cell["mean"] for cell in breakdown["surface"] if cell["n_shapes"] == level["difficulty"]]
        assert level["mean"] == pytest.approx(np.mean(means))
    assert together["guess"] == pytest.approx(np.mean([guess.rate for guess in guesses_of(run).values()]))


def test_a_threshold_says_what_missing_scores_could_change() -> None:
    run = scored_run(make_canvas_set("4-14", 110).dataset, ["task_score"], shapes_are_hard=True)
    found = {(one["measure"], one["group"]): one["note"] for one in summarize(run)[0]["thresholds"]}
    missing = run.scores.filter(value__isnull=True, result__group="existence").count()
    assert f"{missing} missing scores" in found["n_shapes", "existence"]
    run.scores.filter(value__isnull=True).update(value=0.5, status=Score.Status.SCORED)
    assert not [one for one in summarize(run)[0]["thresholds"] if "missing" in one["note"]]


def test_repeats_that_always_agree_count_once_for_the_threshold() -> None:
    dataset = make_canvas_set("5-12", 48).dataset
    once, thrice = (scored_run(dataset, ["task_score"], repeats, shapes_are_hard=True) for repeats in (1, 3))
    first = {score.result.task_id: score for score in once.scores.select_related("result")}
    scores = list(thrice.scores.select_related("result"))
    for score in scores:
        score.value, score.status = first[score.result.task_id].value, first[score.result.task_id].status
    Score.objects.bulk_update(scores, ["value", "status"])
    single, repeated = (
        {(one["measure"], one["group"]): one for one in summarize(run)[0]["thresholds"]} for run in (once, thrice)
    )
    for key, one in single.items():
        assert repeated[key]["threshold"] == pytest.approx(one["threshold"], abs=1e-5)
        assert (repeated[key]["low"], repeated[key]["high"]) == pytest.approx((one["low"], one["high"]), abs=1e-3)
        assert repeated[key]["n"] == 3 * one["n"]


@pytest.mark.parametrize("kind", ["yaml", "canvas"])
def test_reliability_is_that_of_the_repeats_by_task(kind: str) -> None:
    dataset = make_dataset(30) if kind == "yaml" else make_canvas_set("4-6", 9).dataset
    metric = "exact_match" if kind == "yaml" else "task_score"
    run = scored_run(dataset, [metric], repeats=4)
    repeats: dict[int, list[bool]] = defaultdict(list)
    clusters = {}
    for score in run.scores.filter(value__isnull=False).select_related("result"):
        repeats[score.result.task_id].append(score.value == 1)
        clusters[score.result.task_id] = score.result.cluster
    expected = reliability(repeats, clusters if kind == "canvas" else None)
    found = summarize(run)[0]["reliability"][metric]
    assert set(found["pass_at"]) == set(found["pass_hat"]) == {"2", "4"}
    for k in (2, 4):
        assert_same(found["pass_at"][str(k)], expected.pass_at[k])
        assert_same(found["pass_hat"][str(k)], expected.pass_hat[k])
    assert_same(found["flipped"], expected.flipped)
    assert_same(found["agreement"], expected.agreement)
    assert found["alpha"] == pytest.approx(expected.alpha)
    assert (found["n_tasks"], found["n_repeated"]) == (expected.n_tasks, expected.n_repeated)


def test_the_judge_spread_is_that_over_identical_answers() -> None:
    run = scored_run(make_dataset(8), ["correctness"], repeats=3)
    scores: dict[tuple[int, str], list[float]] = defaultdict(list)
    for result in run.results.all():
        answer = "the same" if result.repeat < 3 else "another"
        Transcript.objects.create(result=result, actual_output=answer)
        for score in result.scores.filter(value__isnull=False):
            scores[result.task_id, answer].append(score.value)
    expected = judge_spread(scores)
    found = summarize(run)[0]["reliability"]["correctness"]["judge"]
    assert expected.n_answers > 3
    assert (found["deviation"], found["alpha"]) == pytest.approx((expected.deviation, expected.alpha))
    assert (found["widest"], found["n_answers"]) == (expected.widest, expected.n_answers)


def test_a_live_summary_leaves_out_expensive_parts(canvases: Dataset) -> None:
    run = scored_run(canvases, ["task_score"])
    live, final = summarize(run, live=True)[0], summarize(run)[0]
    at_end = {"canvases", "chance", "fault_rates", "thresholds", "reliability", "response_models"}
    assert set(final) - set(live) == at_end
    assert all(final[name] == live[name] for name in live)


def test_the_queries_of_a_summary_do_not_grow_with_its_results() -> None:
    counts = []
    for count in (12, 48):
        run = scored_run(make_canvas_set("3-6", count, seed=count).dataset, ["task_score"], repeats=2)
        with CaptureQueriesContext(connection) as captured:
            summarize(run)
        counts.append(len(captured))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("repeats", [1, 3])
def test_where_the_first_metric_applies_to_a_part_the_headline_covers_all_tasks(repeats: int) -> None:
    run = scored_run(make_dataset(24), ["numeric", "exact_match"], repeats)
    assert list(summarize(run)[0]["metrics"]) == ["numeric", "exact_match"]
    assert run.headline == "numeric"
    run.scores.filter(metric="numeric", result__task__position__gt=8).update(status="not_applicable", value=None)
    graded: list[tuple[float, str]] = []
    for result in run.results.order_by("position"):
        score = result.scores.filter(value__isnull=False).order_by("-metric").first()  # numeric before exact_match
        right = score is not None and score.value == 1.0
        result.outcome = "provider_error" if score is None else "correct" if right else "partial"
        result.value = None if score is None else score.value
        result.save()
        if result.value is not None:
            graded.append((result.value, result.cluster))
    numbers = summarize(run)[0]["metrics"]
    assert [*numbers] == ["task:numeric,exact_match", "numeric", "exact_match"]
    assert run.headline == "task:numeric,exact_match"
    found = numbers[run.headline]
    values, clusters = map(list, zip(*graded, strict=True))
    assert_same(found, mean_interval(values, clusters if repeats > 1 else None))
    assert found["n_expected"] == run.results.count() > found["n"]


@pytest.mark.parametrize("repeats", [1, 3])
def test_shares_of_faults_have_the_intervals_of_their_answers(repeats: int) -> None:
    run = scored_run(make_dataset(20), ["exact_match"], repeats=repeats)
    results = list(run.results.select_related("task"))
    for place, result in enumerate(results):
        outcome = {0: "refused", 1: "refused", 2: "truncated", 3: "provider_error", 4: "cancelled"}.get(place % 11)
        Result.objects.filter(pk=result.pk).update(outcome=outcome or result.outcome)
    answers = list(run.results.exclude(outcome__in=("provider_error", "cancelled")))
    rates = summarize(run)[0]["fault_rates"]
    assert set(rates) == {"refused", "truncated"}, "an unreadable answer does not occur"
    for outcome, rate in rates.items():
        values = [float(result.outcome == outcome) for result in answers]
        expected = mean_interval(values, [result.task_id for result in answers] if repeats > 1 else None)
        assert (rate["mean"], rate["n"]) == (pytest.approx(expected.mean), len(answers))
        assert (rate["low"], rate["high"]) == pytest.approx((expected.low, expected.high))
        assert rate["n_expected"] == run.total


@pytest.mark.parametrize("repeats", [1, 3])
def test_tasks_that_share_a_text_are_one_cluster(repeats: int) -> None:
    """Of any difficulty; a task without a cluster is one of its own."""
    texts = ["harbour", "market", ""]
    tasks = [
        make_task(
            number,
            cluster=texts[number % 3] and f"{texts[number % 3]}-{number // 6}",
            difficulty=("easy", "hard")[number % 2],
            tags=("signals",) if number % 4 else (),
        )
        for number in range(1, 41)
    ]
    run = scored_run(make_dataset(tasks), ["exact_match"], repeats=repeats)
    clusters = {task.pk: task.cluster or task.pk for task in Task.objects.all()}
    rows = [
        (score.value, score.result.task)
        for score in run.scores.filter(value__isnull=False).select_related("result__task")
    ]
    summary, breakdown = summarize(run)

    def expected(chosen: Callable[[Task], bool]) -> Interval:
        values = [(value, clusters[task.pk]) for value, task in rows if chosen(task)]
        return mean_interval([value for value, _ in values], [cluster for _, cluster in values])

    assert_same(summary["metrics"]["exact_match"], expected(lambda task: True))
    assert summary["metrics"]["exact_match"]["n_clusters"] == len({clusters[task.pk] for _, task in rows})
    hard = breakdown["difficulty"]["hard"]["exact_match"]
    assert_same(hard, expected(lambda task: task.difficulty == "hard"))
    tagged = breakdown["tags"]["signals"]["exact_match"]
    assert_same(tagged, expected(lambda task: "tags: signals" in (task.labels or ())))
