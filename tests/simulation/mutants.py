"""Planted faults of the engine: each is one place changed, and the simulator has to notice it.

``python -m tests.simulation --mutants`` tries seeds with each of them until a rule breaks.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True, slots=True)
class Mutant:
    """``old`` occurs in the source of a module of ``benchmarks`` exactly once, and becomes ``new``."""

    name: str
    module: str
    old: str
    new: str

    def plant(self) -> None:
        """Load the module again with its fault, in place. For a process of its own: it stays."""
        module = sys.modules[f"benchmarks.{self.module}"]
        exec(compile(self.source(module), module.__file__ or "", "exec"), module.__dict__)  # our own source
        _rebind(module)

    def source(self, module: ModuleType) -> str:
        """Raises ``ValueError`` if the place is not there, or not alone."""
        text = inspect.getsource(module)
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: {text.count(self.old)} places in {self.module}")
        return text.replace(self.old, self.new)


def _rebind(changed: ModuleType) -> None:
    """Let every module that imported a name from the changed one have it anew."""
    for module in list(sys.modules.values()):
        if module is changed or not getattr(module, "__name__", "").startswith(("benchmarks", "tests.simulation")):
            continue
        for name, value in list(vars(module).items()):
            new = getattr(changed, name, None)
            if new is not None and new is not value and getattr(value, "__module__", None) == changed.__name__:
                setattr(module, name, new)


LEASE, RETRY, DELIVERY = "engine.lease", "engine.db_retry", "engine.webhooks.delivery"
SCHEDULES, WORKER, PREFERENCE = "services.schedules", "worker", "metrics.preference"
STORE, LIFE, END, DISPATCH, EXECUTOR, POOL, SWEEP, PREPARE, BUDGET, TRIAL = (
    f"engine.execution.{name}"
    for name in (
        "result_store",
        "lifecycle",
        "finishing",
        "dispatch",
        "executor",
        "request_pool",
        "sweeper",
        "preparing",
        "budget",
        "judge_trial",
    )
)
MUTANTS = (
    Mutant(
        "a claim ignores its lease",
        STORE,
        "if not lock(Lease.objects.filter(pk=self.lease_id)):",
        "if False:",
    ),
    Mutant(
        "a claim keeps the state",
        STORE,
        "filter(id__in=among(ids), state=state).update(state=claimed, claimed_by=self.lease_id)",
        "filter(id__in=among(ids), state=state).update(claimed_by=self.lease_id)",
    ),
    Mutant(
        "answers are written though others hold them",
        STORE,
        "claimed = Result.objects.filter(id__in=among(ids), claimed_by=self.lease_id, state=state)",
        "claimed = Result.objects.filter(id__in=among(ids))",
    ),
    Mutant(
        "answers are written whatever their state",
        STORE,
        "claimed_by=self.lease_id, state=state).order_by()",
        "claimed_by=self.lease_id).order_by()",
    ),
    Mutant(
        "done counts one too few",
        STORE,
        "done=len(ended),\n            errors",
        "done=max(len(ended) - 1, 0),\n            errors",
    ),
    Mutant(
        "errors of judging are not counted",
        STORE,
        'errors=sum(row["state"] == ResultState.ERROR for row in ended),',
        "",
    ),
    Mutant(
        "tokens are not counted",
        STORE,
        "tokens_in=known_sum(*(answer.tokens_in for answer in paid)),",
        "",
    ),
    Mutant(
        "the cost is counted twice",
        STORE,
        "cost_usd=cost,\n            user",
        "cost_usd=cost and 2 * cost,\n            user",
    ),
    Mutant("the cost of judging is not counted", STORE, "judge_cost_usd=cost,", ""),
    Mutant("a reservation stays", STORE, "reserved_usd=-released,", ""),
    Mutant(
        "a reservation is given back twice",
        STORE,
        "reserved_usd=-released,",
        "reserved_usd=-2 * released,",
    ),
    Mutant(
        "all that is asked fits the budget",
        STORE,
        "if left is None or reserved + unit.reserved_usd > left:",
        "if False:",
    ),
    Mutant(
        "who lost the lease reserves",
        STORE,
        "if not run.leases.filter(pk=self.lease_id).exclude(reservation=key).update(reservation=key):",
        "if False:",
    ),
    Mutant("what has been reserved is reserved again", STORE, ".exclude(reservation=key)", ""),
    Mutant(
        "a reservation replaces those of other leases",
        STORE,
        "update(reserved_usd=run.reserved_usd + reserved)",
        "update(reserved_usd=reserved)",
    ),
    Mutant(
        "runs of an experiment do not see what the others cost",
        BUDGET,
        "runs += run.experiment.runs.exclude(pk=run.pk).values_list(*_SPENT)",
        "pass",
    ),
    Mutant(
        "claims of a lease are not given back",
        STORE,
        "_give_back(Result.objects.filter(run=lease.run_id, claimed_by=lease.pk))",
        "",
    ),
    Mutant(
        "claims are given back without their state",
        STORE,
        "claimed.filter(state=ResultState.CLAIMED).update(state=ResultState.PENDING, claimed_by=None)",
        "claimed.filter(state=ResultState.CLAIMED).update(claimed_by=None)",
    ),
    Mutant(
        "an answer whose judge died is asked again",
        STORE,
        "claimed.filter(state=ResultState.JUDGING).update(state=ResultState.ANSWERED, claimed_by=None)",
        "claimed.filter(state=ResultState.JUDGING).update(state=ResultState.PENDING, claimed_by=None)",
    ),
    Mutant(
        "answers of a batch are lost",
        STORE,
        "rows = [self._answer_row(scored, earlier.get(scored.result_id)) for scored in new]",
        "rows = [self._answer_row(scored, earlier.get(scored.result_id)) for scored in new[1:]]",
    ),
    Mutant(
        "a judged result stays claimed",
        STORE,
        'ended = {"claimed_by": None, "finished_at": timezone.now()}',
        'ended = {"finished_at": timezone.now()}',
    ),
    Mutant(
        "a status changes from any other",
        LIFE,
        "filter(pk=run_id, status__in=origins).update",
        "filter(pk=run_id).update",
    ),
    Mutant(
        "a worker without its lease changes the status",
        LIFE,
        "if lease is not None and not leases.is_held(lease):",
        "if False:",
    ),
    Mutant(
        "heartbeats are not written",
        LEASE,
        "update(heartbeat_at=now, waits_until=waits_until))",
        "update(waits_until=waits_until))",
    ),
    Mutant(
        "heartbeats always succeed",
        LEASE,
        "return bool(Lease.objects.filter(pk=lease.pk).update(heartbeat_at=now, waits_until=waits_until))",
        "Lease.objects.filter(pk=lease.pk).update(heartbeat_at=now, waits_until=waits_until)\n    return True",
    ),
    Mutant("leases never expire", LEASE, "return silent > LEASE_SECONDS", "return False"),
    Mutant("leases expire at once", LEASE, "return silent > LEASE_SECONDS", "return True"),
    Mutant(
        "a dead process of this host is not noticed",
        LEASE,
        "if host == _HOST and not processes.exists(int(pid)):\n        return True",
        "if host == _HOST:\n        return False",
    ),
    Mutant(
        "leases left behind count as held",
        LEASE,
        "return token != _TOKEN or lease.pk not in _HELD_HERE",
        "return token != _TOKEN",
    ),
    Mutant("a release gives nothing back", LEASE, "if deleted and give_back is not None:", "if False:"),
    Mutant(
        "a heartbeat of the future lives on",
        LEASE,
        "silent = abs((timezone.now() - lease.heartbeat_at).total_seconds())",
        "silent = (timezone.now() - lease.heartbeat_at).total_seconds()",
    ),
    Mutant(
        "leases take more slots than there are",
        DISPATCH,
        "min(SLOTS_PER_LEASE, run.concurrency - taken)",
        "min(SLOTS_PER_LEASE, run.concurrency)",
    ),
    Mutant(
        "several workers prepare a run",
        DISPATCH,
        "(preparing and run.leases.exists()):\n                return None\n            taken =",
        "False:\n                return None\n            taken = 0 if preparing else",
    ),
    Mutant(
        "a run is closed while it is worked on",
        END,
        "if run is None or run.leases.exists():\n            return False",
        "if run is None:\n            return False",
    ),
    Mutant(
        "an end forgets what was retried meanwhile",
        END,
        "if now is None or now.leases.exists() or now.results.filter(state__in=TO_DO).exists():",
        "if now is None:",
    ),
    Mutant(
        "a run ends with numbers that were not stored",
        END,
        "if summarized_at is None or now.summarized_at != summarized_at:",
        "if False:",
    ),
    Mutant("what was not sent is left", END, "if left and run.status in STOPPED:", "if False:"),
    Mutant(
        "what waited for a retry is not counted",
        END,
        'update(summarized_at=None, done=F("done") + kept, errors=F("errors") + kept)',
        "update(summarized_at=None)",
    ),
    Mutant(
        "slow numbers replace final ones",
        END,
        "unchanged = unchanged.filter(leases=lease.pk, status=RunStatus.RUNNING)",
        "pass",
    ),
    Mutant(
        "slow numbers replace those of a later end",
        END,
        "unchanged = unchanged.filter(leases=None, **as_read)",
        "pass",
    ),
    Mutant("a stop keeps old numbers", LIFE, "error_message=reason, summarized_at=None)", "error_message=reason)"),
    Mutant("expired leases are not looked for", SWEEP, "leases.release_expired(give_back_claims)", ""),
    Mutant(
        "the sweep forgets queued runs",
        SWEEP,
        "status__in=(RunStatus.QUEUED, RunStatus.PREPARING), leases=None)",
        "status__in=(), leases=None)",
    ),
    Mutant(
        "the sweep forgets running runs",
        SWEEP,
        "missing = [pk for pk, wanted, taken in slots for _ in range(leases_for(wanted - taken))]",
        "missing: list[int] = []",
    ),
    Mutant("the sweep finishes nothing", SWEEP, "for run_id in _unfinished():", "for run_id in ():"),
    Mutant(
        "a lost connection ends the work",
        RETRY,
        "except DATABASE_UNAVAILABLE as error:\n            if time",
        "except ZeroDivisionError as error:\n            if time",
    ),
    Mutant("an aborted unit is not reported", POOL, "self.inbox.put(Aborted())  # the", "# the"),
    Mutant(
        "requests do not wait for the lease",
        POOL,
        "while time.monotonic() - self._renewed_at > UNKNOWN_SECONDS:",
        "while False:",
    ),
    Mutant("a stopped run goes on sending", POOL, "slot.closed = True", "slot.closed = False"),
    Mutant(
        "answers of a stopped run are not stored",
        EXECUTOR,
        "if not self.in_progress and (self.exhausted or not self.sending):",
        "if self.exhausted or not self.sending:",
    ),
    Mutant(
        "an answer is submitted twice",
        EXECUTOR,
        "self._submit(self._within_budget(questions))",
        "self._submit(self._within_budget(questions))\n        self._submit(questions[:1])",
    ),
    Mutant(
        "a run that lacks its budget is not paused",
        EXECUTOR,
        "lifecycle.pause(self.run.pk, reason, self.lease)",
        "None",
    ),
    Mutant(
        "live numbers are computed until the database lets them be stored",
        EXECUTOR,
        "try_db(partial(refresh_summary,",
        "retry_db(partial(refresh_summary,",
    ),
    Mutant(
        "results that are added leave old numbers",
        "engine.sql",
        'errors=F("errors") + ended, summarized_at=None',
        'errors=F("errors") + ended',
    ),
    Mutant(
        "numbers mix counts of two moments", END, '"active_seconds", "total", "done", "errors")', '"active_seconds")'
    ),
    Mutant(
        "the trial is not paid from the budget", TRIAL, "if left is not None and most <= left:", "if left is not None:"
    ),
    Mutant(
        "preparing again adds results again",
        PREPARE,
        "retry_db(insert, what)",
        "retry_db(insert, what); retry_db(lambda: Run.objects.filter(pk=run.pk).update(total=run.total), what)",
    ),
    Mutant(
        "who lost the lease records a trial",
        TRIAL,
        "            if lease is not None and not leases.is_held(lease):\n                return False",
        "",
    ),
    Mutant(
        "a status is told after its transaction",
        LIFE,
        '            enqueue_status(run_id, to, fields.get("completed_at"))\n',
        '    if moved:\n        enqueue_status(run_id, to, fields.get("completed_at"))\n',
    ),
    Mutant(
        "a delivery counts as delivered before it is sent",
        DELIVERY,
        "update(attempts=number, next_attempt_at=lost_at, body=body)",
        "update(attempts=number, next_attempt_at=lost_at, body=body, state=_State.DELIVERED)",
    ),
    Mutant(
        "two workers send one attempt",
        DELIVERY,
        "if not _unchanged(row).update(attempts",
        "if not WebhookDelivery.objects.filter(pk=row.pk).update(attempts",
    ),
    Mutant("attempts are not counted", DELIVERY, "update(attempts=number, next", "update(next"),
    Mutant("a lost attempt is never due again", DELIVERY, "+ LOST_AFTER\n", "+ 1000 * LOST_AFTER\n"),
    Mutant("a retry does not wait", DELIVERY, "timedelta(seconds=retries.pause(number))", "timedelta(0)"),
    Mutant("a retry has another body", DELIVERY, "body = row.body or body_of(row)", "body = body_of(row)"),
    Mutant("a redirect counts as accepted", DELIVERY, "200 <= response.status < 300", "200 <= response.status < 400"),
    Mutant(
        "a delivery is given up too early",
        DELIVERY,
        "if number >= retries.max_attempts:",
        "if number >= retries.max_attempts - 1:",
    ),
    Mutant("what cannot be signed is sent", DELIVERY, "if webhook and webhook.problem]", "if not name]"),
    Mutant("a signature has no time", DELIVERY, 'f"{delivery}.{timestamp}."', 'f"{delivery}."'),
    Mutant(
        "deliveries from before the clock was set back wait",
        DELIVERY,
        "Q(attempts=0, next_attempt_at__gt=now + 2 * NOT_READY)",
        "Q(pk=None)",
    ),
    Mutant(
        "every worker fires a due time",
        SCHEDULES,
        "filter(pk=schedule.pk, enabled=True, next_run_at=schedule.next_run_at)",
        "filter(pk=schedule.pk, enabled=True)",
    ),
    Mutant(
        "the next time is set before the transaction of its run",
        SCHEDULES,
        "    with transaction.atomic():\n        if not _move_on(schedule, now):\n            return None\n",
        "    if not _move_on(schedule, now):\n        return None\n    with transaction.atomic():\n",
    ),
    Mutant(
        "the next time stays",
        SCHEDULES,
        "update(next_run_at=next_time(read_timetable(schedule.when), now))",
        "update(next_run_at=schedule.next_run_at)",
    ),
    Mutant(
        "a skipped time leaves no word",
        SCHEDULES,
        "        _store_problem(schedule, now, problem)\n    return None",
        "    return None",
    ),
    Mutant("scheduled runs are not compared", WORKER, "if held is None or not lease.heartbeat(held):", "if True:"),
    Mutant(
        "who ends a preference run second wipes its numbers",
        "engine.summary.summarize",
        "judged = run.status in (RunStatus.RUNNING, *COMPLETED)",
        "judged = run.status == RunStatus.RUNNING",
    ),
    Mutant(
        "a judge that fails counts as a tie",
        PREFERENCE,
        "score = judge_failure(session, error, self.timeout_s)",
        'score = scored(0.5, "")',
    ),
)
