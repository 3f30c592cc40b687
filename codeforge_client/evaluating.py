"""Ask a function every task of a dataset, and push what it answers as a run."""

from __future__ import annotations

import asyncio
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

Answering = Callable[[dict[str, Any]], Any]
"""Takes a task, and returns the text of its answer or a mapping with ``answer``; it may be ``async``."""
TOLD = ("id", "input", "messages", "context", "tools", "labels")
"""What a function learns of a task: nothing of its reference."""
TAKEN = (
    *("answer", "reasoning", "retrieved", "tool_calls", "steps", "tokens_in", "tokens_out", "cost_usd"),
    "finish_reason",
)
"""What a function may say of its answer."""


def results_of(
    function: Answering, tasks: Iterable[Mapping[str, Any]], repeats: int, done: set[str], parallel: int
) -> Iterator[dict[str, Any]]:
    """A result for each task and repeat whose key is not among ``done``, as they come, with a progress line."""
    work = [
        (task, repeat, f"{task['id']}:{repeat}")
        for repeat in range(1, repeats + 1)
        for task in tasks
        if f"{task['id']}:{repeat}" not in done
    ]
    total, count, errors = len(work) + len(done), len(done), 0
    with ThreadPoolExecutor(parallel) as threads:
        asked = [threads.submit(_result, function, *each) for each in work]
        try:
            for each in as_completed(asked):
                result = each.result()
                count, errors = count + 1, errors + ("error" in result)
                failed = f", {errors:,} errors" if errors else ""
                print(f"\r{count:,} of {total:,}{failed}", end="", file=sys.stderr, flush=True)
                yield result
        finally:
            threads.shutdown(cancel_futures=True)
    print(file=sys.stderr)


def _result(function: Answering, task: Mapping[str, Any], repeat: int, key: str) -> dict[str, Any]:
    told = {name: task[name] for name in TOLD if task.get(name) is not None}
    result: dict[str, Any] = {"key": key, "task_id": task["id"], "repeat": repeat}
    began = time.perf_counter()
    try:
        said = function(told)
        if inspect.isawaitable(said):
            said = asyncio.run(_awaited(said))
        given = dict(said) if isinstance(said, Mapping) else {"answer": said}
        if not isinstance(given.get("answer"), str):
            raise TypeError(f"the function returned {said!r:.200}, not a text or a mapping with an answer")
    except Exception as error:
        return {**result, "error": f"{type(error).__name__}: {error}"[:2_000]}
    took = (time.perf_counter() - began) * 1000
    kept = {name: given[name] for name in TAKEN if given.get(name) is not None}
    return {**result, **kept, "duration_ms": took}


async def _awaited(said: Any) -> Any:
    return await said
