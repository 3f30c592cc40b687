"""The supervisor of ``make run`` keeps its processes running."""

from __future__ import annotations

import os
import signal
import time

import pytest

from codeforge import supervisor
from codeforge.supervisor import Process


def test_a_stopped_process_is_killed_and_started_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "STOPPED_SECONDS", 0.2)
    child = supervisor._Supervised(Process("worker", ("-c", "import time; time.sleep(60)")))
    first = child.running
    try:
        child.keep_running()
        os.kill(first.pid, signal.SIGSTOP)
        deadline = time.monotonic() + 10
        while child.running is first and time.monotonic() < deadline:
            child.keep_running()
        assert first.returncode == -signal.SIGKILL
        assert child.running is not first
        assert child.running.poll() is None
    finally:
        child.signal(signal.SIGKILL)
        child.running.wait()
    assert "worker has been stopped by a signal. Killing it." in capsys.readouterr().err
