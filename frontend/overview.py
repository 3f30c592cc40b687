"""What the overview shows, so that its templates compute nothing: the sentence, what runs, and the board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.analysis.comparisons import Compared
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import Dataset, Run
from benchmarks.presentation.numbers import number, plural, points
from benchmarks.presentation.sentences import n_of_mean
from benchmarks.queries.history import History, histories, latest_changes
from frontend.view_models import RunRow, run_rows

MODELS, DATASETS = 5, 6
"""Columns and rows of the board unless somebody chooses others: those with the most runs."""
MOST_CHOSEN = 12
"""Columns and rows that can be chosen."""
COMPARED = 12
"""Of the histories on the board, those with the newest runs are compared."""
_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@dataclass(frozen=True, slots=True)
class Cell:
    """The latest score of a model on a benchmark, with the runs before it; ``history`` is ``None`` without a run.
    ``n_of`` is in parts that do not break.

    ``change`` and ``direction``, up or down, are set if the paired test finds a change from the run before. ``note``
    says what distinguishes it from others in its row.
    """

    model: str
    history: History | None = None
    n_of: Sequence[str] = ()
    note: str = ""
    compared: Compared | None = None
    change: str = ""
    direction: str = ""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """``about`` is what its cells share, ``n_of`` their n if that is equal; else each cell says its own."""

    dataset: Dataset
    about: str
    cells: Sequence[Cell]
    n_of: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """``all_models`` and ``all_datasets`` can be chosen as its columns and rows, those with the most runs first."""

    models: Sequence[str]
    rows: Sequence[BoardRow]
    all_models: Sequence[str] = ()
    all_datasets: Sequence[Dataset] = ()


@dataclass(frozen=True, slots=True)
class Live:
    """Runs in progress: those that send requests, and those that wait for a worker."""

    running: Sequence[RunRow]
    queued: Sequence[RunRow]

    @property
    def count(self) -> int:
        return len(self.running) + len(self.queued)


def live_runs(runs: Sequence[Run]) -> Live:
    rows = run_rows(runs)
    queued = [row for row in reversed(rows) if row.run.status == "queued"]
    return Live([row for row in rows if row.run.status != "queued"], queued)


def board(completed: Sequence[Run], chosen_models: Sequence[str] = (), chosen_slugs: Sequence[str] = ()) -> Board:
    """``scored_runs``, newest first, without baselines, as benchmarks by models. Of what is chosen, only what has runs
    counts; nothing stands for the ones with the most runs."""
    runs = [run for run in completed if not run.is_baseline]
    every = histories(runs, least=1)
    models, datasets = Counter[str](), Counter[int]()
    for each in every:
        models[each.model] += len(each.points)
        datasets[each.dataset.pk] += len(each.points)
    by_pk = {each.dataset.pk: each.dataset for each in every}
    all_models = [model for model, _ in models.most_common()]
    all_datasets = [by_pk[pk] for pk, _ in datasets.most_common()]
    columns = [model for model in all_models if model in chosen_models][:MOST_CHOSEN] or all_models[:MODELS]
    rows_shown = [each for each in all_datasets if each.slug in chosen_slugs][:MOST_CHOSEN] or all_datasets[:DATASETS]
    used = [dataset.pk for dataset in rows_shown]
    places = [_places([each for each in every if each.dataset.pk == pk], columns) for pk in used]
    shown = [each for each in every if any(each is placed for row in places for placed in row)]
    compared = latest_changes([each for each in shown if len(each.points) > 1][:COMPARED])
    rows = [_row(row, compared) for row in places if any(isinstance(each, History) for each in row)]
    if not rows and (chosen_models or chosen_slugs):  # none of the chosen models has run any of the chosen benchmarks
        return board(completed)
    return Board(columns, rows, all_models, all_datasets)


def _places(histories: Sequence[History], models: Sequence[str]) -> list[History | str]:
    """For each model its history on a benchmark, or its name: the history that is measured and asked as those of most
    models are, so that a row can be compared, otherwise its newest. ``histories`` begin with the newest."""
    of_model: dict[str, dict[str, History]] = {model: {} for model in models}
    sharing = Counter[str]()
    for each in histories:
        asked = f"{_measure(each)}, {each.setting}"
        if each.model in models and asked not in of_model[each.model]:
            of_model[each.model][asked] = each
            sharing[asked] += 1
    usual = max(sharing, key=sharing.__getitem__, default="")
    return [found.get(usual) or next(iter(found.values())) if (found := of_model[model]) else model for model in models]


def _row(places: Sequence[History | str], compared: Mapping[int, Compared]) -> BoardRow:
    shown = [each for each in places if isinstance(each, History)]
    about = Counter(map(_about, shown)).most_common(1)[0][0]
    cells = [_cell(each, about, compared) if isinstance(each, History) else Cell(each) for each in places]
    n_of = {tuple(cell.n_of) for cell in cells if cell.history}
    return BoardRow(shown[0].dataset, about, cells, n_of.pop() if len(n_of) == 1 < len(shown) else ())


def _about(history: History) -> str:
    return ", ".join(filter(None, (_measure(history), f"v{history.last.run.version_label}", history.setting)))


def _measure(history: History) -> str:
    metric = metric_named(history.metric)
    judge = f", judged by {history.last.run.judge_model}" if metric and metric.judged else ""
    return f"{metric.title if metric else history.metric}{judge}"


def _cell(history: History, of_row: str, compared: Mapping[int, Compared]) -> Cell:
    last, about = history.last, _about(history)
    pair = compared.get(last.run.pk)
    change, direction = "", ""
    if pair is not None and pair.is_clear and pair.comparison.difference is not None:
        direction = "up" if pair.comparison.difference > 0 else "down"
        change = points(abs(pair.comparison.difference))
    return Cell(
        history.model,
        history,
        n_of_mean(history.metric, last.numbers).split(", "),
        ", ".join(part for part in about.split(", ") if part not in of_row.split(", ")),
        pair,
        change,
        direction,
    )


def needs(count: int) -> str:
    """How many items need attention, as a sentence."""
    if not count:
        return "Nothing needs your attention."
    said = _NUMBERS[count] if count < len(_NUMBERS) else number(count)
    return f"{said} {'item needs' if count == 1 else 'items need'} your attention."


def moved(shown: Board) -> str:
    """Which scores changed significantly, as a sentence; empty where nothing was compared."""
    n_compared = sum(cell.compared is not None for row in shown.rows for cell in row.cells)
    if not n_compared:
        return ""
    words = [
        f"{cell.model} {'rose' if cell.direction == 'up' else 'fell'} {cell.change} points on {row.dataset.title}"
        for row in shown.rows
        for cell in row.cells
        if cell.change
    ]
    if not words:
        return f"No significant change in {plural(n_compared, 'score')}."
    if len(words) > 2:
        return f"{words[0]}. {plural(len(words) - 1, 'other score')} also changed significantly."
    others = n_compared - len(words)
    rest = f" No significant change in {plural(others, 'other score')}." if others else ""
    return f"{' and '.join(words)}.{rest}"
