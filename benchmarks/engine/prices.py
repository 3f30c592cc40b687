"""What a model costs: the price in codeforge.yaml, or else the one that was entered on the page, the one that its
endpoint lists, as OpenRouter does, or the one in the table of an installed LiteLLM. Nothing is fetched here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.conf import settings

from benchmarks.engine.addresses import Address, addresses_of
from benchmarks.engine.configured import provider_named
from benchmarks.models import ModelPrice, ProviderCheck
from benchmarks.providers import litellm_package
from benchmarks.providers.vendors import vendor_of

PriceSource = Literal["file", "page", "endpoint", "litellm", "unknown"]


@dataclass(frozen=True, slots=True)
class PerMillion:
    """US dollars per million tokens, ``None`` where they are unknown; without a price of their own, cached tokens cost
    what other input costs. Baselines are free by the program, which counts as the file.

    Of prices that others list, ``listed_by`` says who, and ``listed_at`` when that was read."""

    source: PriceSource
    input: float | None = None
    output: float | None = None
    cached: float | None = None
    listed_by: str = ""
    listed_at: datetime | None = None


UNPRICED = PerMillion("unknown")


def prices_per_million(models: Iterable[str]) -> dict[str, PerMillion]:
    """The price of each ``provider/model``. At most three queries, none if the file has them all.

    A model with any price in the file has only those of the file, so that no price is made of two halves.
    """
    prices = {name: _in_file(name) for name in models}
    rest = [name for name, price in prices.items() if price is None]
    if rest:
        providers = {name.partition("/")[0] for name in rest}
        addresses = addresses_of(providers)
        known: dict[str, PerMillion] = {}
        for check in ProviderCheck.objects.filter(provider__in=providers):
            known |= prices_in_list(check, addresses[check.provider])
        known |= {row.model: _entered(row) for row in ModelPrice.objects.filter(model__in=rest)}
        prices |= {name: price_in(name, known, addresses[name.partition("/")[0]]) for name in rest}
    return {name: price or UNPRICED for name, price in prices.items()}


def entered_prices() -> dict[str, PerMillion]:
    """All prices that were entered on the page and that the file does not replace."""
    return {row.model: _entered(row) for row in ModelPrice.objects.all() if _in_file(row.model) is None}


def prices_in_list(check: ProviderCheck | None, address: Address) -> dict[str, PerMillion]:
    """The prices in the list that a provider's endpoint gave; none if it is at another address now. No query."""
    if check is None or check.address != address.shown:
        return {}
    priced = {f"{check.provider}/{each['name']}": price for each in check.listed if (price := each.get("price"))}
    return {
        name: PerMillion("endpoint", **price, listed_by=check.provider, listed_at=check.listed_at)
        for name, price in priced.items()
    }


def price_in(model: str, known: Mapping[str, PerMillion], address: Address) -> PerMillion:
    """The price of a model of a provider at an address, where ``known`` are ``entered_prices`` and ``prices_in_list``.
    No query."""
    return _in_file(model) or known.get(model) or _in_litellm(model, address) or UNPRICED


def _in_file(model: str) -> PerMillion | None:
    known = settings.CODEFORGE.model(model)
    usd = (known.input_per_million, known.output_per_million, known.cached_input_per_million)
    return None if usd == (None, None, None) else PerMillion("file", *usd)


def _entered(row: ModelPrice) -> PerMillion:
    return PerMillion("page", row.input_per_million, row.output_per_million, row.cached_input_per_million)


def _in_litellm(model: str, address: Address) -> PerMillion | None:
    """The price in LiteLLM's table, of models behind LiteLLM or at a vendor's own address. A deployment at Azure has
    any name."""
    provider, _, name = model.partition("/")
    configured, table = provider_named(provider), litellm_package.table()
    if configured is None or table is None or configured.is_system:
        return None
    if configured.kind == "litellm":
        try:
            full = litellm_package.litellm_name(provider, name, address.base_url)
        except ValueError:
            return None
    else:
        full = f"{vendor_of(address.base_url)}/{name}"
    price = None if full.startswith(("azure/", "None/")) else litellm_package.price_of(full)
    return None if price is None else PerMillion("litellm", price.input, price.output, price.cached, *table)
