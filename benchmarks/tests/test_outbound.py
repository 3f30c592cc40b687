"""Which addresses may be reached, in rules and in a network of the test's own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from ipaddress import ip_address
from typing import Any

import pytest

from benchmarks.outbound import REFUSED, Outbound
from tests.support.services import missing
from tests.support.stack import ROOT

PUBLIC = ("8.8.8.8", "192.88.98.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808")
PRIVATE = (
    *("10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "192.0.0.192", "198.18.0.1", "240.0.0.1"),
    *("fd00:ec2::254", "fec0::1", "2001:db8::1", "64:ff9b:1::1", "::8.8.8.8", "::ffff:0:8.8.8.8"),
    *("::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::"),
)
LOOPBACK = ("127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::")
NEVER = ("169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "0.0.0.0", "::", "224.0.0.1", "ff02::1")

REACHED = ("8.8.8.8", "10.9.8.7", "169.254.169.254")
NAMES: dict[str, list[list[str]]] = {
    "public.test": [["8.8.8.8"]],
    "private.test": [["10.9.8.7"]],
    "metadata.test": [["169.254.169.254"]],
    "mixed.test": [["10.9.8.7", "8.8.8.8"]],
    "rebinding.test": [["8.8.8.8"], ["10.9.8.7"]],
    "allowed.test": [["10.9.8.7"]],
    "missing.test": [],
}
URLS = [
    "http://public.test:{port}/",
    "http://allowed.test:{port}/",
    "http://mixed.test:{port}/",
    "http://rebinding.test:{port}/",
    "http://rebinding.test:{port}/",
    "http://8.8.8.8:{port}/",
    "http://public.test:{port}/to/private.test",
    "http://public.test:{port}/to/127.0.0.1",
    "http://public.test:{port}/to/[::1]",
    "http://public.test:{port}/to/[::ffff:10.9.8.7]",
    "http://private.test:{port}/",
    "http://metadata.test:{port}/",
    "http://missing.test:{port}/",
    "http://10.9.8.7:{port}/",
    "http://169.254.169.254:{port}/",
    "http://127.0.0.1:{port}/",
    "http://[::1]:{port}/",
    "http://2130706433:{port}/",
    "http://127.1:{port}/",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached(address: str) -> None:
    assert Outbound().permits(ip_address(address))


@pytest.mark.parametrize("address", PRIVATE + LOOPBACK + NEVER)
def test_other_addresses_are_not(address: str) -> None:
    assert not Outbound().permits(ip_address(address))


@pytest.mark.parametrize("address", LOOPBACK)
def test_development_mode_reaches_this_machine(address: str) -> None:
    assert Outbound(loopback=True).permits(ip_address(address))


@pytest.mark.parametrize("address", PRIVATE + NEVER)
def test_development_mode_reaches_nothing_else_that_is_private(address: str) -> None:
    assert not Outbound(loopback=True).permits(ip_address(address))


@pytest.mark.parametrize("address", NEVER)
def test_nothing_allows_link_local_addresses(address: str) -> None:
    everything = Outbound.of(["0.0.0.0/0", "::/0", "metadata.test"], loopback=True)
    assert not everything.permits(ip_address(address), "metadata.test")


def test_hosts_and_networks_can_be_allowed() -> None:
    outbound = Outbound.of(["Hooks.Internal", "10.1.0.0/16", "fd00::7"], loopback=False)
    assert outbound.permits(ip_address("192.168.0.1"), "hooks.internal.")
    assert not outbound.permits(ip_address("192.168.0.1"), "other.hooks.internal")
    assert [outbound.permits(ip_address(each)) for each in ("10.1.2.3", "10.2.2.3", "fd00::7")] == [True, False, True]


def test_an_address_is_refused_before_it_is_stored() -> None:
    assert Outbound().refusal("http://127.0.0.1:8080/hook") == REFUSED
    assert Outbound().refusal("https://hooks.example.com/") == ""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    """What became of requests to ``URLS`` in a network that has these addresses, and which of them were reached."""
    commands = ["ip link set lo up", *(f"ip addr add {address}/32 dev lo" for address in REACHED)]
    script = f"{' && '.join(commands)} && exec {sys.executable} -m benchmarks.tests.outbound_requests"
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode:
        missing("a network of its own: let processes make user and network namespaces")
    asked = json.dumps({"names": NAMES, "urls": URLS})
    done = subprocess.run(
        [unshare, "-rn", "bash", "-c", script], input=asked, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Any] = json.loads(done.stdout)
    return outcomes


def test_only_permitted_addresses_are_connected_to(outcomes: dict[str, Any]) -> None:
    assert outcomes["open"] == ["200"] * 4 + [REFUSED] + ["200"] + [REFUSED] * 11 + ["no canonical address"] * 2
    # The allowed host, and nothing else of the private network.
    assert outcomes["reached"] == {"8.8.8.8": 8, "10.9.8.7": 1}


def test_a_refusal_does_not_tell_whether_something_listens(outcomes: dict[str, Any]) -> None:
    assert outcomes["closed"][-9:] == outcomes["open"][-9:]
