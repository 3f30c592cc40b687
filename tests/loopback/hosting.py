"""Run a loopback server: in a thread of a test, in its own process, or on the caller's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

from tests.loopback.endpoint import application
from tests.loopback.server import LoopbackServer


async def listen(server: LoopbackServer, port: int = 0, host: str = "127.0.0.1") -> asyncio.Server:
    """Start on the running loop and set ``server.url``; port 0 takes any free one."""
    server.http, server.loop = application(server), asyncio.get_running_loop()
    listener = await server.loop.create_server(server.http, host, port, backlog=1024)
    server.url = f"http://{host}:{listener.sockets[0].getsockname()[1]}/v1"
    return listener


@contextlib.contextmanager
def serve(*args: Any, **options: Any) -> Iterator[LoopbackServer]:
    """Run ``LoopbackServer(*args, **options)`` in a thread during the block, which may read its ``stats``."""
    server = LoopbackServer(*args, **options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="loopback", daemon=True)
    thread.start()
    try:
        listener = asyncio.run_coroutine_threadsafe(listen(server), loop).result(timeout=10)
        try:
            yield server
        finally:
            loop.call_soon_threadsafe(listener.close)
            server.drop_connections()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()


@contextlib.contextmanager
def spawn(*arguments: str) -> Iterator[str]:
    """Run ``python -m tests.loopback`` with these arguments in its own process; yields the base URL."""
    command = [sys.executable, "-m", "tests.loopback", "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"the loopback server did not start: {' '.join(command)}")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=10)
        if process.stdout is not None:
            process.stdout.close()


def fetch_stats(url: str) -> dict[str, Any]:
    """The counts of a server in another process, by the base URL that ``spawn`` gave."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats", timeout=10) as response:
        stats: dict[str, Any] = json.load(response)
    return stats
