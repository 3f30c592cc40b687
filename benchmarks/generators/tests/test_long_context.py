"""A second reader of the register agrees with every answer, at every length; lengths and sizes are bounded."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from statistics import mean

import pytest

from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.generators.registry import generate
from benchmarks.generators.tests.test_generators import LEVELS, dataset, full_marks

DATASETS = Path(__file__).resolve().parents[3] / "datasets"


def tasks() -> tuple[TaskSpec, ...]:
    return dataset("long-context", 1, 96).tasks


def read(task: TaskSpec) -> tuple[str, int]:
    """The answer, and how many lines of the register it needs."""
    lines = [line.partition(". ")[2] for line in "\n".join(task.context).splitlines()]
    if said := re.search("“(.*)”", task.input):
        numbers = [int(line.split()[-2]) for line in lines if line.startswith(said[1] + ":")]
        return str(len(numbers) if "How many lines" in task.input else sum(numbers)), len(numbers)
    if about := re.search(r"What is the (price of \w+ in \w+)", task.input):
        own = [line for line in lines if about[1] in line]
        numbers = [int(line.rstrip(".").split()[-1]) for line in own]
        return str(sum(numbers)), len(own)
    key, when = re.search(r"Who has the (\w+ key) (.*)\?", task.input).groups()
    holders = [line.rstrip(".").split()[-1] if "gives" in line else line.split()[0] for line in lines if key in line]
    steps = {"at the end": -1, "before it is given on": 0, "after it has been given on once": 1}
    return holders[steps[when] if when in steps else int(re.search(r"\d+", when)[0])], len(holders)


def test_a_second_reader_agrees_with_every_answer() -> None:
    for task in tasks():
        assert read(task)[0] == task.expected_output, task.id


def test_readers_of_graded_ability_do_worse_on_every_higher_level() -> None:
    """A simulated reader finds each line that counts with a fixed probability."""
    for kind in ("count", "holder", "price", "total"):
        easy, medium, hard = (
            mean(0.95 ** read(task)[1] for task in tasks() if (kind, level) == (task.tags[0], task.difficulty))
            for level in LEVELS
        )
        assert easy > medium > hard, kind


def test_the_last_number_or_name_of_the_register_reaches_little() -> None:
    last = [(t, re.findall(r"\d+(?= crates)|[A-Z]\w+(?=\.)", "\n".join(t.context))[-1]) for t in tasks()]
    assert full_marks("long-context", last) < 0.1


def test_a_task_has_about_the_length_that_is_asked_for_up_to_128k_tokens() -> None:
    for tokens in (8_000, 32_000, 64_000, 128_000):
        (task,) = generate("long-context", 1, 1, [tokens])
        assert 0.9 < len("\n".join(task["context"])) / (tokens * 3) < 1.1
        assert task["metadata"] == {"tokens": tokens}


@pytest.mark.parametrize("slug", ["long-context-short", "long-context-large", "long-context-64k", "long-context-128k"])
def test_a_shipped_file_is_balanced_and_read_alike_and_no_shortcut_solves_a_tenth_of_it(slug: str) -> None:
    spec = parse_dataset((DATASETS / f"{slug}.yaml").read_bytes(), f"{slug}.yaml").spec
    assert spec is not None
    assert [read(task)[0] for task in spec.tasks] == [task.expected_output for task in spec.tasks]
    assert len(set(Counter((task.tags[0], task.difficulty) for task in spec.tasks).values())) == 1
    ((constant, _),) = Counter(task.expected_output for task in spec.tasks).most_common(1)
    last = [re.findall(r"\d+(?= crates)|[A-Z]\w+(?=\.)", "\n".join(task.context))[-1] for task in spec.tasks]
    for answers in (last, [constant] * len(spec.tasks)):
        assert full_marks("long-context", list(zip(spec.tasks, answers, strict=True))) < 0.1


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("name: long-context, seed: 1, tasks: 3", "generator.tokens: is missing"),
        ("name: long-context, seed: 1, tasks: 3, tokens: [500000]", "generator.tokens[0]: is 500,000"),
        ("name: long-context, seed: 1, tasks: 3, tokens: [10]", "generator.tokens[0]: is 10"),
        ("name: long-context, seed: 1, tasks: 3000, tokens: [128000]", "generator.tasks: makes more than"),
        ("name: reasoning, seed: 1, tasks: 3, tokens: [8000]", "generator.tokens: is only for long-context"),
    ],
)
def test_lengths_that_do_not_fit_are_reported(section: str, message: str) -> None:
    parsed = parse_dataset(f"name: A\ndescription: B\ngenerator: {{{section}}}\n".encode(), "a.yaml")
    assert message in str(parsed.problems[0])
