from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.metrics.base import WITH_VALUE, DeterministicMetric, Item, JudgedMetric
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS, metric_table, metrics_with
from benchmarks.metrics.tests.factories import item, tool_call
from benchmarks.sandbox.sandbox import Sandbox

DETERMINISTIC = [metric for metric in REGISTERED_METRICS.values() if isinstance(metric, DeterministicMetric)]
HOSTILE = [
    "",
    "\0",
    "\u202e",
    "\ud800",
    "{" * 3000,
    "answer:" * 50,
    "9" * 9000,
    "<think>",
    "\\boxed{",
    "```",
    "1/0",
    "NaN",
    "-",
    "½" * 99,
]


def rich_item(actual: str, expected: str = "7") -> Item:
    """An item that has what most metrics need."""
    return item(
        actual,
        expected,
        expected_tools=({"name": "f", "args": {"x": 1}},),
        tool_calls=(tool_call("f", {"x": 1}), tool_call("", raw="{")),
        context=("a passage",),
        expected_context=("a passage",),
        retrieved=("a passage", "\ud800"),
        tests="assert True",
        schema={"type": "object"},
        choices=("7", "8"),
        pattern="7",
        constraints={"words": {"max": 9}, "include": ["7"]},
        group="count",
        duration_ms=1.0,
        tokens_out=3,
    )


def test_a_metric_declares_everything_pages_and_the_api_read():
    for name, metric in REGISTERED_METRICS.items():
        assert metric.name == name
        assert metric.title, name
        assert metric.description, name
        assert not metric.description.endswith("."), name
        assert isinstance(metric, JudgedMetric if metric.judged else DeterministicMetric), name
        assert metric.needs <= {*(field.name for field in dataclasses.fields(Item)), "passages"}, name
        assert metric.range[0] <= metric.fails_at < metric.passes_at, name
        assert metric.decides_outcome is False or metric.range == (0.0, 1.0), name


def test_no_answer_and_no_reference_makes_a_metric_raise():
    for metric in DETERMINISTIC:
        for text in HOSTILE:
            for case in (rich_item(text), rich_item("7", text), rich_item(text, text)):
                metric.applies_to(case)
                score = metric.score(case)
                assert (score.value is None) == (score.status not in WITH_VALUE), (metric.name, text[:8])
                if score.value is not None:
                    assert score.value >= metric.range[0], (metric.name, text[:8])
                    assert metric.range[1] is None or score.value <= metric.range[1], (metric.name, text[:8])


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.text(), st.text())
def test_any_pair_of_texts_gets_a_score_or_a_reason(actual, expected):
    for metric in DETERMINISTIC:
        score = metric.score(rich_item(actual, expected))
        assert score.value is not None or score.reason


def test_code_tests_are_turned_on_by_a_sandbox():
    assert "turns it off" in REGISTERED_METRICS["code_tests"].unavailable()
    assert metrics_with(Sandbox())["code_tests"].unavailable() == Sandbox().refusal()
    assert metrics_with(None).keys() == REGISTERED_METRICS.keys()


def test_the_table_has_a_row_for_every_metric():
    rows = metric_table().splitlines()[2:]

    assert [row.split("`")[1] for row in rows] == list(REGISTERED_METRICS)
    assert all(row.count("|") == 4 for row in rows)


def test_reading_the_registry_imports_no_heavy_library():
    code = (
        "import sys; import benchmarks.metrics.registered_metrics; "
        "print(sorted({'deepeval', 'scipy', 'litellm', 'django', 'numpy'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
