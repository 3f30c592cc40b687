"""The starter experiment: the shipped file on the shipped datasets, or on what there is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from benchmarks.services.datasets.files import sync_datasets
from benchmarks.services.experiments.files import STARTER_FILE, starter_experiment
from benchmarks.services.experiments.requests import validated_experiment
from benchmarks.services.experiments.start import plan_experiment
from benchmarks.services.runs.estimate import tasks_of
from tests.support.factories import make_dataset

pytestmark = pytest.mark.django_db
SHIPPED = Path(__file__).resolve().parents[3] / "datasets"


def test_it_asks_a_dataset_of_each_ability_at_every_level(tmp_path: Path) -> None:
    listed = yaml.safe_load(STARTER_FILE.read_text())["datasets"]
    for name in listed:
        shutil.copy(SHIPPED / f"{name}.yaml", tmp_path)
    sync_datasets(tmp_path)
    request = starter_experiment(["baseline/random"])
    assert request is not None
    assert set(listed) - set(request["datasets"]) <= {"basic-coding-large"}, "it needs a sandbox"
    plan = plan_experiment(request)
    assert plan.runs == len(request["datasets"])
    assert plan.cost_high == 0
    for run in validated_experiment(request)[1]:
        levels = {task.difficulty for task in tasks_of(run.request)}
        slug = run.request["dataset"].slug
        assert levels == {"easy", "medium", "hard"}, slug


def test_datasets_that_are_left_out_are_named() -> None:
    make_dataset(3, slug="reasoning-large")
    request = starter_experiment(["a/b"])
    assert request is not None
    assert request["datasets"] == ["reasoning-large"]
    left_out = request["description"].partition(
        "Not included, because they are not imported or cannot be scored here: "
    )[2]
    listed = yaml.safe_load(STARTER_FILE.read_text())["datasets"]
    assert left_out == ", ".join(name for name in listed if name != "reasoning-large") + "."


def test_it_is_about_what_can_be_scored() -> None:
    assert starter_experiment() is None
    make_dataset(3, slug="sums")
    request = starter_experiment(["a/b"])
    assert request is not None
    assert (request["datasets"], request["metrics"], request["models"]) == (["sums"], ["exact_match"], ["a/b"])
    for promise in ("each ability", "dollar"):
        assert promise not in request["description"], "it holds whatever datasets there are, and for baselines"
