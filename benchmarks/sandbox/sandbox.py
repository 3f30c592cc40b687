"""A sandbox for Python code: bubblewrap around the harness.

Inside there is no network, no environment variable, and no file of this machine except the interpreter and the system
libraries, all read-only, and a small temporary directory in memory. Limits apply to CPU time, memory, processes, output
and wall time. When the first process inside ends, all processes end. A worker that runs as root starts the sandbox as
``nobody``, because even without capabilities, root could write to ``/proc/sys``.

The kernel limits the memory of each process; the harness limits the total, which it checks every 20 ms.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

GRACE_S = 5.0
"""Time for starting and ending the sandbox, added to the wall time of the code."""
NOBODY = 65534
MAX_JOB = 5_000_000
"""Characters of code and tests together."""

Outcome = Literal["tested", "not_loaded", "stopped", "ended", "interference"]


class SandboxError(Exception):
    """The sandbox itself failed, so nothing is known about the code."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one run; ``memory_mb`` is for all processes together and for each, ``temporary_mb`` also for one file."""

    wall_s: float = 10.0
    cpu_s: int = 10
    memory_mb: int = 512
    processes: int = 8
    output_bytes: int = 100_000
    temporary_mb: int = 32


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one piece of code. ``failures`` are one line each; ``output`` is what it printed, cut."""

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
        """Why this machine cannot isolate code, or ``None``. Determined once per process by a trial."""
        return _working_interpreter()[1]

    def run(self, code: str, tests: str) -> Report:
        """Run ``code``, then ``tests`` in its namespace. Blocks for up to the wall time and ``GRACE_S``.

        Raises ``SandboxError`` if the sandbox does not start or does not report.
        """
        interpreter, refusal = _working_interpreter()
        if interpreter is None:
            raise SandboxError(refusal or "code cannot be isolated on this machine")
        if len(code) + len(tests) > MAX_JOB:
            raise SandboxError(f"code and tests have more than {MAX_JOB:,} characters")
        return _run(interpreter, code, tests, self.limits)


def _run(interpreter: str, code: str, tests: str, limits: Limits) -> Report:
    job = json.dumps({"code": code, "tests": tests, "limits": asdict(limits)})
    harness = Path(__file__).with_name("harness.py").read_text()
    command = [*_bubblewrap(interpreter, limits), interpreter, "-I", "-S", "-B", "-c", harness]
    account: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        process = subprocess.run(
            command,
            input=job.encode(),
            capture_output=True,
            timeout=limits.wall_s + GRACE_S,
            # Code inside can read the environment of bubblewrap itself, so it contains nothing either.
            env={"LANG": "C.UTF-8"},
            cwd="/",
            start_new_session=True,
            check=False,
            **account,
        )
    except subprocess.TimeoutExpired:
        raise SandboxError(f"the sandbox did not end within {limits.wall_s + GRACE_S:g} s and was killed") from None
    except OSError as error:
        raise SandboxError(f"bubblewrap cannot be started: {error}") from None
    try:
        report = json.loads(process.stdout)
        return Report(**{**report, "failures": tuple(report.get("failures", ()))})
    except (ValueError, TypeError, RecursionError):
        output = process.stderr.decode("utf-8", "replace").strip()[-300:] or "no output"
        raise SandboxError(f"the sandbox ended with code {process.returncode} and no report: {output}") from None


def _bubblewrap(interpreter: str, limits: Limits) -> list[str]:
    """The command before the interpreter."""
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
    """The first interpreter of this version that works inside, or ``None`` and the reason. Tried once per process."""
    if sys.platform != "linux" or shutil.which("bwrap") is None:
        return None, "bubblewrap is not installed: install the package “bubblewrap” (Debian, Ubuntu, Fedora, Alpine)"
    # A worker that runs as root may use an interpreter in root's home, which ``nobody`` cannot read.
    system = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    reason = ""
    for interpreter in (os.path.realpath(sys.executable), system):
        if not os.path.exists(interpreter):
            continue
        try:
            report = _run(interpreter, "x = 1", "assert x == 1", Limits())
        except SandboxError as error:
            reason = f"bubblewrap is installed but cannot isolate here: {error}"
            continue
        if report.passed:
            return interpreter, None
        reason = f"bubblewrap started but a trial failed: {report.reason or report.failures}"
    return None, reason
