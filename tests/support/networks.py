"""A network of its own for some processes of a test, joined to this machine by a cable that can be cut; needs root."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import uuid
from collections.abc import Iterator

import pytest

NOBODY = "02:00:00:00:00:99"


class Network:
    """Two ends of a cable: ``here`` is an address of this machine, ``there`` is the one inside the network."""

    def __init__(self) -> None:
        name = uuid.uuid4().hex[:8]
        subnet = f"10.213.{int(name[:2], 16)}"
        self.here, self.there = f"{subnet}.1", f"{subnet}.2"
        self._name, self._near, self._far = f"codeforge-{name}", f"cf{name}a", f"cf{name}b"
        _ip("netns", "add", self._name)
        _ip("link", "add", self._near, "type", "veth", "peer", "name", self._far, "netns", self._name)
        _ip("addr", "add", f"{self.here}/24", "dev", self._near)
        _ip("link", "set", self._near, "up")
        self._there("addr", "add", f"{self.there}/24", "dev", self._far)
        self._there("link", "set", self._far, "up")
        self._there("link", "set", "lo", "up")

    @property
    def within(self) -> tuple[str, ...]:
        """Runs a command there, as another machine: with a host name of its own."""
        rename = f'hostname {self._name}; exec "$@"'
        return ("ip", "netns", "exec", self._name, "unshare", "--uts", "sh", "-c", rename, "sh")

    def cut(self) -> None:
        """Take the link down: that end notices."""
        self._there("link", "set", self._far, "down")

    def lose_packets(self) -> None:
        """Send every packet of both ends to nobody: no end notices anything."""
        self._there("neigh", "replace", self.here, "lladdr", NOBODY, "dev", self._far, "nud", "permanent")
        _ip("neigh", "replace", self.there, "lladdr", NOBODY, "dev", self._near, "nud", "permanent")

    def join(self) -> None:
        """Undo both."""
        self._there("link", "set", self._far, "up")
        for ends in ((self.here, self._far, self._there), (self.there, self._near, _ip)):
            address, device, run = ends
            with contextlib.suppress(subprocess.CalledProcessError):
                run("neigh", "del", address, "dev", device)

    def remove(self) -> None:
        _ip("netns", "del", self._name)

    def _there(self, *arguments: str) -> None:
        _ip("-n", self._name, *arguments)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def separate_network() -> Iterator[Network]:
    """Skips the test where none can be made."""
    if not shutil.which("ip") or not shutil.which("unshare"):
        pytest.skip("needs the programs ip and unshare")
    try:
        network = Network()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"needs root, to make a network namespace: {error.stderr.decode().strip()}")
    try:
        yield network
    finally:
        network.remove()
