"""Fixtures of all tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from benchmarks.engine.execution import model_clients
from tests.loopback.hosting import serve
from tests.loopback.server import LoopbackServer
from tests.support.factories import PATIENT, config_for

# Machines are busy, so no test fails because examples took long.
hypothesis_settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("patient")

SHARED_SITES = (
    *("test_client.py", "test_compose.py", "test_how_tos.py", "test_new_task_class.py", "test_package.py"),
    "test_planted_secrets.py",
)
"""Test files whose fixtures take many seconds to build, in each process that has one of their tests."""
WAITING = ("test_frozen.py", "test_long_waits.py", "test_lost_network.py", "test_outages.py")
"""Test files that wait for minutes while something is out of order."""


def pytest_xdist_auto_num_workers() -> int:
    """A process for each core, and one more because the tests of ``WAITING`` take little of theirs."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that share an expensive fixture, such as the site of the browser tests, in one process, and those that
    wait."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))
        elif item.path.name in SHARED_SITES:
            item.add_marker(pytest.mark.xdist_group(item.path.name))
        elif item.path.name in WAITING:
            item.add_marker(pytest.mark.xdist_group("waiting"))


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
