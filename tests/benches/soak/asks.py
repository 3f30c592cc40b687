"""The endpoint's own log: every request it got, which run it was for, and whether it was paid for."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass

from tests.loopback.faults import FAULTS, Fault
from tests.loopback.replies import Asked

MARK = re.compile(r"\[ask (\d+)\]")
HARD_SHARE = 0.02
HARD_ATTEMPTS = 4
"""So often a hard task is answered with a server error: its result is an error first and succeeds when retried."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that was answered, so paid for. ``answer`` is the one that a judge was shown, else ``None``."""

    number: int
    tag: int
    at: float
    answer: int | None = None


class AskLog:
    """The script of the endpoint. Every answer carries the number of its request, so a row shows which one it stores.

    A run's ``seed`` is its tag: it is in each of the run's requests.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._lock = threading.Lock()
        self._of_run: dict[int, list[Ask]] = defaultdict(list)
        self._attempts: Counter[tuple[int, str]] = Counter()
        self._tags: dict[int, int] = {}
        self._count = 0

    def __call__(self, asked: Asked) -> str | Fault:
        with self._lock:
            self._count += 1
            number = self._count
            if asked.body["model"] == "judge":
                marks = MARK.findall(asked.prompt)
                if not marks:  # the trial before a run shows no answer of the model
                    return '{"score": 10, "reason": "fine"}'
                shown = int(marks[-1])
                self._of_run[self._tags[shown]].append(Ask(number, self._tags[shown], time.monotonic(), shown))
                return f'{{"score": {number % 11}, "reason": "[ask {number}]"}}'
            tag = int(asked.body["seed"])
            self._attempts[tag, asked.prompt] += 1
            is_hard = random.Random(f"{self.seed} {tag} {asked.prompt}").random() < HARD_SHARE
            if is_hard and self._attempts[tag, asked.prompt] <= HARD_ATTEMPTS:
                return FAULTS["server_500"]
            self._tags[number] = tag
            self._of_run[tag].append(Ask(number, tag, time.monotonic()))
            return f"An answer [ask {number}]"

    @property
    def count(self) -> int:
        return self._count

    def of_run(self, tag: int) -> list[Ask]:
        with self._lock:
            return list(self._of_run[tag])
