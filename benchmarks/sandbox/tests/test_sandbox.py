"""What the sandbox must stop. Needs bubblewrap on a machine that lets it work."""

from __future__ import annotations

import os
import platform
import socket
import threading
import time
from pathlib import Path

import pytest
import yaml

from benchmarks.sandbox import sandbox as sandbox_module
from benchmarks.sandbox.sandbox import Limits, Sandbox, SandboxError
from benchmarks.sandbox.seccomp import REFUSED, filter_program

REFUSAL = Sandbox().refusal()
REQUIRED = os.environ.get("CODEFORGE_REQUIRE_SERVICES") == "1"
pytestmark = pytest.mark.skipif(bool(REFUSAL) and not REQUIRED, reason=f"the sandbox cannot run: {REFUSAL}")

EVASIONS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("evasions.yaml").read_text("utf-8"))
QUICK = Sandbox(Limits(wall_s=5, cpu_s=5))


def processes_with(text: str) -> list[str]:
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if text in command and "pytest" not in command:
            commands.append(command)
    return commands


def test_this_machine_can_isolate():
    assert REFUSAL is None


def test_correct_code_passes_and_every_check_is_counted():
    report = QUICK.run(
        "def double(x):\n    return 2 * x",
        "assert double(2) == 4\nfrom answer import double as d\ndef test_text():\n    assert d('a') == 'aa'\n",
    )

    assert report.passed
    assert (report.checks, report.failures) == (2, ())


def test_every_failed_check_is_reported():
    report = QUICK.run("def f(x): return x", "assert f(1) == 1\nassert f(2) == 3, 'two'\ndef test_g():\n    g()\n")

    assert not report.passed
    assert report.checks == 3
    assert report.failures == (
        "line 2: assert f(2) == 3, 'two': AssertionError: two (tests.py line 2)",
        "test_g: NameError: name 'g' is not defined (tests.py line 4)",
    )


def test_code_that_cannot_run_fails_with_its_error():
    for code, reason in (
        ("def f(:", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("import numpy", "ModuleNotFoundError"),
        ("import sys; sys.exit(0)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("def f(): f()\nf()", "RecursionError"),
        ("\0", "null bytes"),
    ):
        report = QUICK.run(code, "assert True")
        assert report.outcome == "not_loaded", code
        assert reason in report.reason, code


def test_a_main_block_is_not_run():
    assert QUICK.run("x = 1\nif __name__ == '__main__':\n    raise SystemExit", "assert x == 1").passed


def test_code_that_exits_early_proves_nothing():
    for code in (
        "print('all passed')\nimport os\nos._exit(0)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "import atexit, os\nos.abort()",
    ):
        report = QUICK.run(code, "assert False")
        assert (report.outcome, report.passed) == ("ended", False), code


def test_output_counts_even_if_the_process_ends_at_once():
    code = "import os\ndef f():\n    print('before the end', end='')\n    os._exit(3)"

    report = QUICK.run(code, "f()")

    assert (report.outcome, report.output) == ("ended", "before the end")
    assert report.reason == "exited with code 3 before the tests finished"


def test_tests_that_end_themselves_are_no_verdict():
    report = QUICK.run("x = 1", "import os\nos._exit(0)")

    assert (report.outcome, report.passed) == ("stopped", False)


@pytest.mark.skipif(filter_program() is None, reason="the numbers of this machine's system calls are not known")
def test_system_calls_that_no_program_needs_are_refused():
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "def refused(number):\n"
        "    ctypes.set_errno(0)\n"
        "    return libc.syscall(number, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == 1\n"
    )
    numbers = [pair[platform.machine() == "aarch64"] for pair in REFUSED.values()]

    report = QUICK.run(code, f"allowed = [n for n in {numbers} if not refused(n)]\nassert allowed == [], allowed")

    assert report.passed, report


def test_no_answer_takes_its_own_score_away():
    for name, code in EVASIONS.items():
        report = Sandbox(Limits(wall_s=2, cpu_s=2)).run(code, "assert add(2, 3) == 5")
        assert not report.passed, name
        assert report.outcome in {"tested", "not_loaded", "stopped", "ended"}, name
        assert not {"\0", "\ud800"} & {*report.output, *report.reason, *"".join(report.failures)}, name


@pytest.mark.skipif(filter_program() is None, reason="the numbers of this machine's system calls are not known")
def test_no_memory_is_available_that_belongs_to_no_process():
    code = (
        "import ctypes, os\n"
        "def files():\n    return [os.memfd_create('x') for _ in range(3)]\n"
        "def segment():\n    return ctypes.CDLL(None).shmget(0, 100 << 20, 0o1600)\n"
    )
    tests = "try:\n    files()\nexcept PermissionError:\n    pass\nelse:\n    assert False\nassert segment() == -1"

    assert QUICK.run(code, tests).passed


def test_the_first_process_cannot_be_killed_or_read_from_inside():
    code = (
        "import os, signal\n"
        "os.kill(1, signal.SIGKILL)\nos.kill(1, signal.SIGSTOP)\n"
        "try:\n    open('/proc/1/mem', 'rb')\n    readable = True\nexcept OSError:\n    readable = False\n"
    )

    assert QUICK.run(code, "assert not readable").passed


@pytest.mark.parametrize(
    ("temporary_mb", "bomb"),
    [
        (21, "import os\nwhile True:\n    os.fork()"),
        (22, "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"),
        (23, "import subprocess, sys\nwhile True:\n    subprocess.Popen([sys.executable, '-c', 'input()'])"),
        (24, "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,)).start()"),
    ],
)
def test_a_fork_bomb_is_stopped(temporary_mb, bomb):
    started = time.monotonic()

    report = Sandbox(Limits(wall_s=2, temporary_mb=temporary_mb)).run(bomb, "assert True")

    assert not report.passed
    assert time.monotonic() - started < 2 + sandbox_module.GRACE_S
    assert processes_with(f"--size {temporary_mb << 20}") == []  # this test's sandbox, told apart by its own size


def test_ten_gigabytes_are_not_available():
    for code in (
        "x = bytearray(10 << 30)",
        "x = []\nwhile True:\n    x.append(bytearray(1 << 20))",
        "import mmap\nx = mmap.mmap(-1, 10 << 30)",
    ):
        report = QUICK.run(code, "assert True")
        assert not report.passed, code
        assert "Error" in report.reason or "memory" in report.reason, code


def test_memory_is_limited_for_all_processes_together():
    code = (
        "import os, time\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0:\n        x = bytearray(100 << 20)\n"
        "        x[::4096] = b'x' * len(x[::4096])\n        time.sleep(60)\n"
        "time.sleep(60)"
    )

    report = Sandbox(Limits(wall_s=5, memory_mb=256)).run(code, "assert True")

    assert (report.outcome, report.reason) == ("stopped", "memory limit of 256 MB exceeded")


def test_endless_output_is_stopped():
    for code in ("while True: print('x' * 1000)", "import os\nwhile True: os.write(2, b'x' * 60000)"):
        report = QUICK.run(code, "assert True")
        assert (report.outcome, report.reason) == ("stopped", "output limit of 100,000 bytes exceeded"), code
        assert len(report.output) <= 4_000, code


def test_endless_work_is_stopped():
    assert Sandbox(Limits(wall_s=0.5)).run("while True: pass", "assert True").reason == "time limit of 0.5 s exceeded"


def test_processor_time_is_limited():
    report = Sandbox(Limits(wall_s=10, cpu_s=1)).run("while True: pass", "assert True")

    assert report.reason == "CPU time limit exceeded"


def test_nothing_survives_the_timeout():
    code = (
        "import os, signal, time\n"
        "for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGXCPU):\n"
        "    signal.signal(name, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n    os.setsid()\n    os.execv('/usr/bin/sleep', ['sleep', '4711'])\n"
        "time.sleep(60)"
    )

    report = Sandbox(Limits(wall_s=0.5)).run(code, "assert True")

    assert report.outcome == "stopped"
    assert processes_with("sleep 4711") == []


def test_no_variable_of_the_environment_is_readable(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-do-not-leak")
    code = (
        "import glob, os\n"
        "seen = repr(dict(os.environ))\n"
        "for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline'):\n"
        "    try:\n        seen += open(path, errors='replace').read()\n"
        "    except OSError:\n        pass\n"
    )

    assert QUICK.run(code, "assert 'leak' not in seen, seen\nassert 'OPENAI' not in seen").passed


def test_no_socket_reaches_anything():
    listener = socket.create_server(("127.0.0.1", 0))
    accepted: list[object] = []
    threading.Thread(target=lambda: accepted.append(listener.accept()), daemon=True).start()
    code = (
        "import socket\nerrors = []\ninterfaces = [name for _, name in socket.if_nameindex()]\n"
        f"for address in (('127.0.0.1', {listener.getsockname()[1]}), ('192.0.2.1', 53)):\n"
        "    try:\n        socket.create_connection(address, timeout=0.5)\n"
        "    except OSError as error:\n        errors.append(error)\n"
    )

    report = QUICK.run(code, "assert len(errors) == 2, errors\nassert interfaces == ['lo']")

    assert report.passed, report
    assert accepted == []


def test_only_a_small_temporary_directory_is_writable():
    code = (
        "import os\nwritten = []\n"
        "for folder in ('/', '/usr', '/usr/bin', '/dev', '/etc', '/home', '/root', '/proc/sys/kernel', '/tmp'):\n"
        "    try:\n        open(folder + '/written', 'w').write('x')\n        written.append(folder)\n"
        "    except OSError:\n        pass\n"
        "sysctl = os.access('/proc/sys/kernel/hostname', os.W_OK)\n"
        "def fill(folder):\n"
        "    total = 0\n"
        "    try:\n"
        "        for n in range(100):\n"
        "            total += open(f'{folder}/{n}', 'wb').write(bytes(1 << 20))\n"
        "    except OSError:\n        pass\n"
        "    return total >> 20\n"
    )

    report = QUICK.run(
        code,
        "assert written == ['/tmp'], written\nassert not sysctl\n"
        "assert fill('/tmp') <= 32\nassert fill('/dev/shm') < 1\n",
    )

    assert report.passed, report


def test_the_files_of_this_machine_do_not_exist_inside():
    folders = [str(Path(__file__).parent), str(Path.home() / ".ssh"), "/etc/passwd", "/var", "/sys"]
    code = f"import os\nseen = [path for path in {folders!r} if os.path.exists(path)]"

    report = QUICK.run(code, "assert seen == [], seen")

    assert report.passed, report


def test_a_run_leaves_nothing_for_the_next_one():
    QUICK.run("open('/tmp/left', 'w').write('x')", "assert True")

    assert QUICK.run("import os", "assert os.listdir('/tmp') == []").passed


def test_a_machine_without_bubblewrap_is_refused_with_what_to_install(monkeypatch):
    sandbox_module._working_setup.cache_clear()
    monkeypatch.setenv("PATH", "/nowhere")
    try:
        assert "install the package “bubblewrap”" in (Sandbox().refusal() or "")
        with pytest.raises(SandboxError, match="not installed"):
            Sandbox().run("x = 1", "assert x")
    finally:
        sandbox_module._working_setup.cache_clear()


def test_a_sandbox_that_does_not_start_is_an_error_and_no_verdict(tmp_path, monkeypatch):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    tmp_path.chmod(0o755)
    monkeypatch.setattr(sandbox_module.shutil, "which", lambda name: str(broken))

    with pytest.raises(SandboxError, match=r"code 1 and no report|cannot be started"):
        sandbox_module._run(sandbox_module.Setup("/usr/bin/python3"), "x = 1", "assert x", Limits())


def test_code_of_many_megabytes_is_refused():
    with pytest.raises(SandboxError, match="more than 5,000,000 characters"):
        QUICK.run("#" * 6_000_000, "assert True")
