"""Runs of models, and with judges, of vendors that refuse some parameters."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.engine.execution import model_clients
from benchmarks.models import Run, RunStatus, Score, Transcript
from benchmarks.providers.model_families import ModelFamily, shipped_families
from tests.loopback.replies import Asked
from tests.loopback.server import LoopbackServer
from tests.loopback.vendors import refusing
from tests.support.factories import MODEL, make_dataset, make_run
from tests.support.running import VERDICT, Endpoint, worked

pytestmark = pytest.mark.django_db(transaction=True)
SAMPLED = {"temperature": 0.5, "seed": 3, "max_tokens": 100}
MODELS = ("gpt-5", "o3", "claude-opus-4-7", "deepseek-chat", "mistral-large")
LEFT_OUT = {
    # Model → what its requests as a model, and as a judge, go without
    "gpt-5": ({"temperature", "max_tokens"}, {"temperature", "max_tokens"}),
    "o3": ({"temperature", "max_tokens"}, {"temperature", "max_tokens"}),
    "claude-opus-4-7": ({"temperature"}, {"temperature"}),
    "deepseek-chat": (set(), {"json_schema"}),
    "mistral-large": ({"seed"}, set()),
}


def verdict_or_two(asked: Asked) -> str:
    return VERDICT if "You judge the work" in asked.prompt else "2"


def knows_no_family(settings: Any) -> None:
    nothing = dict.fromkeys(shipped_families(), ModelFamily(models="^$"))
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"model_families": nothing})


def requests_to(server: LoopbackServer, model: str) -> list[dict[str, Any]]:
    return [body for body in server.stats.bodies if body["model"] == model]


@pytest.mark.parametrize("model", MODELS)
def test_a_run_of_a_model_that_refuses_parameters_completes_with_notes(
    endpoint: Endpoint, settings: Any, model: str
) -> None:
    server = endpoint(refusing(verdict_or_two))
    knows_no_family(settings)
    run = worked(make_run(make_dataset(8), model=f"loop/{model}", concurrency=8, **SAMPLED))
    left_out, _ = LEFT_OUT[model]
    assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
    assert run.adjustments.get("model", {}).keys() == left_out
    assert len(requests_to(server, model)) == 8 + len(left_out), "one request for each refused parameter of the run"
    notes = set(run.adjustments.get("model", {}).values())
    for transcript in Transcript.objects.filter(result__run=run):
        assert notes <= set(transcript.notes)
    assert all(f"because loop/{model} refuses" in note for note in notes)


@pytest.mark.parametrize("model", MODELS)
def test_a_judge_that_refuses_parameters_judges(endpoint: Endpoint, settings: Any, model: str) -> None:
    server = endpoint(refusing(verdict_or_two))
    knows_no_family(settings)
    request = {"metrics": ["correctness"], "judge_model": f"loop/{model}"}
    run = worked(make_run(make_dataset(8), judge_tried=False, concurrency=8, **request))
    _, left_out = LEFT_OUT[model]
    assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
    assert run.adjustments.get("judge", {}).keys() == left_out
    refused_and_plain = len(left_out) + bool(left_out)
    assert len(requests_to(server, model)) == 1 + 8 + refused_and_plain, "the trial finds out what the judge refuses"
    assert run.summary["metrics"]["correctness"]["mean"] == 1.0
    for score in Score.objects.filter(run=run):
        assert score.judge is not None
        assert sorted(score.judge["notes"]) == sorted(run.adjustments.get("judge", {}).values())


KINDS = {
    # Kind → the query of its address
    "anthropic": "",
    "openai_responses": "",
    "azure_openai": "?api-version=2024-10-21",
}


def speak(settings: Any, server: LoopbackServer, kind: str) -> None:
    """Make the provider ``loop`` one of that kind."""
    configured = settings.CODEFORGE.providers["loop"]
    changed = configured.model_copy(update={"kind": kind, "base_url": server.url + KINDS[kind]})
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"providers": {"loop": changed}})
    model_clients.forget()


@pytest.mark.parametrize(
    ("kind", "model", "left_out"),
    [
        ("anthropic", "claude-opus-4-7", {"temperature"}),
        ("openai_responses", "gpt-5", {"temperature"}),
        ("azure_openai", "gpt-5", {"temperature", "max_tokens"}),
    ],
)
def test_other_kinds_of_providers_leave_out_what_their_models_refuse(
    endpoint: Endpoint, settings: Any, kind: str, model: str, left_out: set[str]
) -> None:
    server = endpoint(refusing(verdict_or_two))
    knows_no_family(settings)
    speak(settings, server, kind)
    judge = {"metrics": ["correctness"], "judge_model": f"loop/{model}", "allow_self_judging": True}
    run = worked(make_run(make_dataset(4), judge_tried=False, model=f"loop/{model}", concurrency=4, **judge, **SAMPLED))
    assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
    assert run.summary["metrics"]["correctness"]["mean"] == 1.0
    assert {role: notes.keys() for role, notes in run.adjustments.items()} == {"model": left_out, "judge": left_out}
    trial = 1 + len(left_out) + 1
    assert len(requests_to(server, model)) == trial + (4 + len(left_out)) + 4
    for transcript in Transcript.objects.filter(result__run=run):
        assert set(run.adjustments["model"].values()) <= set(transcript.notes)


@pytest.mark.parametrize("kind", ["openai_responses", "azure_openai"])
def test_other_kinds_of_providers_ask_a_judge_without_a_response_format_that_it_refuses(
    endpoint: Endpoint, settings: Any, kind: str
) -> None:
    server = endpoint(refusing(verdict_or_two))
    speak(settings, server, kind)
    run = worked(make_run(make_dataset(2), judge_tried=False, metrics=["correctness"], judge_model="loop/gpt-4-0613"))
    assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
    assert run.adjustments["judge"].keys() == {"json_schema", "json_object"}
    sent = requests_to(server, "gpt-4-0613")
    assert [body["temperature"] for body in sent[-2:]] == [0.0, 0.0]
    assert not sent[-1].keys() & {"text", "response_format"}


def test_what_gemini_refuses_at_once_is_left_out_or_named_at_once(endpoint: Endpoint, settings: Any) -> None:
    server = endpoint(refusing(verdict_or_two))
    run = worked(make_run(make_dataset(3), model="loop/gemini-2.5-flash", concurrency=1, **SAMPLED))
    assert (run.status, run.errors, run.adjustments["model"].keys()) == (RunStatus.COMPLETED, 0, {"seed"})
    run = worked(make_run(make_dataset(3), model="loop/gemini-2.5-flash", concurrency=1, extra={"top_k": 1}, **SAMPLED))
    assert run.status == RunStatus.FAILED
    assert "Remove top_k from the extra parameters" in run.error_message
    assert len(requests_to(server, "gemini-2.5-flash")) == 1 + 3 + 1


def test_a_cached_verdict_has_the_notes_of_the_first(endpoint: Endpoint, settings: Any) -> None:
    server = endpoint(refusing(verdict_or_two))
    dataset = make_dataset(2)
    request = {"metrics": ["correctness"], "judge_model": "loop/claude-opus-4-7", "use_cache": True}
    notes = []
    for _ in range(2):
        run = worked(make_run(dataset, **request))
        notes.append([score.judge["notes"] for score in Score.objects.filter(run=run) if score.judge])
    assert len(requests_to(server, "claude-opus-4-7")) == 2
    assert notes[0] == notes[1]
    assert "temperature was not sent" in notes[0][0][0]


@pytest.mark.parametrize("model", ["gpt-5", "o3", "claude-opus-4-7"])
def test_what_families_refuse_is_never_sent(endpoint: Endpoint, model: str) -> None:
    server = endpoint(refusing(verdict_or_two))
    request = {"metrics": ["correctness"], "judge_model": f"loop/{model}", "allow_self_judging": True}
    run = worked(make_run(make_dataset(4), judge_tried=False, model=f"loop/{model}", **request, **SAMPLED))
    assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
    assert len(requests_to(server, model)) == 1 + 4 + 4, "no request was refused"
    for role in ("model", "judge"):
        assert "models of the family" in run.adjustments[role]["temperature"]


def test_what_was_learned_holds_when_a_run_is_resumed(endpoint: Endpoint, settings: Any) -> None:
    server = endpoint(refusing(verdict_or_two))
    knows_no_family(settings)
    run = make_run(make_dataset(3), model="loop/gpt-5", temperature=0.5)
    Run.objects.filter(pk=run.pk).update(adjustments={"model": {"temperature": "known"}})
    worked(run)
    assert len(requests_to(server, "gpt-5")) == 3


def test_a_refused_parameter_that_changes_the_question_is_an_error_that_says_where_it_is_set(
    endpoint: Endpoint,
) -> None:
    server = endpoint(refusing(verdict_or_two))
    run = worked(
        make_run(make_dataset(3), model="loop/mistral-large", concurrency=1, extra={"reasoning_effort": "low"})
    )
    assert run.status == RunStatus.FAILED
    assert "Remove reasoning_effort from the extra parameters of the run" in run.error_message
    assert len(requests_to(server, "mistral-large")) == 1


def test_extra_parameters_are_sent_hashed_and_cached_apart(endpoint: Endpoint, settings: Any) -> None:
    server = endpoint(lambda asked: "2")
    models = {**settings.CODEFORGE.models}
    models[MODEL] = models[MODEL].model_copy(update={"params": {"top_k": 5, "reasoning_effort": "high"}})
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"models": models})
    dataset = make_dataset(1)
    runs = [worked(make_run(dataset, use_cache=True, extra={"reasoning_effort": effort})) for effort in ("low", "high")]
    assert [(body["top_k"], body["reasoning_effort"]) for body in server.stats.bodies] == [(5, "low"), (5, "high")]
    hashes = Transcript.objects.filter(result__run__in=runs).values_list("prompt_hash", flat=True)
    assert len(set(hashes)) == 2
    again = worked(make_run(dataset, use_cache=True, extra={"reasoning_effort": "low"}))
    assert (again.extra, len(server.stats.bodies)) == ({"top_k": 5, "reasoning_effort": "low"}, 2)


@pytest.mark.parametrize("model", ["gemma-2-9b-it", "o1-mini"])
def test_a_refused_system_prompt_goes_into_the_first_user_message(endpoint: Endpoint, model: str) -> None:
    server = endpoint(refusing(verdict_or_two))
    run = worked(make_run(make_dataset(4), model=f"loop/{model}", concurrency=1, system_prompt="Be brief."))
    assert (run.status, run.errors, run.adjustments["model"].keys()) == (RunStatus.COMPLETED, 0, {"system_role"})
    sent = requests_to(server, model)
    assert len(sent) == 1 + 4, "one request finds out"
    for body in sent[1:]:
        assert [message["role"] for message in body["messages"]] == ["user"]
        assert body["messages"][0]["content"].startswith("Be brief.\n\n")
    for transcript in Transcript.objects.filter(result__run=run):
        assert "The system prompt was sent in the first user message" in " ".join(transcript.notes)


def test_a_model_that_only_streams_is_streamed_and_its_judge_too(endpoint: Endpoint) -> None:
    server = endpoint(refusing(verdict_or_two))
    judge = {"metrics": ["correctness"], "judge_model": "loop/qwq-judge"}
    run = worked(make_run(make_dataset(4), judge_tried=False, model="loop/qwq-32b", concurrency=1, **judge))
    assert (run.status, run.errors) == (RunStatus.COMPLETED, 0)
    assert {role: [*notes] for role, notes in run.adjustments.items()} == {
        "model": ["unstreamed"],
        "judge": ["unstreamed"],
    }
    assert [body.get("stream") for body in requests_to(server, "qwq-32b")] == [None] + [True] * 4
    assert run.tokens_in, "usage is reported in the stream"
