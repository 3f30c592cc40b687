"""The rules that a model reads are those that are checked, and only a text written for a task follows them."""

from __future__ import annotations

import re
from statistics import mean
from typing import Any

from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.generators.tests.test_generators import LEVELS, dataset, full_marks, score
from benchmarks.metrics.constraints import checked

_EXACT = {
    r"Write exactly (\d+) sentences": "sentences",
    r"Write exactly (\d+) paragraphs": "paragraphs",
    r"Have exactly (\d+) lines that begin with": "bullets",
    r"Put exactly (\d+) words between asterisks": "highlights",
    r"Have exactly (\d+) placeholders": "placeholders",
    r"Write exactly (\d+) words in capitals": "capital_words",
}
_SWITCHES = {"Include a title": "title", "Use no commas.": "no_commas", "Put the whole text in double": "quoted"}


def tasks() -> tuple[TaskSpec, ...]:
    return dataset("instruction-following", 1, 300).tasks


def read(line: str) -> tuple[str, Any]:
    """The constraint of one line of the prompt."""
    for pattern, name in _EXACT.items():
        if found := re.match(pattern, line):
            return name, {"min": int(found[1]), "max": int(found[1])}
    for beginning, name in _SWITCHES.items():
        if line.startswith(beginning):
            return name, True
    quoted = re.findall("“([^”]+)”", line)
    if found := re.fullmatch(r"Use (\d+) to (\d+) words\.", line):
        return "words", {"min": int(found[1]), "max": int(found[2])}
    if found := re.fullmatch(r"Write all letters in (upper|lower) case\.", line):
        return "case", found[1]
    for beginning, name in {"Use the words ": "include", "Do not use the words ": "exclude"}.items():
        if line.startswith(beginning):
            return name, quoted
    for beginning, name in {"Begin with the words ": "starts_with", "End with the sentence ": "ends_with"}.items():
        if line.startswith(beginning):
            return name, quoted[0]
    raise AssertionError(line)


def test_the_prompt_states_every_constraint_that_is_checked() -> None:
    for task in tasks():
        stated = dict(read(line) for line in re.findall(r"^- (.*)$", task.input, re.MULTILINE))
        assert stated == dict(task.constraints), task.id


def test_every_reference_has_as_many_words_as_its_task_asks_for_without_dashes() -> None:
    """Counted apart from the metric: runs of letters and digits between spaces, once marks of lists are gone."""
    asked = [task for task in tasks() if "words" in task.constraints]
    assert len(asked) >= 30
    for task in asked:
        counted = re.sub(r"(?m)^\s*[-*•]\s", "", str(task.expected_output)).split()
        n_words = sum(bool(re.search(r"\w", word)) for word in counted)
        assert task.constraints["words"]["min"] <= n_words <= task.constraints["words"]["max"], task.id


def test_every_kind_of_constraint_but_json_occurs_often() -> None:
    used = [name for task in tasks() for name in task.constraints]
    assert min(used.count(name) for name in {*_EXACT.values(), *_SWITCHES.values(), "words", "case", "include"}) >= 30
    assert min(used.count(name) for name in ("exclude", "starts_with", "ends_with")) >= 30


def test_a_text_for_another_task_follows_hardly_any_wholly() -> None:
    shifted = [*tasks()[1:], tasks()[0]]
    others = [(task, other.expected_output) for task, other in zip(tasks(), shifted, strict=True)]
    assert full_marks("instruction-following", others) < 0.06
    assert mean(score("instruction-following", task, text) for task, text in others) < 0.5


def test_readers_of_graded_ability_do_worse_on_every_higher_level() -> None:
    """A simulated writer follows each constraint with a fixed probability."""
    counts = {
        level: [len(checked(task.constraints, "")) for task in tasks() if task.difficulty == level] for level in LEVELS
    }
    for ability in (0.99, 0.95, 0.8):
        easy, medium, hard = (mean(ability**count for count in counts[level]) for level in LEVELS)
        assert easy > medium > hard, ability
