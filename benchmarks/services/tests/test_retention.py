"""Pruning deletes the texts of old runs and keeps all numbers, and pages, API and exports say so."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from benchmarks.engine import lease
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.execution.verification import verify_prompts
from benchmarks.models import TERMINAL, AuditEntry, CachedResponse, Lease, Run, RunStatus, Score, Transcript
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations import retention
from benchmarks.services.operations.retention import prune_texts
from benchmarks.services.runs.control import resume_run, retry_failed
from benchmarks.services.runs.exports import export_pieces
from benchmarks.worker import prune_old_texts
from tests.loopback.replies import Asked
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run

pytestmark = pytest.mark.django_db(transaction=True)
MONTH = timedelta(days=30)
ANSWER = "an unmistakable answer"
NUMBERS = (
    *("outcome", "value", "state", "tokens_in", "tokens_out", "cost_usd", "judge_cost_usd", "duration_ms", "attempts"),
    "transcript__prompt_hash",
)


def answer(request: Asked) -> str:
    return '{"score": 7, "reason": "a judge\'s words"}' if request.body["model"] == "judge" else ANSWER


@pytest.fixture
def old_run(endpoint: Callable[..., LoopbackServer]) -> Run:
    """A judged run that ended a year ago."""
    endpoint(answer)
    run = make_run(make_dataset(3), metrics=["correctness", "contains"], use_cache=True)
    work_on_run_once(run.pk)
    make_old(run)
    CachedResponse.objects.update(created_at=timezone.now() - 12 * MONTH)
    return run


def make_old(run: Run, **fields: Any) -> None:
    Run.objects.filter(pk=run.pk).update(completed_at=timezone.now() - 12 * MONTH, **fields)
    run.refresh_from_db()


def stored_texts() -> str:
    return json.dumps([list(model.objects.values()) for model in (Transcript, Score, CachedResponse)], default=str)


def test_pruning_deletes_texts_and_keeps_numbers(old_run: Run) -> None:
    numbers = list(old_run.results.order_by("pk").values(*NUMBERS))
    scores = list(Score.objects.order_by("pk").values("pk", "metric", "status", "value"))
    tokens = [judge["tokens_in"] for judge in Score.objects.exclude(judge=None).values_list("judge", flat=True)]
    summary = old_run.summary
    assert ANSWER in stored_texts()
    assert "a judge's words" in stored_texts()

    pruned = prune_texts(MONTH)

    assert (pruned.runs, pruned.results) == (1, 3)
    assert pruned.cached_responses > 0
    for text in (ANSWER, "a judge's words", "What is 1 + 1?"):
        assert text not in stored_texts()
    assert list(old_run.results.order_by("pk").values(*NUMBERS)) == numbers
    assert list(Score.objects.order_by("pk").values("pk", "metric", "status", "value")) == scores
    judged = Score.objects.exclude(judge=None).values_list("judge", flat=True)
    assert [judge["tokens_in"] for judge in judged] == tokens
    old_run.refresh_from_db()
    assert old_run.summary == summary
    assert old_run.texts_pruned_at
    assert not old_run.texts_left


def test_pruning_is_audited_once(old_run: Run) -> None:
    assert [prune_texts(MONTH).runs for _ in range(2)] == [1, 0]
    entry = AuditEntry.objects.get(action="run.prune")
    assert (entry.subject, entry.detail) == (f"run {old_run.pk}", {"older_than_days": 30})


def test_only_runs_that_ended_before_the_cutoff_are_pruned(old_run: Run) -> None:
    for status in sorted(set(RunStatus) - TERMINAL):
        make_old(old_run, status=status)
        assert prune_texts(MONTH).runs == 0, status
    make_old(old_run, status=RunStatus.COMPLETED)
    Run.objects.update(completed_at=timezone.now() - timedelta(days=29))
    assert prune_texts(MONTH).runs == 0
    assert ANSWER in json.dumps(list(Transcript.objects.values("actual_output")))
    assert prune_texts(timedelta(days=28)).runs == 1


def test_a_run_that_is_resumed_after_it_was_selected_is_kept(old_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = retention._mark

    def resumed_first(*arguments: Any) -> bool:
        Run.objects.update(status=RunStatus.RUNNING, completed_at=None)
        return mark(*arguments)

    monkeypatch.setattr(retention, "_mark", resumed_first)
    assert prune_texts(MONTH).results == 0
    assert ANSWER in json.dumps(list(Transcript.objects.values()))


def test_an_interrupted_pruning_is_finished_by_the_next(old_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 1)
    stopping = iter([False, False, True])
    assert prune_texts(MONTH, stopping=lambda: next(stopping, True)).results == 1
    old_run.refresh_from_db()
    assert old_run.texts_left
    prune_texts(MONTH)
    old_run.refresh_from_db()
    assert not old_run.texts_left
    assert ANSWER not in stored_texts()
    assert AuditEntry.objects.filter(action="run.prune").count() == 1


def test_one_worker_at_a_time_prunes(old_run: Run, settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    configure_days(settings, 90)
    with lease.exclusive("retention"):
        with pytest.raises(CommandError, match="Another worker is pruning") as refused:
            call_command("prune")
        assert refused.value.returncode == 2
        prune_old_texts()
        assert ANSWER in stored_texts()
        call_command("prune", "--dry-run")
        assert "of 3 results" in capsys.readouterr().out, "a dry run needs no lease"
    call_command("prune")
    assert ANSWER not in stored_texts()
    assert not Lease.objects.exists()


def test_a_worker_that_lost_its_lease_stops_pruning(old_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 1)
    delete_texts = retention._delete_texts

    def delete_and_lose_the_lease(result_ids: list[int]) -> None:
        delete_texts(result_ids)
        Lease.objects.all().delete()

    with monkeypatch.context() as patched:
        patched.setattr(retention, "_delete_texts", delete_and_lose_the_lease)
        assert prune_texts(MONTH).results == 1
    assert Run.objects.get().texts_left
    assert prune_texts(MONTH).runs == 1
    assert ANSWER not in stored_texts()


def test_a_dry_run_reports_the_same_and_changes_nothing(old_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    before = stored_texts()
    call_command("prune", "--older-than", "30d", "--dry-run")
    would = capsys.readouterr().out
    assert "Would prune the texts of 3 results in 1 runs" in would
    assert stored_texts() == before
    call_command("prune", "--older-than", "30d")
    assert capsys.readouterr().out == would.replace("Would prune", "Pruned")


def test_the_command_refuses_a_missing_or_invalid_age() -> None:
    for arguments, message in (
        ((), "does not set retention.texts_days"),
        (("--older-than", "soon"), "'soon' is not a valid age"),
        (("--older-than", "0d"), "'0d' is not a valid age"),
    ):
        with pytest.raises(CommandError, match=message):
            call_command("prune", *arguments)


def test_workers_follow_the_configured_age(old_run: Run, settings: Any) -> None:
    for days, kept in ((None, True), (400, True), (90, False)):
        configure_days(settings, days)
        prune_old_texts()
        assert (ANSWER in stored_texts()) == kept, days


def configure_days(settings: Any, days: int | None) -> None:
    retained = settings.CODEFORGE.retention.model_copy(update={"texts_days": days})
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"retention": retained})


def test_every_page_says_that_texts_were_pruned(old_run: Run, client: Client) -> None:
    other = make_run(old_run.dataset, model="baseline/reference", metrics=["contains"])
    work_on_run_once(other.pk)
    prune_texts(MONTH)
    pruned = f"pruned on {timezone.now():%Y-%m-%d}"
    result = old_run.results.order_by("position")[0]
    other_result = other.results.order_by("position")[0]
    for path in (
        f"/runs/{old_run.pk}/",
        f"/runs/{old_run.pk}/results/{result.pk}/",
        f"/runs/{other.pk}/results/{other_result.pk}/",
        f"/compare/tasks/?runs={old_run.pk},{other.pk}&metric=contains&open={result.task_id}",
    ):
        assert pruned in client.get(path).content.decode(), path
    for part in ("actual", "reasoning", "messages"):
        response = client.get(f"/runs/{old_run.pk}/results/{result.pk}/{part}.txt")
        assert (response.status_code, pruned in response.content.decode()) == (410, True)
    assert client.get(f"/runs/{old_run.pk}/results/{result.pk}/input.txt").status_code == 200


def test_the_api_and_exports_say_that_texts_were_pruned(old_run: Run, client: Client) -> None:
    prune_texts(MONTH)
    old_run.refresh_from_db()
    run = client.get(f"/api/v1/benchmarks/runs/{old_run.pk}").json()
    (row, *_) = client.get(f"/api/v1/benchmarks/runs/{old_run.pk}/results").json()["results"]
    assert run["texts_pruned_at"]
    assert row["actual_output"] is None
    assert row["scores"]["correctness"] is not None
    forms = ("csv", "jsonl", "html")
    exports = {form: b"".join(export_pieces(old_run, form)).decode() for form in forms}
    for form in forms:
        assert f"{timezone.now():%Y-%m-%d}" in exports[form], form
    assert json.loads(exports["jsonl"].splitlines()[0])["actual_output"] is None


def test_a_pruned_run_cannot_be_resumed_or_retried(old_run: Run, admin_client: Client) -> None:
    make_old(old_run, status=RunStatus.FAILED, errors=1)
    page = f"/runs/{old_run.pk}/"
    assert "do/resume/" in admin_client.get(page).content.decode()
    prune_texts(MONTH)
    assert "do/resume/" not in admin_client.get(page).content.decode()
    for act in (resume_run, retry_failed):
        with pytest.raises(NotPossible, match=r"were pruned on .* Start a new run"):
            act(old_run)
    old_run.refresh_from_db()
    assert old_run.status == RunStatus.FAILED


def test_a_pruned_run_can_still_be_verified(old_run: Run) -> None:
    prune_texts(MONTH)
    assert verify_prompts(old_run).holds
    old_run.results.first().task.__class__.objects.update(input="Another question")
    verification = verify_prompts(old_run)
    assert (verification.differing, verification.first_differences[0].where) == (
        3,
        "unknown place: the text that was sent is no longer stored",
    )
