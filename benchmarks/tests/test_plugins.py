"""Packages add metrics and generators; one that is broken is named and stops nothing."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks.dataset_format import documents
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.engine.execution import scoring
from benchmarks.generators.registry import GENERATORS
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS, metric_table
from benchmarks.metrics.tests.factories import item
from benchmarks.plugins import REGISTRIES, PluginProblem, installed_plugins, registry
from tests.support.factories import make_dataset, make_run
from tests.support.packages import install_package
from tests.support.running import worked

CODE = """
from benchmarks.generators.base import Generator
from benchmarks.metrics.base import DeterministicMetric, scored

class Shouting(DeterministicMetric):
    name = "shouting"
    title = "Shouting"
    description = "The answer is in capitals"

    def score(self, item):
        return scored(item.actual_output.isupper())

class Renamed(Shouting):
    name = "whispering"

class Doubled(Generator):
    name = "doubled"
    shared = {"metrics": ["shouting", "exact_match"]}
    kinds = {"double": lambda random, level: _task(random.randint(10 ** level, 10 ** (level + 1)))}

class Failing(Generator):
    name = "failing"
    shared = {}
    kinds = {"double": lambda random, level: [][level]}

def _task(number):
    return {"name": "Double", "input": f"{number} + {number}", "expected_output": str(2 * number)}
"""
METRICS = {
    "shouting": "{module}:Shouting",
    "louder": "{module}:Renamed",
    "exact_match": "{module}:Shouting",
    "unlicensed": "{module}_broken:Metric",
    "odd": "{module}:Doubled",
}
GENERATORS_OF_PACKAGE = {"doubled": "{module}:Doubled", "failing": "{module}:Failing", "absent": "{module}_missing:G"}
DATASET = "name: A\ndescription: B\ngenerator: {name: doubled, seed: 1, tasks: 6}\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """The module of an installed package with metrics and generators, some of which cannot be used."""
    name = f"loud_{abs(hash(request.node.name))}"
    points = {
        group: {point: value.format(module=name) for point, value in each.items()}
        for group, each in (("metrics", METRICS), ("generators", GENERATORS_OF_PACKAGE))
    }
    code = {name: CODE, f"{name}_broken": "raise RuntimeError('no license')"}
    install_package(monkeypatch, tmp_path, "loud-package", code, points)
    of_the_process = (scoring._metrics, documents.json_schema)
    for made_once in of_the_process:
        made_once.cache_clear()
    yield name
    for made_once in of_the_process:
        made_once.cache_clear()


def test_a_package_adds_a_metric_and_replaces_none(module: str) -> None:
    assert REGISTERED_METRICS["shouting"].score(item("YES")).value == 1
    assert [*REGISTERED_METRICS][-1] == "shouting"
    assert type(REGISTERED_METRICS["exact_match"]).__module__ != module
    assert "shouting" not in metric_table()


def test_a_package_is_imported_when_its_plug_in_is_used(module: str) -> None:
    assert REGISTERED_METRICS["exact_match"]
    assert "shouting" in REGISTERED_METRICS.names()
    assert module not in sys.modules
    assert REGISTERED_METRICS["shouting"]
    assert module in sys.modules


def test_a_package_adds_a_generator_whose_tasks_are_those_of_a_dataset(module: str) -> None:
    spec = parse_dataset(DATASET.encode(), "a.yaml").spec
    assert spec is not None
    assert spec.metrics == ("shouting", "exact_match")
    assert len({task.input for task in spec.tasks}) == 6
    assert [*GENERATORS][-2:] == ["doubled", "failing"]


def test_a_generator_that_fails_is_an_error_of_its_dataset(module: str) -> None:
    problems = parse_dataset(DATASET.replace("doubled", "failing").encode(), "a.yaml").problems
    assert "generator.name: failed: IndexError: list index out of range" in str(problems[0])


def test_editors_are_offered_what_packages_add(module: str) -> None:
    schema = documents.schema_text()
    assert '"shouting"' in schema
    assert '"doubled"' in schema
    assert "unlicensed" not in schema


PROBLEMS = {
    "louder": "calls itself 'whispering'. Use one name.",
    "exact_match": "has a name that is taken. Rename it.",
    "unlicensed": "cannot be imported: RuntimeError: no license",
    "odd": "is not a subclass of benchmarks.metrics.base.Metric.",
    "absent": "cannot be imported: ModuleNotFoundError: No module named",
}


def test_what_cannot_be_used_is_named_with_its_reason_and_left_out(module: str) -> None:
    problems = {plugin.name: plugin.problem for plugin in installed_plugins() if plugin.problem}
    assert problems.keys() == PROBLEMS.keys()
    assert all(problems[name].startswith(begin) for name, begin in PROBLEMS.items()), problems
    assert "unlicensed" not in REGISTERED_METRICS
    with pytest.raises(
        PluginProblem,
        match="'unlicensed' of the package loud-package cannot be imported: RuntimeError",
    ):
        REGISTERED_METRICS.load("unlicensed")


@pytest.mark.django_db(transaction=True)
def test_the_doctor_names_a_broken_package_and_lacks_nothing_for_it(module: str) -> None:
    printed = io.StringIO()
    call_command("doctor", "--json", stdout=printed)
    states = {row["title"]: (row["state"], row["problem"]) for row in json.loads(printed.getvalue())["checks"]}
    assert states["Metric shouting of the package loud-package"] == ("ok", "")
    assert states["Metric unlicensed of the package loud-package"] == ("broken", f"it {PROBLEMS['unlicensed']}")


@pytest.mark.django_db
def test_settings_name_a_broken_package(module: str, admin_client: Client) -> None:
    page = admin_client.get("/settings/").content.decode()
    assert "Metric shouting" in page
    assert "Not used: it cannot be imported: RuntimeError: no license" in page


@pytest.mark.django_db
def test_settings_without_packages_have_no_plug_ins(admin_client: Client) -> None:
    assert "Plug-ins" not in admin_client.get("/settings/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_run_is_scored_by_the_metric_of_a_package(module: str, admin_client: Client) -> None:

    run = worked(make_run(make_dataset(2), model="baseline/reference", metrics=["shouting"]))
    assert run.summary["metrics"]["shouting"]["mean"] == 0
    offered = admin_client.get("/api/v1/benchmarks/metrics").json()
    assert "shouting" in [metric["name"] for metric in offered]


def test_every_registry_is_found_by_its_name() -> None:
    sizes: dict[str, Any] = {group: len(registry(group).ours) for group in REGISTRIES}
    assert min(sizes.values()) > 3
