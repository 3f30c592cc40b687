"""The rules of what runs set off, webhook deliveries and scheduled runs: after each step, and at the end."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from benchmarks.engine.webhooks.outbox import EVENTS
from tests.simulation.receiver import KEY, RETRIES, TIMEOUT_SECONDS, Post, Receiver
from tests.simulation.rows import as_moment, rows
from tests.simulation.world import World

LOST_SECONDS = TIMEOUT_SECONDS + 30.0
"""An attempt without a stored result counts as lost after it."""
SLACK_SECONDS = 0.01
Require = Callable[[bool, str], None]


class Deliveries:
    """Each change of a run's status is told once, signed, until the receiver accepts it or its attempts are used up."""

    def __init__(self, world: World, receiver: Receiver, require: Require) -> None:
        self.world, self.receiver, self.require = world, receiver, require
        self.known: dict[str, tuple[Any, ...]] = {}
        self.posts: dict[str, list[Post]] = defaultdict(list)
        receiver.on_post = self.posted

    def step(self, changes: list[tuple[int, str]]) -> None:
        """``changes`` of this step: run and its new status."""
        found = {
            row[0]: row[1:]
            for row in rows(
                "SELECT id, state, attempts, body, next_attempt_at, run_id, event FROM benchmarks_webhookdelivery"
            )
        }
        told = Counter((run, event) for pk, (*_, run, event) in found.items() if pk not in self.known)
        due = Counter((run, str(EVENTS[status])) for run, status in changes if status in EVENTS)  # type: ignore[index]
        self.require(told == due, f"the changes {dict(due)} are told as {dict(told)}")
        for pk, before in self.known.items():
            self.require(pk in found, f"delivery {pk[:8]} is gone")
            self._changed(pk, before, found[pk])
        self.known = found

    def _changed(self, pk: str, before: tuple[Any, ...], now: tuple[Any, ...]) -> None:
        (state, attempts, body, *_), (state_now, attempts_now, body_now, *_) = before, now
        name = f"delivery {pk[:8]}"
        self.require(
            attempts_now in (attempts, attempts + 1), f"{name} counts {attempts}, then {attempts_now} attempts"
        )
        signs = attempts_now == attempts or self.world.now >= self.receiver.signs_from
        self.require(signs, f"{name} counts an attempt before there is a secret")
        self.require(not body or body_now == body, f"{name} changed its body")
        if state_now == state:
            return
        self.require(state == "pending", f"{name} was {state} and became {state_now}")
        if state_now == "delivered":
            accepted = any(200 <= post.status < 300 for post in self.posts[pk])
            self.require(accepted, f"{name} counts as delivered, and was not accepted")
        else:
            most = RETRIES["max_attempts"]
            self.require(attempts_now == most, f"{name} is given up after {attempts_now} of {most} attempts")

    def posted(self, post: Post) -> None:
        pk = post.id.replace("-", "")
        name, earlier = f"delivery {pk[:8]}", self.posts[pk]
        self.require(pk in self.known, f"{name} is sent, and not stored")
        state, attempts, body, *_ = self.known[pk]
        # A worker that wakes, or one whose attempt counts as lost since the clock jumped, may send what another sent.
        sender = self.world.process
        late = sender is None or sender.was_held_up or "the clock jumps" in self.world.counts
        self.require(late or state == "pending", f"{name} is sent, and already {state}")
        self.require(len(earlier) < attempts, f"{name} is sent {len(earlier) + 1} times and counts {attempts}")
        self.require(post.body.decode() == body, f"{name} is sent with another body than it has")
        signed = hmac.new(KEY, f"{post.id}.{post.timestamp}.".encode() + post.body, hashlib.sha256).digest()
        self.require(post.signature == f"v1,{base64.b64encode(signed).decode()}", f"{name} has a wrong signature")
        if earlier and not late:
            silent = post.came_at - earlier[-1].came_at
            pause = min(RETRIES["cap_seconds"], RETRIES["base_seconds"] * 2 ** (len(earlier) - 1))
            self.require(silent > pause - SLACK_SECONDS, f"{name} is sent again after {silent:.1f} s")
        earlier.append(post)

    def waiting(self) -> list[str]:
        """Deliveries that are due soon. A retry that was put off before the clock was set back waits as much longer."""
        clock_moved = "the clock jumps" in self.world.counts
        soon = timezone.now() + timedelta(seconds=LOST_SECONDS + 1.0)
        return [
            pk
            for pk, (state, attempts, _, due, *_) in self.known.items()
            if state == "pending" and (not attempts or as_moment(due) < soon or not clock_moved)
        ]

    def end(self) -> None:
        waiting = [pk[:8] for pk in self.waiting()]
        self.require(not waiting, f"the deliveries {waiting} wait for ever")


class Schedules:
    """A due time starts one run, or says why it starts none; and each run that it started is compared."""

    def __init__(self, world: World, require: Require) -> None:
        self.world, self.require = world, require
        self.known: dict[int, tuple[datetime | None, Any]] = {}
        self.fired: set[tuple[int, datetime]] = set()

    def step(self) -> None:
        started = {
            (schedule, as_moment(due))
            for schedule, due in rows("SELECT schedule_id, due_at FROM benchmarks_scheduledrun")
        }
        n_started = rows("SELECT COUNT(*) FROM benchmarks_scheduledrun")[0][0]
        self.require(n_started == len(started), "a due time started two runs")
        self.require(started >= self.fired, "a run lost its schedule")
        found = {
            pk: (as_moment(due), problem)
            for pk, due, problem in rows("SELECT id, next_run_at, last_problem_at FROM benchmarks_schedule")
        }
        process = self.world.process
        by_worker = process is not None and process.name != "web"
        # Whoever was held up, or saw the clock jump meanwhile, knew another time.
        knew_time = not (process and process.was_held_up) and "the clock jumps" not in self.world.counts
        for pk, (due, problem) in self.known.items():
            due_now, problem_now = found[pk]
            new = {moment for schedule, moment in started - self.fired if schedule == pk}
            if due_now == due:
                self.require(not new, f"schedule {pk} started a run, and its next time stays {due}")
                self.require(
                    problem_now == problem, f"schedule {pk} could not start a run, and its next time stays {due}"
                )
            elif by_worker:
                early = due is None or due > timezone.now()
                self.require(not (knew_time and early), f"schedule {pk} is due at {due}, and was early")
                again = due_now is None or due_now <= timezone.now()
                self.require(not (knew_time and again), f"schedule {pk} is due again at once")
                self.require(new == {due} or problem_now != problem, f"schedule {pk} lost its time {due}")
        self.known, self.fired = found, started

    def end(self) -> None:
        waiting = rows(
            "SELECT s.id FROM benchmarks_scheduledrun s JOIN benchmarks_run r ON r.id = s.run_id"
            " WHERE s.compared_at IS NULL AND r.status IN ('completed', 'completed_with_errors')"
        )
        self.require(not waiting, f"scheduled runs {waiting} are never compared")
