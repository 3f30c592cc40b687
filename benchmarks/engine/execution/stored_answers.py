"""The answers of a rescoring: copies of those of the run that it scores again. Copying twice changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Max

from benchmarks.engine.execution.result_store import TRANSCRIPT
from benchmarks.engine.sql import count_added
from benchmarks.models import LOST, Result, ResultState, Run, StoredStep, Task, Transcript

BATCH = 2_000
"""Results in one transaction: their texts may be long, and other writers wait for it."""

_SAME = (
    *("repeat", "position", "duration_ms", "first_token_ms", "tokens_per_second", "tokens_in", "tokens_out"),
    *("reasoning_tokens", "cached_tokens", "attempts", "finish_reason", "response_model"),
    *("response_fingerprint", "finished_at"),
)
_OF_TASK = ("difficulty", "group", "n_shapes")


def batches_of_answers(run: Run) -> Iterator[Callable[[], None]]:
    """Operations that each copy a batch of the results of ``run.rescored_from``, to be called in order.

    An answer becomes one that waits for its scores. What was not answered stays the error that it was. Tasks
    are matched by their id in the version of ``run``, which the request has checked.
    """
    assert run.rescored_from is not None, "the run is a rescoring"
    last = Result.objects.filter(run_id=run.rescored_from).aggregate(last=Max("position"))["last"] or 0
    for begin in range(0, last + 1, BATCH):
        yield lambda begin=begin: _copy(run, begin)  # type: ignore[misc]  # mypy knows no defaults of lambdas


@transaction.atomic
def _copy(run: Run, begin: int) -> None:
    quote = connection.ops.quote_name
    results, tasks, transcripts = (quote(model._meta.db_table) for model in (Result, Task, Transcript))
    span = [run.rescored_from, begin, begin + BATCH]
    was_lost = "old.outcome IN ('" + "', '".join(LOST) + "')"
    # A task without a cluster is one of its own: its repeats belong together.
    cluster = "CASE WHEN target.cluster = '' THEN CAST(target.id AS varchar(32)) ELSE target.cluster END"
    columns = ", ".join(quote(name) for name in (*_SAME, *_OF_TASK))
    values = ", ".join([*(f"old.{quote(name)}" for name in _SAME), *(f"target.{quote(name)}" for name in _OF_TASK)])
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT COUNT(*) FROM {results} AS old "
            f"WHERE run_id = %s AND position >= %s AND position < %s AND {was_lost}",
            span,
        )
        (n_lost,) = cursor.fetchone()
        cursor.execute(
            # Costs are 0: the answers were paid for by their first run, and the sums of all runs count them once.
            f"INSERT INTO {results} (run_id, task_id, state, outcome, failure, error_kind, error_message, cached, "
            f"cost_usd, judge_cost_usd, cluster, {columns}) "
            f"SELECT %s, target.id, CASE WHEN {was_lost} THEN %s ELSE %s END, "
            f"CASE WHEN {was_lost} THEN old.outcome ELSE '' END, '', "
            f"CASE WHEN {was_lost} THEN old.error_kind ELSE '' END, "
            f"CASE WHEN {was_lost} THEN old.error_message ELSE '' END, %s, 0.0, 0.0, {cluster}, {values} "
            f"FROM {results} AS old JOIN {tasks} AS source ON source.id = old.task_id "
            f"JOIN {tasks} AS target ON target.version_id = %s AND target.task_id = source.task_id "
            "WHERE old.run_id = %s AND old.position >= %s AND old.position < %s "
            "ON CONFLICT DO NOTHING",
            [
                *(run.pk, ResultState.ERROR, ResultState.ANSWERED, False),
                *(run.dataset_version_id, *span),
            ],
        )
        # A batch that was copied before adds nothing. What was not answered has ended already.
        count_added(run, cursor.rowcount, ended=n_lost)
        texts = ", ".join(quote(name) for name in TRANSCRIPT)
        of_old = ", ".join(f"text.{quote(name)}" for name in TRANSCRIPT)
        cursor.execute(
            f"INSERT INTO {transcripts} (result_id, {texts}) SELECT new.id, {of_old} "
            f"FROM {results} AS old JOIN {transcripts} AS text ON text.result_id = old.id "
            f"JOIN {results} AS new ON new.run_id = %s AND new.position = old.position "
            "WHERE old.run_id = %s AND old.position >= %s AND old.position < %s "
            "ON CONFLICT DO NOTHING",
            [run.pk, *span],
        )
        _copy_steps(cursor, run, span)


def _copy_steps(cursor: CursorWrapper, run: Run, span: list[Any]) -> None:
    quote = connection.ops.quote_name
    results, steps = (quote(model._meta.db_table) for model in (Result, StoredStep))
    columns = [quote(str(field.column)) for field in StoredStep._meta.concrete_fields]
    copied = [column for column in columns if column not in (quote("id"), quote("result_id"))]
    cursor.execute(
        f"INSERT INTO {steps} (result_id, {', '.join(copied)}) "
        f"SELECT new.id, {', '.join(f'step.{column}' for column in copied)} "
        f"FROM {results} AS old JOIN {steps} AS step ON step.result_id = old.id "
        f"JOIN {results} AS new ON new.run_id = %s AND new.position = old.position "
        "WHERE old.run_id = %s AND old.position >= %s AND old.position < %s "
        "ON CONFLICT DO NOTHING",
        [run.pk, *span],
    )
