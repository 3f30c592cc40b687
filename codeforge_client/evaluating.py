"""Ask a function every task of a dataset, and push what it answers as a run."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

Answering = Callable[[dict[str, Any]], Any]
"""Takes a task, and returns the text of its answer or a mapping with ``answer``; it may be ``async``."""
TOLD = ("id", "input", "messages", "context", "tools", "labels")
"""What a function learns of a task: nothing of its reference."""
LARGEST_COUNT, LARGEST_COST = 2**31 - 1, 1e15
MOST_PARTS, LONGEST_PASSAGE, LONGEST_NAME, LONGEST_REASON = 1_000, 100_000, 200, 40


def _is_text(value: Any, longest: float = float("inf")) -> bool:
    return isinstance(value, str) and len(value) <= longest


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) <= MOST_PARTS


def _is_call(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() <= {"name", "arguments"}
        and _is_text(value.get("name"), LONGEST_NAME)
        and bool(value["name"].strip())
        and isinstance(value.get("arguments", {}), dict)
    )


def _is_number(value: Any, largest: float) -> bool:
    # No comparison with NaN holds.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= largest


def _is_count(value: Any) -> bool:
    return _is_number(value, LARGEST_COUNT) and value == int(value)


_TEXT = (_is_text, "a text")
_COUNT = (_is_count, f"a whole number from 0 to {LARGEST_COUNT:,}")
TAKEN: dict[str, tuple[Callable[[Any], bool], str]] = {
    "answer": _TEXT,
    "reasoning": _TEXT,
    "retrieved": (
        lambda value: _is_list(value) and all(_is_text(each, LONGEST_PASSAGE) for each in value),
        f"a list of up to {MOST_PARTS:,} texts of up to {LONGEST_PASSAGE:,} characters",
    ),
    "tool_calls": (
        lambda value: _is_list(value) and all(map(_is_call, value)),
        f'a list of up to {MOST_PARTS:,} calls such as {{"name": "search", "arguments": {{}}}}',
    ),
    "steps": (lambda value: isinstance(value, list | tuple | dict), "a list of steps, or an ATIF trajectory"),
    "tokens_in": _COUNT,
    "tokens_out": _COUNT,
    "cost_usd": (lambda value: _is_number(value, LARGEST_COST), f"a number from 0 to {LARGEST_COST:g}"),
    "finish_reason": (
        lambda value: _is_text(value, LONGEST_REASON),
        f"a text of up to {LONGEST_REASON} characters",
    ),
}
"""What a function may say of its answer: whether the server takes it, and what it takes instead."""


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
                print(f"\r{counted(count, total, errors)}", end="", file=sys.stderr, flush=True)
                yield result
        finally:
            threads.shutdown(cancel_futures=True)


def counted(count: int, total: int, errors: int) -> str:
    """Of ``total`` results, ``count`` are there, the errors among them."""
    return f"{count:,} of {total:,}" + (f", {errors:,} error{'' if errors == 1 else 's'}" if errors else "")


def _result(function: Answering, task: Mapping[str, Any], repeat: int, key: str) -> dict[str, Any]:
    told = {name: task[name] for name in TOLD if task.get(name) is not None}
    result: dict[str, Any] = {"key": key, "task_id": task["id"], "repeat": repeat}
    began = time.perf_counter()
    try:
        said = function(told)
        if inspect.isawaitable(said):
            said = asyncio.run(_awaited(said))
        took = (time.perf_counter() - began) * 1000
        given = dict(said) if isinstance(said, Mapping) else {"answer": said}
        if not isinstance(given.get("answer"), str):
            raise TypeError(f"the function returned {said!r:.200}, not a text or a mapping with an answer")
        kept = _taken(given)
    except Exception as error:
        return {**result, "error": f"{type(error).__name__}: {error}"[:2_000]}
    return {**result, **kept, "duration_ms": took}


def _taken(given: Mapping[str, Any]) -> dict[str, Any]:
    """What of an answer is sent. Raises ``TypeError`` or ``ValueError`` for what the server would refuse."""
    kept = {name: given[name] for name in TAKEN if given.get(name) is not None}
    for name, value in kept.items():
        is_valid, asked = TAKEN[name]
        if not is_valid(value):
            raise TypeError(f"{name} is {value!r:.200} ({type(value).__name__}), not {asked}")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as problem:
            raise ValueError(f"{name} is {value!r:.200}, which JSON cannot hold: {problem}") from None
    return kept


async def _awaited(said: Any) -> Any:
    return await said
