"""Prompt templates: what is replaced, what is refused, and what a task's own braces do."""

from __future__ import annotations

import pytest

from benchmarks.prompt_template import fill, template_problem

VALUES = {"input": "2 + 2?", "context": "[1] Sums."}
FILLED = {
    "{input}": "2 + 2?",
    "{context}\n\nQ: {input}\nA:": "[1] Sums.\n\nQ: 2 + 2?\nA:",
    'Answer as {{"answer": …}}: {input}': 'Answer as {"answer": …}: 2 + 2?',
    "{{input}} is {input}": "{input} is 2 + 2?",
    "{{{input}}}": "{2 + 2?}",
}
REFUSED = {
    "Answer the question.": "needs {input}",
    "{{input}}": "needs {input}",
    "{input} {question}": "“{question}” is not a placeholder",
    "{input.__class__}": "is not a placeholder",
    "{input!r}": "is not a placeholder",
    "{input:>9999999999}": "is not a placeholder",
    "{input[0]}": "is not a placeholder",
    '{"a": {input}}': "is not a placeholder",
    "{0} {input}": "is not a placeholder",
    "{input} }": "“}” is not a placeholder",
}


@pytest.mark.parametrize("template", FILLED)
def test_a_template_is_filled(template: str) -> None:
    assert template_problem(template) is None
    assert fill(template, VALUES) == FILLED[template]


@pytest.mark.parametrize("template", REFUSED)
def test_a_template_is_refused_with_what_to_do(template: str) -> None:
    assert REFUSED[template] in (template_problem(template) or "")


def test_braces_in_a_task_are_not_replaced() -> None:
    assert fill("{input}{context}", {"input": "{context}", "context": "{input}"}) == "{context}{input}"
