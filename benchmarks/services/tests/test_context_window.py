"""Estimates warn of prompts that the model's context window does not hold."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from benchmarks.models import ProviderCheck
from benchmarks.services.experiments.start import plan_experiment
from benchmarks.services.runs.estimate import plan_run
from tests.support.factories import make_dataset, make_task

pytestmark = pytest.mark.django_db
MODEL = "openai/gpt-4o"
ASKED = {"dataset": "sums", "model": MODEL, "metrics": ["exact_match"]}


def window(settings: Any, length: int | None) -> None:
    config = settings.CODEFORGE
    known = config.model(MODEL).model_copy(update={"context_length": length})
    settings.CODEFORGE = config.model_copy(update={"models": {**config.models, MODEL: known}})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-no-request")
    monkeypatch.setattr("frontend.views.launch.check_if_stale", lambda models: None)


@pytest.fixture(autouse=True)
def dataset() -> None:
    """Prompts of about 2,500 characters (1,000 tokens of 2.5), 10,000 and 20,000, the longest in its passages."""
    tasks = [make_task(1, input="x" * 2_500), make_task(2, input="x" * 10_000)]
    make_dataset([*tasks, make_task(3, input="x" * 2_500, context=("y" * 17_500,))])


def test_prompts_that_may_exceed_the_context_window_are_named(settings: Any) -> None:
    window(settings, 3_000)
    assert plan_run(ASKED).warnings == (
        f"Sums: 2 of 3 prompts may exceed the context window of {MODEL} (3,000 tokens), 1 of them certainly. "
        "The longest, task-3, has 4,000 to 8,000 tokens; then task-2. Choose a model with a larger context window or a "
        "dataset with shorter tasks.",
    )
    assert plan_run({**ASKED, "only_task": "task-1"}).warnings == ()


@pytest.mark.parametrize(
    ("length", "max_tokens", "n_warnings"), [(8_000, None, 0), (7_999, None, 1), (9_000, 2_000, 1)]
)
def test_the_answer_needs_room_too(settings: Any, length: int, max_tokens: int | None, n_warnings: int) -> None:
    window(settings, length)
    warnings = plan_run({**ASKED, **({"max_tokens": max_tokens} if max_tokens else {})}).warnings
    assert len(warnings) == n_warnings
    assert all(("2,000 of them for the answer" in warning) is bool(max_tokens) for warning in warnings)


def test_an_unknown_window_warns_of_nothing_and_a_listed_one_is_known(settings: Any) -> None:
    window(settings, None)
    assert plan_run(ASKED).warnings == ()
    listed = [{"name": "gpt-4o", "context_length": 4_000}]
    ProviderCheck.objects.create(provider="openai", checked_at=timezone.now(), listed=listed)
    assert "(4,000 tokens)" in plan_run(ASKED).warnings[0]


def test_the_warning_is_on_the_form_in_the_api_and_in_commands(settings: Any, client: Client) -> None:
    window(settings, 3_000)
    page = client.post("/runs/new/plan/", {**ASKED, "repeats": "1", "concurrency": "1"}).content.decode()
    assert "may exceed the context window" in page
    answer = client.post("/api/v1/benchmarks/runs/plan", ASKED, content_type="application/json").json()
    assert "may exceed the context window" in answer["warnings"][0]
    out = StringIO()
    call_command("benchmark", "plan", "sums", "--model", MODEL, "--metrics", "exact_match", stdout=out)
    assert "may exceed the context window" in out.getvalue()
    matrix = {"name": "x", "datasets": ["sums"], "models": [MODEL], "metrics": ["exact_match"]}
    assert len(plan_experiment({**matrix, "repeats": 2}).warnings) == 1
