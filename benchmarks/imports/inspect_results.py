"""The numbers that a log of Inspect reports, compared with those of its samples.

Each mean in the log is one over samples, each of which is a reduction of its epochs. Inspect's own reducers are
computed here as in its ``scorer/_reducer``.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from benchmarks.dataset_format.problems import printable, quoted
from benchmarks.imports.assembly import is_same
from benchmarks.imports.parts import Count, Part, Text
from benchmarks.imports.runs import ImportProblem
from benchmarks.presentation.numbers import plural

_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_MEANS = ("accuracy", "mean")
_OF_K = re.compile(r"(at_least|pass_at|pass_k)_(\d{1,5})")
_MOST_SHOWN = 12

Values = Mapping[str, Mapping[str, Sequence[Any]]]
"""Scorer → sample → the values of its epochs, as they are in the log."""


class Total(Part):
    """A number in the log's results: a metric over the values of a scorer."""

    called: ClassVar = "metrics"
    without_loss: ClassVar = frozenset({"name"})
    value: Any = None
    params: dict[str, object] = Field({})
    group: Text = ""


class Results(Part):
    """A scorer in the log's results, or one of several values of a scorer, once for each reducer of epochs."""

    called: ClassVar = "scorers"
    name: Text = ""
    scorer: Text = ""
    reducer: Text = ""
    scored_samples: Count | None = None
    metrics: dict[str, Total] = Field({})

    @property
    def score_name(self) -> str:
        return score_name(self.scorer, self.name)


def score_name(scorer: str, name: str) -> str:
    """The name of a scorer, or of one of its several values."""
    return name if scorer in ("", name) else f"{scorer}/{name}"


def number_of(value: Any) -> float | None:
    """The value as Inspect reads it as a number; ``None`` if it is not a finite number."""
    if isinstance(value, str):
        if (known := _VALUES.get(value, _VALUES.get(value.lower()) if len(value) > 1 else None)) is not None:
            return known
    elif not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def check_results(scores: Sequence[Results], declared: Any, values: Values) -> list[str]:
    """Compare the number of scored samples and their means with the log's results. Returns what else is to be said.

    ``declared`` are the scorers of the evaluation. Only Inspect's own means without parameters are compared, and only
    if they are numbers: others may count otherwise. Without declared scorers, the means are taken for Inspect's own.
    Raises ``ImportProblem`` with both numbers.
    """
    own = json.dumps(declared)
    other, unchecked = [], []
    for entry in scores:
        epochs = [each for each in values.get(entry.score_name, {}).values() if each]
        for metric in _MEANS:
            total = entry.metrics.get(metric)
            stated = number_of(total.value) if total and not (total.params or total.group) else None
            if stated is None or not epochs or (declared and f'"inspect_ai/{metric}"' not in own):
                continue
            what = f"{metric} of {quoted(entry.score_name)}"
            what += f" by {printable(entry.reducer)}" if entry.reducer else ""
            if (reduced := _reduced(entry.reducer, epochs)) is None:
                unchecked.append(f"{what} is {stated:.6g}")
                continue
            _compare(entry, what, stated, reduced)
            if entry.reducer not in ("", "mean"):
                other.append(f"{what} is {stated:.6g}")
    return [
        *_sentence("Epochs are repeats, whose mean counts here. The log also reports:", other),
        *_sentence("Not checked, because only its evaluation knows how epochs are reduced:", unchecked),
    ]


def _compare(entry: Results, what: str, stated: float, reduced: Sequence[Sequence[float]]) -> None:
    means = [math.fsum(each) / len(each) for each in reduced if each]
    if not any(is_same(mean, stated) for mean in means):
        computed = f"{means[0]:.6g}" if means else "unknown"
        raise ImportProblem(f"results.scores: {what} is {stated:.6g}, but the mean of its samples is {computed}")
    counts = [len(each) for each in reduced]
    if entry.scorer == entry.name and entry.scored_samples not in (None, *counts):
        raise ImportProblem(
            f"results.scores: scored_samples of {quoted(entry.name)} is {entry.scored_samples:,}, but "
            f"{plural(counts[0], 'sample')} with a score found"
        )


def _reduced(reducer: str, epochs: Sequence[Sequence[Any]]) -> list[list[float]] | None:
    """The numbers that a mean may be of: one for each sample. ``None`` if the reducer is unknown or has an unknown
    threshold."""
    numbers = [[number_of(value) or 0.0 for value in each] for each in epochs]
    if reducer in ("", "mean"):
        of_samples = [statistics.fmean(each) for each in numbers]
        # Without a name it is the mean of epochs, or there was no reduction, as for metrics of unreduced scores.
        return [of_samples, [number for each in numbers for number in each]] if reducer == "" else [of_samples]
    if reducer == "mode":
        # Of the values as they are: C, I, N is C, because all are equally frequent, although I and N are both 0.
        return [[number_of(Counter(map(_hashable, each)).most_common(1)[0][0]) or 0.0 for each in epochs]]
    if reducer in ("median", "max"):
        return [[max(each) if reducer == "max" else statistics.median(each) for each in numbers]]
    if not (match := _OF_K.fullmatch(reducer)) or any(number not in (0, 1) for each in numbers for number in each):
        return None
    formula, k = _FORMULAS[match[1]], int(match[2])
    shares = [formula(round(sum(each)), len(each), k) for each in numbers]
    return [[share for share in shares if share is not None]]


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else repr(value)


_FORMULAS: Mapping[str, Callable[[int, int, int], float | None]] = {
    "at_least": lambda right, total, k: float(right >= k),
    "pass_at": lambda right, total, k: 1 - math.comb(total - right, k) / math.comb(total, k) if k <= total else None,
    "pass_k": lambda right, total, k: math.comb(right, k) / math.comb(total, k) if k <= total else None,
}
"""Correct epochs, epochs, k → what the reducer makes of a sample; ``None`` if it has fewer than k epochs."""


def _sentence(begin: str, parts: Sequence[str]) -> Iterator[str]:
    if parts:
        more = [f"{len(parts) - _MOST_SHOWN:,} more"] if len(parts) > _MOST_SHOWN else []
        yield f"{begin} {', '.join([*parts[:_MOST_SHOWN], *more])}."
