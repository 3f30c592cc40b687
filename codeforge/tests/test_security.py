"""Other sites' pages may not write here, whoever is looking at them; programs and our own pages may."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from benchmarks.models import RunStatus
from benchmarks.tests.factories import config_for, make_run

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://testserver"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"origin": "https://bench.example.com"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://testserver.evil.example"}, 403),
        ({"origin": "http://testserver:9999"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_only_our_own_pages_and_programs_may_write(
    client: Client, settings: Any, headers: dict[str, str], status: int
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://bench.example.com"]
    settings.CODEFORGE = config_for("http://127.0.0.1:9/v1")
    run = make_run()
    answer = client.post(f"/api/v1/benchmarks/runs/{run.pk}/cancel", headers=headers)
    assert answer.status_code == status
    run.refresh_from_db()
    assert run.status == (RunStatus.CANCELLED if status == 200 else RunStatus.QUEUED)


def test_a_foreign_page_may_still_link_here(client: Client) -> None:
    assert client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200
