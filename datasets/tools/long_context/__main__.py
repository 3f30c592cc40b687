"""Print the dataset as YAML. Passages that several questions share are written once and repeated by an alias."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from .council import council_minutes
from .documents import Document, Question
from .harbour import harbour_log
from .inventory import inventory
from .journal import journal
from .manual import manual

HEAD = """\
# yaml-language-server: $schema=dataset.schema.json
# Written by `python -m datasets.tools.long_context`: change the program, not this file.
name: Long context
description: >-
  Five invented documents of 3,000 to 6,000 words each (a harbour log, council minutes, a journal, an inventory, a
  service manual) and questions about them: single facts among lookalikes, facts that lead to other facts, counts and
  sums, order, corrections that come later, accounts that disagree, and something that is not there. All answers are
  recomputed from the text. One answer for all solves 2 of 24; a copy, or a number or name of the question, 1. Not
  measured: longer contexts (see long-context-large), and prose that is not made of facts.
metrics: [numeric, exact_match]

tasks:"""


def lines(documents: list[Document]) -> Iterator[str]:
    yield HEAD
    for document in documents:
        for number, question in enumerate(document.questions):
            yield from _task(question, document)
            if number:
                yield f"    context: *{document.key}"
            else:
                yield f"    context: &{document.key}"
                for chapter in document.chapters:
                    yield "      - |-"
                    yield from (f"        {line}" for line in chapter.splitlines())


def _task(question: Question, document: Document) -> Iterator[str]:
    yield f"  - id: {question.id}"
    yield f"    name: {question.name}"
    yield f"    difficulty: {question.difficulty}"
    yield f"    cluster: {document.key}"
    yield "    input: |"
    yield f"      {question.text}"
    yield ""
    yield f"      Answer from the passages alone. End with a line `Answer: {question.form}`."
    yield f'    expected_output: "{question.answer}"'
    if question.numeric:
        yield "    tolerance: 0"


def main() -> None:
    documents = [harbour_log(), council_minutes(), journal(), inventory(), manual()]
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]  # always a text stream here
    for line in lines(documents):
        print(line)


if __name__ == "__main__":
    main()
