"""What holds for every generator: equal seeds make equal tasks, references score 1, shortcuts score little."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import islice

import pytest

from benchmarks.dataset_format.dumping import content_hash, dump_dataset
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.spec import DatasetSpec, TaskSpec
from benchmarks.generators.registry import GENERATORS, generate
from benchmarks.generators.tests.reasoning_reader import SOLVERS
from benchmarks.metrics.base import Item
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS

LEVELS = ("easy", "medium", "hard")
SCORED = tuple(name for name in GENERATORS if name not in ("basic-coding", "conversations", "tool-use"))
"""Generators of which one answer is scored by its text, without a sandbox."""
GUESSED = {"rag-faithfulness": 0.15}
"""Generator → the most that one answer for all tasks may reach, where it is not 5%."""
HASHES = {
    "long-context": "215847c1c195c61d653c8d85459f995bd108da9e51d47923424dc9d0d870b7de",
    "basic-coding": "580070b254f63502d9dab978b3cd642727029feaa4c504fd4d95728264a5f51e",
    "structured-output": "40478c6dcc40909aeeb6fb1479d3014addc24f3494b484cf1e259e5e0291cbab",
    "instruction-following": "3403a2aa145a27598a464cb9f758d35c409fee4e7b7b4a3d01a5b4efd062e5ff",
    "rag-faithfulness": "c75acac283abaf56160474f1193d40f4afd429618d612d4ad35f9ce3d6aa9023",
    "conversations": "1ef99f047f7ac290bcb55d7e5ab307ca0f0d333e4b187931bac025938d712a7e",
    "tool-use": "6c83bf4ffbeaf7a0b415b887eb8385925393e0822dc69a08917e19996c3311bc",
    "reasoning": "73d35f251f73ed36a8c715d30d7a40327644c597529c38aeb47b244cbba7408a",
}
"""Of 60 tasks from seed 5. If a task changes, change the seed of the shipped file too."""


@cache
def dataset(name: str, seed: int = 1, tasks: int = 90) -> DatasetSpec:
    lengths = ", tokens: [1000, 2000]" if name == "long-context" else ""
    text = f"name: A\ndescription: B\ngenerator: {{name: {name}, seed: {seed}, tasks: {tasks}{lengths}}}\n"
    parsed = parse_dataset(text.encode(), "a.yaml")
    assert parsed.spec is not None, parsed.problems
    return parsed.spec


def score(name: str, task: TaskSpec, answer: str) -> float:
    """The deciding score of an answer, by the accepted answer that fits best; unreadable counts as 0."""
    return max(_score(name, task, accepted, answer) for accepted in task.accepted_answers)


def _score(name: str, task: TaskSpec, accepted: str, answer: str) -> float:
    item = Item(
        input=task.input,
        expected_output=accepted,
        actual_output=answer,
        context=task.context,
        pattern=task.pattern,
        schema=task.schema,
        constraints=task.constraints,
        tolerance=task.tolerance,
    )
    metrics = (REGISTERED_METRICS[each] for each in GENERATORS[name].shared["metrics"])
    metric = next(metric for metric in metrics if metric.applies_to(item))
    return metric.score(item).value or 0.0


def full_marks(name: str, tasks: list[tuple[TaskSpec, str]]) -> float:
    """The share of these tasks that these answers solve wholly."""
    return sum(score(name, task, answer) == 1 for task, answer in tasks) / len(tasks)


def test_equal_seeds_make_equal_datasets_on_every_machine() -> None:
    assert {name: content_hash(replace(dataset(name, 5, 60), metrics=())) for name in GENERATORS} == HASHES


def test_another_seed_makes_other_tasks() -> None:
    for name in GENERATORS:
        first, second = dataset(name), dataset(name, seed=2)
        assert not {task.question + str(task.context) for task in first.tasks} & {
            task.question + str(task.context) for task in second.tasks
        }, name


def test_a_larger_dataset_begins_with_the_smaller_one() -> None:
    for name in GENERATORS:
        lengths = [1000] if name == "long-context" else []
        assert list(islice(generate(name, 1, 60, lengths), 30)) == list(generate(name, 1, 30, lengths)), name


def test_a_written_copy_has_the_same_content_and_needs_no_generator() -> None:
    for name in GENERATORS:
        copy = parse_dataset(dump_dataset(dataset(name)).encode(), "a.yaml").spec
        assert content_hash(copy) == content_hash(dataset(name)), name


def test_levels_and_kinds_take_turns() -> None:
    for name in GENERATORS:
        kinds = GENERATORS[name].kinds
        tasks = dataset(name, tasks=3 * len(kinds) * 2).tasks
        counts = Counter((task.difficulty, *task.tags) for task in tasks)
        assert counts == {(level, kind): 2 for level in LEVELS for kind in kinds}, name


def test_tasks_of_one_template_share_a_cluster_and_composed_tasks_have_none() -> None:
    composed = {name for name in GENERATORS if not any(task.cluster for task in dataset(name).tasks)}
    assert composed == {"basic-coding", "instruction-following"}
    for name in set(GENERATORS) - composed:
        for task in dataset(name).tasks:
            assert task.cluster == f"{task.tags[0]}-{LEVELS.index(task.difficulty) + 1}", task.id


def test_the_reference_scores_1_in_every_task() -> None:
    for name in SCORED:
        before = "Let me see: 1, 2.\n\nAnswer: " if "exact_match" in GENERATORS[name].shared["metrics"] else ""
        for task in dataset(name, tasks=300).tasks:
            for accepted in task.accepted_answers:
                assert score(name, task, before + accepted) == 1, (task.id, accepted)


def test_a_constant_answer_reaches_little() -> None:
    for name in SCORED:
        tasks = dataset(name, tasks=300).tasks
        common, _ = Counter(task.accepted_answers[0] for task in tasks).most_common(1)[0]
        for constant in (common, "0", "{}", "I do not know."):
            assert full_marks(name, [(task, constant) for task in tasks]) <= GUESSED.get(name, 0.05), (name, constant)


def test_a_copy_of_the_prompt_reaches_nothing() -> None:
    for name in SCORED:
        copied = [(task, "\n".join([task.input, *task.context])) for task in dataset(name).tasks]
        assert full_marks(name, copied) <= 0.02, name


def test_what_another_seed_answers_most_often_reaches_little_in_every_kind_of_puzzle() -> None:
    """The most common answer of a kind and level, learned from one seed, is given in another."""
    learned: dict[tuple[str, str], Counter[str]] = {}
    for task in dataset("reasoning", 7, 600).tasks:
        learned.setdefault((task.tags[0], task.difficulty), Counter())[task.expected_output] += 1
    guesses = [
        (task, learned[task.tags[0], task.difficulty].most_common(1)[0][0])
        for task in dataset("reasoning", 1, 360).tasks
    ]
    assert full_marks("reasoning", guesses) < 0.08


def test_a_name_or_number_picked_from_the_puzzle_reaches_little() -> None:
    pickers = {
        "first": lambda words: words[0],
        "last": lambda words: words[-1],
        "most frequent": lambda words: Counter(words).most_common(1)[0][0],
    }
    for how, pick in pickers.items():
        answers = []
        for task in dataset("reasoning", 1, 360).tasks:
            body = task.input.rpartition("\n\nEnd with")[0]
            numeric = task.expected_output.lstrip("-").isdigit()
            words = re.findall(r"-?\d+", body) if numeric else _candidates(task, body)
            answers.append((task, pick(words)))
        assert full_marks("reasoning", answers) < 0.1, how


def _candidates(task: TaskSpec, body: str) -> list[str]:
    """Names of things in a puzzle, for those that are answered by one."""
    if task.tags[0] == "swaps":
        return re.findall(r"the (\w+)", body.partition("Then")[0])
    return re.findall(r"\b[A-Z][a-z]+\b", body)


def test_a_second_solver_that_reads_only_the_prompt_agrees_with_every_reference() -> None:
    for seed in (1, 2, 3):
        for task in dataset("reasoning", seed, 360).tasks:
            answer, _ = SOLVERS[task.tags[0]](task.input)
            assert answer == task.expected_output, (seed, task.id)


def test_readers_of_graded_ability_do_worse_on_every_higher_level() -> None:
    """A simulated reader does each elementary step of the second solver right with a fixed probability."""
    for ability in (0.999, 0.99, 0.95):
        expected: dict[tuple[str, str], list[float]] = {}
        for task in dataset("reasoning", 1, 360).tasks:
            _, steps = SOLVERS[task.tags[0]](task.input)
            expected.setdefault((task.tags[0], task.difficulty), []).append(ability**steps)
        for kind in GENERATORS["reasoning"].kinds:
            easy, medium, hard = (sum(expected[kind, level]) for level in LEVELS)
            assert easy > medium > hard, (ability, kind)


INVALID = {
    "generator: {name: reasonin, seed: 1, tasks: 3}": 'line 3: generator.name: "reasonin" is not a generator',
    "generator: {name: reasoning, seed: -1, tasks: 3}": "generator.seed: is -1: it must be at least 0",
    "generator: {name: reasoning, seed: 1, tasks: 3000000}": "generator.tasks: is 3,000,000: it must be at most 3,000",
    "generator: {name: reasoning, seed: one, tasks: 3}": "generator.seed: must be a whole number",
    "generator: {name: reasoning, tasks: 3}": "generator.seed: is missing",
    "generator: {name: reasoning, seed: 1, tasks: 3, speed: 2}": "generator.speed: unknown key",
    "generator: reasoning": "generator: must be a mapping with name, seed and tasks, not text",
    "generator: {name: reasoning, seed: 1, tasks: 3}\ntasks: []": "generator: does not go together with tasks",
    "metrics: [exact_match]": "tasks: is missing",
}


@pytest.mark.parametrize("section", INVALID)
def test_a_wrong_generator_is_reported_where_it_is(section: str) -> None:
    parsed = parse_dataset(f"name: A\ndescription: B\n{section}\n".encode(), "a.yaml")
    assert parsed.spec is None
    (problem,) = parsed.problems
    assert INVALID[section] in str(problem).replace("a.yaml:", "line "), problem
