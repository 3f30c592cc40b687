"""The columns of a promptfoo file: which model was asked in each, and with which settings.

Promptfoo names a provider by its label or its id. Columns of one prompt whose providers have the same name differ in
their configuration, which is in the file's ``config.providers``, in the order of the columns; lines of results lack it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.imports.parts import as_text, sampling_of
from benchmarks.imports.runs import Unused

_MAX_TOKENS = ("max_completion_tokens", "max_output_tokens")
_WITHOUT_LOSS = frozenset({"apiKey"})


class Column(NamedTuple):
    """A column of promptfoo's table. ``place`` counts those whose provider and prompt have the same names."""

    provider: str
    prompt: str
    place: int = 0


class Asked(NamedTuple):
    """Of a column: the model, what distinguishes it from others of this model, and its settings."""

    model: str
    variant: str
    parameters: Mapping[str, object]


class Placed(NamedTuple):
    """The id of a column's provider, and the position of the column, if the file has it."""

    provider_id: str
    position: int | None


class Providers:
    """``configured`` is the ``config.providers`` of the file, ``width`` the number of columns in its table."""

    def __init__(self, columns: Mapping[Column, Placed], configured: Any, width: int, unused: Unused) -> None:
        self._ids = {column: placed.provider_id for column, placed in columns.items()}
        known = list(_configured(configured))
        # Columns are those of the first provider, one for each prompt, then those of the second.
        prompts, rest = divmod(width, len(known)) if known else (0, 1)
        by_name: dict[str, list[Mapping[str, object]]] = defaultdict(list)
        for name, config in known:
            by_name[name].append(config)
            unused.update((f"config.{key}", "providers") for key in _unread(config))
        self._settings: dict[Column, dict[str, object]] = {}
        for column, placed in columns.items():
            named = by_name[column.provider][column.place :]
            at = placed.position if rest == 0 and (placed.position or 0) < width else None
            config = known[at // prompts][1] if at is not None else named[0] if named else {}
            self._settings[column] = _parameters(config)

    def asked(self, column: Column) -> Asked:
        provider = self._ids[column]
        same = [other for other, of in self._ids.items() if of == provider and other.prompt == column.prompt]
        if len(same) == 1:
            return Asked(column.provider, "", self._settings[column])
        return Asked(provider, self._variant(column, same), self._settings[column])

    def _variant(self, column: Column, same: Sequence[Column]) -> str:
        """What distinguishes one of several columns: a name, the settings that differ, or its place."""
        if len({other.provider for other in same}) == len(same):
            return column.provider
        settings = [self._settings[other] for other in same]
        differing = [
            name
            for name in dict.fromkeys(key for each in settings for key in each)
            if len({str(each.get(name)) for each in settings}) > 1
        ]
        own: Mapping[str, Any] = self._settings[column]
        named = [f"{name.replace('_', ' ')} {own[name]:g}" for name in differing if name in own]
        words = ", ".join([*([column.provider] if column.provider != self._ids[column] else []), *named])
        distinct = len({tuple(str(each.get(name)) for name in differing) for each in settings}) == len(same)
        return words if words and distinct else f"provider {same.index(column) + 1}"


def _configured(providers: Any) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Name and configuration of each provider in the forms that promptfoo accepts."""
    for provider in providers if isinstance(providers, list) else [providers]:
        if isinstance(provider, str):
            yield provider, {}
        elif isinstance(provider, Mapping):
            # Either the options, or the id with the options.
            given = (
                provider
                if "id" in provider or len(provider) != 1
                else {"id": next(iter(provider)), **_mapping(*provider.values())}
            )
            yield as_text(given.get("label") or given.get("id") or ""), _mapping(given.get("config"))


def _mapping(value: Any) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _parameters(config: Mapping[str, object]) -> dict[str, object]:
    limits = [config[name] for name in ("max_tokens", *_MAX_TOKENS) if name in config]
    return sampling_of({**config, "max_tokens": next(iter(limits), None)})


def _unread(config: Mapping[str, object]) -> Iterator[str]:
    read = {*_parameters(config), *(_MAX_TOKENS if "max_tokens" in _parameters(config) else ())}
    for key, value in config.items():
        if key not in read | _WITHOUT_LOSS and value not in (None, "", [], {}):
            yield as_text(key)
