"""Where a provider is: the address in codeforge.yaml, or else the one that was entered on the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.engine.configured import providers_named
from benchmarks.models import ProviderAddress

AddressSource = Literal["file", "page", "default", "none"]
"""``default``: the file's ``default_url``, which an entered address replaces; ``none``: a kind without an address."""


@dataclass(frozen=True, slots=True)
class Address:
    source: AddressSource
    base_url: str | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """The URL without its query, which may hold a secret; empty without a URL."""
        return (self.base_url or "").partition("?")[0]


def address_of(provider: str) -> Address:
    """The address that requests to a provider go to. At most two queries, none if the file fixes it."""
    return addresses_of([provider])[provider]


def addresses_of(providers: Iterable[str]) -> dict[str, Address]:
    """Likewise for several providers, in as many queries."""
    names = list(providers)
    known = providers_named(names)
    configured = {name: known.get(name) for name in names}
    open_ones = {name: each.default_url for name, each in configured.items() if each and each.address_can_be_entered}
    rows = ProviderAddress.objects.filter(provider__in=open_ones).values_list("provider", "base_url")
    entered = dict(rows) if open_ones else {}
    found = {}
    for name, each in configured.items():
        fixed = each.base_url if each else None
        if name in entered:
            found[name] = Address("page", entered[name])
        elif each and each.entered:
            found[name] = Address("page", fixed)
        elif name in open_ones:
            found[name] = Address("default", open_ones[name])
        else:
            found[name] = Address("file" if fixed else "none", fixed)
    return found
