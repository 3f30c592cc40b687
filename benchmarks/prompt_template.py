"""Prompt templates: the text of the user's message around a task, with ``{input}`` and ``{context}``.

Only these two names are replaced, once and at the same time, so braces in a task's own text mean nothing. ``{{`` and
``}}`` stand for braces. This is not ``str.format``: a template reaches no attribute and no index.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

PLACEHOLDERS = ("input", "context")
MAX_LENGTH = 100_000
_PART = re.compile(r"\{\{|\}\}|\{(input|context)\}|[{}]")
_SHOWN = 30


def template_problem(template: str) -> str | None:
    """What is wrong with a template and what to do; ``None`` if it can be used."""
    for part in _PART.finditer(template):
        if part[0] in ("{", "}"):
            shown = template[part.start() :].split("\n", 1)[0][:_SHOWN]
            return f"“{shown}” is not a placeholder. Use {{input}} and {{context}}, and write {{{{ and }}}} for braces."
    return None if "input" in placeholders(template) else "The template needs {input}, which stands for the task."


def placeholders(template: str) -> set[str]:
    """The names that the template replaces."""
    return {part[1] for part in _PART.finditer(template) if part[1]}


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with ``values`` in place of its names. Expects a template without a problem."""
    return _PART.sub(lambda part: values[part[1]] if part[1] else part[0][0], template)
