"""What is sent for a task: the messages, the tools offered, and a hash that proves later that nothing has changed.

The prompt of a canvas question: the loader's text, and for the picture representation the picture itself.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from benchmarks.models import Run, Task
from benchmarks.providers.base import Message
from tasks_app.canvas.picture import png
from tasks_app.canvas.shapes import Shape
from tasks_app.loader import CanvasDocument, build_prompt
from tasks_app.models import Canvas, Question

CONTEXT_HEADING = "Context:"
SENT_PARAMETERS = ("temperature", "top_p", "max_tokens", "seed")


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages in OpenAI chat form, tools as OpenAI function schemas, and the picture sent with them, if any."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    picture: Mapping[str, Any] | None = None

    def hash(self) -> str:
        """SHA-256 over what is sent, in one canonical writing."""
        sent = {"messages": list(self.messages), "tools": list(self.tools)}
        return hashlib.sha256(orjson.dumps(sent, option=orjson.OPT_SORT_KEYS)).hexdigest()


def yaml_prompt(
    task_input: str, context: Sequence[str], tools: Sequence[Mapping[str, Any]], system_prompt: str | None
) -> Prompt:
    """The prompt of a YAML task: numbered context passages first, then the input word for word."""
    passages = "\n\n".join(f"[{number}] {passage}" for number, passage in enumerate(context, 1))
    text = f"{CONTEXT_HEADING}\n\n{passages}\n\n{task_input}" if passages else task_input
    return Prompt(with_system(system_prompt, text), tuple(tools))


def with_system(system_prompt: str | None, content: Any) -> tuple[Message, ...]:
    user: Message = {"role": "user", "content": content}
    return ({"role": "system", "content": system_prompt}, user) if system_prompt else (user,)


def tools_offered(
    task_tools: Sequence[Mapping[str, Any]] | None,
    dataset_tools: Sequence[Mapping[str, Any]],
    expected: Sequence[Mapping[str, Any]],
) -> list[Mapping[str, Any]]:
    """The task's own tools, else the dataset's, else schemas inferred from the expected calls."""
    if task_tools is not None:
        return list(task_tools)
    return list(dataset_tools) or inferred_tools(expected)


def inferred_tools(expected: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Function schemas that admit the expected calls: every argument seen, typed by its value, none required.

    Nothing of a reference value goes into the schema, so the answer is not given away.
    """
    properties: dict[str, dict[str, Any]] = {}
    for call in expected:
        seen = properties.setdefault(call["name"], {})
        for argument, value in (call.get("args") or {}).items():
            seen[argument] = {"type": _json_type(value)}
    return [
        {
            "type": "function",
            "function": {"name": name, "parameters": {"type": "object", "properties": arguments}},
        }
        for name, arguments in properties.items()
    ]


def _json_type(value: Any) -> str:
    for kinds, name in (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
    ):
        if isinstance(value, kinds):
            return name
    return "null"


def canvas_prompt(run: Run, task: Task) -> Prompt:
    """What is sent for a canvas question in the run's representation. The task comes with its question and canvas."""
    question = task.question
    assert question is not None, "only canvas tasks come here"
    made = build_prompt(document_of(question), question.task_name, run.representation, run.few_shot)
    system_prompt = run.parameters.get("system_prompt")
    if not made.needs_image:
        return Prompt(with_system(system_prompt, made.text))
    drawn = _png_of(shapes_of(question.canvas))
    content: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(drawn).decode()}},
        {"type": "text", "text": made.text},
    ]
    picture = {"canvas": question.canvas_id, "sha256": hashlib.sha256(drawn).hexdigest()}
    return Prompt(with_system(system_prompt, content), picture=picture)


def document_of(question: Question) -> CanvasDocument:
    """The canvas as the loader knows it, with this one question and its examples."""
    canvas = question.canvas
    asked = ((question.question, question.answer), *((text, answer) for text, answer in question.examples))
    return CanvasDocument(shapes_of(canvas), canvas.descriptions, {question.task_name: asked})


def shapes_of(canvas: Canvas) -> tuple[Shape, ...]:
    return tuple(
        Shape(shape["shape"], shape["color"], shape["size"], (shape["center"][0], shape["center"][1]))
        for shape in canvas.shapes
    )


@lru_cache(maxsize=256)
def _png_of(shapes: tuple[Shape, ...]) -> bytes:
    """The task classes of one canvas ask about the same picture."""
    return png(shapes)
