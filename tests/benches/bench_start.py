"""How long `make run` takes to its first page, and Ctrl-C to the end of its last process.

Run as `python -m tests.benches.bench_start`. Each round starts again on the state of the first start, which is not
counted, waits until nothing runs, and interrupts. Processor time is that of all processes until the page was there; of
`make run` alone it is comparable on a machine in use. With `--clone`, the repository is cloned first, as it is
committed, and `make run` installs its requirements anew: one round, until a first run is scored, with the size of the
environment. With `--package`, the wheel is built, installed into an empty environment, and started by `codeforge up`.
Linux only.
It measures and does not judge: the exit code is 0 whatever the numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")
IDLE_SECONDS = 3.0
"""After the page, until the worker has nothing left of its own start."""


@dataclass(frozen=True, slots=True)
class Start:
    page_seconds: float
    processor_seconds: float
    """Of the command and everything below it, until the page was there."""
    end_seconds: float
    scored_seconds: float = 0.0
    """Until the first run is scored, if that was waited for."""


MAKE_RUN = ("make", "--silent", "run")


def start(folder: Path, state: Path, command: Sequence[str] = MAKE_RUN, *, scored: bool = False) -> Start:
    """Run the command in a folder until its first page, if wanted until the first scored run, then until its end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if name not in ("APP_ENV", "VIRTUAL_ENV", "PYTHONPATH")}
    began = time.monotonic()
    make = subprocess.Popen(
        command,
        cwd=folder,
        env=kept | {"CODEFORGE_STATE_DIR": str(state), "XDG_DATA_HOME": str(state / "home"), "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    _first_page(make, f"http://127.0.0.1:{port}/")
    page_seconds = time.monotonic() - began
    processor_seconds = _processor_seconds(make.pid)
    if scored:
        _first_scored_run(f"http://127.0.0.1:{port}/api/v1/benchmarks/runs?status=completed")
    scored_seconds = time.monotonic() - began
    time.sleep(IDLE_SECONDS)
    processes = _processes_below(make.pid)
    began = time.monotonic()
    os.killpg(make.pid, signal.SIGINT)
    make.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in processes):
        time.sleep(0.005)
    return Start(page_seconds, processor_seconds, time.monotonic() - began, scored_seconds)


def _first_page(make: subprocess.Popen[bytes], address: str) -> None:
    while make.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=60) as response:
                response.read()
                return
        except urllib.error.HTTPError:
            raise
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"{make.args} ended with exit code {make.returncode}")


def _first_scored_run(address: str) -> None:
    while True:
        with urllib.request.urlopen(address, timeout=60) as response:
            if json.load(response)["count"]:
                return
        time.sleep(0.02)


def _processes_below(top: int) -> set[int]:
    """The process and all that descend from it."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (fields := _fields(int(folder.name))):
            parents[int(folder.name)] = int(fields[1])
    found = {top}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _processor_seconds(top: int) -> float:
    """Of the process and what descends from it, with those that have ended."""
    return sum(sum(map(int, fields[11:15])) for pid in _processes_below(top) if (fields := _fields(pid))) / TICKS


def _fields(pid: int) -> list[str]:
    """Of ``/proc/PID/stat``, after the name; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _megabytes(folder: Path) -> int:
    return int(subprocess.run(["du", "-sm", folder], capture_output=True, text=True, check=True).stdout.split()[0])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each round, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7, help="starts that are counted (default 7)")
    parser.add_argument("--clone", action="store_true", help="measure the first start of a fresh clone instead")
    parser.add_argument("--package", action="store_true", help="measure the first start of the installed wheel instead")
    parser.add_argument("--in", type=Path, default=ROOT, dest="folder", help="another checkout, for comparison")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        state = Path(scratch, "state")
        if options.clone or options.package:
            (_first_clone if options.clone else _first_package)(options.folder, Path(scratch), state)
            return
        start(options.folder, state)
        rounds = []
        for number in range(1, options.rounds + 1):
            rounds.append(start(options.folder, state))
            print(f"{number:3} {_line(rounds[-1])}", flush=True)
        columns = zip(*((each.page_seconds, each.processor_seconds, each.end_seconds) for each in rounds), strict=True)
        print(f"median: {_line(Start(*map(median, columns)))}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def _first_clone(folder: Path, scratch: Path, state: Path) -> None:
    clone = scratch / "clone"
    began = time.monotonic()
    subprocess.run(["git", "clone", "--quiet", folder, clone], check=True)
    cloning = time.monotonic() - began
    first = start(clone, state, scored=True)
    print(
        f"clone to first page {cloning + first.page_seconds:.1f} s, to the first scored run "
        f"{cloning + first.scored_seconds:.1f} s, processor {first.processor_seconds:.1f} s, "
        f"environment {_megabytes(clone / '.venv')} MB"
    )


def _first_package(folder: Path, scratch: Path, state: Path) -> None:
    build = [sys.executable, "-m", "uv", "build", "--wheel", "--quiet", "--out-dir", scratch]
    subprocess.run(build, cwd=folder, check=True)
    (wheel,) = scratch.glob("*.whl")
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", scratch / "env"], check=True)
    subprocess.run([scratch / "env/bin/pip", "install", "--quiet", wheel], check=True)
    installing = time.monotonic() - began
    first = start(scratch, state, [str(scratch / "env/bin/codeforge"), "up"], scored=True)
    print(
        f"installed in {installing:.1f} s, {_megabytes(scratch / 'env')} MB; codeforge up to first page "
        f"{first.page_seconds:.1f} s, to the first scored run {first.scored_seconds:.1f} s"
    )


def _line(measured: Start) -> str:
    return (
        f"first page {measured.page_seconds:.2f} s, processor {measured.processor_seconds:.2f} s, "
        f"Ctrl-C to the end {measured.end_seconds:.2f} s"
    )


if __name__ == "__main__":
    main()
