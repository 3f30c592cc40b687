"""The runs of the soak: launched all the time, cancelled, resumed and retried by chance, then checked."""

from __future__ import annotations

import json
import random
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tests.benches.soak.asks import AskLog
from tests.benches.soak.checks import RUN, TERMINAL, Findings, check_run, is_settled
from tests.benches.soak.faults import Faults
from tests.benches.soak.ground import Rows
from tests.support.stack import Stack

API = "/api/v1/benchmarks/"
AT_ONCE = 4
OVERDUE_S = 900.0
SIZES = (60, 150, 300)
CANVASES = {"name": "Soak", "seed": 5, "shapes": "5", "count": 4}


@dataclass
class Trial:
    """One run. ``plan`` are the actions still to come once it has stopped; ``cancel_at`` is a share of its results."""

    tag: int
    request: dict[str, Any]
    expected: int
    cancel_at: float | None
    plan: list[str]
    run: int | None = None
    since: float = field(default_factory=time.monotonic)


class Trials:
    def __init__(self, stack: Stack, rows: Rows, log: AskLog, faults: Faults, seed: int) -> None:
        self.findings = Findings()
        self.refusals: Counter[str] = Counter()
        self.slowest_s = 0.0
        self.live: list[Trial] = []
        self._stack, self._rows, self._log, self._faults = stack, rows, log, faults
        self._dice, self._tag = random.Random(seed), 0
        self._canvas_slug, self._canvas_tasks = "", 0

    def prepare(self) -> None:
        """Make the datasets and the canvas set; before the first fault."""
        for size in SIZES:
            self._stack.write_sums(f"sums-{size}", size)
        self._stack.manage("datasets", "sync")
        self._canvas_slug = self._stack.post(f"{API}canvas-sets", CANVASES)["slug"]
        self._stack.wait_until(self._canvas_set_is_there, "the canvas set is there", 120)
        path = f"{API}datasets/{self._canvas_slug}/tasks?page_size=1"
        self._canvas_tasks = int(self._stack.get(path)["count"])

    def _canvas_set_is_there(self) -> bool:
        found = self._stack.get(f"{API}canvas-sets/{self._canvas_slug}")
        return bool(found["count"] == found["wanted"] and not found.get("generating"))

    def step(self, *, launch: bool) -> None:
        """Launch what is missing, and do for every run what is next."""
        while launch and len(self.live) < AT_ONCE:
            self.live.append(self._new_trial())
        for trial in list(self.live):
            self._advance(trial)
            if time.monotonic() - trial.since > OVERDUE_S:
                self.live.remove(trial)
                self.findings.wrong_status += 1
                self.findings.notes.append(f"{self.described(trial)} has not ended")

    def described(self, trial: Trial) -> str:
        """The run with its status, total, done and errors, and what was still planned for it."""
        row = self._rows.certainly(RUN.format(run=trial.run or 0))
        return f"run {trial.run} (tag {trial.tag}, {row}, {trial.plan}, cancel at {trial.cancel_at})"

    def _new_trial(self) -> Trial:
        self._tag += 1
        dice, size = self._dice, self._dice.choice(SIZES)
        request: dict[str, Any] = {"dataset": f"sums-{size}", "model": "loop/model", "metrics": ["exact_match"]}
        kind = dice.choice(("plain", "plain", "judged", "canvas", "budget"))
        if kind == "judged":
            size = SIZES[0]
            request |= {"dataset": f"sums-{size}", "metrics": ["correctness"]}
        if kind == "canvas":
            size = self._canvas_tasks
            request = {"dataset": self._canvas_slug, "model": "loop/model"}
        if kind == "budget":
            request |= {"budget_usd": size * 1e-5, "max_tokens": 20}
        repeats = dice.choice((1, 1, 2))
        request |= {"seed": self._tag, "repeats": repeats, "concurrency": dice.choice((4, 8))}
        plan = ["retry-failed"] * dice.choice((0, 1, 2))
        cancel_at = dice.random() if dice.random() < 0.35 else None
        if cancel_at is not None:
            plan = dice.choice((["resume"], ["retry-failed", "resume"], [])) + plan
        return Trial(self._tag, request, size * repeats, cancel_at, plan)

    def _advance(self, trial: Trial) -> None:
        if trial.run is None:
            reply = self._send("POST", "runs", trial.request, {"Idempotency-Key": f"trial-{trial.tag}"})
            trial.run = reply["id"] if reply else None
            return
        found = self._rows.read(RUN.format(run=trial.run))
        if not found:
            return
        [(status, total, done, _)] = found
        if status == "paused":
            self._send("POST", f"runs/{trial.run}/budget", {"budget_usd": trial.expected * 1e-3})
        elif status == "running" and trial.cancel_at is not None and done >= trial.cancel_at * total:
            if self._send("POST", f"runs/{trial.run}/cancel"):
                trial.cancel_at = None
        elif status in TERMINAL and is_settled(self._rows, trial.run):
            self._after(trial, status)

    def _after(self, trial: Trial, status: str) -> None:
        """The next action of the plan that this status allows; if there is none, the check."""
        if status == "failed":
            trial.plan.insert(0, "resume")
            self.findings.notes.append(f"run {trial.run} (tag {trial.tag}) failed: {self._message(trial)}")
        while trial.plan:
            action = trial.plan.pop(0)
            if self._send("POST", f"runs/{trial.run}/{action}"):
                return
        assert trial.run is not None
        found = check_run(self._rows, trial.run, trial.expected, self._log.of_run(trial.tag), list(self._faults.events))
        for part in fields(Findings):
            setattr(self.findings, part.name, getattr(self.findings, part.name) + getattr(found, part.name))
        self.live.remove(trial)
        if not found.notes:
            self._send("DELETE", f"runs/{trial.run}")

    def _message(self, trial: Trial) -> str:
        rows = self._rows.certainly(f"SELECT error_message FROM benchmarks_run WHERE id = {trial.run}")
        return str(rows[0][0])[:300]

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any] | None:
        """The answer, or ``None`` for a refusal, which is counted by its status."""
        request = urllib.request.Request(
            self._stack.address + API + path,
            json.dumps(body or {}).encode(),
            {"Content-Type": "application/json", **(headers or {})},
            method=method,
        )
        began = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return dict(json.loads(response.read() or b'{"deleted": true}'))
        except urllib.error.HTTPError as error:
            self.refusals[str(error.code)] += 1
        except (OSError, ValueError) as error:
            self.refusals[type(error).__name__] += 1
        finally:
            self.slowest_s = max(self.slowest_s, time.monotonic() - began)
        return None
