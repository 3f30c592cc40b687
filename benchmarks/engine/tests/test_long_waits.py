"""An endpoint that asks to wait for hours: readers are told while the run waits, and the wait has a limit."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.engine.execution import model_clients
from benchmarks.management.following import Progress, follow
from benchmarks.models import Lease, Outcome, ResultState, RunStatus
from benchmarks.services.runs.control import resume_run
from tests.loopback.faults import FAULTS
from tests.loopback.replies import Asked
from tests.support.factories import make_dataset, make_run
from tests.support.running import Endpoint, Fault, wait_while, worked, working

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def with_max_wait(settings: Any, seconds: float) -> None:
    """Let runs wait for their endpoint for so long; clients made before keep their own."""
    loop = settings.CODEFORGE.providers["loop"]
    retries = loop.retries.model_copy(update={"max_wait_seconds": seconds})
    changed = {"providers": {"loop": loop.model_copy(update={"retries": retries})}}
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update=changed)
    model_clients.forget()


def third_is_refused(asked: Asked) -> str | Fault:
    return "2" if asked.prompt in ("What is 1 + 1?", "What is 2 + 2?") else FAULTS["rate_limited_seconds"]


def test_a_run_says_until_when_its_endpoint_asks_to_wait_and_stops_after_the_longest_allowed(
    client: Client, endpoint: Endpoint, settings: Any
) -> None:
    server = endpoint(third_is_refused, retry_after_s=7200)
    with_max_wait(settings, 10.0)  # long enough to be read meanwhile
    run = make_run(make_dataset(40), concurrency=2)
    with working(run) as (worker,):
        wait_while(lambda: not Lease.objects.filter(waits_until__isnull=False).exists(), worker)
        state = client.get(f"/api/v1/benchmarks/runs/{run.pk}").json()
        page = client.get(f"/runs/{run.pk}/status/").content.decode()
        shown = StringIO()
        follow(run.pk, Progress(shown, shown=True), shown.write, work_here=False)
    until = timezone.now() + timedelta(seconds=7200)
    local = timezone.localtime(timezone.datetime.fromisoformat(state["waits_until"]))
    assert abs(local - until) < timedelta(seconds=60)
    clock = f"{local:%H:%M}" if local.date() == timezone.localdate() else f"{local:%Y-%m-%d %H:%M}"
    for text in (page, shown.getvalue()):
        assert f"The endpoint asks to wait until {clock}. 2 of 40 done." in text
    assert run.status == RunStatus.FAILED
    assert "`retries.max_wait_seconds` (10) have passed. Resume the run later" in run.error_message
    assert "asks to wait until" not in client.get(f"/runs/{run.pk}/status/").content.decode()
    assert client.get(f"/api/v1/benchmarks/runs/{run.pk}").json()["waits_until"] is None
    unasked = run.results.filter(state=ResultState.ERROR, outcome=Outcome.CANCELLED).count()
    assert unasked >= 36, "what waited was not asked, and is not an error of the endpoint"

    server.script = lambda asked: "2"
    resume_run(run)
    assert worked(run).done == 40


@pytest.mark.parametrize("seconds", [99_999_999, 1e15])
def test_an_absurd_wait_is_bounded(endpoint: Endpoint, settings: Any, seconds: float) -> None:
    endpoint(lambda asked: FAULTS["rate_limited_seconds"], retry_after_s=seconds)
    with_max_wait(settings, 1.5)
    run = make_run(make_dataset(1))
    with working(run) as (worker,):
        wait_while(lambda: not Lease.objects.filter(waits_until__isnull=False).exists(), worker)
        assert Lease.objects.get().waits_until.year <= timezone.now().year + 2
    assert run.status == RunStatus.FAILED
