"""A request sent twice under one key starts one run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from benchmarks.models import IdempotencyKey, Run
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs import start
from benchmarks.services.runs.start import start_run_once
from tests.support.factories import make_dataset

RUNS = "/api/v1/benchmarks/runs"
REQUEST = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}


@pytest.fixture(autouse=True)
def dataset(db: None) -> None:
    make_dataset()


def post(client: Client, key: str, body: dict[str, Any] = REQUEST) -> Any:
    return client.post(RUNS, body, content_type="application/json", headers={"Idempotency-Key": key})


def test_the_same_request_under_the_same_key_is_answered_with_the_same_run(client: Client) -> None:
    first, second = post(client, "k-1"), post(client, "k-1", dict(reversed(REQUEST.items())))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first["Location"] == second["Location"]
    assert Run.objects.count() == 1


def test_without_a_key_every_request_starts_a_run(client: Client) -> None:
    for _ in range(2):
        client.post(RUNS, REQUEST, content_type="application/json")
    assert Run.objects.count() == 2


def test_another_request_under_the_same_key_is_refused(client: Client) -> None:
    run = post(client, "k-1").json()["id"]
    refused = post(client, "k-1", {**REQUEST, "repeats": 2})
    assert refused.status_code == 409
    assert f"another request, which started run {run}." in refused.json()["detail"]


@pytest.mark.parametrize("key", ["", " ", "two words", "x" * 201, "é"])
def test_a_bad_key_is_refused_with_the_reason(client: Client, key: str) -> None:
    refused = post(client, key)
    assert refused.status_code == 400
    assert list(refused.json()) == ["Idempotency-Key"]
    assert not Run.objects.exists()


def test_a_refused_request_leaves_its_key_free(client: Client) -> None:
    assert post(client, "k-1", {**REQUEST, "model": "nonsense"}).status_code == 400
    assert post(client, "k-1").status_code == 201


def test_a_key_is_free_again_after_a_day() -> None:
    start_run_once("k-1", REQUEST)
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert start_run_once("k-1", {**REQUEST, "repeats": 2}).repeats == 2


def test_accounts_have_keys_of_their_own() -> None:
    accounts = [User.objects.create_user(name) for name in ("ada", "bob")]
    started = {start_run_once("k-1", REQUEST, account).pk for account in (*accounts, None)}
    assert len(started) == 3


def test_of_two_requests_at_once_the_later_one_undoes_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The later one finds no key, begins, and meets the other's when it writes its own."""
    first = start_run_once("k-1", REQUEST)
    answers = iter([None])
    known = start._earlier
    monkeypatch.setattr(start, "_earlier", lambda *asked: None if next(answers, 1) is None else known(*asked))
    run = start_run_once("k-1", REQUEST)
    assert (run.pk, Run.objects.count()) == (first.pk, 1)
    with pytest.raises(NotPossible):
        start_run_once("k-1", {**REQUEST, "repeats": 2})
