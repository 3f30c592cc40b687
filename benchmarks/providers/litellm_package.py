"""What the installed LiteLLM knows of vendors and prices, from its data files: importing it takes seconds."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from benchmarks.providers.base import ListedPrice
from benchmarks.providers.listed_prices import price_per_token

_FULL_NAMES = "litellm"
PROXY = "litellm_proxy"
"""LiteLLM's name for a proxy of its own, at ``base_url``."""
_VENDORS_FILE = "provider_endpoints_support_backup.json"
_MODES = ("chat", "responses", "completion")
_PRICES_FILE = "model_prices_and_context_window_backup.json"


def is_installed() -> bool:
    return _folder() is not None


def litellm_name(provider: str, model: str, base_url: str | None) -> str:
    """LiteLLM's full name of a model at a provider of this kind.

    A provider that is named like a vendor leads to that vendor; any other, such as ``litellm``, takes LiteLLM's full
    names, such as ``bedrock/…``, or, with a ``base_url``, the names of a proxy there. Raises ``ValueError`` if the
    model's name is none of these.
    """
    if provider == _FULL_NAMES:
        return model
    known = vendors()
    if provider in known or not known:
        return f"{provider}/{model}"
    if model.partition("/")[0] in known:
        return model
    if base_url:
        return f"{PROXY}/{model}"
    raise ValueError(
        f"{provider} is not a vendor in LiteLLM, so {model!r} needs LiteLLM's full name, such as "
        f"{provider}/bedrock/{model}, or the provider a `base_url`."
    )


@cache
def vendors() -> frozenset[str]:
    """LiteLLM's names of vendors; none if it is not installed or keeps them elsewhere."""
    listed = _read(_VENDORS_FILE).get("providers")
    priced = {entry.get("litellm_provider") for entry in prices().values() if isinstance(entry, dict)}
    named = {*(listed if isinstance(listed, dict) else ()), *priced}
    return frozenset(name for name in named if isinstance(name, str) and name.isprintable() and " " not in name)


@cache
def prices() -> Mapping[str, Any]:
    """LiteLLM's table: name of a model → its entry."""
    return _read(_PRICES_FILE)


@cache
def table() -> tuple[str, datetime] | None:
    """What the table is of, such as ``LiteLLM 1.83.0``, and when it was installed; ``None`` without one."""
    folder = _folder()
    if folder is None or not prices():
        return None
    installed = datetime.fromtimestamp((folder / _PRICES_FILE).stat().st_mtime, UTC)
    return f"LiteLLM {importlib.metadata.version('litellm')}", installed


def price_of(name: str) -> ListedPrice | None:
    """What the table says of a model with LiteLLM's full name, below any threshold of long prompts; ``None`` if it has
    no price by token for it."""
    vendor, _, model = name.partition("/")
    entry = prices().get(name, prices().get(model))
    if not isinstance(entry, dict) or entry.get("mode") not in _MODES:
        return None
    # Vertex and Bedrock have several names each, such as bedrock_converse.
    if not str(entry.get("litellm_provider")).startswith(vendor):
        return None
    names = ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")
    return price_per_token(*(entry.get(each) for each in names))


def _read(file: str) -> Mapping[str, Any]:
    folder = _folder()
    try:
        document = orjson.loads((folder / file).read_bytes()) if folder else {}
    except (OSError, orjson.JSONDecodeError):
        return {}
    return document if isinstance(document, dict) else {}


def _folder() -> Path | None:
    try:
        spec = importlib.util.find_spec("litellm")
    except ValueError:  # a module without a spec
        return None
    return Path(spec.origin).parent if spec and spec.origin else None
