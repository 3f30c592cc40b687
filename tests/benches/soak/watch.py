"""How long a run stands still although some worker is able to work."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from tests.benches.soak.faults import Faults
from tests.benches.soak.ground import Rows

POLL_S = 1.0
LIVE = "SELECT id, status, done FROM benchmarks_run WHERE status IN ('queued', 'preparing', 'running')"
HOLDS = "SELECT run_id, worker FROM benchmarks_lease WHERE run_id IS NOT NULL"


@dataclass
class Stillness:
    """For ``seconds`` a run made no progress; ``harmed`` if one of its workers was killed or frozen."""

    progress: tuple[str, int]
    seconds: float = 0.0
    harmed: bool = False


class Watch(threading.Thread):
    """Reads the progress of all live runs every second until it is stopped."""

    def __init__(self, rows: Rows, faults: Faults) -> None:
        super().__init__(daemon=True)
        self.longest_unrelated_s = 0.0
        self.longest_own_s = 0.0
        self.notes: dict[str, str] = {}
        self._rows, self._faults = rows, faults
        self._runs: dict[int, Stillness] = {}
        self._stopped = threading.Event()

    def run(self) -> None:
        before = time.monotonic()
        while not self._stopped.wait(POLL_S):
            able = self._faults.some_worker_is_able()
            live, holds = self._rows.read(LIVE), self._rows.read(HOLDS)
            now = time.monotonic()
            if live is not None and holds is not None:
                self._look(live, holds, now - before if able else 0.0)
            before = now

    def stop(self) -> None:
        self._stopped.set()
        self.join()

    def _look(self, live: list[tuple[int, str, int]], holds: list[tuple[int, str]], seconds: float) -> None:
        harmed = {run for run, worker in holds if self._is_harmed(int(worker.rsplit(":", 2)[1]))}
        before, self._runs = self._runs, {}
        for run, status, done in live:
            still = before.get(run)
            if still is None or still.progress != (status, done):
                still = Stillness((status, done))
            else:
                still.seconds += seconds
            still.harmed |= run in harmed
            self._runs[run] = still
            self._compare(run, still)

    def _is_harmed(self, pid: int) -> bool:
        return pid in self._faults.frozen or pid not in self._faults.workers

    def _compare(self, run: int, still: Stillness) -> None:
        name = "longest_own_s" if still.harmed else "longest_unrelated_s"
        if still.seconds > getattr(self, name):
            setattr(self, name, still.seconds)
            if still.seconds > 15:
                now = time.monotonic()
                recent = [
                    f"{event.kind}{list(event.pids)} {event.began - now:.0f} s"
                    for event in self._faults.events
                    if event.ended > now - still.seconds - 5
                ]
                self.notes[name] = f"{name} {still.seconds:.0f} s: run {run} {still.progress}, after {recent}"
