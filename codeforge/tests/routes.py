"""Every address of the site, found by walking the resolver, so that a test over all of them cannot forget one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Route:
    name: str
    view: Any

    @property
    def api_methods(self) -> set[str]:
        """The methods that a view of the REST framework answers; empty for plain views, which do not tell."""
        if actions := getattr(self.view, "actions", None):
            return {method.upper() for method in actions if method in METHODS}
        cls = getattr(self.view, "cls", None)
        return {method.upper() for method in METHODS if hasattr(cls, method)} if cls else set()


def all_routes() -> list[Route]:
    return list(_walk(get_resolver().url_patterns, ()))


def _walk(patterns: list[Any], namespaces: tuple[str, ...]) -> Iterator[Route]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = (*namespaces, pattern.namespace) if pattern.namespace else namespaces
            yield from _walk(pattern.url_patterns, inner)
        elif isinstance(pattern, URLPattern):
            yield Route(":".join((*namespaces, pattern.name or f"unnamed {pattern.pattern}")), pattern.callback)
