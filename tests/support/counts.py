"""The counters of runs against their rows: they must agree whenever a transaction has ended."""

from __future__ import annotations

from django.db.models import Count, Q

from benchmarks.models import Outcome, ResultState, Run


def miscounted() -> list[str]:
    """The runs whose counters are not those of their results, with both.

    A result counts as done when it has ended and was not canceled, so that resuming may still ask it; nothing of an
    imported run can be resumed. One that waits for a retry keeps the outcome of its error until then, but is not done.
    """
    cancelled = Q(results__outcome=Outcome.CANCELLED, import_format="")
    failed = Q(results__state=ResultState.ERROR) & ~cancelled
    counted = Run.objects.order_by().annotate(
        n=Count("results"),
        n_done=Count("results", filter=failed | Q(results__state=ResultState.DONE)),
        n_errors=Count("results", filter=failed),
    )
    numbers = ((run, (run.total, run.done, run.errors), (run.n, run.n_done, run.n_errors)) for run in counted)
    return [f"{run} ({run.status}) counts {stated}, and has {own}" for run, stated, own in numbers if stated != own]
