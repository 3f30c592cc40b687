"""The shipped files pass the project's own checks, and their reference answers get full marks from its metrics."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from typing import Any

import pytest
from reading import DATASETS, SLUGS, dataset, tasks

from benchmarks.dataset_format import content_hash, dump_dataset, parse_dataset
from benchmarks.metrics.base import Item, ScoreStatus
from benchmarks.metrics.code_tests import CodeTests
from benchmarks.metrics.patterns import pattern_problem
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.providers.base import ToolCall
from benchmarks.readme_tables import with_tables
from benchmarks.sandbox.sandbox import Sandbox

README = (DATASETS / "README.md").read_text(encoding="utf-8")
REFUSAL = Sandbox().refusal()
REQUIRED = os.environ.get("CODEFORGE_REQUIRE_SERVICES") == "1"


def every_task() -> list[Any]:
    return [pytest.param(slug, task, id=f"{slug}-{task_id}") for slug in SLUGS for task_id, task in tasks(slug).items()]


def perfect_answer(slug: str, task: dict[str, Any]) -> Item:
    """The item of a model that says what the reference says, in the form the input asks for."""
    reference = task["expected_output"]
    answer = f"Let me see.\n\nAnswer: {reference}" if slug in {"reasoning", "long-context"} else reference
    calls = task.get("expected_tools", ())
    return Item(
        input=task["input"],
        expected_output=reference,
        actual_output=f"```python\n{answer}```" if slug == "basic-coding" else answer,
        expected_tools=calls,
        tool_calls=[
            ToolCall(str(number), call["name"], call["args"], json.dumps(call["args"]))
            for number, call in enumerate(calls)
        ],
        context=task.get("context", ()),
        tests=task.get("tests"),
        schema=task.get("schema"),
        choices=task.get("choices", ()),
        pattern=task.get("pattern"),
        tolerance=task.get("tolerance"),
    )


def metrics_for(slug: str, task: dict[str, Any]) -> list[str]:
    by_dataset = {
        "reasoning": ["exact_match", "contains"],
        "long-context": ["exact_match", "contains"],
        "structured-output": ["json_valid", "json_schema", "json_match"],
    }
    by_hint = {"tolerance": "numeric", "choices": "multiple_choice", "pattern": "regex"}
    hinted = [metric for hint, metric in by_hint.items() if hint in task]
    with_calls = ["tool_calls", "tool_calls_any_order"] if task.get("expected_tools") else []
    return by_dataset.get(slug, []) + hinted + with_calls


@pytest.mark.parametrize("slug", SLUGS)
def test_the_checker_finds_nothing_wrong(slug: str) -> None:
    parsed = parse_dataset((DATASETS / f"{slug}.yaml").read_bytes(), f"{slug}.yaml")
    assert [str(problem) for problem in parsed.problems] == []
    assert [task.id for task in parsed.spec.tasks] == list(tasks(slug))


@pytest.mark.parametrize("slug", SLUGS)
def test_a_written_copy_loads_to_the_same_content(slug: str) -> None:
    spec = parse_dataset((DATASETS / f"{slug}.yaml").read_bytes(), f"{slug}.yaml").spec
    copy = parse_dataset(dump_dataset(spec).encode(), f"{slug}.yaml").spec
    assert content_hash(copy) == content_hash(spec)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_dataset_has_its_size_and_a_spread_of_difficulties(slug: str) -> None:
    difficulties = Counter(task.get("difficulty", "medium") for task in tasks(slug).values())
    assert 20 <= sum(difficulties.values()) <= 26
    assert all(difficulties[level] >= 4 for level in ("easy", "medium", "hard"))


@pytest.mark.parametrize("slug", SLUGS)
def test_no_two_tasks_ask_the_same(slug: str) -> None:
    assert max(Counter(task["input"] for task in tasks(slug).values()).values()) == 1
    assert max(Counter(task["name"] for task in tasks(slug).values()).values()) == 1


def test_all_files_of_the_folder_are_known_here() -> None:
    assert sorted(path.stem for path in DATASETS.glob("*.y*ml")) == sorted(SLUGS)


@pytest.mark.parametrize(("slug", "task"), every_task())
def test_a_pattern_is_one_that_the_metric_takes(slug: str, task: dict[str, Any]) -> None:
    assert pattern_problem(task.get("pattern", "x")) is None


@pytest.mark.parametrize(("slug", "task"), every_task())
def test_the_reference_gets_full_marks(slug: str, task: dict[str, Any]) -> None:
    item = perfect_answer(slug, task)
    for name in metrics_for(slug, task):
        score = REGISTERED_METRICS[name].score(item)
        assert (score.status, score.value) == (ScoreStatus.SCORED, 1.0), (name, score.reason)


@pytest.mark.skipif(bool(REFUSAL) and not REQUIRED, reason=f"the sandbox cannot run: {REFUSAL}")
@pytest.mark.parametrize("task_id", tasks("basic-coding"))
def test_a_code_reference_passes_in_the_sandbox(task_id: str) -> None:
    item = perfect_answer("basic-coding", tasks("basic-coding")[task_id])
    score = CodeTests(Sandbox()).score(item)
    assert score.value == 1.0, score.reason


def test_the_readme_lists_every_dataset_with_its_number_of_tasks() -> None:
    listed = dict(re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", README, re.MULTILINE))
    assert listed == {slug: str(len(dataset(slug)["tasks"])) for slug in listed.keys() | set(SLUGS)}


def test_the_example_of_the_readme_is_a_dataset() -> None:
    example = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)[1]
    parsed = parse_dataset(example.encode(), "example.yaml")
    assert [str(problem) for problem in parsed.problems] == []
    for task in parsed.spec.tasks:
        assert task.pattern is None or re.search(task.pattern, task.expected_output)


def test_the_tables_of_the_readme_are_up_to_date() -> None:
    assert with_tables(README) == README, "run python -m benchmarks.readme_tables"
