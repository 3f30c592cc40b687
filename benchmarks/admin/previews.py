"""The prompt of a task exactly as a run sends it, built by the engine itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.safestring import SafeString

from benchmarks.admin.base import folded
from benchmarks.dataset_format.spec import TaskSpec, as_mapping
from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.models import DatasetVersion, Run, Task
from tasks_app.loader import REPRESENTATIONS

_WHOLE_PROMPT = 200_000


class SettingsForm(forms.Form):
    """The settings of a run that change a prompt."""

    system_prompt = forms.CharField(required=False, widget=forms.Textarea({"rows": 2, "class": "vLargeTextField"}))
    representation = forms.ChoiceField(required=False, choices=[(name, name) for name in REPRESENTATIONS])
    few_shot = forms.BooleanField(required=False, label="Include two examples")


@dataclass(frozen=True, slots=True)
class PromptView:
    """A prompt for reading: role and text of each message, images as data URLs, tools as JSON."""

    messages: list[tuple[str, SafeString]]
    images: list[str]
    tools: SafeString | None
    n_tools: int
    hash: str


def prompt_view(
    task: Task, version: DatasetVersion, system_prompt: str = "", representation: str = "", few_shot: bool = False
) -> PromptView:
    """What a run with these settings sends for the task. Canvas tasks need a representation."""
    run = Run(
        dataset_version=version,
        parameters={"system_prompt": system_prompt or None},
        representation=representation,
        few_shot=few_shot,
    )
    prompt = PromptBuilder(run).prompt(task)
    messages: list[tuple[str, SafeString]] = []
    images: list[str] = []
    for message in prompt.messages:
        content: Any = message["content"]
        parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        images += [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        messages.append((message["role"], folded(text, _WHOLE_PROMPT)))
    tools = folded(json.dumps(prompt.tools, indent=2, ensure_ascii=False)) if prompt.tools else None
    return PromptView(messages, images, tools, len(prompt.tools), prompt.hash())


def unsaved_prompt_view(task: TaskSpec, version: DatasetVersion) -> PromptView:
    """What a run would send for a task that is not saved yet."""
    values = as_mapping(task)
    names = ("input", "context", "tools", "expected_tools")
    return prompt_view(Task(**{name: values[name] for name in names if name in values}), version)
