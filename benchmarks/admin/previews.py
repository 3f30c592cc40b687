"""The prompt of a task exactly as a run would send it, built by the engine itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from benchmarks.admin.base import folded
from benchmarks.dataset_format import TaskSpec, as_mapping
from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.work_items import Prompt
from benchmarks.models import DatasetVersion, Run, Task


@dataclass(frozen=True, slots=True)
class Shown:
    """A prompt for reading: role and text of each message, pictures as data addresses, tools as JSON."""

    messages: list[tuple[str, SafeString]]
    pictures: list[str]
    tools: SafeString | None
    n_tools: int
    hash: str


def prompt_of(
    task: Task, version: DatasetVersion, system_prompt: str = "", representation: str = "", few_shot: bool = False
) -> Prompt:
    """What a run with these settings would send for the task. Canvas tasks need a representation."""
    run = Run(
        dataset_version=version,
        parameters={"system_prompt": system_prompt or None},
        representation=representation,
        few_shot=few_shot,
    )
    return PromptBuilder(run).prompt(task)


def prompt_of_edit(task: TaskSpec, version: DatasetVersion) -> Prompt:
    """What would be sent for a task that is not saved yet."""
    values = as_mapping(task)
    unsaved = Task(
        input=task.input,
        context=values.get("context", []),
        tools=values.get("tools"),
        expected_tools=values.get("expected_tools", []),
    )
    return prompt_of(unsaved, version)


def for_reading(prompt: Prompt) -> Shown:
    """The prompt with its pictures apart from its texts."""
    messages: list[tuple[str, SafeString]] = []
    pictures: list[str] = []
    for message in prompt.messages:
        content: Any = message["content"]
        parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        pictures += [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        messages.append((message["role"], folded(text, 200_000)))
    tools = folded(json.dumps(prompt.tools, indent=2, ensure_ascii=False)) if prompt.tools else None
    return Shown(messages, pictures, tools, len(prompt.tools), prompt.hash())
