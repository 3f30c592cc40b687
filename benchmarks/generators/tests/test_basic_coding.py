"""References pass their hidden tests, also outside of the sandbox; shortcuts do not."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from statistics import mean

import pytest

from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.generators.tests.test_generators import LEVELS, dataset
from benchmarks.metrics.base import Item
from benchmarks.metrics.code_tests import CodeTests
from benchmarks.sandbox.sandbox import Sandbox

REFUSAL = Sandbox().refusal()
REQUIRED = os.environ.get("CODEFORGE_REQUIRE_SERVICES") == "1"


def tasks() -> tuple[TaskSpec, ...]:
    return dataset("basic-coding", 1, 300).tasks


def passed(task: TaskSpec, code: str) -> bool:
    """Whether the project's own code passes the tests of a task. Code of models runs in the sandbox alone."""
    try:
        exec(code + "\n" + task.tests, {})  # what the generator wrote, and the shortcuts below
    except Exception:
        return False
    return True


def test_every_reference_passes_its_hidden_tests() -> None:
    for seed in (1, 2):
        for task in dataset("basic-coding", seed, 300).tasks:
            assert passed(task, task.expected_output), task.id


def test_the_example_of_a_prompt_is_right_and_the_only_test_that_it_shows() -> None:
    for task in tasks():
        call, value = re.search(r"Example: `(solve\(.*\))` returns `(.*)`\. Reply", task.input).groups()
        assert f"assert {call} == {value}\n" in task.tests, task.id
        shown = [
            line for line in task.tests.splitlines() if line.removeprefix("assert ").split(" == ")[0] in task.input
        ]
        assert len(shown) == 1, task.id
        assert task.tests.count("assert") >= 8


def test_shortcuts_pass_nothing() -> None:
    for task in tasks():
        call, value = re.search(r"Example: `solve\((.*)\)` returns `(.*)`\. Reply", task.input).groups()
        for code in (
            "def solve(x): return x",
            "def solve(x): return None",
            f"def solve(x): return {value}",
            f"def solve(x): return {value} if x == {call} else x",
        ):
            assert not passed(task, code), (task.id, code)


def test_every_rule_of_a_function_matters() -> None:
    """Without one of its rules, a reference fails its tests."""
    noticed = []
    for task in tasks():
        if task.tags[0] != "machine":
            lines = task.expected_output.splitlines()
            rules = [line for line in lines[1:-1] if not re.search("words = text", line)]
            noticed += [not passed(task, "\n".join(line for line in lines if line != rule)) for rule in rules]
    assert all(noticed)


def test_readers_of_graded_ability_do_worse_on_every_higher_level() -> None:
    """A simulated programmer gets each rule right with a fixed probability."""
    for ability in (0.99, 0.9, 0.7):
        easy, medium, hard = (
            mean(ability ** len(re.findall(r"^(?:\d+\.|-) ", t.input, re.M)) for t in tasks() if t.difficulty == level)
            for level in LEVELS
        )
        assert easy > medium > hard, ability


@pytest.mark.skipif(bool(REFUSAL) and not REQUIRED, reason=f"the sandbox cannot run: {REFUSAL}")
def test_in_the_sandbox_references_score_1_and_shortcuts_0() -> None:
    metric = CodeTests(Sandbox())

    def scored(task: TaskSpec) -> tuple[float | None, float | None]:
        answer = task.accepted_answers[0]
        found = [
            metric.score(Item(input=task.input, expected_output=answer, actual_output=text, tests=task.tests)).value
            for text in (f"```python\n{answer}```", "def solve(x):\n    return x")
        ]
        return found[0], found[1]

    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(scored, tasks()[:18])) == {(1.0, 0.0)}
