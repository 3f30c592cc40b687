"""The base of every task class, and its contract. `README.md` beside this file is the guide."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, ClassVar

from tasks_app.canvas.shapes import Shape
from tasks_app.tasks.answers import judge_contained
from tasks_app.tasks.time_limit import SCORE_SECONDS, within
from tasks_app.tasks.verdict import Verdict

Answer = str | int
Question = tuple[str, Answer]
"""A question and its only correct answer. Counts are numbers, as in the published canvases; all else is text."""

AnswerFile = str | Path | IO[str] | IO[bytes]
"""A path, as in runs, or an open file with one JSON object: `{"expected": <text or number>, "actual": <text>}`."""

MIN_QUESTIONS = 2
"""The evaluated question and at least one few-shot example."""

DEFAULT_TRACKING_STEPS = 3
"""As in the published canvases of three shapes."""


class TaskError(Exception):
    """A task class broke its contract; the message says which one and how."""


class AnswerFileError(ValueError):
    """A file for `Task.score` without an expected and an actual answer."""


@dataclass(slots=True)
class Asked:
    """The questions of a task class about one canvas; empty if the task is not applicable."""

    questions: tuple[Question, ...]
    description: str | None = None
    difficulty: dict[str, int] = field(default_factory=dict)


class Task:
    """Asks questions about one canvas and scores answers to them.

    `ask` creates a new object for every canvas, so what `generate_questions` sets on `self` belongs to that canvas.
    """

    name: ClassVar[str] = ""
    """The key in the registry and in canvas files."""

    instruction: ClassVar[str] = "Answer in as few words as you can."
    """What an answer looks like; part of every prompt."""

    requirement: ClassVar[str] = "a canvas about which two different questions can be asked"
    """What a canvas needs; recorded if the task is not applicable."""

    guess_rate: ClassVar[float | None] = None
    """Share of correct answers if each possible one is equally likely; None if it depends on the set's answers."""

    guess_score: ClassVar[float | None] = None
    """Mean score of such guesses, if partial credit makes it differ from `guess_rate`."""

    def __init__(self, rng: random.Random | None = None, tracking_steps: int = DEFAULT_TRACKING_STEPS) -> None:
        """`rng` is the canvas's own random source; without one (for scoring) the seed is fixed."""
        self.rng = rng or random.Random(0)
        self.tracking_steps = tracking_steps
        self.description: str | None = None
        """Text that the questions are about: alone, or, for the names in `loader.ADDED_TO_DESCRIPTION`, added to a
        description of the canvas."""
        self.question = ""
        """What was asked, if known when a reply is judged: a sentence about another shape does not answer it."""
        self.place: tuple[int, int] | None = None
        """The canvas's number of shapes, and its own number among those with as many; for `select_expected_answer`."""
        self.difficulty: dict[str, int] = {}
        """What makes the evaluated question hard, as numbers, e.g. {"tracking_steps": 3}."""

    def generate_questions(self, shapes: list[Shape], selected_answer: Answer | None = None) -> list[Question]:
        """Return two or more different (question, answer) pairs: the evaluated one, then the few-shot examples.

        With `selected_answer`, the first answer is that one. Returns an empty list if the canvas does not allow such
        questions (or not that answer). Draws from `self.rng` only. `shapes` is its own list: it may be sorted.
        """
        raise NotImplementedError

    def select_expected_answer(self, i: int, n: int) -> Answer | None:
        """Return the answer for item `i`, counted from 0, of the `n` items of the set; None leaves it to chance.

        Numbers of shapes alternate from item to item. A set that grows keeps the canvases that it has, and asks for
        those that are added with its new `n`.
        """
        return None

    def balanced(self, i: int, answers: Sequence[Answer]) -> Answer:
        """Return the answer for item `i` that balances the answers for each number of shapes, however far a set grows.

        Numbers of shapes alternate, so `i` alone would give each of them one answer. Where the canvas's place is known,
        it counts instead, from the number of shapes on: the first canvases of all numbers, to which a run may be
        limited, expect different answers, too.
        """
        return answers[(i if self.place is None else sum(self.place)) % len(answers)]

    def judge(self, expected: str, actual: str) -> Verdict:
        """Judge a reply. By default, it must contain the expected answer (`answers.py` has stricter readers)."""
        return judge_contained(expected, actual)

    def score(self, file: AnswerFile) -> float:
        """Return the score, 0 to 1, of the answers in `file` (see `AnswerFile`); an unreadable reply scores 0.

        A run passes the path of a file, for `open`.

        Raises `AnswerFileError` if the file has another layout.
        """
        expected, actual = read_answers(file)
        return self.judge(expected, actual).value or 0.0

    @classmethod
    def ask(
        cls,
        shapes: Sequence[Shape],
        rng: random.Random,
        selected_answer: Answer | None = None,
        tracking_steps: int = DEFAULT_TRACKING_STEPS,
    ) -> Asked:
        """Ask about one canvas with a new object. Raises `TaskError` if the class breaks its contract."""
        task = cls(rng, tracking_steps)
        questions = tuple(task.generate_questions(list(shapes), selected_answer))
        if not questions:
            return Asked(())
        check_questions(cls, questions, selected_answer)
        return Asked(questions, task.description, dict(task.difficulty))

    @classmethod
    def verdict(cls, expected: Answer, actual: str, question: str = "") -> Verdict:
        """Judge a reply, by the class's own `score` if it has one. `question` is what was asked, if known.

        Raises `TaskError` for a score outside [0, 1], and `TookTooLong`.
        """
        task = cls()
        task.question = question
        if cls.score is Task.score:
            return task.judge(str(expected).strip(), actual)
        with NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"expected": expected, "actual": actual}, file)
            file.flush()
            value = within(SCORE_SECONDS, lambda: task.score(Path(file.name)))
        if not 0 <= value <= 1:
            raise TaskError(f"{cls.__name__}.score returned {value!r}: a score is a number from 0 to 1.")
        return Verdict.of(float(value), extracted=None, reason=f"Scored by {cls.__name__}.score.")


def check_questions(task_class: type[Task], questions: tuple[Question, ...], selected_answer: Answer | None) -> None:
    """Raise `TaskError` unless these are different questions, enough of them, the first with the selected answer."""
    if len(questions) < MIN_QUESTIONS or len({text for text, _ in questions}) != len(questions):
        raise TaskError(
            f"{task_class.__name__}.generate_questions returned {[text for text, _ in questions]}: return "
            f"{MIN_QUESTIONS} or more different questions, or none if the canvas does not allow them."
        )
    if selected_answer is not None and questions[0][1] != selected_answer:
        raise TaskError(
            f"{task_class.__name__}.generate_questions was asked for the answer {selected_answer!r} and returned "
            f"{questions[0][1]!r} first. Return an empty list if that answer is not possible."
        )


def read_answers(file: AnswerFile) -> tuple[str, str]:
    """Return the expected and the actual answer in a file (see `AnswerFile`), both as text."""
    text = Path(file).read_bytes() if isinstance(file, str | Path) else file.read()
    layout = 'give a JSON object such as {"expected": "Yes", "actual": "Answer: Yes"}'
    try:
        answers = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AnswerFileError(f"The answer file is not JSON ({error}): {layout}.") from error
    if not isinstance(answers, dict) or not isinstance(answers.get("actual"), str):
        raise AnswerFileError(f'The answer file has no text at "actual": {layout}.')
    expected = answers.get("expected")
    if isinstance(expected, bool) or not isinstance(expected, str | int):
        raise AnswerFileError(f'The answer file has no text or number at "expected": {layout}.')
    return str(expected).strip(), answers["actual"]
