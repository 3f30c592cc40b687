from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tasks_app.loader import CanvasDocument, build_canvas
from tasks_app.solver.audit import Audit, audit_document, audit_set, problems

ORIGINAL = os.environ.get("CODEFORGE_ORIGINAL_CANVASES")


def with_question(document: CanvasDocument, name: str, question: str, answer: str) -> CanvasDocument:
    return replace(document, questions={name: ((question, answer),)})


def test_a_generated_document_has_no_problem() -> None:
    document = build_canvas(7, 3, 0, 1)
    assert len(audit_document(document)) == 18
    assert not list(problems(audit_document(document)))


def test_a_wrong_answer_is_found_with_the_right_one() -> None:
    document = build_canvas(7, 3, 0, 1)
    question, answer = document.questions["existence"][0]
    (finding,) = audit_document(with_question(document, "existence", question, "No" if answer == "Yes" else "Yes"))
    assert (finding.audit, finding.solved, finding.note) == (Audit.WRONG, answer, f"the answer is {answer}")


def test_an_answer_that_the_text_does_not_determine_is_found_with_the_reason() -> None:
    document = build_canvas(7, 3, 0, 1)
    question = "Where is the small red circle relative to the small red square?"
    document.descriptions["transitivity"] = (
        "There are 7 shapes in a canvas. There is a small red circle in the canvas. "
    )
    (finding,) = audit_document(with_question(document, "transitivity", question, "Left"))
    assert (finding.audit, finding.solved) == (Audit.UNDETERMINED, None)
    assert finding.note


def test_a_repeated_canvas_is_counted_as_duplicates() -> None:
    document = build_canvas(7, 3, 0, 1)
    audits = audit_set([document, document, build_canvas(7, 3, 1, 1)])
    assert {audit.duplicates for audit in audits.values()} == {1}
    assert {audit.questions for audit in audits.values()} == {3}


def test_what_could_not_be_asked_is_counted_apart() -> None:
    audit = audit_set([build_canvas(1, 3, index, 4) for index in range(4)])["coordinate"]
    assert (audit.not_applicable, audit.questions, audit.majority_score, audit.agreement) == (4, 0, None, None)


@pytest.fixture(scope="module")
def originals() -> list[tuple[bytes, CanvasDocument]]:
    if not ORIGINAL:
        pytest.skip("CODEFORGE_ORIGINAL_CANVASES names no folder of original canvases")
    files = sorted(Path(ORIGINAL).glob("canvas_*.json"))
    return [(data := file.read_bytes(), CanvasDocument.from_json(data, file.name)) for file in files]


def test_an_original_file_comes_back_byte_for_byte(originals: list[tuple[bytes, CanvasDocument]]) -> None:
    assert len(originals) == 200
    assert all(document.to_json() == data for data, document in originals)


def test_the_originals_wrong_answers_are_found_and_named(originals: list[tuple[bytes, CanvasDocument]]) -> None:
    found = [finding for _, document in originals for finding in problems(audit_document(document))]
    by_task = Counter((finding.task_name, finding.audit) for finding in found)
    assert by_task == {("transitivity", Audit.WRONG): 4, ("coordinate", Audit.WRONG): 31}


def test_a_wrong_direction_of_the_original_drops_or_adds_one_word_only(
    originals: list[tuple[bytes, CanvasDocument]],
) -> None:
    for _, document in originals:
        for finding in problems(audit_document(document)):
            if finding.task_name == "coordinate":
                theirs, ours = set(finding.answer.split()), set(finding.solved.split())
                assert len(theirs ^ ours) == 1
