"""What the first start shows, and that it comes once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import FIRST_START, Run, RunStatus
from benchmarks.queries.datasets import has_own_datasets
from benchmarks.queries.runs import person_completed_a_run
from benchmarks.services.canvas_sets.control import delete_canvas_set
from benchmarks.services.datasets.files import sync_datasets
from benchmarks.services.first_content import queue_first_runs
from benchmarks.services.runs.control import delete_run
from benchmarks.services.runs.start import start_run
from tasks_app.models import CanvasSet
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db
SHIPPED = Path(__file__).resolve().parents[3] / "datasets/basic-coding.yaml"


def test_the_first_start_has_both_halves_of_the_product_once(tmp_path: Path) -> None:
    shutil.copy(SHIPPED, tmp_path)
    sync_datasets(tmp_path)
    queued = queue_first_runs()
    canvases = CanvasSet.objects.get()
    assert (canvases.count, canvases.audited, canvases.shapes_high - canvases.shapes_low + 1) == (24, 24, 3)
    assert [(run.dataset.slug, run.model) for run in queued] == [
        ("basic-coding", "baseline/reference"),
        ("basic-coding", "baseline/random"),
        *((canvases.slug, f"baseline/{name}") for name in ("solver", "random", "blind")),
    ]
    assert queue_first_runs() == []
    for run in queued:
        # Slow code tests give their thread to the runs that wait, and come again.
        while work_on_run_once(run.pk):
            pass
    scores = [run.numbers.metrics["task_score"].mean for run in Run.objects.filter(pk__gt=queued[1].pk).order_by("pk")]
    assert scores[0] == 1.0 > max(scores[1:])
    assert all(task["asked"] == 24 for task in canvases.audit["tasks"].values())
    assert not has_own_datasets()

    for run in queued:
        delete_run(Run.objects.get(pk=run.pk))
    delete_canvas_set(canvases)
    assert queue_first_runs() == [], "what was deleted comes back"


def test_with_datasets_of_somebodys_own_nothing_is_queued() -> None:
    make_dataset(2, slug="sums")
    assert queue_first_runs() == []
    assert not CanvasSet.objects.exists()


def test_only_a_run_of_a_person_counts_as_one() -> None:
    make_dataset(2, slug="sums")
    for tags in ([FIRST_START], []):
        assert not person_completed_a_run()
        run = start_run({"dataset": "sums", "model": "baseline/random", "metrics": ["exact_match"], "tags": tags})
        Run.objects.filter(pk=run.pk).update(status=RunStatus.COMPLETED)
    assert person_completed_a_run()
