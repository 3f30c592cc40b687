"""The prompt of a canvas question: the loader's text, and for the picture representation the picture itself."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import Any

from benchmarks.engine.prompts import Prompt, with_system
from benchmarks.models import Run, Task
from tasks_app.canvas.picture import png
from tasks_app.canvas.shapes import Shape
from tasks_app.loader import CanvasDocument, build_prompt
from tasks_app.models import Canvas, Question


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
