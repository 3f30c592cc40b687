"""A sandbox for Python code: bubblewrap around the harness.

Inside there is no network, no environment, no file of this machine but the interpreter and the system's libraries, all
read-only, and one small temporary directory in memory. Limits hold for processor time, memory, processes, output and
wall time, and the end of the first process inside is the end of all of them. A worker that runs as root starts it as
``nobody``: bubblewrap's root without capabilities could still write to ``/proc/sys``.

Memory is limited for each process by the kernel, and for all together by the harness, which looks every 20 ms.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

GRACE_S = 5.0
"""For starting the sandbox and ending it, on top of the wall time of the code."""
NOBODY = 65534
MAX_JOB = 5_000_000
"""Characters of code and tests together."""

Outcome = Literal["tested", "not_loaded", "stopped", "ended", "interference"]


class SandboxError(Exception):
    """The sandbox itself could not do its work: nothing is known about the code."""


@dataclass(frozen=True, slots=True)
class Limits:
    wall_s: float = 10.0
    cpu_s: int = 10
    memory_mb: int = 512
    processes: int = 8
    output_bytes: int = 100_000
    temporary_mb: int = 32

    def as_job(self) -> dict[str, Any]:
        return {
            "wall_s": self.wall_s,
            "cpu_s": self.cpu_s,
            "memory_bytes": self.memory_mb << 20,
            "processes": self.processes,
            "output_bytes": self.output_bytes,
            "file_bytes": self.temporary_mb << 20,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """How one piece of code did. ``failures`` are one line each; ``output`` is what it printed, cut short."""

    outcome: Outcome
    reason: str = ""
    checks: int = 0
    failures: tuple[str, ...] = ()
    output: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return self.outcome == "tested" and self.checks > 0 and not self.failures


@dataclass(frozen=True, slots=True)
class Sandbox:
    limits: Limits = field(default_factory=Limits)

    def refusal(self) -> str | None:
        """Why this machine cannot isolate code, found by trying once a process, or ``None``."""
        return _working_interpreter()[1]

    def run(self, code: str, tests: str) -> Report:
        """Run ``code``, then ``tests`` in its namespace. Blocks up to the wall time and ``GRACE_S``.

        Raises ``SandboxError`` where the sandbox did not start or did not report.
        """
        interpreter, refusal = _working_interpreter()
        if interpreter is None:
            raise SandboxError(refusal or "this machine cannot isolate code")
        if len(code) + len(tests) > MAX_JOB:
            raise SandboxError(f"the code and its tests have more than {MAX_JOB:,} characters")
        return _run(interpreter, code, tests, self.limits)


def _run(interpreter: str, code: str, tests: str, limits: Limits) -> Report:
    job = json.dumps({"code": code, "tests": tests, "limits": limits.as_job()})
    harness = Path(__file__).with_name("harness.py").read_text()
    command = [*_bubblewrap(interpreter, limits), interpreter, "-I", "-S", "-B", "-c", harness]
    drop: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        done = subprocess.run(
            command,
            input=job.encode(),
            capture_output=True,
            timeout=limits.wall_s + GRACE_S,
            env={"LANG": "C.UTF-8"},  # bubblewrap's own environment can be read inside, so it holds nothing either
            cwd="/",
            start_new_session=True,
            check=False,
            **drop,
        )
    except subprocess.TimeoutExpired:
        raise SandboxError(f"the sandbox did not end within {limits.wall_s + GRACE_S:g} s and was killed") from None
    except OSError as error:
        raise SandboxError(f"bubblewrap could not be started: {error}") from None
    return _read_report(done)


def _read_report(done: subprocess.CompletedProcess[bytes]) -> Report:
    try:
        report = json.loads(done.stdout)
        return Report(**{**report, "failures": tuple(report.get("failures", ()))})
    except (ValueError, TypeError, RecursionError):
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise SandboxError(f"the sandbox ended with code {done.returncode} and no report: {said or 'silent'}") from None


def _bubblewrap(interpreter: str, limits: Limits) -> list[str]:
    """The command in front of the interpreter."""
    return [
        shutil.which("bwrap") or "bwrap",
        *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", str(NOBODY), "--gid", str(NOBODY)),
        *("--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1", "--clearenv"),
        *_system_files(interpreter),
        *("--proc", "/proc", "--dev", "/dev", "--size", "65536", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
        *("--size", str(limits.temporary_mb << 20), "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/tmp"),
        *("--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8", "--setenv", "PATH", "/usr/bin"),
        "--",
    ]


def _system_files(interpreter: str) -> list[str]:
    options = ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for name in ("lib", "lib64", "bin"):
        path = Path("/", name)
        if path.is_symlink():
            options += ["--symlink", f"usr/{name}", str(path)]
        elif path.is_dir():
            options += ["--ro-bind", str(path), str(path)]
    prefix = str(Path(interpreter).parents[1])
    return options if prefix.startswith("/usr") else [*options, "--ro-bind", prefix, prefix]


@cache
def _working_interpreter() -> tuple[str | None, str | None]:
    """The first interpreter of our version that works inside, or ``None`` and the reason. Tried once a process."""
    if sys.platform != "linux" or shutil.which("bwrap") is None:
        return None, "bubblewrap is not installed: install the package “bubblewrap” (Debian, Ubuntu, Fedora, Alpine)"
    reason = "no interpreter was found"
    for interpreter in _interpreters():
        try:
            report = _run(interpreter, "x = 1", "assert x == 1", Limits())
        except SandboxError as error:
            reason = f"bubblewrap is installed but cannot isolate here: {error}"
            continue
        if report.passed:
            return interpreter, None
        reason = f"bubblewrap started but a trial did not pass: {report.reason or report.failures}"
    return None, reason


def _interpreters() -> Sequence[str]:
    """Ours, and the system's of the same version for a worker that runs as root with an interpreter in root's home."""
    ours = os.path.realpath(sys.executable)
    systems = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    return [ours, systems] if os.path.exists(systems) else [ours]
