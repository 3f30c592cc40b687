"""The shipped files pass the project's own checks, and its metrics give their reference answers full scores."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any

import pytest
from reading import DATASETS, GENERATED, SLUGS, dataset, tasks
from readme_tables import with_tables

from benchmarks.dataset_format.dumping import content_hash, dump_dataset
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.spec import DatasetSpec, TaskSpec
from benchmarks.metrics.base import Item, ScoreStatus
from benchmarks.metrics.code_tests import CodeTests
from benchmarks.metrics.patterns import pattern_problem
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.metrics.worlds import merged_world, world_spec
from benchmarks.providers.base import ToolCall
from benchmarks.queries.datasets import SHIPPED
from benchmarks.sandbox.sandbox import Sandbox

README = (DATASETS / "README.md").read_text(encoding="utf-8")
REFUSAL = Sandbox().refusal()
REQUIRED = os.environ.get("CODEFORGE_REQUIRE_SERVICES") == "1"


def every_task() -> list[tuple[str, dict[str, Any]]]:
    return [(slug, task) for slug in SLUGS for task in tasks(slug).values()]


def perfect_answer(slug: str, task: dict[str, Any]) -> Item:
    """The item of a model that answers as the reference does, in the requested form."""
    reference = task["expected_output"]
    answer = f"Let me see.\n\nAnswer: {reference}" if slug in {"reasoning", "long-context"} else reference
    calls = task.get("expected_tools", ())
    world = merged_world(dataset(slug).get("world"), task.get("world"))
    return Item(
        input=task.get("input", ""),
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
        world=world_spec(world, dataset(slug)["tools"]) if world else None,
        final_state=task.get("final_state", {}),
    )


def metrics_for(slug: str, task: dict[str, Any]) -> list[str]:
    by_dataset = {
        "reasoning": ["exact_match", "contains"],
        "long-context": ["exact_match", "contains"],
        "structured-output": ["json_valid", "json_schema", "json_match"],
    }
    by_hint = {"tolerance": "numeric", "choices": "multiple_choice", "pattern": "regex", "final_state": "final_state"}
    hinted = [metric for hint, metric in by_hint.items() if hint in task]
    with_calls = ["tool_calls", "tool_calls_any_order"] if task.get("expected_tools") else []
    return by_dataset.get(slug, []) + hinted + with_calls


def test_every_file_is_valid() -> None:
    for slug in SLUGS:
        parsed = parse_dataset((DATASETS / f"{slug}.yaml").read_bytes(), f"{slug}.yaml")
        assert [str(problem) for problem in parsed.problems] == [], slug
        assert [task.id for task in parsed.spec.tasks] == list(tasks(slug)), slug


def test_every_file_says_how_it_is_scored() -> None:
    """So a run or an experiment that names no metrics works on each of them."""
    for path in sorted(DATASETS.glob("*.yaml")):
        spec = parse_dataset(path.read_bytes(), path.name).spec
        assert spec.metrics, path.name
        assert set(spec.metrics) <= REGISTERED_METRICS.keys(), path.name


def test_a_written_copy_loads_to_the_same_content() -> None:
    for slug in SLUGS:
        spec = parse_dataset((DATASETS / f"{slug}.yaml").read_bytes(), f"{slug}.yaml").spec
        copy = parse_dataset(dump_dataset(spec).encode(), f"{slug}.yaml").spec
        assert content_hash(copy) == content_hash(spec), slug


def test_a_dataset_has_its_size_and_a_spread_of_difficulties() -> None:
    for slug in SLUGS:
        difficulties = Counter(task.get("difficulty", "medium") for task in tasks(slug).values())
        # Conversations with a simulated user are many requests each.
        assert (12 if slug == "library-desk" else 20) <= sum(difficulties.values()) <= 26, slug
        assert all(difficulties[level] >= 4 for level in ("easy", "medium", "hard")), slug


def test_a_generated_file_is_valid_and_ten_times_larger() -> None:
    for slug in GENERATED:
        parsed = parse_dataset((DATASETS / f"{slug}.yaml").read_bytes(), f"{slug}.yaml")
        assert [str(problem) for problem in parsed.problems] == [], slug
        assert len(parsed.spec.tasks) == dataset(slug)["generator"]["tasks"], slug
        assert max(Counter(task.name for task in parsed.spec.tasks).values()) == 1, slug


def test_no_two_tasks_are_the_same() -> None:
    for slug in SLUGS:
        assert max(Counter(str(task.get("input") or task["turns"]) for task in tasks(slug).values()).values()) == 1, (
            slug
        )
        assert max(Counter(task["name"] for task in tasks(slug).values()).values()) == 1, slug


def test_these_tests_cover_every_file() -> None:
    assert sorted(path.stem for path in DATASETS.glob("*.y*ml")) == sorted(SLUGS + GENERATED)


def test_the_metric_accepts_every_pattern() -> None:
    for _, task in every_task():
        assert pattern_problem(task.get("pattern", "x")) is None, task["id"]


def test_the_reference_gets_full_scores() -> None:
    for slug, task in every_task():
        item = perfect_answer(slug, task)
        for name in metrics_for(slug, task):
            score = REGISTERED_METRICS[name].score(item)
            assert (score.status, score.value) == (ScoreStatus.SCORED, 1.0), (task["id"], name, score.reason)


def test_in_the_recommended_order_a_right_number_with_a_unit_is_correct_and_an_empty_object_is_not() -> None:
    row = re.compile(r"^\| `([a-z0-9-]+)` \| \d+ \|.*\| ([^|]*) \|$", re.MULTILINE)
    order = {slug: re.findall(r"`(\w+)`", metrics) for slug, metrics in row.findall(README)}
    for slug, task in every_task():
        if slug not in {"reasoning", "long-context", "structured-output"}:
            continue
        item = perfect_answer(slug, task)
        deciding = next(metric for name in order[slug] if (metric := REGISTERED_METRICS[name]).applies_to(item))
        assert deciding.score(item).value == 1, task["id"]
        assert deciding.score(replace(item, actual_output="{}")).value in (0, None), task["id"]
        if "tolerance" in task:
            with_unit = f"It takes some thought.\n\nAnswer: {task['expected_output']} euros"
            assert deciding.score(replace(item, actual_output=with_unit)).value == 1, task["id"]


def test_doing_nothing_solves_only_what_cannot_be_done() -> None:
    metric = REGISTERED_METRICS["final_state"]
    for task in tasks("tool-use-shop").values():
        idle = metric.score(replace(perfect_answer("tool-use-shop", task), tool_calls=()))
        assert idle.value == ("rows" not in task["final_state"]), task["id"]
    assert sum("rows" not in task["final_state"] for task in tasks("tool-use-shop").values()) == 3


def test_at_the_library_desk_saying_anything_without_a_call_solves_nothing() -> None:
    metric = REGISTERED_METRICS["final_state"]
    for task in tasks("library-desk").values():
        assert task["user"]["goal"]
        for said in ("", "It is done.", task["input"], task["user"]["goal"]):
            idle = replace(perfect_answer("library-desk", task), actual_output=said, tool_calls=())
            assert metric.score(idle).value == 0, task["id"]


def test_at_the_library_desk_each_change_is_needed_and_no_other_is_allowed() -> None:
    metric = REGISTERED_METRICS["final_state"]
    other = ToolCall("x", "place_hold", {"member_id": "M1", "book_id": "B1"}, "{}")
    for task in tasks("library-desk").values():
        item = perfect_answer("library-desk", task)
        changes = [call for call in item.tool_calls if call.name not in ("find_members", "find_books", "list_loans")]
        for left_out in changes:
            rest = tuple(call for call in item.tool_calls if call is not left_out)
            assert metric.score(replace(item, tool_calls=rest)).value < 1, (task["id"], left_out.name)
        assert metric.score(replace(item, tool_calls=(*item.tool_calls, other))).value == 0, task["id"]


@pytest.mark.skipif(bool(REFUSAL) and not REQUIRED, reason=f"the sandbox cannot run: {REFUSAL}")
def test_every_code_reference_passes_in_the_sandbox() -> None:
    metric = CodeTests(Sandbox())
    items = {task_id: perfect_answer("basic-coding", task) for task_id, task in tasks("basic-coding").items()}
    with ThreadPoolExecutor(4) as pool:
        for task_id, score in zip(items, pool.map(metric.score, items.values()), strict=True):
            assert score.value == 1.0, (task_id, score.reason)


def test_the_readme_lists_every_dataset_with_its_number_of_tasks() -> None:
    listed = dict(re.findall(r"^\| `([a-z0-9-]+)` \| (\d+) \|", README, re.MULTILINE))
    generated = {slug: str(dataset(slug)["generator"]["tasks"]) for slug in GENERATED}
    assert listed == {**{slug: str(len(dataset(slug)["tasks"])) for slug in SLUGS}, **generated}


def test_every_key_of_the_format_is_in_an_example() -> None:
    guide = (DATASETS.parent / "docs" / "how-to" / "own-dataset.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    # The tools of the world are not written beside it.
    parts = [
        each for each in examples if re.search("^(tasks|generator):", each, re.M) and not each.startswith("world:")
    ]
    assert len(parts) > 8
    for example in parts:
        head = "" if re.search(r"^name: ", example, re.MULTILINE) else "name: Part\ndescription: A part of a dataset\n"
        parsed = parse_dataset(f"{head}{example}".encode(), "example.yaml")
        assert [str(problem) for problem in parsed.problems] == []
        for task in parsed.spec.tasks:
            assert task.pattern is None or re.search(task.pattern, task.expected_output)
    keys = {field.name for record in (DatasetSpec, TaskSpec) for field in fields(record)}
    assert {key for key in keys if not re.search(rf"\b{key}:", "\n".join(examples))} == set()


def test_the_tables_of_the_readme_are_up_to_date() -> None:
    assert with_tables(README) == README, "run python -m datasets.tests.readme_tables"


def test_only_the_text_between_the_markers_is_replaced() -> None:
    page = (
        "# A\n<!-- metrics:begin -->\nformer\n<!-- metrics:end -->\nb\n<!-- fields:begin --><!-- fields:end -->\nend\n"
    )
    updated = with_tables(page)
    assert updated.startswith("# A\n<!-- metrics:begin -->\n|")
    assert updated.endswith("<!-- fields:end -->\nend\n")
    assert "former" not in updated
    assert all(f"| `{name}` |" in updated for name in REGISTERED_METRICS)
    assert with_tables(updated) == updated
    for marker in ("<!-- metrics:begin -->", "<!-- metrics:end -->", "<!-- fields:end -->"):
        with pytest.raises(ValueError, match="lacks the markers"):
            with_tables(page.replace(marker, ""))


def test_the_names_of_the_shipped_files_are_known() -> None:
    assert {path.stem for path in DATASETS.glob("*.yaml")} == SHIPPED
