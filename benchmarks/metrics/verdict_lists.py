"""The judge's verdicts on a list of claims, statements or passages, for a score's reason and detail.

DeepEval can have the judge put its own verdicts into words; that is one more paid call which can only repeat them, so
the reason is put together here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.metrics.verdicts import shortened

MAX_NAMED = 3
MAX_KEPT = 50


def verdict_reason(what: str, entries: Sequence[str], verdicts: Sequence[Any]) -> str:
    """Such as ``2 of 3 claims agree with the context. Not: “The moon is square” (It is round).``"""
    refused = [(entry, verdict) for entry, verdict in zip(entries, verdicts, strict=True) if _word(verdict) == "no"]
    reason = f"{len(entries) - len(refused)} of {len(entries)} {what}."
    named = [
        f"“{shortened(entry)}”" + (f" ({shortened(verdict.reason, 200)})" if verdict.reason else "")
        for entry, verdict in refused[:MAX_NAMED]
    ]
    more = f" and {len(refused) - MAX_NAMED} more" if len(refused) > MAX_NAMED else ""
    return f"{reason} Not: {'; '.join(named)}{more}." if named else reason


def verdict_detail(entries: Sequence[str], verdicts: Sequence[Any]) -> dict[str, Any]:
    kept = list(zip(entries, verdicts, strict=True))[:MAX_KEPT]
    return {
        "verdicts": [
            {"of": shortened(entry, 300), "verdict": _word(verdict), "reason": shortened(verdict.reason or "", 500)}
            for entry, verdict in kept
        ]
    }


def _word(verdict: Any) -> str:
    return str(verdict.verdict)
