"""What is known of a model by its name: ``model_families.yaml``, and the families that users add in codeforge.yaml;
and its maker, because gateways and local servers offer models of many.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, Field

from benchmarks.providers.base import Section

_FILE = Path(__file__).with_name("model_families.yaml")

Omissible = Literal["temperature", "top_p", "seed", "json_schema", "json_object"]
"""What a request may go without: a response format of that type, else a field of ``ChatRequest``."""
Thinking = Literal["hidden", "field", "tags", "parts", "blocks"]


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is not a regular expression: {error}.") from None
    return value


class ModelFamily(Section):
    """Models whose ``provider/model`` matches; the file says what each key means."""

    models: Annotated[str, AfterValidator(_pattern)]
    """Regular expression that the names of the models match, as `provider/model` in lower case"""
    never_sent: list[Omissible] = Field(default_factory=list)
    """Parameters that requests leave out"""
    names: dict[Literal["max_tokens", "seed"], str] = Field(default_factory=dict)
    """The endpoint's names of `max_tokens` and `seed`"""
    thinking: Thinking | None = None
    """Where responses have the thinking; without it, the models do not think"""


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """What all families of one model say together. ``never_sent`` is parameter → the family that says so."""

    never_sent: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    thinking: Thinking | None = None


def traits_of(model: str, own: Mapping[str, ModelFamily]) -> ModelTraits:
    """The traits of ``provider/model``. ``own`` families replace shipped ones of the same name."""
    matching = {
        name: family
        for name, family in {**shipped_families(), **own}.items()
        if re.search(family.models, model.lower())
    }
    return ModelTraits(
        never_sent={omitted: name for name, family in matching.items() for omitted in family.never_sent},
        names={ours: theirs for family in matching.values() for ours, theirs in family.names.items()},
        thinking=next((family.thinking for family in reversed(matching.values()) if family.thinking), None),
    )


@cache
def shipped_families() -> Mapping[str, ModelFamily]:
    document = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return {name: ModelFamily.model_validate(family) for name, family in document.items()}


_MAKERS = {
    "OpenAI": r"(chat)?gpt|o\d|codex",
    "Anthropic": "claude",
    "Google": "gemini|gemma",
    "Meta": "llama|muse",
    "Mistral": "(mi|mini|code|dev|magi)stral|mixtral|pixtral",
    "Qwen": "qwen|qwq",
    "DeepSeek": "deepseek",
    "xAI": "grok",
    "Cohere": "command|aya",
    "Microsoft": "phi",
    "Moonshot": "kimi",
    "Zhipu": "glm",
    "Amazon": "nova",
}


def maker_of(model: str) -> str:
    """The maker of ``provider/model``. For an unknown one the first word of the model's name, which its versions share;
    empty without a word.
    """
    name = model.lower().rpartition("/")[2]
    for maker, pattern in _MAKERS.items():
        if re.match(rf"({pattern})(?![a-z])", name):
            return maker
    word = re.match("[a-z]+", name)
    return word.group() if word else ""
