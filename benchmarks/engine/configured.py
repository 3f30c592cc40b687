"""The providers that requests may go to: those of codeforge.yaml, and the systems that were entered on the page.

Nothing is cached, so no process has an older system than another: a name of the file costs no query, every other one
a query by its index. A name that the file has as well is the file's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import orjson
from django.conf import settings

from benchmarks.engine.sealing import seal, sealing_allowed, unseal
from benchmarks.models import EnteredSystem
from benchmarks.providers.model_names import BASELINE


def provider_named(name: str) -> Any | None:
    """The configuration of a provider or system, ``None`` without one. At most one query, none if the file has it."""
    return providers_named([name]).get(name)


def providers_named(names: Iterable[str]) -> dict[str, Any]:
    """Likewise for several, in at most one query, without those that are not configured."""
    names = set(names)
    in_file = {name: each for name, each in settings.CODEFORGE.providers.items() if name in names}
    rest = names - in_file.keys() - {BASELINE}
    entered = _entered().filter(name__in=rest) if rest and sealing_allowed() else ()
    return in_file | {row.name: opened(row) for row in entered}


def all_providers() -> dict[str, Any]:
    """All of the file, then those that were entered. At most one query."""
    in_file = dict(settings.CODEFORGE.providers)
    entered = _entered().exclude(name__in=in_file).order_by("name") if sealing_allowed() else ()
    return in_file | {row.name: opened(row) for row in entered}


def limited(by: Literal["max_in_flight", "requests_per_minute"]) -> tuple[dict[str, int], dict[str, int]]:
    """Model → its limit, and provider → that of each of its models. Without those that have none, and those that were
    entered, which cannot have one. No query."""
    models, providers = (
        {name: most for name, each in configured.items() if (most := getattr(each.limits, by)) is not None}
        for configured in (settings.CODEFORGE.models, settings.CODEFORGE.providers)
    )
    return models, providers


def is_system(model: str) -> bool:
    """Whether the name of a model is that of a system under test: ``bot``, or ``bot/NAME``."""
    configured = provider_named(model.partition("/")[0])
    return configured is not None and configured.is_system


def retrieves(model: str) -> bool:
    """Whether it may report passages that it looks up, which only systems under test do."""
    configured = provider_named(model.partition("/")[0])
    return configured is not None and configured.retrieves


def any_retrieves() -> bool:
    return any(each.retrieves for each in all_providers().values())


def sealed_parts(name: str, headers: dict[str, str], query: str) -> str:
    """What of a system is stored encrypted."""
    return seal(_purpose(name), orjson.dumps({"headers": headers, "query": query}).decode())


def opened(row: EnteredSystem) -> Any:
    """The configuration that a row holds; ``unreadable`` if its headers are encrypted under another ``SECRET_KEY``."""
    text = unseal(_purpose(row.name), row.sealed)
    secret = orjson.loads(text) if text is not None else {"headers": {}, "query": ""}
    query = f"?{secret['query']}" if secret["query"] else ""
    return settings.CODEFORGE.entered_system(
        {
            **row.options,
            "base_url": row.base_url + query,
            "headers": secret["headers"],
            "unreadable": text is None,
        }
    )


def _entered() -> Any:
    return EnteredSystem.objects.defer("set_at", "set_by")


def _purpose(name: str) -> str:
    return f"system {name}"
