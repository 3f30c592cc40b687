"""What the models used in an evaluation of Inspect: tokens and costs of its samples and of the attempts that failed.

Of an attempt that failed the log has the last request. What all attempts used is in the log's totals, with which the
samples are compared.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from benchmarks.dataset_format.problems import quoted
from benchmarks.imports.assembly import is_same
from benchmarks.imports.parts import Amount, Count, Part, Text, at, read
from benchmarks.imports.runs import TESTED, ImportProblem, Spent


class Usage(Part):
    """Tokens that were written to or read from a cache are no part of ``input_tokens``."""

    called: ClassVar = "usage"
    without_loss: ClassVar = frozenset({"total_tokens"})
    input_tokens: Count | None = None
    input_tokens_cache_write: Count | None = None
    input_tokens_cache_read: Count | None = None
    output_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    total_cost: Amount | None = None

    @property
    def tokens_in(self) -> int | None:
        if self.input_tokens is None:
            return None
        return self.input_tokens + (self.input_tokens_cache_write or 0) + (self.input_tokens_cache_read or 0)

    @property
    def spent(self) -> Spent:
        return Spent(self.tokens_in, self.output_tokens, self.total_cost)


class Attempt(Part):
    """An attempt at a sample that failed; its events begin with the last request."""

    called: ClassVar = "retries of samples"
    without_loss: ClassVar = frozenset({"traceback", "traceback_ansi"})
    message: Text = ""
    events: tuple[Any, ...] = ()


class Event(Part):
    called: ClassVar = "events"
    event: Text = ""
    model: Text = ""
    usage: Any = at("output.usage")


def usage_of(
    used: Mapping[str, object], attempts: Sequence[Attempt], where: str, model: str, instead: Any
) -> dict[str, Usage]:
    """Model → what it used for a sample, with its failed attempts. Older logs have ``instead`` of the usage of
    ``model``, which is always in the result."""
    usages: dict[str, list[Usage]] = defaultdict(list)
    for name, usage in used.items():
        usages[name].append(read(Usage, usage, f"{where}.model_usage"))
    if model not in usages:
        usages[model].append(read(Usage, instead or {}, f"{where}.output.usage"))
    for number, attempt in enumerate(attempts):
        for value in attempt.events:
            event = read(Event, value, f"{where}.error_retries[{number}].events")
            if event.event == "model" and event.usage is not None:
                usages[event.model].append(read(Usage, event.usage, f"{where}.error_retries[{number}].events.usage"))
    return {name: _sum(each) for name, each in usages.items()}


def _sum(usages: Sequence[Usage]) -> Usage:
    if len(usages) == 1:
        return usages[0]
    totals = {name: _total(getattr(usage, name) for usage in usages) for name in Usage.model_fields}
    return Usage(**{name: number for name, number in totals.items() if number is not None})


def _total(numbers: Iterable[Any]) -> Any:
    known = [number for number in numbers if number is not None]
    return (math.fsum(known) if isinstance(known[0], float) else sum(known)) if known else None


def used_besides(
    stated: Mapping[str, object], used: Sequence[Mapping[str, Usage]], model: str, *, is_partial: bool
) -> dict[str, Spent]:
    """Model → what it used that no sample has: in failed attempts with several requests, and in interrupted samples.

    ``stated`` are the log's totals, ``used`` is what each sample used. ``model`` is called ``TESTED``. Raises
    ``ImportProblem`` with both numbers if the samples used more, or if they used less and ``is_partial`` is false.
    """
    besides: dict[str, Spent] = {}
    for name, total in stated.items():
        whole = read(Usage, total, "stats.model_usage").spent
        found = _sum([sample[name] for sample in used if name in sample] or [Usage()]).spent
        for what, of_log, of_samples in (
            ("input tokens", whole.tokens_in, found.tokens_in),
            ("output tokens", whole.tokens_out, found.tokens_out),
        ):
            if of_log is not None and (of_log < (of_samples or 0) or (of_log > (of_samples or 0) and not is_partial)):
                raise ImportProblem(
                    f"stats.model_usage: {of_log:,} {what} of {quoted(name)}, but those of the samples are "
                    f"{of_samples or 0:,}"
                )
        more = Spent(*map(_difference, whole, found))
        if any(number and not is_same(number, 0) for number in more):
            besides[TESTED if name == model else name] = more
    return besides


def _difference(whole: Any, part: Any) -> Any:
    return None if whole is None and part is None else (whole or 0) - (part or 0)
