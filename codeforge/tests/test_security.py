"""Other sites' pages may not write here, whoever is looking at them; programs and our own pages may, in bounds."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from django.test import Client

from benchmarks.forms.imports import MOST_BYTES
from benchmarks.models import RunStatus
from tests.support.factories import config_for, make_run

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


RUNS = "/api/v1/benchmarks/runs"


@pytest.mark.parametrize(
    ("address", "content_type", "setting"),
    [
        (RUNS, "application/json", "DATA_UPLOAD_MAX_MEMORY_SIZE"),
        ("/login/", "application/x-www-form-urlencoded", "DATA_UPLOAD_MAX_MEMORY_SIZE"),
        ("/login/", "multipart/form-data; boundary=x", "MAX_UPLOAD_BYTES"),
    ],
)
def test_a_request_that_is_too_large_is_refused_unread(
    client: Client, settings: Any, address: str, content_type: str, setting: str
) -> None:
    limits = {"DATA_UPLOAD_MAX_MEMORY_SIZE": 2**20, "MAX_UPLOAD_BYTES": 2 * 2**20}
    for name, size in limits.items():
        setattr(settings, name, size)
    limit = limits[setting]
    body = b"{" + b" " * limit
    answer = client.post(address, body, content_type=content_type)
    assert answer.status_code == 413
    assert answer.json() == {"detail": f"The request has {limit // 2**20} MB. The limit is {limit // 2**20} MB."}
    assert client.post(address, body[:limit], content_type=content_type).status_code != 413


def test_what_declares_no_size_or_nonsense_has_no_body(client: Client) -> None:
    for declared in ("", "-1", "a lot", "\u0663"):
        answer = client.post(RUNS, b"", content_type="application/json", CONTENT_LENGTH=declared)
        assert answer.status_code in (400, 415)
    endless = client.post(RUNS, b"", content_type="application/json", CONTENT_LENGTH="9" * 5000)
    assert endless.status_code == 413


def test_every_upload_that_a_form_takes_gets_to_it(settings: Any) -> None:
    fields = 2**19
    assert MOST_BYTES + fields < settings.MAX_UPLOAD_BYTES


def test_pages_styles_and_data_are_sent_compressed(client: Client) -> None:
    for path in ("/", "/static/frontend/css/app.css", "/api/v1/benchmarks/metrics"):
        response = client.get(path, headers={"Accept-Encoding": "gzip"})
        body = b"".join(response) if response.streaming else response.content
        assert response.headers["Content-Encoding"] == "gzip", path
        assert len(gzip.decompress(body)) > 2 * len(body), path
    assert "Content-Encoding" not in client.get("/").headers
