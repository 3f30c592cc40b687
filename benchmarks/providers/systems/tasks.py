"""What a system under test is told of a task: the values of templates, and what programs and functions read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from benchmarks.providers.base import AskedTask, ChatRequest

TASK_VERSION = 1
"""Of the line. It goes up when a field changes its meaning or is removed; fields may be added."""
_PARAMETERS = ("temperature", "top_p", "max_tokens", "seed")


def task_values(request: ChatRequest) -> dict[str, Any]:
    """Placeholder → value of one request. Nothing in it is the reference or says what it is."""
    task = request.task or AskedTask()
    return {
        "input": task.input or last_text(request),
        "context": list(task.context),
        "messages": list(request.messages),
        "metadata": dict(task.metadata),
        "parameters": sent_parameters(request),
        "tools": list(request.tools),
        "model": request.model or None,
        "id": task.id or None,
        "conversation_id": task.conversation_id or None,
    }


def task_line(request: ChatRequest) -> dict[str, Any]:
    """The same for programs and functions, with the version of its form."""
    return {"version": TASK_VERSION, **task_values(request)}


def sent_parameters(request: ChatRequest) -> dict[str, Any]:
    """The parameters that the run sets."""
    given = {name: value for name in _PARAMETERS if (value := getattr(request, name)) is not None}
    return {**given, **request.extra}


def unsent_parameters(request: ChatRequest, names: Collection[str]) -> tuple[str, ...]:
    """A note on the parameters that a template with these placeholders does not send."""
    if "parameters" in names:
        return ()
    unsent = [name for name in sent_parameters(request) if f"parameters.{name}" not in names]
    return (f"Not sent, because the system's template does not name them: {', '.join(unsent)}.",) if unsent else ()


def last_text(request: ChatRequest) -> str:
    """The text of the user's last message."""
    for message in reversed(request.messages):
        if message["role"] == "user":
            content = message.get("content") or ""
            if isinstance(content, str):
                return content
            return "\n\n".join(str(part["text"]) for part in content if part.get("type") == "text")
    return ""
