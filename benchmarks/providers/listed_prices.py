"""Prices of models as endpoints and tables list them, in US dollars per token. The values are hostile."""

from __future__ import annotations

from typing import Any

from benchmarks.providers.base import ListedPrice

HIGHEST_PRICE = 1_000_000.0
"""US dollars per million tokens: a dollar a token."""


def price_per_token(per_input: Any, per_output: Any, per_cached: Any) -> ListedPrice | None:
    """The price from US dollars per token, numbers or text; ``None`` if that of input or output is unknown."""
    usd_in, usd_out = _per_million(per_input), _per_million(per_output)
    if usd_in is None or usd_out is None:
        return None
    return ListedPrice(usd_in, usd_out, _per_million(per_cached))


def price_in_list(pricing: Any) -> ListedPrice | None:
    """OpenRouter's ``pricing`` of a model. One with a fee per request has no price by tokens alone; one below 0 depends
    on where a request is routed."""
    if not isinstance(pricing, dict) or _per_million(pricing.get("request", 0)) != 0:
        return None
    return price_per_token(*(pricing.get(name) for name in ("prompt", "completion", "input_cache_read")))


def _per_million(usd_per_token: Any) -> float | None:
    """US dollars per million tokens, rounded to what binary fractions cannot spoil; ``None`` for what is no price."""
    if isinstance(usd_per_token, bool) or not isinstance(usd_per_token, str | int | float):
        return None
    try:
        usd = round(float(usd_per_token) * 1e6, 6)
    except (ValueError, OverflowError):
        return None
    return usd if 0 <= usd <= HIGHEST_PRICE else None
