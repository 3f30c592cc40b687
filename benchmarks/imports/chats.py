"""Chats that other tools store in the form of OpenAI's or Anthropic's API, as messages of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.dataset_format.messages import checked, ending_faults
from benchmarks.dataset_format.problems import Invalid
from benchmarks.providers.clean_text import storable

_ROLES = {"developer": "system"}
_TEXTS = ("text", "input_text")


def messages_of(chat: Any) -> tuple[Mapping[str, object], ...] | None:
    """The messages, as they were sent. Empty if the value is not a chat; ``None`` if it is one that no task can have:
    with calls of tools, parts that are neither text nor image, or another end than a message of the user."""
    if not (isinstance(chat, list) and chat and all(isinstance(message, Mapping) for message in chat)):
        return ()
    if not all(isinstance(message.get("role"), str) for message in chat):
        return ()
    messages = []
    for message in chat:
        content = content_of(message.get("content"))
        more = {key for key, value in message.items() if key not in ("role", "content") and value}
        if content is None or more:
            return None
        messages.append({"role": _ROLES.get(message["role"], message["role"]), "content": content})
    try:
        checked(messages)
    except Invalid:
        return None
    return None if any(ending_faults(messages, before_turns=False)) else tuple(messages)


def as_one_text(said: Sequence[tuple[str, str]]) -> str:
    """Roles and texts as one text, without the role if there is only one."""
    return said[0][1] if len(said) == 1 else "\n\n".join(f"{role}: {text}" for role, text in said)


def content_of(content: Any) -> str | list[dict[str, str]] | None:
    """The content of a message: text, or parts as a task has them. ``None`` if a part is neither text nor image."""
    if isinstance(content, str):
        return storable(content, [])
    if not isinstance(content, list):
        return None
    parts = [_part(part) for part in content]
    return None if None in parts else [part for part in parts if part is not None]


def _part(part: Any) -> dict[str, str] | None:
    if isinstance(part, str):
        return {"text": storable(part, [])}
    if not isinstance(part, Mapping):
        return None
    if part.get("type") in _TEXTS and isinstance(part.get("text"), str):
        return {"text": storable(part["text"], [])}
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, Mapping) else image
    source = part.get("source")
    if part.get("type") == "image" and isinstance(source, Mapping):
        url = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
    return {"image": url} if isinstance(url, str) else None
