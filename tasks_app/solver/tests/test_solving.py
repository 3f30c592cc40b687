from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tasks_app.solver import Unsolvable, solve

SOLVER = Path(__file__).parents[1]


def prompt(canvas: str, question: str, examples: str = "") -> str:
    return f"Answer a question about a canvas.\n\nCanvas:\n{canvas}\n\n{examples}Question: {question}\n"


@pytest.mark.parametrize("module", ["reading.py", "solving.py"])
def test_the_solver_imports_nothing_of_what_it_checks(module: str) -> None:
    tree = ast.parse((SOLVER / module).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    ours = {name for name in imported if name.startswith(("tasks_app", "benchmarks", "frontend", "codeforge"))}
    assert ours <= {"tasks_app.solver.reading"}


PLACES = (
    "There are 3 shapes in a canvas. There is a small red circle at (-3, 4) with radius 1. There is a large red square "
    "at (-3, -9) with side length 4. There is a large blue triangle at (8, 4) with side length 4."
)
CHAIN = (
    "There are 9 shapes in a canvas. There is a small red circle in the canvas. Above the small red circle is a large "
    "red square. Above the large red square is a large blue triangle. Below the small red circle is a small green "
    "circle."
)
LINE = (
    "There are 3 shapes in a canvas. From right to left, the shapes are a small red circle, a large red square, and a "
    "large blue triangle. The large red square and the small red circle swap positions."
)
CHANGES = " The small red circle is removed from the canvas. A small green circle is added to the canvas."


@pytest.mark.parametrize(
    ("canvas", "question", "answer"),
    [
        (PLACES, "Is there a red circle?", "Yes"),
        (PLACES, "Is there a shape that is green?", "No"),
        (PLACES, "Is there a large shape?", "Yes"),
        (PLACES, "How many red shapes are there?", "2"),
        (PLACES, "How many small triangles are there?", "0"),
        (PLACES, "Where is the small red circle relative to the large red square?", "Above"),
        (PLACES, "Where is the large red square relative to the large blue triangle?", "Below Left"),
        (PLACES, "Where is the small red circle relative to the large blue triangle?", "Left"),
        (PLACES + CHANGES, "Is there a small red circle in the canvas?", "No"),
        (PLACES + CHANGES, "Is there a small green circle in the canvas?", "Yes"),
        (CHAIN, "Where is the small green circle relative to the large blue triangle?", "Below"),
        (LINE, "What shape is first from the right?", "large red square"),
        (LINE, "What shape is third from the right?", "large blue triangle"),
        (LINE, "What shape is second from the left?", "small red circle"),
    ],
)
def test_it_answers(canvas: str, question: str, answer: str) -> None:
    assert solve(prompt(canvas, question)) == answer


def test_it_answers_the_last_question_rather_than_an_example() -> None:
    examples = "Question: Is there a circle?\nAnswer: Yes\n\n"
    assert solve(prompt(PLACES, "Is there a shape that is green?", examples)) == "No"


def test_a_relation_follows_from_its_reverse() -> None:
    canvas = (
        "There are 2 shapes in a canvas. There is a small red circle in the canvas. A large red square is to the above "
        "left of this small red circle. There is a large red square in the canvas."
    )
    question = "Where is the small red circle relative to the large red square?"
    assert solve(prompt(canvas, question)) == "Below Right"


@pytest.mark.parametrize(
    ("canvas", "question", "reason"),
    [
        (CHAIN, "Where is the small green circle relative to the small blue square?", "does not say"),
        (CHAIN, "Is there a small blue square?", "9 shapes are announced, 4 described"),
        (
            CHAIN + " Below the small green circle is a large blue triangle.",
            "Where is the small red circle relative to the large blue triangle?",
            "contradicts itself",
        ),
        (
            "There are 3 shapes in a canvas. There is a small red circle in the canvas. Above the small red circle is "
            "a large red square. Above the small red circle is a large blue triangle.",
            "Where is the large red square relative to the large blue triangle?",
            "does not say",
        ),
        (LINE, "What shape is fourth from the right?", "no fourth place"),
        (LINE, "What shape is first from the top?", "no line from the top"),
        (LINE, "What shape is first from the left of these 2?", "about 2 shapes"),
        (LINE.replace("the shapes are", "3 of the shapes are").replace("There are 3", "There are 5"),
         "What shape is first from the left?", "about 5 shapes"),
        (LINE + " The small blue square and the large red square swap positions.",
         "What shape is first from the left?", "not in the line"),
        (PLACES + CHANGES * 2, "Is there a small red circle in the canvas?", "not there"),
        (PLACES.replace("large red square", "small red circle"),
         "Where is the small red circle relative to the large blue triangle?", "several shapes are called"),
        (PLACES + " Something else happened.", "Is there a red circle?", "Something else happened"),
        (PLACES, "Why?", "Why?"),
        (PLACES, "What shape is first from the left?", "no line"),
        (LINE, "What shape is umpteenth from the left?", "umpteenth"),
        ("See the picture.", "Is there a red circle?", "See the picture"),
        ('{"shapes": 3}', "Is there a red circle?", "JSON"),
        ("There are 3 shapes in a canvas.\n...A...\nB: small red circle", "Is there a red circle?", "no scale"),
    ],
)  # fmt: skip
def test_it_says_where_the_text_determines_no_answer(canvas: str, question: str, reason: str) -> None:
    with pytest.raises(Unsolvable) as error:
        solve(prompt(canvas, question))
    assert reason in str(error.value)


def test_a_text_without_a_canvas_has_no_answer() -> None:
    with pytest.raises(Unsolvable, match="shows no canvas"):
        solve("Question: Is there a red circle?")
