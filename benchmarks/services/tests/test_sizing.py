"""How long a run goes, and how large it has to be: recomputed by hand from limits, prices and earlier answers."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.analysis.gaps import tasks_per_cluster
from benchmarks.models import Dataset, Run, RunStatus
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.estimate import Load, duration_range, plan_run, seconds_for_answer
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.sizing import size_run
from benchmarks.services.runs.start import run_of
from benchmarks.statistics.planning import PairedDesign, Range, tasks_for_same, tasks_needed
from codeforge.config import Limits, ModelConfig
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import MODEL, config_for, make_dataset, make_task
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
ASKED = {"dataset": "sums", "model": MODEL, "metrics": ["exact_match"]}


@pytest.fixture(autouse=True)
def configured(settings: Any) -> None:
    settings.CODEFORGE = config_for("http://127.0.0.1:1/v1")


def limited(settings: Any, **limits: int) -> None:
    model = ModelConfig(input_per_million=1.0, output_per_million=2.0, limits=Limits(**limits))
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"models": {MODEL: model}})


def answered(seconds: float) -> None:
    """An earlier run of the model whose answers all took that long."""
    dataset = make_dataset(1, slug="earlier")
    latency = {"n": 1, **dict.fromkeys(("p50", "mean", "p95", "max"), seconds * 1000)}
    Run.objects.create(
        dataset=dataset,
        dataset_version=dataset.current_version,
        model=MODEL,
        metrics=["exact_match"],
        status=RunStatus.COMPLETED,
        summary={"latency_ms": latency},
    )


def test_answers_are_expected_to_take_as_long_as_they_took() -> None:
    answered(3.0)
    assert seconds_for_answer(MODEL) == Range(3.0, 3.0, 3.0)
    assert seconds_for_answer("loop/never-asked").high > seconds_for_answer("loop/never-asked").low


def test_requests_that_wait_for_each_other_take_their_turns() -> None:
    answered(2.0)
    load = Load(MODEL, 100, (100, 100), (100, 100))
    assert duration_range([load], 10).usual == pytest.approx(100 / 10 * 2.0)


def test_a_limit_on_those_in_flight_counts_more_than_what_the_run_asks_for(settings: Any) -> None:
    answered(2.0)
    limited(settings, max_in_flight=5)
    load = Load(MODEL, 100, (100, 100), (100, 100))
    assert duration_range([load], 50).usual == pytest.approx(100 / 5 * 2.0)


@pytest.mark.parametrize(
    ("limit", "seconds"), [({"requests_per_minute": 10}, 600.0), ({"tokens_per_minute": 1_000}, 60.0 * 20)]
)
def test_limits_by_the_minute_are_waited_for(settings: Any, limit: dict[str, int], seconds: float) -> None:
    answered(0.1)
    limited(settings, **limit)
    load = Load(MODEL, 100, (10_000, 10_000), (10_000, 10_000))
    assert duration_range([load], 50).usual == pytest.approx(seconds)


def test_a_plan_says_how_long_the_run_goes() -> None:
    answered(2.0)
    make_dataset(40)
    plan = plan_run({**ASKED, "concurrency": 4})
    assert (plan.seconds_low, plan.seconds_high) == (pytest.approx(20.0), pytest.approx(20.0))


def test_a_sized_plan_grows_with_the_tasks() -> None:
    make_dataset(40)
    sized, plan = size_run({**ASKED, "to_see": 10}), plan_run(ASKED)
    assert sized.size == tasks_needed(0.1, PairedDesign())
    assert sized.plan.requests == sized.size.tasks
    assert sized.plan.cost_high == pytest.approx(plan.cost_high * sized.size.tasks / 40)


def two_models(dataset: Dataset, differing: int, **fields: Any) -> None:
    """Runs of two models, right on everything but for the second's first ``differing`` tasks."""
    size = dataset.current_version.task_count
    make_scored_run(dataset, [1.0] * size, model="a/first", **fields)
    make_scored_run(dataset, [0.0] * differing + [1.0] * (size - differing), model="b/second", **fields)


def test_how_far_runs_differ_is_taken_from_earlier_ones_and_said() -> None:
    two_models(make_dataset(40), differing=8)
    sized = size_run({**ASKED, "to_see": 10})
    first, second = Run.objects.order_by("pk")
    assert sized.size == tasks_needed(0.1, PairedDesign(discordance=0.2))
    assert "differ on 20% of the tasks" in sized.assuming
    assert f"a/first (run {first.pk}) and b/second (run {second.pk}) do (8 of 40 shared tasks)" in sized.assuming
    assert size_run({**ASKED, "to_see": 10, "discordance": 0.3}).size == tasks_needed(0.1, PairedDesign())


def test_runs_that_hardly_differed_allow_for_the_difference_all_the_same() -> None:
    two_models(make_dataset(40), differing=0)
    sized = size_run({**ASKED, "to_see": 10})
    assert sized.size == tasks_needed(0.1, PairedDesign(discordance=0.1))
    assert "(0 of 40" in sized.assuming


@pytest.mark.parametrize("fields", [{"repeats": 2}, {"status": RunStatus.FAILED}, {"metrics": ["contains"]}], ids=str)
def test_runs_that_cannot_tell_are_left_out_and_the_assumption_says_so(fields: dict[str, Any]) -> None:
    two_models(make_dataset(40), differing=8, **fields)
    sized = size_run({**ASKED, "to_see": 10})
    assert sized.pilot is None
    assert "by default, because no two models have run on this dataset" in sized.assuming


def test_questions_of_one_canvas_are_sized_as_a_cluster() -> None:
    canvas_set = make_canvas_set(shapes="5", count=4)
    sized = size_run({"dataset": canvas_set.slug, "model": MODEL, "to_see": 10, "correlation": 0.5})
    assert sized.design.tasks_per_cluster == pytest.approx(canvas_set.dataset.current_version.task_count / 4)
    assert sized.size.tasks > tasks_needed(0.1, PairedDesign()).tasks
    assert "clusters" in sized.needed


def test_tasks_that_share_a_text_show_fewer_gaps_than_as_many_apart() -> None:
    apart = make_dataset(40)
    shared = make_dataset([make_task(number, cluster=f"text-{number // 4}") for number in range(40)], slug="shared")
    assert shared.current_version.facets["clusters"] == 10
    assert (tasks_per_cluster(apart), tasks_per_cluster(shared)) == (1.0, 4.0)
    mixed = make_dataset([make_task(n, cluster="text" if n < 4 else "") for n in range(10)], slug="mixed")
    assert tasks_per_cluster(mixed) == pytest.approx(10 / 7), "a task without a cluster is one of its own"


def test_a_limit_on_the_tasks_is_heeded() -> None:
    make_dataset(40)
    assert size_run({**ASKED, "limit": 10, "to_see": 10}).tasks == 10


@pytest.mark.parametrize("change", [{"to_see": 0}, {"to_see": 50}, {"power": 1.0}, {"discordance": 0.0}])
def test_what_cannot_be_is_refused(change: dict[str, float]) -> None:
    make_dataset(4)
    with pytest.raises(InvalidRequest) as refused:
        size_run({**ASKED, "to_see": 10, **change})
    assert list(refused.value.errors) == ["to_see"]


def test_a_size_shows_that_two_equal_runs_are_the_same() -> None:
    make_dataset(40)
    sized = size_run({**ASKED, "same_within": 5, "discordance": 0.2})
    assert sized.size == tasks_for_same(0.05, PairedDesign(discordance=0.2))
    assert "show that two equal runs are the same within 5.0 points" in sized.needed
    with pytest.raises(InvalidRequest) as refused:
        size_run({**ASKED, "same_within": 5, "to_see": 5})
    assert refused.value.errors == {"to_see": ["Set either to_see or same_within."]}


def ran(seconds: float, cost: float | None, **fields: Any) -> Run:
    """An earlier run that asked ten tasks as ``ASKED`` does."""
    run = run_of(validated({**ASKED, **fields}))
    run.status, run.total, run.done = RunStatus.COMPLETED, 10, 10
    run.active_seconds, run.cost_usd = seconds, cost
    run.note_asked()
    run.save()
    return run


def test_an_estimate_includes_what_the_same_run_has_cost_and_taken() -> None:
    make_dataset(10)
    guessed = plan_run(ASKED)
    assert guessed.cost_low is not None
    ran(seconds=900.0, cost=guessed.cost_low / 10)
    ran(seconds=1.0, cost=9.0, system_prompt="Asked otherwise.")
    plan = plan_run(ASKED)
    assert (plan.cost_low, plan.known_low) == (pytest.approx(guessed.cost_low / 10),) * 2
    assert plan.cost_high == guessed.cost_high
    assert (plan.seconds_low, plan.seconds_high) == (guessed.seconds_low, 900.0)
    # Twice as many results take twice as long.
    assert plan_run({**ASKED, "repeats": 2}).seconds_high == 1800.0


def test_an_unknown_cost_of_the_same_run_changes_only_the_time() -> None:
    make_dataset(10)
    guessed = plan_run(ASKED)
    ran(seconds=900.0, cost=None)
    plan = plan_run(ASKED)
    assert (plan.cost_low, plan.cost_high) == (guessed.cost_low, guessed.cost_high)
    assert plan.seconds_high == 900.0
