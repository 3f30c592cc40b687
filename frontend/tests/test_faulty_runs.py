"""The page of a run whose endpoint fails: every kind of error is counted, and none is part of the mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client

from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Run, RunStatus
from benchmarks.services.runs.control import retry_failed
from tests.loopback.replies import Reply
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run, make_task

pytestmark = pytest.mark.django_db(transaction=True)
LASTING = {
    "server_500": "server",
    "hang": "timeout",
    "reset_mid_body": "connection",
    "truncated_json": "bad response",
    "html_instead_of_json": "bad response",
    "no_choices": "bad response",
    "bad_request_400": "bad request",
    "oversized_body": "too large",
    "forbidden_403": "authentication",
    "overloaded_503": "server",
}


def run_with_a_tenth_of_errors(endpoint: Callable[..., LoopbackServer]) -> Run:
    """A run of 100 tasks: 10 hit a lasting fault, 2 of the others are cut off, 1 is refused."""
    endpoint(lambda asked: "2", first_byte=1.0)
    inputs = [f"question {number}" for number in range(1, 101)]
    inputs[9::10] = [f"[[fault:{fault}]] {fault}" for fault in LASTING]
    inputs[1:4] = ["[[fault:length]] a", "[[fault:length]] b", "[[fault:refusal]]"]
    tasks = [make_task(number, input=text, expected_output="2") for number, text in enumerate(inputs, 1)]
    run = make_run(make_dataset(tasks), concurrency=16)
    work_on_run_once(run.pk)
    run.refresh_from_db()
    return run


def text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_every_error_is_named_and_the_mean_is_over_what_was_scored(
    endpoint: Callable[..., LoopbackServer], client: Client
) -> None:
    run = run_with_a_tenth_of_errors(endpoint)
    assert (run.status, run.done, run.errors) == (RunStatus.COMPLETED_WITH_ERRORS, 100, 10)
    page = text(client.get(f"/runs/{run.pk}/").content.decode())
    numbers = run.summary["metrics"]["exact_match"]
    assert (numbers["n"], numbers["mean"]) == (90, pytest.approx(87 / 90)), "only the unreadable answers are wrong"
    assert "90 of 100 (90%), including 2 cut off, 1 refused; not scored: 10 provider errors" in page
    assert "100 of 100 10 errors" in page
    kinds = {kind: list(LASTING.values()).count(kind) for kind in LASTING.values()}
    failed = page[page.index("What failed") : page.index("Results Not correct")]
    assert "Provider error 10 not scored" in failed
    for kind, number in kinds.items():
        assert re.search(rf"{kind.capitalize()} {number} {number}%", failed), kind
    rows = text(client.get(f"/runs/{run.pk}/?outcome=provider_error").content.decode())
    for result in run.results.filter(outcome="provider_error"):
        assert result.error_message[:40] in rows
        assert result.duration_ms is None, "without an answer there is no duration"
        own = text(client.get(f"/runs/{run.pk}/results/{result.pk}/").content.decode())
        assert result.error_message in own


def test_a_result_whose_retry_failed_shows_both_errors(endpoint: Callable[..., LoopbackServer], client: Client) -> None:
    endpoint(lambda asked: "2")
    run = make_run(make_dataset([make_task(1), make_task(2, input="[[fault:bad_request_400]]")]))
    work_on_run_once(run.pk)
    failed = run.results.get(outcome="provider_error")
    address = f"/runs/{run.pk}/results/{failed.pk}/"
    assert "Retried" not in text(client.get(address).content.decode())
    retry_failed(run)
    work_on_run_once(run.pk)
    page = text(client.get(address).content.decode())
    assert re.search(r"Retried .*, failed again: loop: .*400", page)


def test_a_score_whose_retry_failed_shows_both_reasons(endpoint: Callable[..., LoopbackServer], client: Client) -> None:
    server = endpoint(lambda asked: "first nonsense" if asked.body["model"] == "judge" else "2")
    run = make_run(make_dataset(1), metrics=["correctness"])
    work_on_run_once(run.pk)
    server.script = lambda asked: "second nonsense"
    retry_failed(run)
    work_on_run_once(run.pk)
    page = text(client.get(f"/runs/{run.pk}/results/{run.results.get().pk}/").content.decode())
    assert page.index("first nonsense") < page.index("Retried")
    assert re.search(r"Retried .*, failed again: The judge loop/judge gave no verdict.*second nonsense", page)


def test_tokens_that_the_endpoint_does_not_report_are_unknown(
    endpoint: Callable[..., LoopbackServer], client: Client
) -> None:
    endpoint(lambda asked: "2")
    run = make_run(make_dataset([make_task(1, input="[[fault:no_usage]]")]))
    work_on_run_once(run.pk)
    page = text(client.get(f"/runs/{run.pk}/").content.decode())
    assert "Tokens, model Unknown The endpoint does not report tokens for every response." in page
    assert "Cost, model unknown" in page


def test_thinking_and_what_it_cost_are_on_the_pages(endpoint: Callable[..., LoopbackServer], client: Client) -> None:
    endpoint(
        lambda asked: Reply("", finish_reason="length", reasoning="Let me see", reasoning_tokens=70, cached_tokens=3)
    )
    run = make_run(make_dataset(2))
    work_on_run_once(run.pk)
    page = text(client.get(f"/runs/{run.pk}/").content.decode())
    assert "140 of them thinking" in page
    assert "6 read from the vendor's cache" in page
    own = text(client.get(f"/runs/{run.pk}/results/{run.results.first().pk}/").content.decode())
    assert "70 of them thinking" in own
    assert "3 read from the vendor's cache" in own
    assert "The model reached the limit of output tokens while it was thinking" in own
    assert "Let me see" in own
