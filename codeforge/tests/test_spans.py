"""Spans of requests, runs, questions, attempts and judges, where a collector is configured; nothing of it elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from celery.worker.request import Request
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from kombu import Connection
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind

from benchmarks import jobs, tracing
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Run, RunStatus
from benchmarks.providers.base import ChatReply, ChatRequest, Provider, ProviderSpec, RetryPolicy
from benchmarks.providers.gate import Gate
from benchmarks.providers.retrying import complete_with_retries
from codeforge.celery import app
from codeforge.exporting import export_spans
from tests.loopback.faults import FAULTS, Fault
from tests.loopback.replies import Asked
from tests.loopback.server import LoopbackServer
from tests.support.factories import make_dataset, make_run

SAID = "an unmistakable answer"
QUEUE = "traced"
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans() -> Iterator[Callable[[str], list[ReadableSpan]]]:
    """The finished spans whose name begins so."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.take_spans(provider)
    try:
        yield lambda name: [span for span in exporter.get_finished_spans() if span.name.startswith(name)]
    finally:
        tracing.take_spans(None)


def said(asked: Asked) -> Any:
    if asked.body["model"] == "judge":
        return '{"score": 7, "reason": "a judge\'s words"}'
    return FAULTS["server_500"] if asked.attempt == 1 else SAID


def parents(children: list[ReadableSpan]) -> set[int]:
    return {child.parent.span_id for child in children if child.parent}


def ids(found: list[ReadableSpan]) -> set[int]:
    return {span.context.span_id for span in found}


@pytest.mark.django_db(transaction=True)
def test_a_run_is_one_trace_from_the_worker_to_every_attempt(
    endpoint: Callable[..., LoopbackServer], spans: Callable[[str], list[ReadableSpan]]
) -> None:
    endpoint(said)
    run = make_run(make_dataset(2), metrics=["correctness"], temperature=0.5, seed=7)
    work_on_run_once(run.pk)
    (visit,), (lease,) = spans("run"), spans("lease")
    assert visit.attributes == {"codeforge.run": run.pk}
    assert parents([lease]) == ids([visit])
    asked, judged, attempts = spans("ask"), spans("judge"), spans("chat model")
    assert {span.attributes["codeforge.result"] for span in asked} == set(run.results.values_list("pk", flat=True))
    assert parents(asked) == parents(judged) == ids([lease])
    assert parents(attempts) == ids(asked)
    assert parents(spans("chat judge")) == ids(judged)
    assert len({span.context.trace_id for span in spans("")}) == 1
    failed = [span for span in attempts if not span.status.is_ok]
    assert {(span.attributes["error.type"], span.attributes["http.response.status_code"]) for span in failed} == {
        ("server", 500)
    }
    answered = [span for span in attempts if "gen_ai.usage.output_tokens" in span.attributes]
    assert (len(failed), len(answered)) == (2, 2)
    assert {span.attributes["server.address"] for span in attempts} == {"127.0.0.1"}
    assert all(span.attributes["server.port"] > 1024 for span in attempts)
    assert {span.kind for span in attempts} == {SpanKind.CLIENT}
    assert {span.attributes["gen_ai.response.model"] for span in answered} == {"model"}
    sent = [
        (span.attributes["gen_ai.request.temperature"], span.attributes["gen_ai.request.seed"]) for span in attempts
    ]
    assert set(sent) == {(0.5, 7)}
    assert not any("gen_ai.request.max_tokens" in span.attributes for span in attempts)
    assert {span.attributes["gen_ai.response.finish_reasons"] for span in answered} == {("stop",)}


@pytest.mark.django_db(transaction=True)
def test_a_span_has_the_model_that_answered_beside_the_one_that_was_asked(
    endpoint: Callable[..., LoopbackServer], spans: Callable[[str], list[ReadableSpan]]
) -> None:
    dated = Fault("another model", body=lambda ordinary: json.dumps(json.loads(ordinary) | {"model": "dated"}).encode())
    endpoint(lambda asked: dated)
    work_on_run_once(make_run(make_dataset(1)).pk)
    (span,) = spans("chat model")
    assert (span.attributes["gen_ai.request.model"], span.attributes["gen_ai.response.model"]) == ("model", "dated")


async def test_the_names_of_genai_attributes_are_those_of_the_conventions(
    spans: Callable[[str], list[ReadableSpan]],
) -> None:
    class Answering(Provider):
        async def complete(self, request: ChatRequest) -> ChatReply:
            return ChatReply("4", tokens_in=9, tokens_out=5, reasoning_tokens=3, cached_tokens=2, first_token_ms=250.0)

    request = ChatRequest("model", [], temperature=0.5, top_p=0.9, max_tokens=10, seed=1)
    await complete_with_retries(Answering(ProviderSpec("loop")), request, RetryPolicy(), Gate())
    (attributes,) = (span.attributes for span in spans("chat model"))
    assert attributes["gen_ai.response.time_to_first_chunk"] == 0.25
    assert attributes["gen_ai.usage.reasoning.output_tokens"] == 3
    known = {value for name, value in vars(gen_ai_attributes).items() if name.isupper()}
    assert {name for name in attributes if name.startswith("gen_ai.")} <= known


def work_off(broker: Connection) -> None:
    """Do what a worker does with each message: make the request it carries, and execute it."""
    queue = broker.SimpleQueue(QUEUE)
    while len(queue):
        message = queue.get(block=False)
        Request(message, app=app, task=app.tasks[message.headers["task"]]).execute()
        message.ack()


@pytest.mark.django_db(transaction=True)
def test_a_trace_goes_from_the_request_that_starts_a_run_into_the_worker(
    client: Client, spans: Callable[[str], list[ReadableSpan]], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset(2)
    broker = Connection("memory://")
    send = partial(jobs.work_on_run.apply_async, connection=broker, queue=QUEUE)
    monkeypatch.setattr(jobs.work_on_run, "delay", lambda run: send((run,)))
    body = {"dataset": dataset.slug, "model": "baseline/reference", "metrics": ["exact_match"]}
    answer = client.post(
        "/api/v1/benchmarks/runs", body, content_type="application/json", headers={"traceparent": TRACEPARENT}
    )
    assert answer.status_code == 201
    assert spans("run") == []
    work_off(broker)
    (request,), (visit,) = spans("request"), spans("run")
    assert parents([visit]) == ids([request])
    assert {format(span.context.trace_id, "032x") for span in spans("")} == {TRACEPARENT.split("-")[1]}
    assert Run.objects.get().status == RunStatus.COMPLETED


@pytest.mark.django_db(transaction=True)
def test_no_span_holds_a_text(
    endpoint: Callable[..., LoopbackServer], spans: Callable[[str], list[ReadableSpan]], client: Client
) -> None:
    endpoint(said)
    run = make_run(make_dataset(2), metrics=["correctness"], system_prompt="a secret instruction")
    work_on_run_once(run.pk)
    client.get(f"/runs/{run.pk}/?text=confidential")
    client.get("/shared/signed-key/")
    everything = "\n".join(span.to_json() for span in spans(""))
    assert run.results.filter(transcript__actual_output=SAID).exists()
    for text in (SAID, "What is", "a judge's words", "a secret instruction", "confidential", "signed-key", "http://"):
        assert text not in everything


@pytest.mark.django_db
def test_a_request_is_a_span_inside_its_callers(client: Client, spans: Callable[[str], list[ReadableSpan]]) -> None:
    client.get("/runs/", headers={"X-Request-ID": "mine", "traceparent": TRACEPARENT})
    client.get("/runs/999/", headers={"traceparent": "forged nonsense"})
    first, second = spans("request")
    assert first.attributes == {
        "http.request.method": "GET",
        "codeforge.request_id": "mine",
        "http.route": "runs/",
        "http.response.status_code": 200,
    }
    assert format(first.context.trace_id, "032x") == TRACEPARENT.split("-")[1]
    assert second.parent is None
    assert second.attributes["http.response.status_code"] == 404


def test_an_exception_is_noted_by_its_class_alone(spans: Callable[[str], list[ReadableSpan]]) -> None:
    with pytest.raises(ValueError, match="quoted"), tracing.span("work"):
        raise ValueError("a prompt that is quoted")
    (found,) = spans("work")
    assert found.attributes == {"error.type": "ValueError"}
    assert not found.status.is_ok
    assert "quoted" not in json.dumps(found.to_json())


def test_without_a_collector_a_span_is_nothing() -> None:
    assert export_spans({}) is False
    assert tracing.span("one", a=1) is tracing.span("two", b=2)
    assert tracing.trace_headers() == {}
    with tracing.within({"traceparent": TRACEPARENT}), tracing.span("one") as current:
        current.set(anything=1)
        current.failed("kind")


def test_a_missing_exporter_is_reported_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ImproperlyConfigured, match=r"-r requirements-opentelemetry\.txt"):
        export_spans({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})


def test_nothing_of_opentelemetry_is_imported_without_a_collector() -> None:
    code = (
        "import sys, benchmarks.tracing, benchmarks.providers.retrying\n"
        "with benchmarks.tracing.span('x'): pass\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
