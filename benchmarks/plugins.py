"""Plug-ins of installed packages: metrics, generators, importers and kinds of providers, by entry points.

A package adds one with an entry point in a group such as ``codeforge_benchmarks.metrics``: its name, and a subclass of
the group's base class. It never replaces what is registered here. Its code is imported when it is first used or listed.
One that cannot be used is left out and stops nothing; ``doctor`` and Settings name it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Any, Generic, TypeVar

T = TypeVar("T")

REGISTRIES = {
    "metrics": "benchmarks.metrics.registered_metrics:REGISTERED_METRICS",
    "generators": "benchmarks.generators.registry:GENERATORS",
    "importers": "benchmarks.imports.registered_importers:IMPORTERS",
    "providers": "benchmarks.providers.registered_providers:PROVIDER_KINDS",
}
"""Group → its registry, by name, so that nothing here depends on what it holds."""


class PluginProblem(ValueError):
    """Why the plug-in of a package cannot be used: ``reason`` alone, the message with the plug-in and its package."""

    def __init__(self, plugin: str, reason: str) -> None:
        super().__init__(f"{plugin} {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Plugin:
    """What a package brings; with a ``problem`` it is not used: ``cannot be imported: …``."""

    what: str
    """For example, ``metric``."""
    name: str
    package: str
    problem: str


@dataclass(slots=True)
class _Found(Generic[T]):
    """The entry points of the packages on ``path``, and what they became: a plug-in, or its problem."""

    path: tuple[str, ...] = ()
    points: Mapping[str, EntryPoint] = field(default_factory=dict)
    unused: tuple[EntryPoint, ...] = ()
    """Those whose name is taken."""
    loaded: dict[str, T | PluginProblem] = field(default_factory=dict)


class Plugins(Mapping[str, T]):
    """A registry: ``ours`` in their order, then those of packages by name. As a mapping it has what can be used.

    ``what`` is one of them in words; ``make`` makes what the registry holds of a subclass of ``base``.
    """

    def __init__(self, group: str, what: str, base: type, ours: Mapping[str, T], make: Callable[[Any], T]) -> None:
        self.ours = ours
        self._group, self._what, self._base, self._make = f"codeforge_benchmarks.{group}", what, base, make
        self._found: _Found[T] = _Found()

    def names(self) -> list[str]:
        """All names, also of what cannot be used. No package's code is imported."""
        return [*self.ours, *sorted(self._packaged().points)]

    def load(self, name: str) -> T:
        """The plug-in of that name. Raises ``KeyError`` for an unknown name, ``PluginProblem`` if it cannot be used."""
        if name in self.ours:
            return self.ours[name]
        found = self._packaged()
        if name not in found.loaded:
            found.loaded[name] = self._loaded(found.points[name])
        loaded = found.loaded[name]
        if isinstance(loaded, PluginProblem):
            raise loaded
        return loaded

    def installed(self) -> Iterator[Plugin]:
        """What packages bring, whether it can be used or not."""
        found = self._packaged()
        for name, point in sorted(found.points.items()):
            try:
                self.load(name)
                problem = ""
            except PluginProblem as error:
                problem = error.reason
            yield Plugin(self._what, name, _package(point), problem)
        for point in found.unused:
            yield Plugin(self._what, point.name, _package(point), "has a name that is taken. Rename it.")

    def __getitem__(self, name: str) -> T:
        try:
            return self.load(name)
        except PluginProblem:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.names() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __or__(self, other: Mapping[str, T]) -> dict[str, T]:
        return {**self, **other}

    def _packaged(self) -> _Found[T]:
        # Looking for entry points reads a file of each installed package, and a metric is looked up for each result.
        path = tuple(sys.path)
        if self._found.path != path:
            points: dict[str, EntryPoint] = {}
            unused = []
            for point in entry_points(group=self._group):
                if point.name in self.ours or point.name in points:
                    unused.append(point)
                else:
                    points[point.name] = point
            self._found = _Found(path, points, tuple(unused))
        return self._found

    def _loaded(self, point: EntryPoint) -> T | PluginProblem:
        try:
            loaded = point.load()
            if not (isinstance(loaded, type) and issubclass(loaded, self._base)):
                reason = f"is not a subclass of {self._base.__module__}.{self._base.__qualname__}."
            elif (name := getattr(loaded, "name", point.name)) != point.name:
                reason = f"calls itself {name!r}. Use one name."
            else:
                return self._make(loaded)
        except Exception as error:  # whatever foreign code raises
            reason = f"cannot be imported: {type(error).__name__}: {error}"
        return PluginProblem(f"{self._what} {point.name!r} of the package {_package(point)}", reason)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module


def registry(group: str) -> Plugins[Any]:
    return resolve_name(REGISTRIES[group])  # type: ignore[no-any-return]  # by its name


def installed_plugins() -> list[Plugin]:
    """The plug-ins of all packages. Imports their code."""
    return [plugin for group in REGISTRIES for plugin in registry(group).installed()]
