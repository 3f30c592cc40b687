"""Fixtures of all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from benchmarks.engine import reach
from benchmarks.loopback.hosting import serve
from benchmarks.loopback.server import LoopbackServer
from benchmarks.tests.factories import PATIENT, config_for


@pytest.fixture
def endpoint(settings: Any) -> Iterator[Callable[..., LoopbackServer]]:
    """Start an OpenAI-compatible server on loopback and configure it as the provider ``loop``."""
    with ExitStack() as servers:

        def start(
            *args: Any, benchmark: dict[str, Any] | None = None, first_byte: float = PATIENT, **options: Any
        ) -> LoopbackServer:
            server = servers.enter_context(serve(*args, **options))
            settings.CODEFORGE = config_for(server.url, first_byte, **(benchmark or {}))
            reach.forget()
            return server

        yield start
    reach.forget()
