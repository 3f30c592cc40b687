"""``code_tests`` runs code of a model, so a run with it is refused unless that is switched on and isolated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.engine.execution.presets import preset_metrics
from benchmarks.models import Dataset, DatasetVersion
from benchmarks.sandbox import sandbox
from benchmarks.sandbox.sandbox import Sandbox
from benchmarks.services.datasets.versions import import_dataset
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.requests import validated
from benchmarks.services.runs.start import start_run
from tests.support import services
from tests.support.factories import MODEL, config_for, make_dataset, make_task
from tests.support.running import worked

pytestmark = pytest.mark.django_db
DATASETS = Path(__file__).parents[3] / "datasets"
ASKED = {"dataset": "coding", "model": MODEL, "metrics": ["code_tests"]}


@pytest.fixture
def switched(settings: Any) -> Any:
    """Configure ``benchmark.code_tests`` and have a dataset with tests."""
    make_dataset([make_task(1, tests="assert True")], slug="coding")

    def switch(on: bool) -> None:
        settings.CODEFORGE = config_for("http://127.0.0.1:1/v1", code_tests=on)

    return switch


def test_code_tests_are_refused_where_they_are_switched_off(switched: Any) -> None:
    switched(False)
    with pytest.raises(InvalidRequest) as refused:
        validated(ASKED)
    assert list(refused.value.errors) == ["metrics"]
    assert "turns it off" in refused.value.errors["metrics"][0]
    assert "benchmark.code_tests" in refused.value.errors["metrics"][0]


def test_code_tests_are_refused_where_the_machine_cannot_isolate(
    switched: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    switched(True)
    monkeypatch.setattr(sandbox, "_working_setup", lambda: (None, "bubblewrap is not installed"))
    with pytest.raises(InvalidRequest) as refused:
        validated(ASKED)
    assert refused.value.errors == {"metrics": ["code_tests is not available: bubblewrap is not installed."]}


def test_code_tests_are_accepted_where_code_can_be_isolated(switched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    switched(True)
    monkeypatch.setattr(sandbox, "_working_setup", lambda: (sandbox.Setup("/usr/bin/python3"), None))
    assert validated(ASKED)["metrics"] == ["code_tests"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("slug", ["basic-coding", "basic-coding-large"])
def test_the_shipped_coding_datasets_run_their_hidden_tests_by_default(slug: str) -> None:
    if refusal := Sandbox().refusal():
        services.missing(f"a sandbox ({refusal})")
    parsed = parse_dataset((DATASETS / f"{slug}.yaml").read_bytes(), f"{slug}.yaml")
    dataset = import_dataset(parsed.spec, slug, DatasetVersion.Origin.FILE).dataset
    assert preset_metrics(dataset) == ["code_tests"], "the form selects them"
    for model, mean in (("baseline/reference", 1.0), ("baseline/empty", 0.0)):
        run = worked(start_run({"dataset": slug, "model": model, "limit": 3}))
        assert run.summary["metrics"]["code_tests"]["mean"] == mean, model


def test_without_a_sandbox_the_forms_select_a_judge_or_nothing(switched: Any, settings: Any) -> None:
    switched(False)
    dataset = Dataset.objects.get(slug="coding")
    assert preset_metrics(dataset) == ["correctness"]
    judge = settings.CODEFORGE.judge.model_copy(update={"model": ""})
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"judge": judge})
    assert preset_metrics(dataset) == []
