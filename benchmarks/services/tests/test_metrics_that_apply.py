"""A metric that applies to no task is refused; whatever metrics need of the answer itself is no ground for that."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.runs.requests import validated
from tests.support.factories import MODEL, config_for, make_dataset, make_task

pytestmark = pytest.mark.django_db
PLAIN = ("exact_match", "contains", "numeric", "multiple_choice", "rouge_l", "levenshtein", "latency", "length")


@pytest.fixture(autouse=True)
def configured(settings: Any) -> None:
    settings.CODEFORGE = config_for("http://127.0.0.1:1/v1")


@pytest.mark.parametrize("metric", [*PLAIN, "correctness", "answer_relevancy", "json_valid"])
def test_metrics_that_need_no_hint_apply_to_any_task(metric: str) -> None:
    make_dataset([make_task(1, choices=("2", "3"), schema={"type": "object"})], slug="plain")
    assert validated({"dataset": "plain", "model": MODEL, "metrics": [metric]})["metrics"] == [metric]


@pytest.mark.parametrize(
    ("metric", "hint"),
    [("faithfulness", "context"), ("json_schema", "schema"), ("regex", "pattern"), ("tool_calls", "expected_tools")],
)
def test_a_metric_whose_hint_no_task_has_is_refused_with_the_hints_name(metric: str, hint: str) -> None:
    assert metric in REGISTERED_METRICS
    make_dataset(1, slug="plain")
    with pytest.raises(InvalidRequest) as refused:
        validated({"dataset": "plain", "model": MODEL, "metrics": [metric]})
    assert refused.value.errors["metrics"] == [
        f"{metric} does not apply to plain: no task has {hint}. Choose another metric."
    ]
