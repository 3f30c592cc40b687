"""A stand-in for an installed LiteLLM: its data files, and a module that must not be imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from benchmarks.providers import litellm_package

VENDORS = ("bedrock", "openai")


@contextmanager
def installed_litellm(folder: Path, monkeypatch: pytest.MonkeyPatch, table: Mapping[str, Any]) -> Iterator[None]:
    """LiteLLM 9.9 in an empty folder, with this table of prices."""
    package, about = folder / "litellm", folder / "litellm-9.9.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    vendors = {"providers": {name: {} for name in VENDORS}}
    (package / "provider_endpoints_support_backup.json").write_bytes(orjson.dumps(vendors))
    (package / "model_prices_and_context_window_backup.json").write_bytes(orjson.dumps(table))
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: litellm\nVersion: 9.9\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    _forget()
    try:
        yield
    finally:
        _forget()


def _forget() -> None:
    for cached in (litellm_package.prices, litellm_package.vendors, litellm_package.table):
        cached.cache_clear()
