"""The client against an installation with a web server and a worker, and its notebook, run to the last cell."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from codeforge_client import ApiError, Client, NotCompleted, data_frame
from tests.support.stack import ROOT, Stack, installed

NOTEBOOK = ROOT / "docs" / "how-to" / "notebook.ipynb"


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with installed("http://127.0.0.1:1") as stack:
        shutil.copy(ROOT / "datasets" / "basic-coding.yaml", stack.state / "datasets")
        stack.manage("datasets", "sync")
        stack.start_web()
        stack.start_worker()
        yield stack


@pytest.fixture
def client(stack: Stack) -> Client:
    return Client(stack.address)


@pytest.mark.slow
def test_a_run_is_started_awaited_and_read(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    run = client.start_run("basic-coding", "baseline/reference", metrics=["exact_match"], limit=5)
    run.wait(timeout=60)
    assert "5 of 5" in capsys.readouterr().err
    assert run.status == "completed"
    assert run.summary["exact_match"]["mean"] == 1.0
    rows = list(run.results())
    assert [row["outcome"] for row in rows] == ["correct"] * 5
    frame = run.frame()
    assert frame["score.exact_match"].tolist() == [1.0] * 5
    assert frame["task_id"].tolist() == [row["task_id"] for row in rows]
    assert run.id in [listed.id for listed in client.runs(model="baseline/reference", page_size=1)]
    with pytest.raises(ApiError, match="is completed"):
        run.cancel()


@pytest.mark.slow
def test_an_experiment_is_read_as_its_matrix(client: Client) -> None:
    models = ["baseline/reference", "baseline/random"]
    experiment = client.start_experiment("Two", ["basic-coding"], models, metrics=["exact_match"])
    experiment.wait(timeout=60, progress=False)
    means = {row["model"]: row["mean"] for row in experiment.matrix()}
    assert means[models[0]] == 1.0 > means[models[1]]
    assert experiment.verdict.startswith("Only baselines have run: giving the expected answer scores 1.000")
    assert [run.status for run in experiment.runs()] == ["completed", "completed"]
    assert experiment.frame().shape[0] == 2


@pytest.mark.slow
def test_a_refusal_names_the_fields(client: Client) -> None:
    with pytest.raises(ApiError) as refused:
        client.start_run("basic-codng", "gpt-4o", metrics=["exact"], temprature=0)
    assert refused.value.status == 400
    assert set(refused.value.problems) >= {"dataset", "model", "metrics"}
    assert "dataset: " in str(refused.value)


@pytest.mark.slow
def test_the_notebook_runs_to_its_end(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEFORGE_URL", stack.address)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not [cell for cell in notebook.cells if cell.get("outputs")]
    NotebookClient(notebook, timeout=120).execute()
    shown = [cell.outputs[-1].data["text/plain"] for cell in notebook.cells if cell.cell_type == "code"]
    assert "basic-coding" in shown[0]
    assert "baseline/reference" in shown[-2]
    assert shown[-1].split()[-3:] == ["2", "12", "0.0"]


PUSH = """
import sys
from codeforge_client import Client

def results():
    for number in range(10_000):
        yield {"input": f"Question {number}?", "answer": str(number), "scores": {"accuracy": number % 4 / 4}}

run = Client(sys.argv[1]).push(
    "ci/model", results(), dataset_name="Ten thousand", metrics=["accuracy"], key="ci-1", means={"accuracy": 0.375}
)
print(run.id)
"""


def answers(task: dict[str, Any]) -> Any:
    if task["id"] == "broken":
        raise RuntimeError("no index")
    return {"answer": task["input"].upper(), "retrieved": ["A", "B"], "cost_usd": 0.5, "tool_calls": [CALL]}


CALL = {"name": "search", "arguments": {"q": "a"}}
LETTERS = {
    "name": "Letters",
    "description": "In capitals",
    "tasks": [
        {"id": name, "name": name, "input": name, "expected_output": name.upper(), "expected_context": ["A", "C"]}
        for name in ("a", "b", "broken")
    ],
}


@pytest.mark.slow
def test_a_function_is_asked_every_task_and_scored_on_the_server(client: Client, stack: Stack) -> None:
    (stack.state / "datasets" / "letters.yaml").write_text(json.dumps(LETTERS))
    stack.manage("datasets", "sync")
    seen = []

    async def told(task: dict[str, Any]) -> Any:
        seen.append(task)
        return answers(task)

    metrics = ["exact_match", "retrieval_recall", "retrieval_precision"]
    run = client.evaluate(told, "letters", model="bot", metrics=metrics, key="job-1", repeats=2)

    assert run.status == "completed_with_errors"
    assert run.summary["exact_match"]["mean"] == 1.0
    assert (run.summary["retrieval_recall"]["mean"], run.summary["retrieval_precision"]["mean"]) == (0.5, 0.5)
    assert not any("expected_output" in task or "expected_context" in task for task in seen)
    rows = {row["task_id"]: row for row in run.results()}
    assert (rows["a"]["retrieved"], rows["a"]["cost_usd"]) == (["A", "B"], 0.5)
    assert rows["a"]["tool_calls"][0]["name"] == "search"
    assert "RuntimeError: no index" in rows["broken"]["error_message"]
    assert client.evaluate(told, "letters", model="bot", metrics=metrics, key="job-1", repeats=2).id == run.id
    assert len(seen) == 6, "what was closed is not asked again"


@pytest.mark.slow
def test_an_evaluation_that_was_interrupted_asks_only_what_is_missing(client: Client, stack: Stack) -> None:
    tasks = [{"id": f"t{n}", "name": f"t{n}", "input": f"t{n}", "expected_output": f"T{n}"} for n in range(60)]
    (stack.state / "datasets" / "many.yaml").write_text(json.dumps({**LETTERS, "name": "Many", "tasks": tasks}))
    stack.manage("datasets", "sync")
    asked: list[str] = []

    def stops(task: dict[str, Any]) -> str:
        asked.append(task["id"])
        if len(asked) == 45:
            raise KeyboardInterrupt
        return str(task["input"]).upper()

    with pytest.raises(KeyboardInterrupt):
        client.evaluate(stops, "many", model="bot", key="job-2", parallel=1)
    first = set(asked)
    run = client.evaluate(stops, "many", model="bot", key="job-2", parallel=1)

    assert run.summary["exact_match"]["mean"] == 1.0
    again = [task for task in asked[len(first) :] if task in first]
    assert 5 <= len(again) <= 25, "answers that were received are kept"


@pytest.mark.slow
def test_a_decorated_function_is_called_as_before_and_evaluates_itself(client: Client, stack: Stack) -> None:
    (stack.state / "datasets" / "letters.yaml").write_text(json.dumps(LETTERS))
    stack.manage("datasets", "sync")

    @client.system("bot", metrics=["exact_match"])
    def shouts(task: dict[str, Any]) -> str:
        """Says it louder."""
        return str(task["input"]).upper()

    assert shouts({"input": "a"}) == "A"
    assert (shouts.__name__, shouts.__doc__) == ("shouts", "Says it louder.")
    run = shouts.evaluate("letters")
    assert run.summary["exact_match"]["mean"] == 1.0
    assert shouts.evaluate("letters", model="other").fields["model"].endswith("other")


@pytest.mark.slow
def test_a_push_that_names_an_impossible_call_is_refused(client: Client) -> None:
    with pytest.raises(ApiError) as refused:
        client.push("bot", [{"input": "x", "answer": "y", "tool_calls": [{"args": 1}]}], dataset_name="Calls")
    assert "tool_calls" in str(refused.value)


def pushed_runs(client: Client) -> list[Any]:
    """Those of the test: the notebook pushes a run too."""
    return [row for row in client.pages("/imports/runs") if row["model"] == "ci/model"]


@pytest.mark.slow
def test_a_push_that_was_killed_continues_and_doubles_nothing(client: Client) -> None:
    command = [sys.executable, "-c", PUSH, client.url]
    pushing = subprocess.Popen(command, cwd=ROOT)
    deadline = time.monotonic() + 60
    received = 0
    while received < 3_000 and time.monotonic() < deadline:
        received = next((row["received"] for row in pushed_runs(client)), 0)
    pushing.send_signal(signal.SIGKILL)
    assert pushing.wait() == -signal.SIGKILL
    received = -1
    while (pushed := pushed_runs(client)[0])["received"] != received:  # the server still stores what it has received
        received = pushed["received"]
        time.sleep(1)
    assert pushed["status"] == "receiving"
    assert 3_000 <= pushed["received"] < 10_000
    with pytest.raises(ApiError, match=rf"{pushed['received']:,} results; 10,000 are expected"):
        client.request("POST", f"/imports/runs/{pushed['id']}/close", {"count": 10_000})

    for _ in ("the rest", "what is closed already"):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        run = client.run(int(done.stdout))
        assert run.fields["progress"] == {"total": 10_000, "done": 10_000, "errors": 0, "judging": False}
        assert run.summary["api:accuracy"]["mean"] == 0.375
    assert [listed.id for listed in client.runs(model="ci/model")] == [run.id]
    rows = list(run.results())
    assert sorted(int(row["actual_output"]) for row in rows) == list(range(10_000))
    assert len({row["task_id"] for row in rows}) == 10_000


class Flaky(BaseHTTPRequestHandler):
    """Its first and third POST find the server restarting. The one run that it knows has failed."""

    posts: list[tuple[str, str | None]]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.posts.append((self.path, self.headers["Idempotency-Key"]))
        self._answer(503 if len(self.posts) in (1, 3) else 201, {"id": 7, "status": "queued"})

    def do_GET(self) -> None:
        progress = {"total": 4, "done": 1, "errors": 1}
        fields = {"id": 7, "status": "failed", "progress": progress, "error_message": "The key is wrong."}
        self._answer(200, fields)

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def flaky() -> Iterator[Client]:
    Flaky.posts = []
    server = HTTPServer(("127.0.0.1", 0), Flaky)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Client(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()


def test_a_server_that_is_away_for_a_moment_loses_nothing(flaky: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests with an Idempotency-Key are repeated with the same key, others are not repeated."""
    monkeypatch.setattr("codeforge_client.client.time.sleep", lambda seconds: None)
    assert flaky.start_run("sums", "baseline/reference").id == 7
    with pytest.raises(ApiError, match="503"):
        flaky.start_experiment("Sums", ["sums"], ["baseline/reference"])
    first, repeated, *others = Flaky.posts
    assert first == repeated
    assert first[1]
    assert len(others) == 1


def test_a_wait_ends_with_the_reason_of_a_failed_run(flaky: Client, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NotCompleted, match=r"Run 7 is failed\. The key is wrong\."):
        flaky.run(7).wait()
    assert " 1 of 4, 1 error  failed" in capsys.readouterr().err


def test_data_frames_are_of_the_library_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_frame([{"a": 1}, {"a": None}], "pandas").shape == (2, 1)
    with pytest.raises(ValueError, match="Use 'pandas' or 'polars'"):
        data_frame([], "excel")
    monkeypatch.setattr("codeforge_client.client.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install pandas"):
        data_frame([{"a": 1}])


def test_it_needs_only_the_standard_library() -> None:
    """Imported by a Python that sees no installed package."""
    command = [sys.executable, "-S", "-c", "import codeforge_client"]
    subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, check=True)


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="starts with http"):
        Client("localhost:8080")
