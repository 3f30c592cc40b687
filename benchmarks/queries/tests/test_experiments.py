"""The matrix of an experiment: its cells, ranks and verdict, recomputed from the rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from benchmarks.analysis.effects import effects
from benchmarks.engine.summary.summarize import summarize
from benchmarks.models import Dataset, Experiment, Outcome, Result, Run, RunStatus
from benchmarks.queries import experiments as reads
from benchmarks.queries.experiments import experiment_runs, findings, progress, status_of
from benchmarks.queries.matrix import Matrix, average_rows, averaged_models, matrix, none_right_variants
from benchmarks.statistics.intervals import mean_interval
from benchmarks.statistics.paired import compare, holm
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def experiment_of(*runs: dict[str, Any]) -> Experiment:
    experiment = Experiment.objects.create(name="Prompts", request={})
    for fields in runs:
        make_scored_run(experiment=experiment, summarized_at="2026-01-01T00:00:00Z", **fields)
    return experiment


def matrix_of(experiment: Experiment, *chosen: str) -> Matrix:
    return matrix(experiment_runs(experiment), *chosen)


def right_of(n: int, right: int) -> list[float]:
    return [1.0] * right + [0.0] * (n - right)


def values_of(run: Run) -> list[float]:
    return [
        value or 0.0 for value in Result.objects.filter(run=run).order_by("position").values_list("value", flat=True)
    ]


@pytest.fixture
def sums() -> Dataset:
    return make_dataset(60)


def test_the_matrix_is_what_the_rows_give(sums: Dataset) -> None:
    rng = random.Random(3)
    other = make_dataset(40, slug="more")
    rates = {"loop/large": 0.9, "loop/medium": 0.6, "loop/small": 0.3, "loop/tiny": 0.25, "loop/mini": 0.6}
    runs = [
        {
            "dataset": dataset,
            "model": model,
            "variant": variant,
            "values": [float(rng.random() < rate) for _ in range(n)],
        }
        for dataset, n in ((sums, 60), (other, 40))
        for model, rate in rates.items()
        for variant in ("plain", "stepwise", "short")
    ]
    found = matrix_of(experiment_of(*runs))
    assert [column.run.dataset.slug for column in found.columns] == ["sums", "more"]
    assert len(found.rows) == 15
    for row in found.rows:
        for cell in row.cells:
            assert cell is not None
            interval = mean_interval(values_of(cell.run))
            assert (cell.mean, cell.low, cell.high) == pytest.approx((interval.mean, interval.low, interval.high))
            assert cell.n == cell.total == interval.n
        assert row.overall is not None
        assert row.overall[0] == pytest.approx(sum(cell.mean or 0 for cell in row.cells if cell) / 2)
    means = [row.overall[0] for row in found.rows if row.overall]
    assert means == sorted(means, reverse=True)
    assert found.verdict.startswith("large (")


def test_groups_are_those_of_all_paired_comparisons_with_holm(sums: Dataset) -> None:
    rng = random.Random(8)
    runs = [
        {"dataset": sums, "model": f"loop/m{n}", "values": [float(rng.random() < 0.2 + 0.12 * n) for _ in range(60)]}
        for n in range(5)
    ]
    rows = matrix_of(experiment_of(*runs)).rows
    scores = [dict(enumerate(values_of(row.runs[0]))) for row in rows]
    pairs = list(combinations(range(5), 2))
    adjusted = holm([compare(scores[a], scores[b]).p_value or 0.0 for a, b in pairs])
    letters = [set(row.place.group.split()) for row in rows if row.place]
    for (a, b), p_adjusted in zip(pairs, adjusted, strict=True):
        assert bool(letters[a] & letters[b]) == (p_adjusted > 0.05)


def test_the_verdict_says_who_leads_who_follows_and_what_is_not_separated(sums: Dataset) -> None:
    runs = [{"dataset": sums, "model": f"loop/{name}", "values": right_of(60, right)} for name, right in
            (("tiny", 10), ("large", 55), ("small", 12), ("medium", 40))]  # fmt: skip
    assert matrix_of(experiment_of(*runs)).verdict == (
        "large leads. medium is 25.0 points behind (15.8 to 37.2). The difference between small and tiny is not "
        "significant."
    )


def test_a_run_below_95_percent_coverage_and_a_live_one_have_no_rank(sums: Dataset) -> None:
    found = matrix_of(
        experiment_of(
            {"dataset": sums, "model": "loop/good", "values": right_of(60, 50)},
            {"dataset": sums, "model": "loop/poor", "values": [*right_of(50, 50), *[None] * 10]},
            {"dataset": sums, "model": "loop/live", "values": right_of(60, 60), "status": RunStatus.RUNNING},
        )
    )
    by_model = {row.model: row for row in found.rows}
    assert by_model["loop/good"].place is not None
    assert by_model["loop/poor"].place is None
    assert "50 of 60" in by_model["loop/poor"].reason
    assert "has not ended" in by_model["loop/live"].reason
    assert by_model["loop/live"].overall is None
    assert found.verdict == "good scores 0.833 (0.720 to 0.907)."


def test_one_dataset_is_ranked_by_itself(sums: Dataset) -> None:
    other = make_dataset(40, slug="more")
    experiment = experiment_of(
        {"dataset": sums, "model": "loop/a", "values": right_of(60, 60)},
        {"dataset": sums, "model": "loop/b", "values": right_of(60, 10)},
        {"dataset": other, "model": "loop/a", "values": right_of(40, 0)},
        {"dataset": other, "model": "loop/b", "values": right_of(40, 40)},
    )
    assert matrix_of(experiment, "", "sums").rows[0].model == "loop/a"
    assert matrix_of(experiment, "", "more").rows[0].model == "loop/b"
    assert len(matrix_of(experiment, "", "none").columns) == 2


def test_a_retried_run_changes_the_ranking(sums: Dataset) -> None:
    experiment = experiment_of(
        {"dataset": sums, "model": "loop/a", "values": right_of(60, 60)},
        {"dataset": sums, "model": "loop/b", "values": right_of(60, 10)},
    )
    assert "a leads" in matrix_of(experiment).verdict
    run = experiment.runs.get(model="loop/a")
    run.delete()
    make_scored_run(sums, right_of(60, 0), model="loop/a", experiment=experiment, summarized_at="2026-01-02T00:00:00Z")
    assert "b leads" in matrix_of(experiment).verdict


def test_the_ranking_is_read_from_the_cache_the_second_time(sums: Dataset, django_assert_num_queries: Any) -> None:
    experiment = experiment_of(*({"dataset": sums, "model": f"loop/{n}", "values": right_of(60, n)} for n in range(4)))
    first = matrix_of(experiment)
    with django_assert_num_queries(1):
        assert matrix_of(experiment) == first


def test_the_finding_is_the_lead_of_the_verdict_once_all_runs_have_ended(
    sums: Dataset, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = (
        {"dataset": sums, "model": f"loop/{name}", "values": right_of(60, right)}
        for name, right in (("a", 57), ("b", 9))
    )
    stored = experiment_of(good, bad)
    cache.clear()  # runs of another test had the same ids and times

    def finding(experiment: Experiment) -> str:
        return " ".join(findings([experiment])[experiment.pk])

    lead = "a leads. b is 80.0 points behind (68.2 to 88.2)."
    assert finding(stored) == lead
    assert matrix_of(stored).verdict.startswith(lead)
    with django_assert_num_queries(1):  # its runs, which a list has read already
        assert finding(stored) == lead
    assert finding(experiment_of(good, bad | {"status": RunStatus.RUNNING})) == ""
    assert finding(Experiment.objects.create(name="Empty", request={})) == ""
    monkeypatch.setattr(reads, "MOST_RANKED", 119)
    assert finding(stored) == ""


@pytest.fixture
def stepwise(sums: Dataset) -> Callable[..., Experiment]:
    """Two models asked plainly and stepwise, with so many right answers of each."""

    def made(plain: Sequence[int], stepwise: Sequence[int]) -> Experiment:
        cache.clear()  # runs of another test had the same ids and times
        return experiment_of(
            *(
                {"dataset": sums, "model": f"loop/{name}", "variant": variant, "values": right_of(60, right)}
                for variant, rights in (("plain", plain), ("stepwise", stepwise))
                for name, right in zip("ab", rights, strict=True)
            )
        )

    return made


def test_a_variant_without_any_right_answer_is_said_before_who_leads(stepwise: Callable[..., Experiment]) -> None:
    stored = stepwise((57, 9), (0, 0))
    said = "No answer with stepwise is correct: check the prompt or the answer format."
    assert matrix_of(stored).verdict.startswith(f"{said} a leads. b is 80.0 points behind (")
    assert "stepwise)" not in matrix_of(stored).verdict, "two that have nothing right need no comparison"
    assert findings([stored])[stored.pk] == [said, "a leads."]
    assert effects(matrix_of(stored)).without(none_right_variants(matrix_of(stored).rows)).sentence == ""


def test_one_right_answer_is_enough_for_an_order(stepwise: Callable[..., Experiment]) -> None:
    stored = stepwise((57, 9), (0, 1))
    assert matrix_of(stored).none_right == (
        "No answer by a (stepwise) is correct: check the prompt or the answer format."
    )
    assert none_right_variants(matrix_of(stored).rows) == []
    assert matrix_of(stepwise((57, 9), (1, 1))).none_right == ""


def test_unparsable_answers_are_told_from_wrong_ones(stepwise: Callable[..., Experiment]) -> None:
    stored = stepwise((57, 9), (0, 0))
    first, second = stored.runs.filter(variant="stepwise")

    def unparsable(run: Run) -> None:
        run.results.update(outcome=Outcome.UNPARSABLE)
        run.summary, run.breakdown = summarize(run)
        run.save()
        cache.clear()

    unparsable(first)
    assert matrix_of(stored).none_right == (
        "No answer with stepwise is correct (60 of 120 unparsable): check the prompt or the answer format."
    )
    unparsable(second)
    assert matrix_of(stored).none_right == "No answer with stepwise can be read: check the answer format."


def test_where_nothing_at_all_is_right_no_part_is_named(stepwise: Callable[..., Experiment]) -> None:
    assert matrix_of(stepwise((0, 0), (0, 0))).none_right == (
        "No answer is correct: check the prompt or the answer format."
    )


def test_the_columns_of_one_dataset_are_its_difficulties(sums: Dataset) -> None:
    sums.current_version.tasks.filter(position__lte=20).update(difficulty="easy")
    sums.current_version.tasks.filter(position__gt=20).update(difficulty="hard")
    experiment = experiment_of(
        {"dataset": sums, "model": "loop/a", "values": right_of(60, 30)},
        {"dataset": sums, "model": "loop/b", "values": right_of(60, 10)},
    )
    found = matrix_of(experiment, "", "sums", "difficulty")
    assert [column.level for column in found.columns] == ["easy", "hard"]
    assert [[(cell.mean, cell.n) for cell in row.cells if cell] for row in found.rows] == [
        [(1.0, 20), (0.25, 40)],
        [(0.5, 20), (0.0, 40)],
    ]
    assert [row.overall and row.overall[0] for row in found.rows] == [pytest.approx(0.5), pytest.approx(1 / 6)]
    assert len(found.rows[0].runs) == 1


def test_an_effect_is_the_paired_difference_from_the_first_variant(sums: Dataset) -> None:
    other = make_dataset(40, slug="more")
    experiment = experiment_of(
        {"dataset": sums, "model": "loop/a", "variant": "plain", "values": right_of(60, 30)},
        {"dataset": sums, "model": "loop/a", "variant": "stepwise", "values": right_of(60, 50)},
        {"dataset": other, "model": "loop/a", "variant": "plain", "values": right_of(40, 20)},
        {"dataset": other, "model": "loop/a", "variant": "stepwise", "values": right_of(40, 21)},
        {"dataset": sums, "model": "loop/b", "variant": "plain", "values": right_of(60, 30)},
    )
    found = effects(matrix_of(experiment))
    [row] = found.rows
    assert (row.model, row.variant, row.reference, found.size) == ("loop/a", "stepwise", "plain", 3)
    runs = {(run.dataset.slug, run.variant): run for run in experiment_runs(experiment) if run.model == "loop/a"}
    expected = [
        compare(*(dict(enumerate(values_of(runs[slug, variant]))) for variant in ("plain", "stepwise")))
        for slug in ("sums", "more")
    ]
    for effect, comparison in zip(row.cells, expected, strict=True):
        assert effect is not None
        assert (effect.difference, effect.low, effect.high) == (comparison.difference, comparison.low, comparison.high)
    assert row.overall is not None
    assert row.overall.difference == pytest.approx((20 / 60 + 1 / 40) / 2)
    assert [effect.is_clear for effect in (*row.cells, row.overall) if effect] == [True, False, True]
    assert found.sentence == "Stepwise raises a by 17.9 points (11.0 to 26.1)."
    alone = effects(matrix_of(experiment, "", "sums"))
    assert alone.sentence.startswith("Stepwise raises a by 33.3 points (")
    assert effects(matrix_of(experiment, "", "more")).sentence.startswith(
        "Stepwise makes no significant difference (+2.5 points, "
    )


def test_runs_on_other_tasks_are_not_ranked_and_equal_runs_are_rows_of_their_own(sums: Dataset) -> None:
    runs = [
        make_scored_run(sums, right_of(60, right), model="loop/a", summarized_at=timezone.now(), limit=limit)
        for right, limit in ((50, None), (10, None), (5, 5))
    ]
    found = matrix(runs)
    assert [(row.variant, row.place is not None) for row in found.rows] == [
        ("", True),
        (f"run {runs[1].pk}", True),
        (f"run {runs[2].pk}", False),
    ]
    assert [row.name for row in found.rows] == ["a", *(f"a (run {run.pk})" for run in runs[1:])]
    plain = matrix([make_scored_run(sums, right_of(60, 9), model="loop/b", variant="plain") for _ in range(2)])
    assert plain.rows[1].name == f"b (plain, run {plain.rows[1].cells[0].run.pk})"
    assert found.rows[2].reason == f"Run {runs[2].pk} has other tasks than run {runs[0].pk}."


STATUSES = {
    ("queued", "queued"): "queued",
    ("queued", "completed"): "running",
    ("paused", "running"): "running",
    ("paused", "completed"): "paused",
    ("failed", "cancelled", "completed"): "failed",
    ("completed", "completed_with_errors"): "completed_with_errors",
    ("completed",): "completed",
    (): "completed",
}


@pytest.mark.parametrize("statuses", STATUSES)
def test_the_status_is_the_one_that_needs_to_be_known(statuses: tuple[str, ...]) -> None:
    assert status_of(statuses) == STATUSES[statuses]


def test_an_unknown_cost_is_not_zero(sums: Dataset, django_assert_num_queries: Any) -> None:
    experiment = experiment_of(
        {"dataset": sums, "model": "loop/a", "values": right_of(60, 3), "judge_cost_usd": 0.0},
        {"dataset": sums, "model": "loop/b", "values": right_of(60, 3), "cost_usd": None},
    )
    runs = experiment_runs(experiment)
    assert progress(runs).cost_usd is None
    assert progress(runs).cost == "$0.25 + unknown"
    assert (progress(runs[:1]).cost_usd, progress(runs[:1]).cost) == (0.25, "$0.25")
    assert progress(runs[1:]).cost == "unknown"
    runs[1].summary = {**runs[1].summary, "part_of_cost": {"known_usd": 0.5, "n_unknown": 1, "n": 60}}
    runs[1].save()
    assert progress(runs).cost == "$0.75 + unknown"
    listed = list(reads.experiments().get(pk=experiment.pk).runs.all())
    with django_assert_num_queries(0):
        assert progress(listed).cost == "$0.75 + unknown"
    runs[1].summary["part_of_cost"]["known_usd"] = None  # a system that reports no cost at all
    runs[1].save()
    assert progress(list(reads.experiments().get(pk=experiment.pk).runs.all())).cost == "$0.25 + unknown"


def test_the_total_has_the_results_of_runs_that_are_not_prepared_yet(
    sums: Dataset, django_assert_num_queries: Any
) -> None:
    waiting = {"status": RunStatus.QUEUED, "is_prepared": False, "total": 0}
    experiment = Experiment.objects.create(name="Waiting", request={})
    ready = make_scored_run(sums, (1.0, 1.0), experiment=experiment, is_prepared=True)
    tasks = sums.current_version.task_count
    for model in ("a/one", "a/two"):
        make_scored_run(sums, (), model=model, experiment=experiment, repeats=3, **waiting)
    make_scored_run(sums, (), experiment=experiment, limit=1, **waiting)
    members = list(reads.experiments().get(pk=experiment.pk).runs.all())
    with django_assert_num_queries(0):
        assert progress(members).total == ready.total + 2 * 3 * tasks + 1


def prompted(dataset: Dataset, model: str, rights: Sequence[int]) -> list[dict[str, Any]]:
    """Runs of a model, one for each variant, with this many of 60 tasks right."""
    return [
        {"dataset": dataset, "model": model, "variant": f"prompt {place}", "values": right_of(60, right)}
        for place, right in enumerate(rights)
    ]


def test_models_are_averaged_over_variants_that_are_a_sample(sums: Dataset) -> None:
    experiment = experiment_of(
        *prompted(sums, "loop/steady", (40, 41, 39, 40)),
        *prompted(sums, "loop/erratic", (60, 25, 30, 25)),
        *prompted(sums, "loop/low", (10, 11, 10, 9)),
        *prompted(sums, "baseline/random", (5, 5, 5, 5)),
    )
    models = averaged_models(matrix_of(experiment))
    assert models is not None
    steady, erratic, low, beside = models.found.rows
    assert (steady.name, erratic.name, low.name, beside.name) == ("steady", "erratic", "low", "random")
    assert steady.overall is not None
    assert erratic.overall is not None
    assert steady.overall[0] == pytest.approx(40 / 60)
    assert erratic.by_variant == pytest.approx([1, 25 / 60, 0.5, 25 / 60])
    assert erratic.overall[2] - erratic.overall[1] > 2 * (steady.overall[2] - steady.overall[1])
    assert steady.shares is not None
    assert erratic.shares is not None
    assert steady.shares.variants < 0.01
    assert erratic.shares.variants > 0.1
    assert steady.place is not None
    assert erratic.place is not None
    assert low.place is not None
    assert (steady.place.rank_low, steady.place.rank_high, low.place.rank_low) == (1, 2, 2)
    assert beside.place is None
    assert beside.reason == "A baseline has no rank."
    assert models.sentences[0] == "steady and erratic lead; the difference between them is not significant."
    assert "4 variants, taken as a sample" in models.sentences[-1]
    [of_steady, *_] = average_rows(models)
    assert of_steady["variants"] == pytest.approx(dict(zip(models.found.variants, steady.by_variant, strict=True)))


def test_a_model_without_a_variant_has_no_average(sums: Dataset) -> None:
    experiment = experiment_of(*prompted(sums, "loop/a", (40, 41, 39)), *prompted(sums, "loop/b", (40, 41)))
    models = averaged_models(matrix_of(experiment))
    assert models is not None
    assert [row.reason for row in models.found.rows] == ["", "It has no runs with prompt 2."]
    assert models.found.ranked == ["a"]


def test_two_variants_are_not_averaged(sums: Dataset) -> None:
    assert averaged_models(matrix_of(experiment_of(*prompted(sums, "loop/a", (40, 41))))) is None


def test_the_choice_of_an_address_comes_before_that_of_the_experiment() -> None:
    launched = Experiment(request={"average_variants": True})
    assert [reads.averages_variants(launched, chosen) for chosen in ("", "each", "average", "x")] == [
        True,
        False,
        True,
        True,
    ]
    assert not reads.averages_variants(Experiment(request={}), "")
