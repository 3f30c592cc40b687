"""What a model costs: the price in codeforge.yaml, or else the one that was entered on the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from django.conf import settings

from benchmarks.models import ModelPrice

PriceSource = Literal["file", "page", "unknown"]


@dataclass(frozen=True, slots=True)
class PerMillion:
    """US dollars per million tokens, ``None`` where they are unknown; without a price of their own, cached tokens cost
    what other input costs. Baselines are free by the program, which counts as the file."""

    source: PriceSource
    input: float | None = None
    output: float | None = None
    cached: float | None = None


UNPRICED = PerMillion("unknown")


def prices_per_million(models: Iterable[str]) -> dict[str, PerMillion]:
    """The price of each ``provider/model``. At most one query, none if the file has them all.

    A model with any price in the file has only those of the file, so that no price is made of two halves.
    """
    prices = {name: _in_file(name) for name in models}
    rest = [name for name, price in prices.items() if price is None]
    stored = {row.model: _entered(row) for row in ModelPrice.objects.filter(model__in=rest)} if rest else {}
    return {name: price or stored.get(name, UNPRICED) for name, price in prices.items()}


def entered_prices() -> dict[str, PerMillion]:
    """All prices that were entered on the page and that the file does not replace."""
    return {row.model: _entered(row) for row in ModelPrice.objects.all() if _in_file(row.model) is None}


def price_in(model: str, entered: dict[str, PerMillion]) -> PerMillion:
    """The price of a model where ``entered_prices`` are known. No query."""
    return _in_file(model) or entered.get(model, UNPRICED)


def _in_file(model: str) -> PerMillion | None:
    known = settings.CODEFORGE.model(model)
    usd = (known.input_per_million, known.output_per_million, known.cached_input_per_million)
    return None if usd == (None, None, None) else PerMillion("file", *usd)


def _entered(row: ModelPrice) -> PerMillion:
    return PerMillion("page", row.input_per_million, row.output_per_million, row.cached_input_per_million)
