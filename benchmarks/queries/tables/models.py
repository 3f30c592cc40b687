"""The tables of models that runs have asked, and of what their endpoints said has answered."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from benchmarks.presentation.cells import Bar, Cell, Group, Link, Part, State, Strong, Words, run_link, soft
from benchmarks.presentation.numbers import MISSING, interval, number, score
from benchmarks.presentation.providers import CAPABILITY, PROVIDER_STATUS, REFUSED
from benchmarks.presentation.tables import Column, Table
from benchmarks.queries.models import ModelUse, Served

MOST_NAMED = 3
"""Benchmarks of a model's scores that are named, those that most models have run."""
_OF_KEYS = (REFUSED["authentication"], PROVIDER_STATUS["no_key"], PROVIDER_STATUS["refusing"])
"""Statuses that another key may mend."""
_MARK = {"ok": "completed", "caution": "completed_with_errors", "bad": "failed", "": "pending"}


def _day(at: datetime) -> str:
    local, now = timezone.localtime(at), timezone.localtime()
    return f"{local:%b} {local.day}" + (f", {local.year}" if local.year != now.year else "")


def _name(row: ModelUse) -> Cell:
    parts: list[Part] = [Link(row.name, "model", (row.name,))]
    if row.served:
        latest, changed = row.served[0], len(row.served) > 1
        own = row.name.partition("/")[2] or row.name
        if changed or latest.names != (own,):
            words = f"served {', '.join(latest.names)} since {_day(latest.since)}"
            mark = [Words(f"Changed {_day(latest.since)}", "tag caution")] if changed else []
            parts.append(Group([soft(words), *mark], block=True))
    return [*parts, Words("Score fell", "tag caution")] if row.fell else parts


def _status(row: ModelUse) -> Part:
    return State(_MARK[row.status.level], row.status.words)


def _scores(row: ModelUse) -> Cell:
    """Means, a line for each: its benchmark, the mean with its interval drawn and in digits, and n of N."""
    if not row.means:
        return ""
    shown = row.means[:MOST_NAMED]
    lines = [
        (
            Words(title, "cut", title),
            Bar(mean),
            Strong(score(mean.mean)),
            soft(interval(mean.low, mean.high)),
            soft(n_of),
        )
        for mean, title, n_of in shown
    ]
    more = [soft(f"{len(shown)} of {number(len(row.means))} benchmarks")] if len(shown) < len(row.means) else []
    if len(row.means) > 1:
        more.append(Words(f"{number(len(row.means) - 1)} more", "soft small beyond-first"))
    return Group([*(part for line in lines for part in line), *more], "best-scores", block=True)


def _price(row: ModelUse) -> Cell:
    known = row.known
    if known is None or (known.input_per_million is None and known.output_per_million is None):
        return MISSING
    usd = (known.input_per_million, known.output_per_million)
    words = "free" if usd == (0, 0) else "\u00a0/\u00a0".join("?" if each is None else f"${each:.2f}" for each in usd)
    if known.price_listed_at is None:
        return words
    return [words, Group([soft(f"{known.price_listed_by}, {_day(known.price_listed_at)}")], block=True)]


def _can(row: ModelUse) -> Cell:
    if row.known is None or row.known.test is None or row.known.test.error:
        return MISSING
    able = [
        title for title, (support, _) in zip(CAPABILITY.values(), row.known.supports, strict=True) if support == "yes"
    ]
    return Words(", ".join(able) or MISSING, "soft")


def _runs(row: ModelUse) -> Cell:
    return Link(number(row.n_runs), "single-runs", query={"model": row.name}, name=f"Runs of {row.name}")


def _action(row: ModelUse) -> Cell:
    """What comes next with the model: a run, or what has to be seen to before one."""
    status = row.status
    if status.level != "bad":
        return Link("Run", "launch", query={"model": row.name}, look="button", name=f"Start run of {row.name}")
    if row.provider is None:
        return ""
    if status.run and status.words != REFUSED["authentication"]:
        return Link("Show run", "run", (status.run,), look="button", name=f"Show run {status.run} of {row.name}")
    label = "Check key" if status.words in _OF_KEYS else "Check"
    name = f"{label}: provider {row.provider.name}"
    return Link(label, "models", look="button", name=name, anchor=f"p-{row.provider.name}")


MODELS_USED = Table[ModelUse](
    "Models that have run",
    [
        Column("Model", _name, "name"),
        Column("Status", _status, look="nowrap"),
        Column("Scores, 0 to 1", _scores, only="page", bare=True),
        Column("Overall rank", lambda row: row.rank or MISSING, "number", info="mean_rank"),
        Column("Runs", _runs, "number"),
        Column("$/M in, out", _price, "number"),
        Column("Can", _can, look="wide-only", given="tested"),
        Column("Next", _action, "number", hidden_head=True, only="page", given="may_launch"),
    ],
    sortable=True,
    look="uses",
)
SERVED = Table[Served](
    "Served model",
    [
        Column("Served model", lambda row: ", ".join(row.names), "name"),
        Column("Fingerprint", lambda row: Words(", ".join(row.fingerprints) or MISSING, "anywhere")),
        Column("Since", lambda row: _day(row.since)),
        Column("First run", lambda row: run_link(row.run)),
    ],
)
