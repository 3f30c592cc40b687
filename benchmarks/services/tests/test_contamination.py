"""A run compared with the same run on fresh tasks: what is generated, started and reported."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from benchmarks.engine.execution import lifecycle
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.finishing import close_if_over
from benchmarks.models import TERMINAL, Dataset, Run, RunStatus
from benchmarks.queries.contamination import contamination_check
from benchmarks.services.canvas_sets import control as canvas_set_control
from benchmarks.services.contamination import check_contamination
from benchmarks.services.datasets.editing import create_dataset
from benchmarks.services.errors import InvalidRequest, NotPossible
from benchmarks.services.runs.start import start_run
from benchmarks.statistics.contamination import Sample, published_against_fresh
from tasks_app.models import CanvasSet
from tests.loopback.replies import Asked
from tests.support.canvas_sets import canvas_run, make_canvas_set
from tests.support.factories import make_dataset, make_run
from tests.support.running import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


def ended(run: Run) -> Run:
    while work_on_run_once(run.pk):
        pass
    run.refresh_from_db()
    return run


def memoriser(dataset: Dataset) -> Callable[[Asked], str]:
    """A model that has learnt the answers of one set by heart and says No to everything else."""
    tasks = dataset.current_version.tasks.filter(group="existence")
    answers = dict(tasks.values_list("question__canvas__descriptions__full", "expected_output"))

    def reply(asked: Asked) -> str:
        shown = re.search(r"Canvas:\n(.*?)\n\n", asked.prompt, re.DOTALL)
        known = {text.strip(): answer for text, answer in answers.items()}
        return f"Answer: {known.get(shown[1].strip(), 'No') if shown else 'No'}"

    return reply


@pytest.fixture
def published() -> CanvasSet:
    return make_canvas_set("4-6", 90)


def test_a_model_that_learnt_a_set_by_heart_is_found_out(
    endpoint: Endpoint, published: CanvasSet, client: Client
) -> None:
    endpoint(memoriser(published.dataset))
    run = canvas_run(published, "loop/model", tasks=["existence"])
    assert run.summary["metrics"]["task_score"]["mean"] == 1.0
    fresh = check_contamination(run)
    assert contamination_check(run).sentence.startswith(f"Run {fresh.pk} repeats the questions on fresh canvases")
    ended(fresh)
    check = contamination_check(run)
    assert check == contamination_check(fresh)
    assert (check.measured.n_published, check.measured.n_fresh) == (90, 90)
    assert check.measured.low > 0.2
    assert "It may have been trained on the published set." in check.sentence
    assert "differ" not in check.sentence
    check.fresh.asked["answer"] = {"extra": {"top_k": 5}}
    assert check.sentence.endswith(" Apart from their tasks, the runs differ in extra parameters.")
    check.fresh.refresh_from_db()
    told = client.get(f"/api/v1/benchmarks/runs/{run.pk}/statistics").json()["contamination"]
    assert told["difference"] == check.measured.difference
    assert (told["low"], told["high"], told["p_value"]) == (
        check.measured.low,
        check.measured.high,
        check.measured.p_value,
    )
    assert (told["published"], told["fresh"], told["sentence"]) == (run.pk, fresh.pk, check.sentence)


def test_a_model_that_knows_nothing_of_a_set_is_not_accused(published: CanvasSet) -> None:
    run = canvas_run(published, "baseline/solver")
    check_contamination(run)
    fresh = ended(run.fresh_runs.get())
    found = contamination_check(fresh).measured
    assert found.low <= 0 <= found.high
    assert "No significant difference" in contamination_check(fresh).sentence


def test_the_difference_is_taken_by_number_of_shapes_with_canvases_as_clusters(published: CanvasSet) -> None:
    run = canvas_run(published, "baseline/random")
    fresh = ended(check_contamination(run))

    def sample(of: Run, n_shapes: int) -> Sample:
        rows = of.scores.filter(value__isnull=False, result__n_shapes=n_shapes).order_by("pk")
        return Sample(*(list(column) for column in zip(*rows.values_list("value", "result__cluster"), strict=True)))

    expected = published_against_fresh({str(n): (sample(run, n), sample(fresh, n)) for n in (4, 5, 6)})
    found = contamination_check(run).measured
    assert (found.difference, found.low, found.high, found.p_value) == pytest.approx(
        (expected.difference, expected.low, expected.high, expected.p_value)
    )


def test_new_numbers_of_the_published_run_change_the_stored_check(published: CanvasSet) -> None:
    run = canvas_run(published, "baseline/random")
    ended(check_contamination(run))
    before = contamination_check(run).measured
    run.scores.update(value=1.0)
    assert lifecycle.reopen(run.pk, TERMINAL)
    close_if_over(run.pk)
    assert contamination_check(Run.objects.get(pk=run.pk)).measured.difference > before.difference


def test_the_fresh_set_is_of_the_same_kind_and_shares_no_canvas(published: CanvasSet) -> None:
    run = canvas_run(published, "baseline/reference", tasks=["count", "existence"], few_shot=True, repeats=2)
    fresh = ended(check_contamination(run))
    drawn = fresh.dataset.canvas_set
    for name in ("shapes_low", "shapes_high", "tracking_steps", "task_classes", "count", "generator_version"):
        assert getattr(drawn, name) == getattr(published, name), name
    assert drawn.seed != published.seed
    hashes = [set(of.dataset_version.tasks.values_list("content_hash", flat=True)) for of in (run, fresh)]
    assert not hashes[0] & hashes[1]
    for name in ("model", "metrics", "task_classes", "few_shot", "repeats", "representation", "parameters"):
        assert getattr(fresh, name) == getattr(run, name), name
    assert (fresh.fresh_of, fresh.parent) == (run, run)


def test_seeds_differ_from_check_to_check(published: CanvasSet) -> None:
    seeds = {check_contamination(canvas_run(published, "baseline/reference")).dataset.canvas_set.seed for _ in range(3)}
    assert len(seeds) == 3


def test_a_run_over_part_of_a_set_gets_as_many_fresh_canvases(published: CanvasSet) -> None:
    run = canvas_run(published, "baseline/reference", tasks=["existence"], limit=12)
    fresh = ended(check_contamination(run))
    assert fresh.limit is None
    assert fresh.total == fresh.dataset.canvas_set.count == 12


def test_the_run_waits_for_all_its_canvases(published: CanvasSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.services.contamination.GENERATED_AT_ONCE", 30)
    monkeypatch.setattr(canvas_set_control, "_enqueue", lambda canvas_set: None)
    run = canvas_run(published, "baseline/reference", tasks=["existence"])
    fresh = check_contamination(run)
    assert fresh.dataset.canvas_set.count == 30
    assert ended(fresh).total == 90


def test_a_check_is_refused_where_there_is_nothing_to_check(endpoint: Endpoint, published: CanvasSet) -> None:
    endpoint(lambda asked: "4")
    of_yaml = ended(make_run(make_dataset(2)))
    with pytest.raises(NotPossible, match="Only runs on canvas sets and generated datasets"):
        check_contamination(of_yaml)
    queued = start_run({"dataset": published.dataset.slug, "model": "baseline/reference"})
    with pytest.raises(NotPossible, match="after it completes"):
        check_contamination(queued)
    run = ended(queued)
    fresh = ended(check_contamination(run))
    with pytest.raises(NotPossible, match="already uses fresh tasks"):
        check_contamination(fresh)
    with pytest.raises(NotPossible, match="already checks this run"):
        check_contamination(run)
    Run.objects.filter(pk=fresh.pk).update(status=RunStatus.FAILED)
    assert check_contamination(run).pk != fresh.pk


def test_a_run_that_can_no_longer_be_started_leaves_no_set_behind(
    endpoint: Endpoint, published: CanvasSet, settings: Any
) -> None:
    endpoint(lambda asked: "Answer: Yes")
    run = canvas_run(published, "loop/model", tasks=["existence"])
    Run.objects.filter(pk=run.pk).update(model="gone/model")
    run.refresh_from_db()
    before = CanvasSet.objects.count()
    with pytest.raises(InvalidRequest, match="gone"):
        check_contamination(run)
    assert CanvasSet.objects.count() == before


def test_the_api_starts_a_check(published: CanvasSet, client: Client) -> None:
    run = canvas_run(published, "baseline/reference", tasks=["existence"])
    address = f"/api/v1/benchmarks/runs/{run.pk}/contamination-check"
    answer = client.post(address)
    assert answer.status_code == 201
    assert Run.objects.get(pk=answer.json()["id"]).fresh_of == run
    assert client.post(address).status_code == 409


GENERATED = {
    "name": "Puzzles",
    "description": "Generated",
    "metrics": ["numeric", "exact_match"],
    "generator": {"name": "reasoning", "seed": 1, "tasks": 60, "dev": 30},
}


def knows(dataset: Dataset) -> Callable[[Asked], str]:
    """A model that has learnt the answers to the tasks of one seed by heart, and counts on 7 elsewhere."""
    answers = dict(dataset.current_version.tasks.values_list("input", "expected_output"))
    return lambda asked: f"Answer: {next((answer for text, answer in answers.items() if text in asked.prompt), '7')}"


def test_a_model_that_learnt_a_generated_dataset_by_heart_is_found_out(
    endpoint: Endpoint, admin_client: Client
) -> None:
    dataset = create_dataset("puzzles", GENERATED).dataset
    endpoint(knows(dataset))
    run = ended(make_run(dataset, model="loop/model", metrics=["numeric", "exact_match"], repeats=2, split="test"))
    assert "Check for contamination" in admin_client.get(f"/runs/{run.pk}/").content.decode()
    fresh = check_contamination(run)
    assert contamination_check(run).sentence.startswith(f"Run {fresh.pk} asks tasks of a new seed")
    ended(fresh)
    check = contamination_check(run)
    assert (run.total, fresh.total, check.measured.n_published, check.measured.n_fresh) == (60, 60, 60, 60)
    assert list(check.measured.published) == ["easy", "hard", "medium"]
    assert check.measured.low > 0.2
    assert "It may have been trained on the published set." in check.sentence
    assert "trained on the published set." in admin_client.get(f"/runs/{run.pk}/").content.decode()
    assert (fresh.fresh_of, fresh.repeats, fresh.parameters) == (run, run.repeats, run.parameters)
    hashes = [set(of.dataset_version.tasks.values_list("content_hash", flat=True)) for of in (run, fresh)]
    assert not hashes[0] & hashes[1]
    with pytest.raises(NotPossible, match="already uses fresh tasks"):
        check_contamination(fresh)


def test_part_of_a_generated_dataset_is_checked_with_the_same_part(endpoint: Endpoint) -> None:
    dataset = create_dataset("puzzles", GENERATED).dataset
    endpoint(lambda asked: "Answer: 7")
    run = ended(make_run(dataset, model="loop/model", metrics=["numeric"], limit=9))
    fresh = ended(check_contamination(run))
    counts = [sorted(of.results.values_list("task__difficulty", "task__tags")) for of in (run, fresh)]
    assert counts[0] == counts[1]
    measured = contamination_check(run).measured
    assert measured.low <= 0 <= measured.high
    Run.objects.filter(pk=fresh.pk).delete()
    Run.objects.filter(pk=run.pk).update(model="gone/model")
    before = Dataset.objects.count()
    with pytest.raises(InvalidRequest, match="gone"):
        check_contamination(Run.objects.get(pk=run.pk))
    assert Dataset.objects.count() == before, "the tasks of a run that cannot start are deleted"
