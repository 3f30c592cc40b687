"""A whole installation of its own for benchmarks and crash tests: fresh state, web server, workers, as processes."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATABASE = "codeforge.sqlite3"
CONFIG = """
benchmark: {{datasets_dir: "{state}/datasets"}}
judge: {{model: loop/judge}}
providers:
  loop: {{base_url: "{url}", timeouts: {{connect: 5.0, first_byte: 30.0, whole: 60.0}}}}
models:
  loop/model: {{input_per_million: 1.0, output_per_million: 2.0}}
  loop/judge: {{input_per_million: 1.0, output_per_million: 2.0}}
"""


@dataclass(frozen=True, slots=True)
class Code:
    """What the processes of a stack run: this clone, or a release in an environment of its own."""

    folder: Path = ROOT
    python: str = sys.executable
    manage: tuple[str, ...] = (sys.executable, "manage.py")


class Stack:
    """Processes that share a state directory (or a database and a Redis) and reach the endpoint at ``url``.

    Another ``code`` counts for what is started from then on.
    """

    def __init__(self, state: Path, url: str, extra: Mapping[str, str]) -> None:
        self.state, self.code = state, Code()
        (state / "datasets").mkdir()
        (state / "codeforge.yaml").write_text(CONFIG.format(url=url, state=state))
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("CODEFORGE_", "OPENAI_", "DJANGO_"))},
            "APP_ENV": "development",
            "CODEFORGE_STATE_DIR": str(state),
            "CODEFORGE_CONFIG": str(state / "codeforge.yaml"),
            "CODEFORGE_ENV_FILE": os.devnull,
            "CODEFORGE_SWEEP_SECONDS": "1",
            **extra,
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def manage(self, *arguments: str) -> str:
        """Run a management command to its end and return what it printed."""
        command = [*self.code.manage, *arguments]
        done = subprocess.run(
            command, cwd=self.code.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def write_sums(self, slug: str, count: int) -> None:
        """Put a dataset of ``count`` additions into the datasets directory."""
        tasks = "".join(
            f'- {{id: "{n}", name: "Sum {n}", input: "What is {n} + {n}?", expected_output: "{2 * n}"}}\n'
            for n in range(1, count + 1)
        )
        head = f"name: Sums\ndescription: {count} additions\ntasks:\n"
        (self.state / "datasets" / f"{slug}.yaml").write_text(head + tasks)

    def start_worker(self, *program: str, within: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """``within`` is a command that runs the worker's command, such as ``ip netns exec``."""
        options = ("--loglevel", "warning", "--without-gossip", "--without-mingle", "--without-heartbeat")
        program = program or ("celery", "-A", "codeforge", "--skip-checks")
        return self._start("-m", *program, "worker", *options, within=within)

    def start_web(self, processes: int = 1) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        options = ("--workers", str(processes), "--worker-class", "gthread", "--threads", "8", "--log-level", "warning")
        self._start("-m", "gunicorn", "codeforge.wsgi", "--bind", f"127.0.0.1:{port}", *options)
        self.wait_until(self._answers, "the web server answers")

    def post(self, path: str, body: Mapping[str, Any], repeats: int = 3) -> dict[str, Any]:
        """Post, and if the site is busy, repeat that as clients do: writes wait for each other for two seconds only."""
        request = urllib.request.Request(
            self.address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                answer: dict[str, Any] = json.load(response)
        except urllib.error.HTTPError as error:
            if error.code == 503 and repeats:
                time.sleep(float(error.headers["Retry-After"]))
                return self.post(path, body, repeats - 1)
            error.add_note(error.read().decode(errors="replace"))
            raise
        return answer

    def get(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(self.address + path, timeout=60) as response:
            answer: dict[str, Any] = json.load(response)
        return answer

    def wait_until(self, done: Any, what: str, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                log = (self.state / "processes.log").read_text(errors="replace")
                raise TimeoutError(f"waited {seconds:g} s until {what}. Its processes said:\n{log[-4000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self.processes.clear()

    def _start(self, *arguments: str, within: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        log = (self.state / "processes.log").open("ab")
        command = [*within, self.code.python, *arguments]
        process = subprocess.Popen(
            command, cwd=self.code.folder, env=self.environment, start_new_session=True, stdout=log, stderr=log
        )
        self.processes.append(process)
        return process

    def _answers(self) -> bool:
        try:
            self.get("/api/v1/benchmarks/runs")
        except urllib.error.HTTPError as error:
            return error.code in (401, 403)  # it wants to know who asks
        except OSError:
            return False
        return True


@contextlib.contextmanager
def installed(
    url: str, extra: Mapping[str, str] | None = None, *, migrated: bool = False, code: Code | None = None
) -> Iterator[Stack]:
    """A migrated installation of this clone or other ``code``, whose database may be ``migrated`` already.

    Every process started in it is stopped at the end.
    """
    with tempfile.TemporaryDirectory(prefix="codeforge-stack-", ignore_cleanup_errors=True) as state:
        stack = Stack(Path(state), url, extra or {})
        try:
            if code:
                stack.code = code
                stack.manage("migrate", "--verbosity", "0")
            elif "DATABASE_URL" not in stack.environment:
                (stack.state / DATABASE).write_bytes(_migrated_sqlite())
            elif not migrated:
                stack.manage("migrate", "--verbosity", "0")
            yield stack
        finally:
            stack.stop()


@functools.cache
def _migrated_sqlite() -> bytes:
    """The file of a migrated database. To copy it takes milliseconds, to migrate takes seconds."""
    with tempfile.TemporaryDirectory(prefix="codeforge-stack-") as state:
        stack = Stack(Path(state), "http://127.0.0.1:1", {})
        stack.manage("migrate", "--verbosity", "0")
        with contextlib.closing(sqlite3.connect(stack.state / DATABASE)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return (stack.state / DATABASE).read_bytes()
