"""Texts of old runs go, everything that numbers need stays, and every reader is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.engine.summary.verification import verify_prompts
from benchmarks.models import TERMINAL, AuditEntry, CachedResponse, Run, RunStatus, Score, Transcript
from benchmarks.services.errors import NotPossible
from benchmarks.services.operations import retention
from benchmarks.services.operations.retention import prune_texts
from benchmarks.services.runs.control import resume_run, retry_failed
from benchmarks.services.runs.exports import CONTENT_TYPES, export_pieces
from benchmarks.worker import prune_old_texts
from tests.loopback.replies import Asked
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run

pytestmark = pytest.mark.django_db(transaction=True)
MONTH = timedelta(days=30)
SAID = "an unmistakable answer"
NUMBERS = (
    *("outcome", "value", "state", "tokens_in", "tokens_out", "cost_usd", "judge_cost_usd", "duration_ms", "attempts"),
    "transcript__prompt_hash",
)


def said(asked: Asked) -> str:
    return '{"score": 7, "reason": "a judge\'s words"}' if asked.body["model"] == "judge" else SAID


@pytest.fixture
def old_run(endpoint: Callable[..., LoopbackServer]) -> Run:
    """A whole run, judged, that ended a year ago."""
    endpoint(said)
    run = make_run(make_dataset(3), metrics=["correctness", "contains"], use_cache=True)
    work_on_run_once(run.pk)
    aged(run)
    CachedResponse.objects.update(created_at=timezone.now() - 12 * MONTH)
    return run


def aged(run: Run, **fields: Any) -> None:
    Run.objects.filter(pk=run.pk).update(completed_at=timezone.now() - 12 * MONTH, **fields)
    run.refresh_from_db()


def everything_stored() -> str:
    return json.dumps([list(model.objects.values()) for model in (Transcript, Score, CachedResponse)], default=str)


def test_texts_go_and_numbers_stay(old_run: Run) -> None:
    numbers = list(old_run.results.order_by("pk").values(*NUMBERS))
    scores = list(Score.objects.order_by("pk").values("pk", "metric", "status", "value"))
    tokens = [judge["tokens_in"] for judge in Score.objects.exclude(judge=None).values_list("judge", flat=True)]
    summary = old_run.summary
    assert SAID in everything_stored()
    assert "a judge's words" in everything_stored()

    pruned = prune_texts(MONTH)

    assert (pruned.runs, pruned.results) == (1, 3)
    assert pruned.cached_replies > 0
    for text in (SAID, "a judge's words", "What is 1 + 1?"):
        assert text not in everything_stored()
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


@pytest.mark.parametrize("status", sorted(set(RunStatus) - TERMINAL))
def test_a_run_that_has_not_ended_is_never_touched(old_run: Run, status: str) -> None:
    aged(old_run, status=status)
    assert prune_texts(MONTH).runs == 0
    assert SAID in everything_stored()


def test_a_run_that_ended_lately_is_kept(old_run: Run) -> None:
    Run.objects.update(completed_at=timezone.now() - timedelta(days=29))
    assert prune_texts(MONTH).runs == 0
    assert prune_texts(timedelta(days=28)).runs == 1


def test_a_run_that_is_reopened_meanwhile_is_kept(old_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = retention._mark

    def reopened_first(*arguments: Any) -> bool:
        Run.objects.update(status=RunStatus.RUNNING, completed_at=None)
        return mark(*arguments)

    monkeypatch.setattr(retention, "_mark", reopened_first)
    assert prune_texts(MONTH).results == 0
    assert SAID in json.dumps(list(Transcript.objects.values()))


def test_an_interrupted_pruning_is_finished_by_the_next(old_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 1)
    answers = iter([False, False, True])
    assert prune_texts(MONTH, stopping=lambda: next(answers, True)).results == 1
    old_run.refresh_from_db()
    assert old_run.texts_left
    prune_texts(MONTH)
    old_run.refresh_from_db()
    assert not old_run.texts_left
    assert SAID not in everything_stored()
    assert AuditEntry.objects.filter(action="run.prune").count() == 1


def test_a_dry_run_tells_the_same_and_changes_nothing(old_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    before = everything_stored()
    call_command("prune", "--older-than", "30d", "--dry-run")
    assert "Would prune the texts of 3 results in 1 runs" in capsys.readouterr().out
    assert everything_stored() == before
    call_command("prune", "--older-than", "30d")
    assert "Pruned the texts of 3 results in 1 runs" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [(), ("--older-than", "soon"), ("--older-than", "0d")])
def test_no_age_or_a_strange_one_is_refused(arguments: tuple[str, ...], db: None) -> None:
    with pytest.raises(CommandError):
        call_command("prune", *arguments)


@pytest.mark.parametrize(("days", "left"), [(None, True), (400, True), (90, False)])
def test_workers_hold_to_the_configured_policy(old_run: Run, settings: Any, days: int | None, left: bool) -> None:
    kept = settings.CODEFORGE.retention.model_copy(update={"texts_days": days})
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"retention": kept})
    prune_old_texts()
    assert (SAID in everything_stored()) == left


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
        f"/compare/?run={old_run.pk}&run={other.pk}&metric=contains&show=differ",
    ):
        assert pruned in client.get(path).content.decode(), path
    for part in ("actual", "reasoning", "messages"):
        answer = client.get(f"/runs/{old_run.pk}/results/{result.pk}/{part}.txt")
        assert (answer.status_code, pruned in answer.content.decode()) == (410, True)
    assert client.get(f"/runs/{old_run.pk}/results/{result.pk}/input.txt").status_code == 200


def test_the_api_says_so(old_run: Run, client: Client) -> None:
    prune_texts(MONTH)
    run = client.get(f"/api/v1/benchmarks/runs/{old_run.pk}").json()
    (row, *_) = client.get(f"/api/v1/benchmarks/runs/{old_run.pk}/results").json()["results"]
    assert run["texts_pruned_at"]
    assert row["actual_output"] is None
    assert row["scores"]["correctness"] is not None


@pytest.mark.parametrize("form", ["csv", "jsonl", "html"])
def test_exports_say_so(old_run: Run, form: str) -> None:
    assert form in CONTENT_TYPES
    prune_texts(MONTH)
    old_run.refresh_from_db()
    text = b"".join(export_pieces(old_run, form)).decode()
    assert timezone.now().strftime("%Y-%m-%d") in text
    if form == "jsonl":
        assert json.loads(text.splitlines()[0])["actual_output"] is None


@pytest.mark.parametrize("act", [resume_run, retry_failed])
def test_a_pruned_run_cannot_go_on(old_run: Run, act: Callable[[Run], int]) -> None:
    aged(old_run, status=RunStatus.FAILED)
    prune_texts(MONTH)
    with pytest.raises(NotPossible, match=r"were pruned on .* Start a new run"):
        act(old_run)
    old_run.refresh_from_db()
    assert old_run.status == RunStatus.FAILED


def test_a_pruned_run_is_not_offered_to_go_on(old_run: Run, admin_client: Client) -> None:
    aged(old_run, status=RunStatus.FAILED, errors=1)
    offered = {f"/runs/{old_run.pk}/": "do/resume/"}
    assert all(button in admin_client.get(page).content.decode() for page, button in offered.items())
    prune_texts(MONTH)
    assert not any(button in admin_client.get(page).content.decode() for page, button in offered.items())


def test_a_pruned_run_can_still_be_verified(old_run: Run) -> None:
    prune_texts(MONTH)
    assert verify_prompts(old_run).holds
    old_run.results.first().task.__class__.objects.update(input="Another question")
    found = verify_prompts(old_run)
    assert (found.differing, found.first_differences[0].where) == (
        3,
        "unknown place: the text that was sent is no longer stored",
    )
