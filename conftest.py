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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep all browser tests in one process of a parallel run: they share a site that takes seconds to build."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))


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
