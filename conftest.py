"""Fixtures of all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from benchmarks.engine.execution import model_clients
from tests.loopback.hosting import serve
from tests.loopback.server import LoopbackServer
from tests.support.factories import PATIENT, config_for


@pytest.fixture
def endpoint(settings: Any) -> Iterator[Callable[..., LoopbackServer]]:
    """Start an OpenAI-compatible server on loopback and configure it as the provider ``loop``."""
    with ExitStack() as servers:

        def start(
            *args: Any, benchmark: dict[str, Any] | None = None, first_byte: float = PATIENT, **options: Any
        ) -> LoopbackServer:
            server = servers.enter_context(serve(*args, **options))
            settings.CODEFORGE = config_for(server.url, first_byte, **(benchmark or {}))
            model_clients.forget()
            return server

        yield start
    model_clients.forget()
