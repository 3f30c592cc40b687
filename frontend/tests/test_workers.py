"""The page of workers: active and silent ones, what each of them does, and what waits."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks import __version__
from benchmarks.engine import workers
from benchmarks.models import Lease, Run, RunStatus, Worker
from codeforge.config import RetentionConfig
from tests.support.factories import make_dataset, make_run
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def text_of(client: Client, address: str = "/workers/") -> str:
    html = client.get(address).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def make_busy(run: Run, name: str, slots: int = 8) -> None:
    workers.report(name, threads=4)
    Lease.objects.create(run=run, subject=f"run {run.pk}", worker=name, slots=slots, heartbeat_at=timezone.now())


def test_without_a_worker_the_page_says_what_to_do(client: Client) -> None:
    text = text_of(client)
    assert "Active workers 0" in text
    assert "No worker is active, so runs do not progress." in text


def test_the_page_shows_which_worker_executes_which_run(client: Client) -> None:
    run = make_run(model="baseline/reference")
    Run.objects.filter(pk=run.pk).update(status=RunStatus.RUNNING, total=100, done=40)
    make_busy(run, "alpha:1:token")
    workers.report("beta:2:token", threads=8)
    text = text_of(client)
    assert "Active workers 2 1 busy; at most 12 runs at once" in text
    assert "Pending results 60" in text
    assert f"alpha:1 Busy Run {run.pk} baseline/reference on {run.dataset.title} 1 of 4 at once 8" in text
    assert "beta:2 Idle" in text
    assert ":token" not in text


def test_a_worker_without_a_heartbeat_is_marked(client: Client) -> None:
    workers.report("gone:1:token", threads=4)
    Worker.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=10))
    text = text_of(client)
    assert "Active workers 0" in text
    assert "gone:1 No heartbeat" in text
    assert "Other workers take over its runs." in text


def test_the_wait_of_the_oldest_queued_run_is_shown(client: Client) -> None:
    assert "Oldest queued run" not in text_of(client)
    run = make_run(model="baseline/reference")
    Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(minutes=5))
    assert "Oldest queued run waiting for 5 min" in text_of(client)


def test_the_number_of_queries_does_not_grow_with_the_workers(client: Client) -> None:
    run = make_run(model="baseline/reference")
    counts = []
    for number in range(20):
        make_busy(run, f"host:{number}:token")
        if number in (9, 19):
            with CaptureQueriesContext(connection) as captured:
                client.get("/workers/")
            counts.append(len(captured))
    assert counts[0] == counts[1] > 0


def test_administrators_see_versions_storage_and_the_next_retention(client: Client, settings: Any) -> None:
    text = text_of(client, "/settings/")
    assert f"CodeForge Benchmarks {__version__}" in text
    assert re.search(r"Database (SQLite|PostgreSQL) \d+\.\d+\S*, [\d.]+\s[kM]B", text)
    assert "free on its disk" in text
    assert "Texts are kept." in text
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"retention": RetentionConfig(texts_days=90)})
    assert "No run has texts to delete." in text_of(client, "/settings/")
    ended = timezone.now() - timedelta(days=80)
    for number in range(2):
        make_scored_run(make_dataset(3, slug=f"sums-{number}"), completed_at=ended + timedelta(days=number))
    assert f"{ended + timedelta(days=90):%Y-%m-%d}" in client.get("/settings/").content.decode()
    Run.objects.filter(completed_at=ended).update(texts_pruned_at=timezone.now())
    assert f"{ended + timedelta(days=91):%Y-%m-%d}" in client.get("/settings/").content.decode()


def test_viewers_see_no_versions_or_folders(client: Client, settings: Any) -> None:
    settings.DEV_MODE = False
    account = User.objects.create_user("ada")
    client.force_login(account)
    assert "Active workers 0" in text_of(client)
    assert "Installation" not in text_of(client, "/workers/")
    assert "Installation" not in text_of(client, "/settings/")


def test_a_worker_whose_run_gets_no_answers_says_so_as_the_other_pages_do(client: Client) -> None:
    run, began = make_run(model="baseline/reference"), timezone.now() - timedelta(minutes=3)
    Run.objects.filter(pk=run.pk).update(status=RunStatus.RUNNING, active_since=began)
    make_busy(run, "alpha:1:token")
    text = text_of(client)
    assert f"alpha:1 Waiting for endpoint Run {run.pk} baseline/reference on {run.dataset.title}" in text
    said = f"baseline/reference on {run.dataset.title}: no answer for 3 min"
    assert text.count("answer for 3 min") == text.count(said) == 1
    assert text.index(said) < text.index("Active workers"), "the problem comes first"
    assert "Check provider" in text
