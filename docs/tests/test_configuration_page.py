"""``docs/configuration.md`` names every key that there is, and no other."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import yaml
from pages import blocks, page, section, table_rows
from pydantic import BaseModel

from codeforge.config import Config, parse_config

PAGE = page("docs/configuration.md")


def keys_of(model: type[BaseModel], prefix: str = "") -> dict[str, Any]:
    """Dotted key → default, of all values that the model may hold; the keys of mappings are named by placeholders."""
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        key = f"{prefix}{name}"
        annotation = field.annotation
        parts = get_args(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found |= keys_of(annotation, f"{key}.")
        elif parts and isinstance(parts[-1], type) and issubclass(parts[-1], BaseModel):
            placeholder = {
                "providers": "<name>",
                "models": "<provider/model>",
                "webhooks": "<name>",
                "model_families": "<name>",
            }[name]
            found |= keys_of(parts[-1], f"{key}.{placeholder}.")
        else:
            found[key] = "required" if field.is_required() else field.get_default(call_default_factory=True)
    return found


def shown(default: Any) -> str:
    if default is None:
        return "none"
    return str(default).lower() if isinstance(default, bool) else str(default)


def test_every_key_stands_in_the_table_with_its_default() -> None:
    told = {key: default for key, _, default, _ in table_rows(section(PAGE, "## codeforge.yaml"))}
    assert told == {key: shown(default) for key, default in keys_of(Config).items()}


@pytest.mark.parametrize("name", ["docs/configuration.md", "docs/how-to/own-provider.md", "docs/how-to/webhooks.md"])
def test_the_examples_are_accepted(name: str) -> None:
    examples = blocks(page(name), "yaml")
    assert examples
    for example in examples:
        parse_config(yaml.safe_load(example.text), environ={})
