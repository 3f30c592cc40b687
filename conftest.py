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

SHARED_SITES = ("test_planted_secrets.py", "test_how_tos.py")
"""Test files whose fixtures take many seconds to build, once for each process."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that share an expensive fixture, such as the site of the browser tests, in one process."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))
        elif item.path.name in SHARED_SITES:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture
def endpoint(settings: Any) -> Iterator[Callable[..., LoopbackServer]]:
    """Start an OpenAI-compatible server on loopback and configure it as the provider ``loop``."""
    with ExitStack() as servers:

        def start(
            *args: Any,
            benchmark: dict[str, Any] | None = None,
            judge: dict[str, Any] | None = None,
            first_byte: float = PATIENT,
            **options: Any,
        ) -> LoopbackServer:
            server = servers.enter_context(serve(*args, **options))
            settings.CODEFORGE = config_for(server.url, first_byte, judge, **(benchmark or {}))
            model_clients.forget()
            return server

        yield start
    model_clients.forget()
