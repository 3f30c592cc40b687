"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
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


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A process for each core; slow tests wait more than they work, so one more for them."""
    return (os.cpu_count() or 1) + (config.option.markexpr == "slow")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that share a fixture, such as the site of the browser tests, in one process, so it is made once."""
    for item in items:
        if where := shared_by(item):
            item.add_marker(pytest.mark.xdist_group(where))


def shared_by(item: pytest.Item) -> str:
    """The file or folder whose tests share a fixture of this test; empty if its fixtures are its own."""
    found = item._fixtureinfo.name2fixturedefs.values()
    shared = {last.baseid for *_, last in found if last.scope != "function"}
    return min(filter(None, shared), key=len, default="")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what has been imported to the end, and look less often for garbage: it took an eighth of all time.

    Raises ``UsageError`` if pytest-xdist does not heed the groups: every process would start sites of its own.
    """
    grouped = next((item.nodeid for item in session.items if item.get_closest_marker("xdist_group")), "@")
    if hasattr(session.config, "workerinput") and "@" not in grouped:
        raise pytest.UsageError("This version of pytest-xdist does not group tests with this version of pytest.")
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker runs beside a command, so nobody is waited for."""
    monkeypatch.setattr("benchmarks.management.following.WAIT_FOR_WORKER_SECONDS", 0.0)
    monkeypatch.setattr("benchmarks.management.following.POLL_SECONDS", 0.01)
    monkeypatch.setattr("benchmarks.engine.execution.sweeper.ENQUEUE_AGAIN_AFTER", timedelta())


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
