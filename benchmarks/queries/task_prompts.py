"""The prompt of a task, as the engine builds it for a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.engine.execution.prompts import PromptBuilder
from benchmarks.engine.execution.work_items import Prompt
from benchmarks.models import Run, Task
from tasks_app.loader import REPRESENTATIONS


def prompt_of(task: Task, settings: Mapping[str, Any]) -> Prompt:
    """The prompt that a run with these settings sends: ``system_prompt``, ``representation``, ``few_shot``."""
    run = Run(
        dataset_version=task.version,
        parameters={"system_prompt": settings.get("system_prompt") or None},
        representation=settings.get("representation") or REPRESENTATIONS[0],
        few_shot=settings.get("few_shot", False),
    )
    return PromptBuilder(run).prompt(task)
