"""Where the server may send requests to addresses that a page, an import or a table names.

A host is resolved once, and each connection is made to an address that was checked, also after a redirect. A name that
resolves differently the next time therefore reaches nothing else.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import aiohttp

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

REFUSED = (
    "The host has no public address. If it should be reached, add it to `outbound.allow` in codeforge.yaml, and "
    "restart web server and workers."
)
"""One text for loopback, private and link-local addresses and for names without one: it tells nothing about them."""

_NAT64, _UNICAST = ip_network("64:ff9b::/96"), ip_network("2000::/3")
_PROTOCOLS = ip_network("192.0.0.0/24")
"""Kept for protocols, and partly called global by older versions of Python."""


class NotAllowed(OSError):
    """The host has no address that may be reached."""

    def __init__(self) -> None:
        super().__init__(REFUSED)


@dataclass(frozen=True, slots=True)
class Outbound:
    """Public addresses may be reached, and those of ``hosts`` and ``networks``; loopback only with ``loopback``."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    loopback: bool = False

    @classmethod
    def of(cls, allowed: Iterable[str], *, loopback: bool) -> Outbound:
        """Read names of hosts, and addresses or networks such as ``10.0.0.0/8``."""
        hosts, networks = set(), []
        for each in allowed:
            if (network := network_of(each)) is not None:
                networks.append(network)
            else:
                hosts.add(_name(each))
        return cls(frozenset(hosts), tuple(networks), loopback)

    def and_to(self, *urls: str) -> Outbound:
        """These rules, and the hosts of addresses that whoever runs the server has chosen."""
        more = Outbound.of((urlsplit(url).hostname or "" for url in urls), loopback=False)
        return replace(self, hosts=self.hosts | more.hosts, networks=self.networks + more.networks)

    def permits(self, address: Address, host: str = "") -> bool:
        """Whether a connection to ``address``, which ``host`` resolves to, may be made. Link-local is never allowed,
        because clouds give out the keys of a machine there.
        """
        address = _embedded(address)
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            return False
        if _name(host) in self.hosts or any(address in network for network in self.networks):
            return True
        if address.is_loopback:
            return self.loopback
        return address.is_global and (address in _UNICAST if address.version == 6 else address not in _PROTOCOLS)

    def refusal(self, url: str) -> str:
        """Why ``url`` can never be reached, empty if that is not known before its host is resolved."""
        host = urlsplit(url).hostname or ""
        try:
            return "" if self.permits(ip_address(host)) else REFUSED
        except ValueError:
            return ""

    def connector(self, **options: Any) -> aiohttp.TCPConnector:
        """A connector that connects only to permitted addresses; anything else raises ``NotAllowed``."""
        import aiohttp

        gate = _Gate(self)
        return aiohttp.TCPConnector(resolver=_resolver(gate), socket_factory=gate.socket, **options)


PUBLIC_ONLY = Outbound()


def network_of(text: str) -> Network | None:
    """An address or a network; ``None`` for anything else."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


@dataclass(slots=True)
class _Gate:
    """``granted`` has the addresses of allowed hosts, which the socket knows only by their address."""

    outbound: Outbound
    granted: set[Address] = field(default_factory=set)

    def allowed(self, addresses: Iterable[str], host: str) -> set[str]:
        kept = {text for text in addresses if self.outbound.permits(_address(text), host)}
        self.granted |= {_address(text) for text in kept}
        return kept

    def socket(self, info: tuple[Any, Any, int, str, Any]) -> socket.socket:
        family, kind, protocol, _, target = info
        address = _address(target[0])
        if address not in self.granted and not self.outbound.permits(address):
            raise NotAllowed
        return socket.socket(family, kind, protocol)


def _resolver(gate: _Gate) -> aiohttp.abc.AbstractResolver:
    from aiohttp import ThreadedResolver

    class Checked(ThreadedResolver):
        async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> Any:
            try:
                found = await super().resolve(host, port, family)
            except OSError:
                raise NotAllowed from None
            kept = gate.allowed((each["host"] for each in found), host)
            if not kept:
                raise NotAllowed
            return [each for each in found if each["host"] in kept]

    return Checked()


def _address(text: str) -> Address:
    return ip_address(text.partition("%")[0])


def _embedded(address: Address) -> Address:
    """The IPv4 address that is reached through an IPv6 address that contains it."""
    if isinstance(address, IPv4Address):
        return address
    within = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
    if within is None and address in _NAT64:
        within = IPv4Address(int(address) & 0xFFFFFFFF)
    return within or address


def _name(host: str) -> str:
    return host.rstrip(".").lower()
