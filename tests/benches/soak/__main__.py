"""``make bench-soak``: both stacks work side by side while workers are killed and frozen and everything else restarts.

Each stack has its own small disk, PostgreSQL, Redis, web server, three workers, and a loopback endpoint that keeps a
log. Four runs are live at any time: plain, judged, canvas, and with a budget; some are cancelled, resumed and retried.
When a run has ended for good, its rows are compared with the endpoint's log. ``--record`` adds the counts of this piece
to a file, and the table is the sum of all pieces in it. Needs root, to mount the disks.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benches.soak.asks import AskLog
from tests.benches.soak.faults import Faults
from tests.benches.soak.ground import Ground, Postgres, Redis, Rows, small_disk
from tests.benches.soak.trials import Trials
from tests.benches.soak.watch import Watch
from tests.loopback.hosting import serve
from tests.support.stack import ROOT, Stack
from tests.support.stacks import BOTH, EMBEDDED

DELAY_MS = 1500.0
SETTLING_S = 300.0
CONFIG = """
benchmark: {{datasets_dir: "{state}/datasets"}}
judge: {{model: loop/judge}}
providers:
  loop: {{base_url: "{url}", timeouts: {{connect: 5, first_byte: 30, whole: 60}},
          retries: {{max_attempts: 3, base_seconds: 0.2}}}}
models:
  loop/model: {{input_per_million: 1.0, output_per_million: 2.0}}
  loop/judge: {{input_per_million: 1.0, output_per_million: 2.0}}
"""
LIVE_RUNS = "SELECT id FROM benchmarks_run WHERE status NOT IN ('completed', 'completed_with_errors')"
LIVE_ROWS = {"run": f"id IN ({LIVE_RUNS})", "lease": "true", "result": f"run_id IN ({LIVE_RUNS})"}
COLUMNS = {
    "minutes": "minutes",
    "runs": "runs",
    "results": "results",
    "kill": "workers killed",
    "freeze": "workers frozen, 2–120 s",
    "stop": "clean stops",
    "database": "database restarts",
    "broker": "broker restarts, messages lost",
    "disk": "full disks",
    "lost": "results lost",
    "doubled": "results doubled",
    "wrong_status": "runs with a wrong status, or that did not end",
    "paid_again": "answers paid for again",
    "verdicts_again": "verdicts paid for again",
    "unexplained": "of these, without a kill or freeze",
    "longest_unrelated_s": "longest stall of an unrelated run, s",
    "longest_own_s": "longest stall of a run whose worker was harmed, s",
    "slowest_s": "slowest request to the web server, s",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gap", type=float, default=20, help="seconds between two faults of a stack, on average")
    parser.add_argument("--stack", choices=BOTH, help="only this one")
    parser.add_argument("--record", type=Path, default=Path("var/soak.jsonl"))
    parser.add_argument("--table", action="store_true", help="only print the table of what is recorded")
    arguments = parser.parse_args()
    arguments.record.parent.mkdir(parents=True, exist_ok=True)
    if arguments.stack:
        piece = soak(arguments.stack, arguments.minutes, arguments.seed, arguments.gap)
        with arguments.record.open("a") as file:
            file.write(json.dumps(piece) + "\n")
        return
    if not arguments.table:
        command = [sys.executable, "-m", "tests.benches.soak", *sys.argv[1:], "--stack"]
        stacks = [subprocess.Popen([*command, kind], cwd=ROOT) for kind in BOTH]
        endings = [process.wait() for process in stacks]
        if any(endings):
            raise SystemExit("A stack could not be soaked to the end.")
    print_table(arguments.record)


def soak(kind: str, minutes: float, seed: int, gap: float) -> dict[str, Any]:
    """Soak one stack; returns the counts and what should not be."""
    log = AskLog(seed)
    with (
        tempfile.TemporaryDirectory(prefix="codeforge-soak-") as home,
        serve(log, delay_ms=DELAY_MS) as endpoint,
        installation(kind, Path(home), endpoint.url, seed, gap) as (stack, faults, rows),
    ):
        trials, watch = Trials(stack, rows(), log, faults, seed), Watch(rows(), faults)
        trials.prepare()
        began = time.monotonic()
        watch.start()
        faults.start()
        while time.monotonic() - began < 60 * minutes:
            if not faults.is_alive():
                raise SystemExit(f"The faults of {kind} ended early: the piece does not count.")
            trials.step(launch=True)
            for kept in (endpoint.stats.bodies, endpoint.stats.headers):
                kept.clear()
            time.sleep(0.5)
        faults.stop()
        lasted = time.monotonic() - began
        while trials.live and time.monotonic() - began - lasted < SETTLING_S:
            trials.step(launch=False)
            time.sleep(0.5)
        watch.stop()
        found = trials.findings
        still_live = [f"{trials.described(trial)} was still live at the end" for trial in trials.live]
        if still_live:
            still_live.append(f"see {keep(stack, faults, rows(), kind, seed)}")
        counts: dict[str, Any] = {name: faults.count(name) for name in {event.kind for event in faults.events}}
        counts |= {name: value for name, value in vars(found).items() if name != "notes"}
        return {
            **counts,
            "stack": kind,
            "seed": seed,
            "commit": commit(),
            "minutes": round(lasted / 60, 1),
            "requests": log.count,
            "wrong_status": found.wrong_status + len(still_live),
            "longest_unrelated_s": round(watch.longest_unrelated_s),
            "longest_own_s": round(watch.longest_own_s),
            "slowest_s": round(trials.slowest_s, 1),
            "events": [
                [event.kind, round(event.began, 1), round(event.ended, 1), event.pids] for event in faults.events
            ],
            "refusals": dict(trials.refusals),
            "notes": [*found.notes, *still_live, *watch.notes.values()],
        }


@contextlib.contextmanager
def installation(kind: str, home: Path, url: str, seed: int, gap: float) -> Iterator[Any]:
    """The stack, its faults, and a maker of readers of its rows."""
    with contextlib.ExitStack() as ending:
        disk = ending.enter_context(small_disk(home / "disk"))
        state = (disk.path if kind == EMBEDDED else home) / "state"
        state.mkdir()
        # What the processes say is wanted most when the disk is full.
        (state / "processes.log").symlink_to(Path(tempfile.gettempdir()) / f"soak-{kind}-{seed}.log")
        ground, extra = Ground(disk), {}
        if kind != EMBEDDED:
            home.chmod(0o755)
            postgres, redis = Postgres(disk.path), Redis()
            ground = Ground(disk, postgres, redis)
            ending.callback(redis.kill)
            ending.callback(postgres.stop, "immediate")
            extra = {"DATABASE_URL": postgres.url, "REDIS_URL": redis.url}
        threads = {"CODEFORGE_WORKER_THREADS": "4", "CODEFORGE_SWEEP_SECONDS": "10", "PYTHONFAULTHANDLER": "1"}
        stack = Stack(state, url, {**threads, **extra})
        ending.callback(stack.stop)
        (state / "codeforge.yaml").write_text(CONFIG.format(url=url, state=state))
        stack.manage("migrate", "--verbosity", "0")
        stack.start_web()
        faults = Faults(stack, ground, seed, gap)
        yield stack, faults, lambda: Rows(extra.get("DATABASE_URL") or state / "codeforge.sqlite3")


def keep(stack: Stack, faults: Faults, rows: Rows, kind: str, seed: int) -> Path:
    """Keep what shows why a run has not ended: its rows, and in the log where every thread of the workers is."""
    kept = Path(tempfile.mkdtemp(prefix=f"soak-{kind}-{seed}-"))
    for table in ("run", "lease", "result"):
        lines = rows.certainly(f"SELECT * FROM benchmarks_{table} WHERE {LIVE_ROWS[table]}")
        (kept / table).write_text("".join(f"{line}\n" for line in lines))
    for pid in faults.workers:
        os.kill(pid, signal.SIGABRT)
    time.sleep(2)
    shutil.copy(stack.state / "processes.log", kept)
    return kept


def commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def print_table(record: Path) -> None:
    """One column for each stack: counts are summed, the longest and slowest are the largest."""
    pieces = [json.loads(line) for line in record.read_text().splitlines()]
    print("commits:", ", ".join(dict.fromkeys(piece["commit"] for piece in pieces)))
    print("| | " + " | ".join(BOTH) + " |\n|---|" + "---:|" * len(BOTH))
    for name, title in COLUMNS.items():
        combine = max if name.endswith("_s") else sum
        values = [combine([piece.get(name, 0) for piece in pieces if piece["stack"] == kind] or [0]) for kind in BOTH]
        print(f"| {title} | " + " | ".join(f"{value:,g}" for value in values) + " |")
    for piece in pieces:
        for note in piece["notes"]:
            print(f"{piece['stack']}, seed {piece['seed']}, {piece['commit']}: {note}")


if __name__ == "__main__":
    main()
