"""Shortcuts on every shipped dataset: one answer for all tasks, an answer from the question alone, a copied context.

Each is tried in many ways, of which the best counts: the share of tasks that it solves is what guessing gets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest
from reading import DATASETS, GENERATED, SLUGS
from reading import dataset as values_of

from benchmarks.dataset_format.expectations import TurnSpec
from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.dataset_format.spec import DatasetSpec, TaskSpec
from benchmarks.metrics.base import Item
from benchmarks.metrics.conversations import Turns, conversation_score
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.metrics.worlds import merged_world, world_spec

ORDERS = {
    "reasoning": ("numeric", "multiple_choice", "exact_match"),
    "structured-output": ("json_match", "json_schema", "json_valid"),
    "tool-use-basic": ("tool_calls", "regex"),
}
"""Of datasets that do not name their metrics."""
CONSTANTS = ("", "0", "1", "2", "yes", "no", "true", "A", "B", "C", "D", "{}", "[]", "null", "OK.", "I do not know.")
"""Beside the most common references."""
MOST = 60
"""Tasks of a generated dataset that are attacked: kinds and levels take turns."""
Attack = Callable[[TaskSpec | TurnSpec, str], Sequence[str]]
"""What is asked → the answers of each way to try it."""


def question_only(task: TaskSpec | TurnSpec, text: str) -> list[str]:
    """The question itself, its parts, and the numbers and names at its ends."""
    lines = [line for line in text.splitlines() if line.strip()] or [""]
    numbers, names = re.findall(r"-?\d+(?:[.:]\d+)*", text) or [""], re.findall(r"\b[A-Z][a-z]+\b", text) or [""]
    words = text.split() or [""]
    return [text, lines[0], lines[-1], numbers[0], numbers[-1], names[0], names[-1], words[-1].strip(".?!\"'")]


def copied_context(task: TaskSpec | TurnSpec, text: str) -> list[str]:
    """The passages together, the first, the last, and the numbers at the ends of all."""
    passages = list(getattr(task, "context", ())) or [text]
    numbers = re.findall(r"-?\d+(?:[.:]\d+)*", " ".join(passages)) or [""]
    return ["\n".join(passages), " ".join(passages), passages[0], passages[-1], numbers[0], numbers[-1]]


def dataset(slug: str) -> DatasetSpec:
    spec = parse_dataset((DATASETS / f"{slug}.yaml").read_bytes(), f"{slug}.yaml").spec
    assert spec is not None
    return spec


def constants(spec: DatasetSpec) -> list[str]:
    references = Counter(task.accepted_answers[0] for task in spec.tasks if task.accepted_answers)
    return [*(text for text, _ in references.most_common(3)), *CONSTANTS]


def solves(spec: DatasetSpec, slug: str, task: TaskSpec, said: Callable[[TaskSpec | TurnSpec, str], str]) -> bool:
    """Whether an answer of this kind, without a call of a tool, has full marks by the metric that decides."""
    if task.turns:
        turns = [*task.turns[:-1], task]
        users = [turn.user for turn in task.turns]
        answers = [said(turn, user) for turn, user in zip(task.turns, users, strict=True)]
        items = [_item(turn, user, "", spec) for turn, user in zip(turns, users, strict=True)]
        item = Item("", "", answers[-1], turns=items, turn_answers=answers)
        return conversation_score(Turns(), item, "stop").value == 1
    answer = said(task, task.input)
    for accepted in task.accepted_answers or ("",):
        for written in (answer, f"Answer: {answer}"):
            item = _item(task, accepted, written, spec)
            metrics = [REGISTERED_METRICS[name] for name in spec.metrics or ORDERS[slug]]
            if next(metric for metric in metrics if metric.applies_to(item)).score(item).value == 1:
                return True
    return False


def _item(task: TaskSpec | TurnSpec, expected: str, answer: str, spec: DatasetSpec) -> Item:
    common = {
        "constraints": task.constraints,
        "tolerance": task.tolerance,
        "pattern": task.pattern,
        "schema": task.schema,
    }
    if not isinstance(task, TaskSpec) or task.turns:
        references = (task.expected_output,) if isinstance(task.expected_output, str) else task.expected_output
        first, *others = references
        return Item(expected, first, "", other_answers=others, choices=task.choices, **common)
    world = merged_world(spec.world, task.world)
    return Item(
        task.input,
        expected,
        answer,
        context=task.context,
        choices=task.choices,
        expected_tools=[{"name": use.name, "args": use.args} for use in task.expected_tools],
        world=world_spec(world, task.tools or spec.tools) if world else None,
        final_state=task.final_state,
        **common,
    )


def shares(slug: str) -> Iterator[tuple[str, float]]:
    """Each way of each shortcut, with the share of tasks that it solves."""
    spec = dataset(slug)
    for constant in constants(spec):
        yield f"constant {constant[:30]!r}", _share(spec, slug, lambda task, text, said=constant: said)
    for attack in (question_only, copied_context):
        for way in range(len(attack(spec.tasks[0], ""))):
            yield (
                f"{attack.__name__} {way}",
                _share(spec, slug, lambda task, text, attack=attack, way=way: attack(task, text)[way]),
            )


def _share(spec: DatasetSpec, slug: str, said: Callable[[TaskSpec | TurnSpec, str], str]) -> float:
    tasks = spec.tasks[:MOST]
    return sum(solves(spec, slug, task, said) for task in tasks) / len(tasks)


GUESSED = {
    "conversations": 0,
    "instruction-following": 0.07,
    "library-desk": 0,
    "long-context": 2 / 24,
    "long-context-short": 0.1,
    "rag-faithfulness": 7 / 24,
    "rag-faithfulness-large": 0.15,
    "reasoning": 1 / 26,
    "reasoning-large": 0.05,
    "structured-output": 1 / 23,
    "structured-output-large": 0.03,
    "tool-use-basic": 0,
    "tool-use-shop": 3 / 21,
}
"""Dataset → the most that a shortcut solves, as its description says."""
ELSEWHERE = {
    "basic-coding": "datasets/tests/test_basic_coding.py",
    "basic-coding-large": "benchmarks/generators/tests/test_basic_coding.py",
    "conversations-large": "benchmarks/generators/tests/test_conversations.py",
    "long-context-128k": "benchmarks/generators/tests/test_long_context.py",
    "long-context-64k": "benchmarks/generators/tests/test_long_context.py",
    "long-context-large": "benchmarks/generators/tests/test_long_context.py",
    "tool-use-large": "benchmarks/generators/tests/test_tool_use.py",
}
"""Dataset → the tests with shortcuts of its own: code has to be run, calls made, long texts read."""


@pytest.mark.parametrize("slug", GUESSED)
def test_no_shortcut_solves_more_than_guessing_gets(slug: str) -> None:
    best, how = max((share, how) for how, share in shares(slug))
    assert best <= GUESSED[slug] + 1e-9, how


def test_every_dataset_is_attacked() -> None:
    assert {*GUESSED, *ELSEWHERE} == {*SLUGS, *GENERATED}
    for path in ELSEWHERE.values():
        assert (DATASETS.parent / path).is_file()


def test_the_card_of_every_dataset_says_how_it_was_made_what_guessing_gets_and_what_it_does_not_measure() -> None:
    for slug in (*SLUGS, *GENERATED):
        card = values_of(slug)["description"]
        for clause in (
            r"[Gg]enerated|[Ww]ritten by hand|generator|invented|recomputed",
            r"\b(solves?|gets?|passes|scores?)\b.*\b(none|nothing|neither|under|\d)|guessing gets",
            r"[Nn]ot\s+measure|measures\s+neither|says\s+nothing\s+about",
        ):
            assert re.search(clause, card, re.DOTALL), (slug, clause)
