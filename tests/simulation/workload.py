"""What a seed starts: runs, an experiment under one budget, a schedule, or runs whose answers a judge then compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from django.db import DatabaseError
from django.utils import timezone

from benchmarks.engine.execution.finishing import refresh_summary
from benchmarks.models import Dataset, Outcome, Result, ResultState, Run, RunStatus, Schedule, Score, Transcript
from benchmarks.services.experiments.start import start_experiment
from benchmarks.services.preferences import start_preference
from benchmarks.services.runs.start import start_run
from benchmarks.services.schedules import save_schedule, set_enabled
from tests.simulation.world import Process, World

LAST_START_SECONDS = 5.0
MODELS = ("sim/model", "sim/other")
WORKLOADS = {"runs": 5, "experiment": 2, "schedule": 2, "preference": 2}
"""Each with its share of the seeds"""
SCHEDULE_GRACE_SECONDS = 30.0
"""How late a run of a schedule may start while nothing is wrong"""


class Workload:
    def __init__(self, world: World, web: Process, dataset: Dataset) -> None:
        self.world, self.web, self.dataset = world, web, dataset
        self.kind = world.random.choices([*WORKLOADS], [*WORKLOADS.values()])[0]
        self.has_webhook = world.random.random() < 0.3
        self.to_come = 0

    def begin(self) -> None:
        random = self.world.random
        self.world.count(f"workload: {self.kind}")
        if self.kind == "runs":
            self._soon(self._start_run, 0.0)
            if random.random() < 0.5:
                self._soon(self._start_run, random.uniform(0, LAST_START_SECONDS))
        elif self.kind == "experiment":
            self._soon(self._start_experiment, 0.0)
        elif self.kind == "schedule":
            # Times are whole minutes: the first comes within the faulty time.
            self.world.wall_offset += random.uniform(45.0, 59.0)
            self._soon(self._save_schedule, 0.0)
        else:
            compared = [_answered_run(self.dataset, model, random.randint(2, 4)) for model in MODELS]
            self._soon(partial(self._prefer, compared), 0.0)
            if random.random() < 0.3:
                self._soon(self._start_run, random.uniform(0, LAST_START_SECONDS))

    def calm_down(self) -> None:
        """After the faults, a schedule starts another run or two, and then no more."""
        if self.kind == "schedule":
            self._soon(self._end_schedule, 70.0)

    def is_waiting(self) -> bool:
        """Whether something is still to start."""
        return self.to_come > 0

    def _soon(self, start: Callable[[], None], delay: float) -> None:
        """Somebody starts something, and sees an error if the database fails."""
        self.to_come += 1

        def attempt() -> None:
            try:
                with suppress(DatabaseError):
                    start()
            finally:
                self.to_come -= 1

        self.world.thread(self.web, attempt, delay=delay)

    def _request(self) -> dict[str, object]:
        random = self.world.random
        request: dict[str, object] = {
            "metrics": ["exact_match"],
            "limit": random.randint(2, 6),
            "repeats": random.choice((1, 1, 2)),
            "concurrency": random.choice((1, 3, 8)),
            "max_tokens": 16,
        }
        if random.random() < 0.5:
            request |= {"metrics": ["exact_match", "correctness"], "judge_model": "sim/judge"}
        return request

    def _budget(self, *, of_judge: bool) -> float:
        """Of any size: from less than an answer, or than trying the judge, to more than all can cost."""
        least, most = (-1.6, 1.0) if of_judge else (-3.3, -1.0)
        return round(10 ** self.world.random.uniform(least, most), 6)

    def _start_run(self) -> None:
        random = self.world.random
        request = self._request() | {"dataset": self.dataset.slug, "model": random.choice(MODELS)}
        if random.random() < 0.5:
            request["budget_usd"] = self._budget(of_judge="judge_model" in request)
        run = start_run(request)
        self.world.note(f"starts run {run.pk}: {request}")

    def _start_experiment(self) -> None:
        request = self._request() | {"name": "both", "datasets": [self.dataset.slug], "models": list(MODELS)}
        if self.world.random.random() < 0.7:
            request["budget_usd"] = self._budget(of_judge="judge_model" in request)
        start_experiment(request)
        self.world.note(f"starts an experiment: {request}")

    def _save_schedule(self) -> None:
        request = self._request() | {"dataset": self.dataset.slug, "model": "sim/model", "limit": 2}
        schedule = save_schedule("every minute", "* * * * *", request)
        self.world.note(f"saves a schedule, due at {schedule.next_run_at}: {request}")

    def _end_schedule(self) -> None:
        workers = [each for each in self.world.processes if each is not self.web and each.died_at is None]
        awake_at = min(each.held_up_until for each in workers) + SCHEDULE_GRACE_SECONDS
        self.world.sleep(max(awake_at - self.world.now, 0.0))
        for schedule in Schedule.objects.filter(enabled=True):
            late = (timezone.now() - schedule.next_run_at).total_seconds()
            if late > SCHEDULE_GRACE_SECONDS:
                self.world.fail(f"a schedule is {late:.0f} s late")
            set_enabled(schedule, False)
            self.world.note("pauses the schedule")

    def _prefer(self, compared: Sequence[Run]) -> None:
        request: dict[str, object] = {
            "runs": [run.pk for run in compared],
            "judge_model": "sim/judge",
            "concurrency": self.world.random.choice((1, 4, 8)),
        }
        if self.world.random.random() < 0.5:
            request["budget_usd"] = self._budget(of_judge=True)
        run = start_preference(request)
        self.world.note(f"starts preference run {run.pk}")


def _answered_run(dataset: Dataset, model: str, n_tasks: int) -> Run:
    """A run that completed before the world began, with answers that are the model's own."""
    run = start_run({"dataset": dataset.slug, "model": model, "metrics": ["exact_match"], "max_tokens": 16})
    tasks = run.dataset_version.tasks.order_by("position")[:n_tasks]
    ended = {"state": ResultState.DONE, "outcome": Outcome.WRONG, "finished_at": timezone.now()}
    results = Result.objects.bulk_create(
        [Result(run=run, task=task, position=task.position, **ended) for task in tasks]
    )
    Transcript.objects.bulk_create(Transcript(result=each, actual_output=f"{model} says 5") for each in results)
    Score.objects.bulk_create(
        Score(result=each, run=run, metric="exact_match", status="scored", value=0.0) for each in results
    )
    counts = dict.fromkeys(("total", "done"), n_tasks)
    Run.objects.filter(pk=run.pk).update(status=RunStatus.COMPLETED, is_prepared=True, cost_usd=0.0, **counts)
    refresh_summary(run.pk)
    return run
