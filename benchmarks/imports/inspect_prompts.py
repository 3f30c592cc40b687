"""What solvers of Inspect made of the input of samples before the model saw it, as parameters and tasks of ours.

A system message that all samples share is the run's system prompt, and a text around all inputs its prompt template, so
that a run here with these parameters sends what Inspect sent. The text of a multiple-choice sample, which solvers give
its choices, is the input of the task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.prompt_template import MAX_LENGTH

INPUT = "{input}"


class Said(NamedTuple):
    """A message as text."""

    role: str
    text: str
    is_input: bool = False
    """Whether Inspect marks it as part of the sample's input."""


class Sent(NamedTuple):
    """What was sent for one sample; ``None`` stands for what cannot be a parameter."""

    system: str | None
    """The system message that a solver added; empty if none did."""
    text: str | None
    """The last message of the user."""
    template: str | None
    """The text around the input."""


def sent(given: Sequence[Said], messages: Sequence[Said]) -> Sent | None:
    """Compare the input of a sample with the messages before the model's first; ``None`` if there are none."""
    before = list(takewhile(lambda said: said.is_input or said.role in ("system", "user"), messages))
    if not before:
        return None
    (given_systems, given_others), (systems, others) = map(_apart, (given, before))
    system = "" if systems == given_systems else systems[0][1] if len(systems) == 1 and not given_systems else None
    if others[:-1] != given_others[:-1] or [role for role, _ in others] != [role for role, _ in given_others]:
        return Sent(system, None, None)
    return Sent(system, others[-1][1], _template(given_others[-1][1], others[-1][1])) if others else None


def _apart(messages: Sequence[Said]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Role and text of system messages, and of the others."""
    return (
        [(said.role, said.text) for said in messages if said.role == "system"],
        [(said.role, said.text) for said in messages if said.role != "system"],
    )


def _template(given: str, text: str) -> str | None:
    if text == given:
        return INPUT
    around = text.split(given) if given.strip() else []
    template = INPUT.join(part.replace("{", "{{").replace("}", "}}") for part in around)
    return template if len(around) == 2 and len(template) <= MAX_LENGTH else None


def with_choices(task: TaskSpec, several: list[Sent]) -> tuple[TaskSpec, list[Sent]]:
    """If solvers gave the task's text its choices, alike in all epochs, that text is its input, without a template."""
    texts = {one.text for one in several}
    text = texts.pop() if task.choices and task.input and len(texts) == 1 else None
    if not text:
        return task, several
    return replace(task, input=text), [one._replace(template=INPUT) for one in several]


def parameters_of(each: Sequence[Sent]) -> dict[str, Any]:
    """The system prompt and the prompt template that all samples share."""
    systems, templates = {one.system for one in each}, {one.template for one in each}
    parameters = {}
    if len(systems) == 1 and (system := systems.pop()):
        parameters["system_prompt"] = system
    if len(templates) == 1 and (template := templates.pop()) not in (None, INPUT):
        parameters["prompt_template"] = template
    return parameters


def unsent(each: Sequence[Sent], parameters: Mapping[str, object]) -> Iterator[str]:
    """What solvers changed that is in no parameter and no task, in sentences."""
    if "system_prompt" not in parameters and any(one.system != "" for one in each):
        yield "System messages that solvers added differ between samples: they are only in the messages of the results."
    if "prompt_template" not in parameters and any(one.template != INPUT for one in each):
        yield "Prompts that solvers changed differ between samples: they are only in the messages of the results."
