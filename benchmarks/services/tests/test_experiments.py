"""Experiments: what they launch, what they refuse, one budget for all runs, and what can be done with all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.engine.execution.sweeper import runs_without_worker
from benchmarks.models import DatasetVersion, Experiment, Run, RunStatus
from benchmarks.services.datasets.versions import import_dataset
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.experiments import control
from benchmarks.services.experiments.files import read_experiment_file
from benchmarks.services.experiments.start import add_model, plan_experiment, start_experiment
from tests.loopback.faults import FAULTS
from tests.support.canvas_sets import make_canvas_set
from tests.support.factories import JUDGE, MODEL, make_dataset, make_task
from tests.support.running import Endpoint, wait_while, worked, working

pytestmark = pytest.mark.django_db(transaction=True)

VARIANTS = [
    {"name": "plain"},
    {"name": "step by step", "prompt_template": "{input} Think step by step.", "parameters": {"temperature": 0}},
]


def request(**fields: Any) -> dict[str, Any]:
    given = {"name": "Prompts", "datasets": ["sums"], "models": [MODEL], "metrics": ["exact_match"]}
    return {**given, **fields}


def work_all(experiment: Experiment) -> None:
    """Work on every run, and sweep until nobody finds work."""
    for run in experiment.runs.order_by("pk"):
        worked(run)
    while found := runs_without_worker():
        for pk in found:
            worked(Run.objects.get(pk=pk))


def test_an_experiment_is_a_run_for_each_dataset_model_and_variant(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2")
    make_dataset(2)
    make_dataset([make_task(1, input="1+1?")], slug="more")
    experiment = start_experiment(
        request(datasets=["sums", "more"], models=[MODEL, JUDGE], variants=VARIANTS, max_tokens=9, tags=["autumn"])
    )
    runs = list(experiment.runs.order_by("pk").values_list("dataset__slug", "variant", "model"))
    assert runs == [
        (dataset, variant, model)
        for dataset in ("sums", "more")
        for variant in ("plain", "step by step")
        for model in (MODEL, JUDGE)
    ]
    work_all(experiment)
    assert set(experiment.runs.values_list("status", flat=True)) == {RunStatus.COMPLETED}
    assert {body["max_tokens"] for body in server.stats.bodies} == {9}
    stepwise = [body for body in server.stats.bodies if body["messages"][0]["content"].endswith("step by step.")]
    assert len(stepwise) == 6
    assert all(body["temperature"] == 0 for body in stepwise)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"name": ""}, "name", "blank"),
    ({"models": []}, "models", "empty"),
    ({"models": [MODEL, MODEL]}, "models", "more than once"),
    ({"models": [MODEL, "nowhere/x"]}, "models", "models[1]: Provider nowhere is not configured"),
    ({"datasets": ["sums", "none"]}, "datasets", "datasets[1]: Dataset none does not exist"),
    ({"metrics": ["exact_match", "faithfulness"]}, "metrics", "metrics[1]: No dataset has what faithfulness needs"),
    ({"temperature": 9}, "temperature", "2"),
    ({"speed": 1}, "speed", "Unknown field"),
    ({"target_half_width": 0.1}, "target_half_width", "Unknown field"),
    ({"variants": [{"prompt_template": "{input}"}]}, "variants", "variants[0].name: This field is required"),
    ({"variants": [{"name": "a", "speed": 1}]}, "variants", "variants[0].speed: Unknown field"),
    ({"variants": [{"name": "a"}, {"name": "a"}]}, "variants", "more than once: a"),
    ({"variants": [{"name": "a"}, {"name": "b"}]}, "variants", "a and b prompt sums in the same way"),
    ({"variants": [{"name": "a", "prompt_template": "{x}"}]}, "variants", "variants[0].prompt_template: “{x}”"),
    ({"variants": [{"name": "a", "parameters": {"repeats": 3}}]}, "variants", "Unknown: repeats"),
    (
        {"variants": [{"name": "a", "parameters": {"temperature": "hot"}}]},
        "variants",
        "variants[0].parameters.temperature: A valid number is required",
    ),
    ({"variants": [{"name": "a", "representation": "full"}]}, "variants", "YAML dataset"),
    ({"variants": "plain"}, "variants", "list"),
    ({"budget_usd": 1}, "budget_usd", "max_tokens"),
    ({"models": [f"loop/{n}" for n in range(201)]}, "models", "201 runs, and the limit is 200"),
]


@pytest.mark.parametrize(("change", "field", "says"), REFUSED)
def test_a_wrong_field_is_named_and_nothing_is_started(
    endpoint: Endpoint, change: dict[str, Any], field: str, says: str
) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    with pytest.raises(InvalidRequest) as refused:
        start_experiment(request(**change))
    assert says in " ".join(refused.value.errors[field])
    assert not Experiment.objects.exists()
    assert not Run.objects.exists()


def test_canvas_options_and_metrics_go_where_they_apply(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    slug = make_canvas_set("3", 1).slug
    variants = [{"name": "coordinates", "representation": "coordinates", "prompt_template": "{input}!"}]
    experiment = start_experiment(request(datasets=["sums", slug], variants=variants))
    on_sums, on_canvases = experiment.runs.order_by("pk")
    assert (on_sums.representation, on_sums.metrics) == ("", ["exact_match"])
    assert (on_canvases.representation, on_canvases.metrics) == ("coordinates", ["task_score", "exact_match"])


def test_a_dataset_has_metrics_of_its_own(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    make_dataset(2, slug="more")
    given = request(datasets=["sums", "more"], models=[MODEL], metrics_by_dataset={"more": ["contains", "latency"]})
    runs = start_experiment(given).runs.values_list("dataset__slug", "metrics")
    assert dict(runs) == {"sums": ["exact_match"], "more": ["contains", "latency"]}
    with pytest.raises(InvalidRequest, match="Not among the datasets: others"):
        start_experiment(request(metrics_by_dataset={"others": ["contains"]}))
    with pytest.raises(InvalidRequest, match=r"metrics_by_dataset: .*regex does not apply to sums"):
        start_experiment(request(metrics_by_dataset={"sums": ["regex"]}))


def test_datasets_without_metrics_are_named_all_of_them(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2, slug="sums")
    make_dataset(2, slug="named", metrics=("exact_match",))
    make_dataset([make_task(1, choices=("a", "b"), expected_output="a")], slug="quiz")
    asked = request(datasets=["named", "sums", "quiz"], models=[MODEL, JUDGE])
    del asked["metrics"]
    with pytest.raises(InvalidRequest) as refused:
        plan_experiment(asked)
    assert refused.value.errors == {
        "metrics_by_dataset": [
            "metrics_by_dataset.sums: sums names no metrics. Select at least one metric for it: exact_match.",
            "metrics_by_dataset.quiz: quiz names no metrics. "
            "Select at least one metric for it: multiple_choice, exact_match.",
        ]
    }
    file = tmp_path / "three.yaml"
    file.write_text(yaml.safe_dump(asked))
    with pytest.raises(InvalidRequest, match="quiz names no metrics"):
        read_experiment_file(file)
    plan_experiment(asked | {"metrics_by_dataset": {"sums": ["contains"], "quiz": ["multiple_choice"]}})


def test_the_estimate_adds_up_all_runs(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(300)
    plan = plan_experiment(request(models=[MODEL, JUDGE], variants=VARIANTS, max_tokens=10))
    assert (plan.runs, plan.requests, plan.candidates) == (4, 1200, 4)
    assert 0 < (plan.cost_low or 0) < (plan.cost_high or 0)
    assert 0 < plan.seconds_low < plan.seconds_high
    assert 0.05 < (plan.detectable["sums"] or 0) < 0.2


def test_one_budget_holds_for_all_runs_and_several_workers(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2", delay_ms=5)
    make_dataset(60)
    budget = 0.0008
    experiment = start_experiment(request(models=[MODEL, JUDGE], variants=VARIANTS, budget_usd=budget, max_tokens=10))
    first, second, *_ = experiment.runs.order_by("pk")
    with working(first, workers=2), working(second, workers=2):
        pass
    work_all(experiment)
    runs = list(experiment.runs.all())
    spent = sum((run.cost_usd or 0) for run in runs)
    assert 0 < spent <= budget
    assert {run.status for run in runs} <= {RunStatus.PAUSED, RunStatus.COMPLETED}
    assert RunStatus.PAUSED in {run.status for run in runs}
    assert all(run.reserved_usd == pytest.approx(0) for run in runs)
    with pytest.raises(NotPossible, match="must exceed"):
        control.raise_budget(experiment, 0.0001)
    control.raise_budget(experiment, 1.0)
    work_all(experiment)
    assert set(experiment.runs.values_list("status", flat=True)) == {RunStatus.COMPLETED}
    assert server.stats.requests == 240


def test_a_run_waits_for_reservations_of_the_others_before_it_pauses(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    experiment = start_experiment(request(models=[MODEL, JUDGE], budget_usd=0.01, max_tokens=10))
    first, second = experiment.runs.order_by("pk")
    Run.objects.filter(pk=second.pk).update(reserved_usd=0.01, total=1, cost_usd=0, judge_cost_usd=0)
    assert worked(first).status == RunStatus.RUNNING
    Run.objects.filter(pk=second.pk).update(reserved_usd=0.0)
    assert worked(first).status == RunStatus.COMPLETED


def test_pausing_stops_every_run_and_resuming_asks_nothing_twice(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: "2", delay_ms=20)
    make_dataset(100)
    experiment = start_experiment(request(models=[MODEL, JUDGE], concurrency=2))
    first, second = experiment.runs.order_by("pk")
    with working(first) as (worker,):
        wait_while(lambda: server.stats.requests < 5, worker)
        assert control.pause_experiment(experiment) == 2
    second.refresh_from_db()
    assert (first.status, second.status) == (RunStatus.PAUSED, RunStatus.PAUSED)
    assert 0 < first.done < 100
    with pytest.raises(NotPossible, match="No run is queued or running"):
        control.pause_experiment(experiment)
    assert control.resume_experiment(experiment) == 2
    work_all(experiment)
    assert set(experiment.runs.values_list("status", "done")) == {(RunStatus.COMPLETED, 100)}


def test_canceled_runs_are_resumed_and_errors_retried(endpoint: Endpoint) -> None:
    server = endpoint(lambda asked: FAULTS["html_instead_of_json"] if "1 + 1" in asked.prompt else "4")
    make_dataset(2)
    experiment = start_experiment(request(models=[MODEL, JUDGE]))
    assert control.cancel_experiment(experiment) == 2
    with pytest.raises(NotPossible, match="All runs have ended"):
        control.cancel_experiment(experiment)
    assert control.resume_experiment(experiment) == 2
    work_all(experiment)
    assert set(experiment.runs.values_list("status", "errors")) == {(RunStatus.COMPLETED_WITH_ERRORS, 1)}
    server.script = lambda asked: "2"
    assert control.retry_experiment(experiment) == 2
    work_all(experiment)
    assert set(experiment.runs.values_list("status", "errors")) == {(RunStatus.COMPLETED, 0)}
    with pytest.raises(NotPossible, match="no errors"):
        control.retry_experiment(experiment)


def test_a_model_that_is_added_answers_the_same_version(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    dataset = make_dataset(2)
    experiment = start_experiment(request(variants=VARIANTS))
    changed = DatasetSpec(name="Sums", description="More", tasks=(make_task(7),))
    import_dataset(changed, dataset.slug, DatasetVersion.Origin.UPLOAD)
    added = add_model(experiment, JUDGE)
    assert [(run.model, run.variant) for run in added] == [(JUDGE, "plain"), (JUDGE, "step by step")]
    assert {run.dataset_version.number for run in experiment.runs.all()} == {1}
    experiment.refresh_from_db()
    assert experiment.request["models"] == [MODEL, JUDGE]
    for model, says in ((JUDGE, "part of the experiment already"), ("nowhere/x", "not configured")):
        with pytest.raises(InvalidRequest, match=says):
            add_model(experiment, model)


def test_deleting_an_experiment_keeps_its_runs(endpoint: Endpoint) -> None:
    endpoint(lambda asked: "2")
    make_dataset(2)
    experiment = start_experiment(request())
    with pytest.raises(NotPossible, match="Cancel it"):
        control.delete_experiment(experiment)
    work_all(experiment)
    control.delete_experiment(experiment)
    assert Run.objects.get().experiment is None
