"""``manage.py dev``, which ``make run`` calls: all up with one command, a first run scored, nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.providers.model_names import is_baseline
from tests.loopback.hosting import spawn

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


DEV = ("manage.py", "dev")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def terminal(state: Path) -> dict[str, str]:
    """The environment of a new terminal, in which nothing is set but where the installation's state is."""
    ours = ("CODEFORGE_", "OPENAI_", "DJANGO_", "APP_ENV", "SECRET_KEY")
    cleared = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return cleared | {"CODEFORGE_STATE_DIR": str(state), "CODEFORGE_ENV_FILE": os.devnull}


STARTED: list[subprocess.Popen[bytes]] = []
"""The launchers of a test; what a test that fails leaves running is stopped after it."""


class Launched:
    def __init__(self, state: Path, port: int, command: Sequence[str] = DEV, cwd: Path = ROOT, **changed: str) -> None:
        self.port = port
        self.log = state / "output.log"
        self.process = subprocess.Popen(
            [sys.executable, *command, "--port", str(port)],
            cwd=cwd,
            env=terminal(state) | ({"APP_ENV": "development"} if command == DEV else {}) | changed,
            stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT,
        )
        STARTED.append(self.process)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://localhost:{self.port}{path}", timeout=10) as response:
            body = response.read()
        return json.loads(body) if path.startswith("/api") else body.decode()

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        request = urllib.request.Request(
            f"http://localhost:{self.port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, dict(response.headers), json.load(response)

    def until(self, condition: Any, seconds: float = 90.0) -> Any:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if found := condition():
                    return found
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(f"gave up waiting; output so far:\n{self.log.read_text()}")

    def ended_run(self, run_id: int) -> Any:
        def ended() -> Any:
            run = self.get(f"/api/v1/benchmarks/runs/{run_id}")
            return run if run["completed_at"] else None

        return self.until(ended)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    while STARTED:
        process = STARTED.pop()
        process.terminate()
        process.wait(timeout=30)
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True, check=False).stdout
    assert not left, f"processes were left behind: {left}"


@pytest.fixture
def one_dataset(state: Path) -> dict[str, str]:
    """Variables for an installation whose only dataset is that of the first runs; all of them keep a worker busy."""
    folder = state / "datasets"
    folder.mkdir()
    shutil.copy(ROOT / "datasets/basic-coding.yaml", folder)
    return {"CODEFORGE_DATASETS_DIR": str(folder)}


def stop(launched: Launched) -> int:
    launched.process.send_signal(signal.SIGINT)
    return launched.process.wait(timeout=30)


def test_one_command_shows_scored_runs_and_takes_the_documented_request(state: Path) -> None:
    with spawn("--delay-ms", "5") as url:
        launched = Launched(state, free_port(), OPENAI_BASE_URL=url, CODEFORGE_JUDGE_MODEL="openai/judge")
        try:
            first = launched.until(
                lambda: [r for r in launched.get("/api/v1/benchmarks/runs")["results"] if r["status"] == "completed"]
            )
            assert all(is_baseline(run["model"]) for run in first)
            body = {"dataset": "basic-coding", "model": "openai/gpt-4o", "metrics": ["correctness"]}
            status, headers, run = launched.post("/api/v1/benchmarks/runs", body)
            assert status == 201
            assert headers["Location"].endswith(f"/api/v1/benchmarks/runs/{run['id']}")
            ended = launched.ended_run(run["id"])
            assert ended["status"] == "completed", ended
            assert ended["progress"]["done"] == ended["progress"]["total"] == ended["summary"]["correctness"]["n"]
            page = launched.get(f"/runs/{run['id']}")
            assert "correctness" in page.lower()
            assert "openai/gpt-4o" in page
        finally:
            code = stop(launched)
    output = launched.log.read_text()
    assert code == 0, output
    assert f"http://localhost:{launched.port}" in output
    assert re.search(r"user admin, password \S{12,}", output)


def test_the_second_start_makes_no_second_administrator_and_no_second_first_run(
    state: Path, one_dataset: dict[str, str]
) -> None:
    for _ in range(2):
        launched = Launched(state, free_port(), **one_dataset)
        runs = launched.until(lambda: launched.get("/api/v1/benchmarks/runs"))  # noqa: B023 - called at once
        stop(launched)
    assert runs["count"] == 5
    assert "password" not in launched.log.read_text()


def test_commands_work_in_a_new_terminal_as_printed(state: Path, one_dataset: dict[str, str]) -> None:
    launched = Launched(state, free_port(), **one_dataset)
    launched.until(lambda: launched.get("/healthz"))
    printed = re.search(r"to change it: (.+)\)", launched.log.read_text())
    assert printed is not None
    request = "basic-coding --model baseline/reference --metrics exact_match"
    run = f".venv/bin/python manage.py benchmark run {request} --detach"
    for command, stdin in ((printed[1], "a new passphrase\n" * 2), (run, "")):
        done = subprocess.run(
            command,
            shell=True,
            cwd=ROOT,
            env=terminal(state),
            input=stdin,
            capture_output=True,
            text=True,
            start_new_session=True,  # without a terminal of its own, the password is read from the input
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert f"http://localhost:{launched.port}/runs/6/" in done.stdout + done.stderr
    stop(launched)


def test_a_web_server_of_another_kind_is_in_production_mode_without_app_env(state: Path) -> None:
    (state / "port").write_text("8080")  # make run was started here
    code = "import codeforge.wsgi"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=terminal(state), capture_output=True, text=True, check=False
    )
    assert "SECRET_KEY is not set" in done.stderr


def test_a_taken_port_is_a_clear_error(state: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        launched = Launched(state, taken.getsockname()[1])
        assert launched.process.wait(timeout=60) != 0
    assert "PORT=9000 make run" in launched.log.read_text()


def test_killing_the_launcher_leaves_no_process_behind(state: Path, one_dataset: dict[str, str]) -> None:
    launched = Launched(state, free_port(), **one_dataset)
    launched.until(lambda: launched.get("/api/v1/benchmarks/runs"))
    launched.process.kill()
    launched.process.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if subprocess.run(["pgrep", "-f", f"127.0.0.1:{launched.port}"], capture_output=True, check=False).returncode:
            break
        time.sleep(0.2)
    else:
        raise AssertionError("the web server outlived its launcher")


def test_a_new_dataset_file_is_found_without_a_restart(state: Path, one_dataset: dict[str, str]) -> None:
    launched = Launched(state, free_port(), **one_dataset)
    try:
        known = launched.until(lambda: launched.get("/api/v1/benchmarks/datasets")["count"])
        task = 'tasks:\n- {id: "1", name: One, input: "1 + 1?", expected_output: "2"}\n'
        fresh = Path(one_dataset["CODEFORGE_DATASETS_DIR"]) / "fresh.yaml"
        fresh.write_text(f"name: Fresh\ndescription: Found while running\n{task}")
        launched.until(lambda: launched.get("/api/v1/benchmarks/datasets/fresh")["tasks"] == 1)
        assert launched.get("/api/v1/benchmarks/datasets")["count"] == known + 1
    finally:
        stop(launched)
