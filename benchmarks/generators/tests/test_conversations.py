"""A second reader answers every turn as the references do, shortcuts reach little, and higher levels are harder."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from benchmarks.dataset_format.expectations import TurnSpec
from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.generators.registry import GENERATORS
from benchmarks.generators.tests.conversations_reader import answers
from benchmarks.generators.tests.test_generators import LEVELS, dataset
from benchmarks.metrics.base import Item
from benchmarks.metrics.conversations import Turns, conversation_score


def tasks() -> tuple[TaskSpec, ...]:
    return dataset("conversations", 1, 360).tasks


def turn_item(turn: TurnSpec | TaskSpec, user: str) -> Item:
    first, *others = (turn.expected_output,) if isinstance(turn.expected_output, str) else turn.expected_output
    return Item(user, first, "", other_answers=others, constraints=turn.constraints, tolerance=turn.tolerance)


def score(task: TaskSpec, said: Sequence[str]) -> float:
    """The score of a model that gives these answers."""
    items = [turn_item(turn, turn.user) for turn in task.turns[:-1]]
    items.append(turn_item(task, task.turns[-1].user))
    item = Item("", "", said[-1], turns=items, turn_answers=said)
    return conversation_score(Turns(), item, "stop").value or 0.0


def references(task: TaskSpec) -> list[str]:
    return [turn_item(turn, "").expected_output or "OK." for turn in (*task.turns[:-1], task)]


def test_the_references_are_right_in_every_turn() -> None:
    for task in tasks():
        assert score(task, references(task)) == 1, task.id


def test_a_second_reader_of_the_texts_alone_agrees_with_every_reference() -> None:
    for seed in (1, 2):
        for task in dataset("conversations", seed, 360).tasks:
            said, _ = answers([turn.user for turn in task.turns])
            assert score(task, said) == 1, (seed, task.id, said)


def test_one_answer_to_every_turn_reaches_little() -> None:
    for constant in ("OK", "ok", "OK.", "0", "I do not know.", "You are right.", "kitchen", "Ada"):
        scores = [score(task, [constant] * len(task.turns)) for task in tasks()]
        assert sum(value == 1 for value in scores) / len(tasks()) <= 0.02, constant
        assert mean(scores) <= 0.1, (constant, mean(scores))


def test_a_reader_of_one_turn_alone_and_one_that_repeats_everything_reach_little() -> None:
    """Without memory: each turn is answered by its own last number or name."""
    for task in tasks():
        copied = [turn.user for turn in task.turns]
        assert score(task, copied) < 1, task.id
    own = [score(task, [turn.user.rstrip(".?").split()[-1] for turn in task.turns]) for task in tasks()]
    assert sum(value == 1 for value in own) / len(tasks()) <= 0.02


def test_a_model_that_gives_in_and_one_that_never_learns_of_corrections_lose() -> None:
    objections = [task for task in tasks() if "objections" in task.tags]
    for task in objections:
        said = references(task)
        for place, turn in enumerate(task.turns):
            if any(words in turn.user for words in ("I get", "is sure that", "Everybody here", "it must be")):
                said[place] = turn.user.replace(":", " ").replace(".", " ").split("crowns")[0].split()[-1]
        assert score(task, said) < 1, task.id
    for task in tasks():
        if "corrections" in task.tags:
            early = replace_values(task)
            assert score(task, early) < 1, task.id


def replace_values(task: TaskSpec) -> list[str]:
    """The answers of a reader that keeps the first value of each thing."""
    first: dict[str, str] = {}
    said = []
    for turn in task.turns:
        words = turn.user.replace("?", "").split()
        if "costs" in words and "correction" not in turn.user and "mixed" not in turn.user:
            first.setdefault(words[words.index("costs") - 1], words[words.index("costs") + 1])
        said.append(first.get(words[words.index("the") + 1], "0") if "cost" in words else "OK")
    return said


def test_readers_of_graded_ability_do_worse_on_every_higher_level() -> None:
    for ability in (0.999, 0.99, 0.95):
        expected: dict[tuple[str, str], list[float]] = {}
        for task in tasks():
            _, steps = answers([turn.user for turn in task.turns])
            expected.setdefault((task.tags[0], task.difficulty), []).append(ability**steps)
        for kind in GENERATORS["conversations"].kinds:
            easy, medium, hard = (mean(expected[kind, level]) for level in LEVELS)
            assert easy > medium > hard, (ability, kind)


def test_every_turn_that_is_judged_says_what_it_wants() -> None:
    for task in tasks():
        assert task.turns[0].user.startswith("I will tell you several things.")
        judged = [turn for turn in task.turns[:-1] if turn.expected_output]
        assert all(turn.constraints["words"]["max"] == 8 for turn in judged)
        assert len(task.turns) <= 25
