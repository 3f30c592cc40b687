"""Providers over the API: state, checks, tests and refusals; never a key."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from tests.loopback import LoopbackServer
from tests.support.factories import config_for

pytestmark = pytest.mark.django_db
PROVIDERS = "/api/v1/benchmarks/providers"


def test_a_provider_is_listed_checked_and_tested(client: Client, endpoint: Callable[..., LoopbackServer]) -> None:
    endpoint(models=("model", "other"))
    listed = {row["name"]: row for row in client.get(PROVIDERS).json()}
    assert (listed["loop"]["status"], listed["openai"]["status"]) == ("unchecked", "no_key")
    assert "OPENAI_API_KEY is not set" in listed["openai"]["problem"]

    checked = client.post(f"{PROVIDERS}/loop/check").json()
    assert checked["status"] == "ready"
    assert [(model["name"], model["configured"], model["listed"]) for model in checked["models"]] == [
        ("loop/model", True, True),
        ("loop/judge", True, False),
        ("loop/other", False, True),
    ]
    answer = client.post(f"{PROVIDERS}/loop/test", {"model": "other"}, content_type="application/json")
    assert answer.status_code == 200
    again = client.post(f"{PROVIDERS}/loop/test", {"model": "loop/other"}, content_type="application/json").json()
    assert [model["name"] for model in again["models"]] == ["loop/model", "loop/judge", "loop/other"]
    tests = {model["name"]: model["test"] for model in client.get(f"{PROVIDERS}/loop").json()["models"]}
    assert tests["loop/other"]["error"] == ""
    assert tests["loop/other"]["capabilities"]["tools"]["support"] == "yes"
    assert tests["loop/model"] is None


def test_what_cannot_be_tested_is_refused(client: Client, settings: object) -> None:
    settings.CODEFORGE = config_for("http://127.0.0.1:9/v1")  # type: ignore[attr-defined]
    for path, body, status in (
        ("nowhere/check", {}, 404),
        ("nowhere/test", {"model": "m"}, 404),
        ("openai/test", {"model": "m"}, 409),
        ("loop/test", {}, 400),
        ("loop/test", {"model": 7}, 400),
        ("loop/test", {"model": "x" * 251}, 400),
        ("loop/test", {"model": "m", "key": "sk-123"}, 400),
    ):
        answer = client.post(f"{PROVIDERS}/{path}", body, content_type="application/json")
        assert answer.status_code == status, (path, answer.content)
    assert client.get(f"{PROVIDERS}/nowhere").status_code == 404
