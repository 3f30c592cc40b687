"""``code_tests`` runs code of a model, so a run with it is refused unless that is switched on and isolated."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.sandbox import sandbox
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.start import validated
from tests.support.factories import MODEL, config_for, make_dataset, make_task

pytestmark = pytest.mark.django_db
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
