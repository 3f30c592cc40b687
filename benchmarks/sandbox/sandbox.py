"""A sandbox for Python code: bubblewrap around the harness, with a seccomp filter where the system has one.

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
from typing import Any, Literal, NamedTuple

from benchmarks.providers.clean_text import storable_json
from benchmarks.sandbox.seccomp import filter_program

GRACE_S = 5.0
"""Time for starting and ending the sandbox, added to the wall time of the code."""
NOBODY = 65534
MAX_JOB = 5_000_000
"""Characters of code and tests together."""

MODULES = ("proxies", "encoding", "boundary", "harness")
"""Modules of this package that run inside, in the order in which they import each other."""
LOADER = """
import json, os, sys, types
modules = b""
while len(modules) < int(sys.argv[1]):
    modules += os.read(0, int(sys.argv[1]) - len(modules))
for name, source in json.loads(modules):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)
module.main()
"""

Outcome = Literal["tested", "not_loaded", "stopped", "ended"]


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
        return _working_setup()[1]

    def run(self, code: str, tests: str) -> Report:
        """Run ``code``, then ``tests`` in its namespace. Blocks for up to the wall time and ``GRACE_S``.

        Raises ``SandboxError`` if the sandbox does not start or does not report.
        """
        setup, refusal = _working_setup()
        if setup is None:
            raise SandboxError(refusal or "code cannot be isolated on this machine")
        if len(code) + len(tests) > MAX_JOB:
            raise SandboxError(f"code and tests have more than {MAX_JOB:,} characters")
        return _run(setup, code, tests, self.limits)


class Setup(NamedTuple):
    """How the sandbox is started on this machine."""

    interpreter: str
    seccomp: bytes | None = None


def _run(setup: Setup, code: str, tests: str, limits: Limits) -> Report:
    # The modules start the processes inside before anything of the job is read, even into a buffer: the process of the
    # answer would inherit it.
    modules = json.dumps(_modules())
    job = modules + json.dumps({"code": code, "tests": tests, "limits": asdict(limits)})
    account: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    descriptor = os.memfd_create("seccomp", 0)
    os.write(descriptor, setup.seccomp or b"")
    os.lseek(descriptor, 0, os.SEEK_SET)
    seccomp = ["--seccomp", str(descriptor)] if setup.seccomp else []
    start = [setup.interpreter, "-I", "-S", "-B", "-c", LOADER, str(len(modules))]
    try:
        process = subprocess.run(
            [*_bubblewrap(setup.interpreter, limits), *seccomp, "--", *start],
            pass_fds=[descriptor],
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
    finally:
        os.close(descriptor)
    try:
        report = storable_json(json.loads(process.stdout), [])
        return Report(**{**report, "failures": tuple(report.get("failures", ()))})
    except (ValueError, TypeError, RecursionError):
        output = process.stderr.decode("utf-8", "replace").strip()[-300:] or "no output"
        raise SandboxError(f"the sandbox ended with code {process.returncode} and no report: {output}") from None


@cache
def _modules() -> list[tuple[str, str]]:
    return [(f"{__package__}.{name}", Path(__file__).with_name(f"{name}.py").read_text("utf-8")) for name in MODULES]


def _bubblewrap(interpreter: str, limits: Limits) -> list[str]:
    """The command before the options for seccomp and the interpreter."""
    return [
        shutil.which("bwrap") or "bwrap",
        *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", str(NOBODY), "--gid", str(NOBODY)),
        *("--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1", "--clearenv"),
        *_system_files(interpreter),
        *("--proc", "/proc", "--dev", "/dev", "--size", "65536", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
        *("--size", str(limits.temporary_mb << 20), "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/tmp"),
        *("--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8", "--setenv", "PATH", "/usr/bin"),
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
def _working_setup() -> tuple[Setup | None, str | None]:
    """The first setup that works, or ``None`` and the reason. Tried once per process.

    The interpreter has this version. A kernel without seccomp gets no filter.
    """
    if sys.platform != "linux" or shutil.which("bwrap") is None:
        return None, "bubblewrap is not installed: install the package “bubblewrap” (Debian, Ubuntu, Fedora, Alpine)"
    # A worker that runs as root may use an interpreter in root's home, which ``nobody`` cannot read.
    system = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    interpreters = [path for path in (os.path.realpath(sys.executable), system) if os.path.exists(path)]
    reason = ""
    for setup in [Setup(path, seccomp) for seccomp in (filter_program(), None) for path in interpreters]:
        try:
            report = _run(setup, "x = 1", "assert x == 1", Limits())
        except SandboxError as error:
            reason = f"bubblewrap is installed but cannot isolate here: {error}"
            continue
        if report.passed:
            return setup, None
        reason = f"bubblewrap started but a trial failed: {report.reason or report.failures}"
    return None, reason
