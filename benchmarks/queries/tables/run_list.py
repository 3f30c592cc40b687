"""The table of experiments and runs together, with what was found in each, and that of the runs of another page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import COMPLETED, LOST, STOPPED, Outcome, Run, RunStatus, ScoreDrop
from benchmarks.presentation.actions import allowed_actions, refusal
from benchmarks.presentation.cells import (
    Bar,
    Cell,
    Group,
    Link,
    Mean,
    Moment,
    Part,
    State,
    Strip,
    Tick,
    Words,
    cell_text,
    soft,
    state_of,
    tag,
)
from benchmarks.presentation.labels import metric_title, sentence_case
from benchmarks.presentation.numbers import MISSING, UNKNOWN, number, plural, points, score
from benchmarks.presentation.sentences import error_sentence, first_sentence
from benchmarks.presentation.tables import Column, Shown, Table
from benchmarks.queries.run_list import Listed, ListedExperiment, ListedRun, listed_runs
from benchmarks.queries.tables.runs import asked, cost, headline, left_out, marks, n_of_headline, origin, without_points

FORM = "selected"
"""The form that the boxes belong to."""
OFFERED = ("cancel", "resume", "retry")
"""The actions that are offered only if a selected row allows them; an experiment allows what one of its runs does."""
_NOT_KEPT = (Outcome.CANCELLED, *LOST)
_LEAD = "row-link anywhere"


def _tick(row: Listed) -> Cell:
    if isinstance(row, ListedRun):
        allowed = tuple(allowed_actions(row.run, OFFERED))
        return Tick("runs", row.run.pk, FORM, f"Select run {row.run.pk}", actions=allowed)
    allowed = tuple(name for name in OFFERED if any(refusal(name, run) is None for run in row.runs))
    label = f"Select experiment {row.experiment.name}"
    return Tick("experiments", row.experiment.pk, FORM, label, actions=allowed)


def _name(row: Listed, said: Collection[str] = (), page: str = "run") -> Cell:
    if isinstance(row, ListedExperiment):
        link = Link(row.experiment.name, "experiment", (row.experiment.pk,), look=_LEAD)
        return [link, _beneath(shape(row.runs)), *map(tag, row.experiment.tags)]
    run, facts = row.run, {name: text for name, text in _facts(row).items() if text and name not in said}
    title = ", ".join(filter(None, [run.name, facts.pop("model", "") or facts.pop("dataset", "")]))
    by_schedule = [f"by schedule {facts.pop('schedule')}"] if "schedule" in facts else []
    number = [f"Run {run.pk}"] if title else []
    return [
        Link(title or f"Run {run.pk}", page, (run.pk,), look=_LEAD),
        _beneath(" · ".join([*number, *facts.values(), f"v{run.version_label}", *how(run), *by_schedule])),
        *map(tag, [*marks(run), *origin(run), *left_out(run)]),
    ]


def _facts(row: ListedRun) -> dict[str, str]:
    """What a page can say once of all its runs."""
    return {"model": row.run.model, "dataset": row.run.dataset.title, "schedule": row.schedule}


def _beneath(text: str) -> Part:
    return Group([text], "soft small anywhere", block=True)


def how(run: Run) -> list[str]:
    """What sets a run apart from others on its version."""
    return [*asked(run), *filter(None, [run.variant])]


def shape(members: Sequence[Run]) -> str:
    """What an experiment asks of what: ``3 models × 2 variants · 2 benchmarks``."""
    models, variants = len({run.model for run in members}), len({run.variant for run in members})
    datasets = sorted({run.dataset.title for run in members})
    several = f" × {plural(variants, 'variant')}" if variants > 1 else ""
    where = datasets[0] if len(datasets) == 1 else plural(len(datasets), "benchmark")
    return f"{plural(models, 'model')}{several} · {where}"


def _bar(row: Listed) -> Cell:
    if isinstance(row, ListedRun):
        of = row.run.numbers_of(row.run.headline)
        return Bar(Mean(of.mean, of.low, of.high)) if row.run.status in COMPLETED else ""
    return _strip([run for run in row.runs if run.headline_mean is not None])


def _strip(runs: Sequence[Run]) -> Cell:
    """The score of each model and prompt; over several benchmarks their means, without an interval."""
    scores: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        scores.setdefault((run.model, run.variant), []).append(run)
    of_all = len({run.dataset_id for run in runs})
    whole = [each for each in scores.values() if len(each) == of_all]
    if not whole or not all(is_score(run.headline) for run in runs):
        return ""
    best = max(whole, key=lambda each: (not each[0].is_baseline, _mean(each)))
    low, high = (best[0].headline_low, best[0].headline_high) if of_all == 1 else (None, None)
    others = [_mean(each) for each in whole if each is not best]
    so_far = " so far" if any(run.is_live for run in runs) else ""
    of_several = f"Best of {len(whole)}{so_far}: " if others else ""
    label = f"Scores of {len(whole)} models and prompts, 0 to 1"
    strip = Strip(others, Mean(_mean(best), low, high), None, label, width=120)
    name = ", ".join(filter(None, [best[0].model.rpartition("/")[2], best[0].variant]))
    is_highest = not best[0].is_baseline and all(_mean(best) > other for other in others)
    return [strip, *([_beneath(f"{of_several}{score(_mean(best))} {name}{_range(others)}")] if is_highest else [])]


def _range(others: Sequence[float]) -> str:
    """Of scores whose marks may hide one another: ``; others 0.000 to 0.799``."""
    if not others:
        return ""
    low, high = score(min(others)), score(max(others))
    return f"; {'others' if len(others) > 1 else 'other'} {low}{f' to {high}' if high != low else ''}"


def _mean(runs: Sequence[Run]) -> float:
    return sum(run.headline_mean or 0.0 for run in runs) / len(runs)


def _finding(row: Listed, *, grouped: bool = False) -> Cell:
    if isinstance(row, ListedExperiment):
        waits = row.progress.ended < row.progress.runs
        if not row.findings:
            return soft(f"{_n_of(row.progress.ended, row.progress.runs)} runs ended") if waits else MISSING
        return _first(*row.findings)
    run = row.run
    if run.status in COMPLETED:
        drop = [_drop(row.drop, run)] if row.drop else []
        mean, what = headline(run)
        return [*drop, Group([mean], "mean"), _beneath(n_of_headline(run) if grouped else what), *without_points(run)]
    if run.is_live or run.status == RunStatus.PAUSED:
        return _first(_stopped_by(run), _so_far(run))
    kept = f"{plural(_kept(run), 'answer')} kept" if run.total else ""
    return _first(_stopped_by(run), kept)


def _stopped_by(run: Run) -> str:
    """The first sentence; the page of the run has them all, with what to do."""
    return first_sentence(error_sentence(run.error_message, run.model))


def _first(*sentences: str) -> Cell:
    """The first sentence there is, and the others below it."""
    said = [each for each in sentences if each]
    return [*said[:1], *map(_beneath, said[1:])] or MISSING


def _drop(drop: ScoreDrop, run: Run) -> Part:
    words, before = f"▼ {points(abs(drop.difference))} points", drop.compared_with_id
    if not before:
        return Words(words, "down")
    return Link(f"{words} since run {before}", "compare", query={"runs": f"{before},{run.pk}"}, look="down")


def _so_far(run: Run) -> str:
    of = run.numbers_of(run.headline)
    return f"So far {score(of.mean)} after {_n_of(of.n, run.total)}" if of.mean is not None and of.n else ""


def _kept(run: Run) -> int:
    return sum(n for outcome, n in run.numbers.outcomes.items() if outcome not in _NOT_KEPT)


def _results(row: Listed) -> Cell:
    if isinstance(row, ListedExperiment):
        done, total = row.progress.done, row.progress.total
    else:
        run = row.run
        done, total = _kept(run) if run.status in STOPPED else run.done, run.total
    return number(total) if done == total else _n_of(done, total)


def _n_of(n: int, total: int) -> str:
    return f"{number(n)} of {number(total)}"


def _cost(row: Listed) -> Cell:
    return row.progress.priced if isinstance(row, ListedExperiment) else cost(row.run)


def _at(row: Listed) -> datetime:
    return row.experiment.created_at if isinstance(row, ListedExperiment) else row.run.created_at


def _state(row: Listed) -> State:
    if isinstance(row, ListedExperiment):
        return row.progress.state
    return state_of(row.run)


LISTED = Table[Listed](
    "Runs and experiments",
    [
        Column("Select", _tick, look="tick", hidden_head=True),
        Column("Run or experiment", _name, "name", sort="model"),
        Column("Scores, 0 to 1", _bar, bare=True),
        Column("Finding", _finding, look="finding anywhere", sort="score", bare=True, given="finding"),
        Column("Results", _results, "number", "wide-only", given="answers"),  # as saved views name it
        Column("Cost", _cost, "number", "wide-only", sort="cost", given="cost"),
        Column("When", lambda row: Moment(_at(row)), look="soft", sort="run", bare=True, given="when"),
        Column("Status", _state, sort="status", given="status"),
    ],
    look="leads",
)
"""Columns that are ``given`` can be left out."""


def listed_table(
    rows: Sequence[Listed], said: Collection[str] = (), page: str = "run", *, grouped: bool = False
) -> Table[Listed]:
    """``LISTED`` for these rows, without columns that say nothing of them: no score to draw, no known cost.
    Rows that are ``grouped`` stand below their benchmark and metric.

    ``said`` are the facts that the page says itself, which rows leave out if they have them in common. The name of a
    run leads to its ``page``.
    """
    of_runs = [_facts(row) for row in rows if isinstance(row, ListedRun)]
    once = [name for name in said if len({facts.get(name) for facts in of_runs}) == 1]
    once += ["dataset"] if grouped else []
    kinds = [*(["Run"] if of_runs else []), *(["experiment"] if len(of_runs) < len(rows) else [])]
    named = Column[Listed](sentence_case(" or ".join(kinds)), lambda row: _name(row, once, page), "name", sort="model")
    drawn = any(_bar(row) for row in rows)
    columns = [
        named if column.kind == "name" else column for column in LISTED.columns if drawn or column.cell is not _bar
    ]
    if grouped:
        finding = partial(_finding, grouped=True)
        columns = [replace(column, cell=finding) if column.cell is _finding else column for column in columns]
    return replace(LISTED, columns=columns, group=_group if grouped else None).where(
        cost=any(cell_text(_cost(row)) not in (UNKNOWN, MISSING) for row in rows)
    )


def _group(row: Listed) -> str:
    if isinstance(row, ListedExperiment):
        return ""
    return f"{row.run.dataset.title} · {metric_title(row.run.headline)}"


def runs_table(
    runs: Iterable[Run], title: str, said: Collection[str] = (), page: str = "run", told: Iterable[ScoreDrop] = ()
) -> Shown[Listed]:
    """``told`` are the drops that a notice of the page says."""
    above = {drop.pk for drop in told}
    rows = [replace(row, drop=None) if row.drop and row.drop.pk in above else row for row in listed_runs(runs)]
    return part_table(rows, title, said, page)


def part_table(rows: Sequence[Listed], title: str, said: Collection[str] = (), page: str = "run") -> Shown[Listed]:
    """Rows on a page of something else, which says itself what is ``said``: facts as above, or columns."""
    table = listed_table(rows, said, page).where(**dict.fromkeys(said, False))
    return table.of(rows, title=title, columns=[column for column in table.columns if column.look != "tick"])
