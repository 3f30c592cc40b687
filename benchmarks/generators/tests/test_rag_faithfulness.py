"""A second reader of the passages agrees with every key; guesses and copies from the passages do not."""

from __future__ import annotations

import re
from collections import Counter
from statistics import mean

from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.generators.rag_faithfulness import ABSENT, MONTHS
from benchmarks.generators.tests.test_generators import LEVELS, dataset, full_marks

_FEE = re.compile(r"(?:of|at) (the [a-z ]+ of \w+):.* the fee for a ([a-z ]+) is (\d+) crowns")
_CHANGE = re.compile(r"from 1 (\w+) 2025 the fee")


def tasks() -> tuple[TaskSpec, ...]:
    return dataset("rag-faithfulness", 1, 315).tasks


def kinds() -> list[str]:
    return sorted({task.tags[0] for task in tasks()})


def read(task: TaskSpec) -> str:
    """The answer by the passages and the question alone."""
    question = task.input.partition("\n")[0]
    if capital := re.search(r"capital of (\w+) in the world of (game \d+)", question):
        return next(
            found[1]
            for each in task.context
            if (found := re.search(f"{capital[1]}(?: has its capital)? in (\\w+)", each))
        )
    place = re.search(r"at (the [a-z ]+ of \w+)", question)[1]
    fees: dict[str, list[tuple[int, int]]] = {}
    for passage in task.context:
        if (found := _FEE.search(passage)) and found[1] == place:
            month = MONTHS.index(change[1]) if (change := _CHANGE.search(passage)) else -1
            fees.setdefault(found[2], []).append((month, int(found[3])))
    if "the following" in question:
        wanted = re.findall(r"([a-z ]+): (\d)", question.partition("number of each: ")[2])
        return str(sum(fees[thing.strip()][0][1] * int(count) for thing, count in wanted))
    thing = re.search(r"(?:for|wants) a ([a-z ]+?) at the", question)[1]
    known = fees.get(thing, [])
    if not known:
        return ABSENT
    if day := re.search(r"on 15 (\w+) 2025", question):
        return str(max(entry for entry in known if entry[0] <= MONTHS.index(day[1]))[1])
    if len(known) > 1:
        return " or ".join(map(str, sorted(fee for _, fee in known)))
    group = re.search(r"One of the (\w+) wants", question)
    less = [
        int(found[1])
        for passage in task.context
        if group and (found := re.search(f"{place}, {group[1]} pay (\\d+) crowns less for a {thing}\\.", passage))
    ]
    return str(known[0][1] - sum(less))


def test_a_second_reader_agrees_with_every_key() -> None:
    for seed in (1, 2):
        for task in dataset("rag-faithfulness", seed, 315).tasks:
            assert read(task) == task.accepted_answers[0], task.id


def test_copying_answers_nothing() -> None:
    copies = {
        "all passages": lambda task: "\n".join(task.context),
        "the passage most like the question": _nearest,
        "all passages, with an answer line": lambda task: "Answer: " + " ".join(task.context),
        "question": lambda task: task.input,
    }
    for how, copy in copies.items():
        assert full_marks("rag-faithfulness", [(task, copy(task)) for task in tasks()]) < 0.01, how


def test_a_number_picked_from_the_nearest_passage_is_not_enough() -> None:
    picked = [(task, (re.findall(r"\d+|[A-Z]\w+$", _nearest(task).rstrip(".")) or ["0"])[-1]) for task in tasks()]
    assert full_marks("rag-faithfulness", picked) < 0.4
    assert full_marks("rag-faithfulness", [(t, a) for t, a in picked if t.tags[0] in ("absent", "conflict")]) == 0


def test_the_wrong_answers_that_a_careless_reader_gives_are_wrong() -> None:
    for task in tasks():
        numbers = set(re.findall(r"\d+", " ".join(task.context))) | {ABSENT, "It is not there.", "No."}
        wrong = numbers - {*task.accepted_answers}
        assert full_marks("rag-faithfulness", [(task, f"Answer: {answer}") for answer in wrong]) == 0, task.id


def test_a_refusal_is_right_where_nothing_answers_and_wrong_elsewhere() -> None:
    refused = {
        kind: full_marks("rag-faithfulness", [(t, f"Answer: {ABSENT}") for t in tasks() if kind in t.tags])
        for kind in kinds()
    }
    assert refused == {kind: float(kind == "absent") for kind in kinds()}


def test_more_passages_look_relevant_at_a_higher_level() -> None:
    for kind in kinds():
        lengths = [
            mean(len(t.context) for t in tasks() if (kind, level) == (t.tags[0], t.difficulty)) for level in LEVELS
        ]
        assert lengths == sorted(set(lengths)), kind


def test_readers_of_graded_ability_do_worse_on_every_higher_level() -> None:
    """A simulated reader reads each passage right with a fixed probability."""
    for ability in (0.99, 0.95, 0.9):
        easy, medium, hard = (
            mean(ability ** len(task.context) for task in tasks() if task.difficulty == level) for level in LEVELS
        )
        assert easy > medium + 0.02, ability
        assert medium > hard + 0.02, ability


def _nearest(task: TaskSpec) -> str:
    words = Counter(re.findall(r"\w+", task.input.partition("\n")[0].lower()))
    return max(task.context, key=lambda passage: len(words & Counter(re.findall(r"\w+", passage.lower()))))
