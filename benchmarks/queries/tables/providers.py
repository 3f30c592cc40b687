"""The tables of providers and of what their endpoints list."""

from __future__ import annotations

from django.utils import timezone

from benchmarks.presentation.cells import Cell, Moment, State
from benchmarks.presentation.numbers import MISSING, UNKNOWN, number
from benchmarks.presentation.providers import PROVIDER_STATUS
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.providers import ModelRow, ProviderRow

MARK = {
    "ready": "completed",
    "no_key": "pending",
    "no_connection": "failed",
    "refusing": "refused",
    "failing": "provider_error",
    "unchecked": "pending",
}
"""Status of a provider → the mark of a state."""


def _models(row: ProviderRow) -> Cell:
    return sum(model.listed for model in (*row.models, *row.others)) if row.listed_at else MISSING


def _price(usd: float | None, missing: str = UNKNOWN) -> str:
    return missing if usd is None else f"{usd:g}"


def _price_source(row: ModelRow) -> str:
    """Who lists the price, such as ``openrouter, 2026-11-26``."""
    if row.price_listed_at is None:
        return {"file": "codeforge.yaml", "page": "entered"}.get(row.price_source, MISSING)
    return f"{row.price_listed_by}, {timezone.localtime(row.price_listed_at):%Y-%m-%d}"


PROVIDERS = Table[ProviderRow](
    "Providers",
    [
        Column("Provider", lambda row: row.name, "name"),
        Column("Status", lambda row: State(MARK[row.status], PROVIDER_STATUS[row.status])),
        Column("Key", lambda row: row.key_words),
        Column("Checked", lambda row: Moment(row.looked_at) if row.looked_at else "never"),
        Column("Models", _models, "number"),
        Column("Address", lambda row: row.address or row.kind),
    ],
)
MODELS = Table[ModelRow](
    "Models",
    [
        Column("Model", lambda row: row.name, "name"),
        Column("Context", lambda row: UNKNOWN if row.context_length is None else number(row.context_length), "number"),
        Column("$ in / M", lambda row: _price(row.input_per_million), "number"),
        Column("$ cached / M", lambda row: _price(row.cached_input_per_million, MISSING), "number"),
        Column("$ out / M", lambda row: _price(row.output_per_million), "number"),
        Column("Price from", _price_source),
        Column("Configured", lambda row: "yes" if row.configured else "no"),
    ],
)
"""On a terminal. A page also shows what each model supports, in cells that span several columns."""
