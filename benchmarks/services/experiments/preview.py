"""What planned runs will show, before anything is spent: expected intervals, results that are stored, visible gaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.engine.execution.subsets import outlooks
from benchmarks.metrics.registered_metrics import is_score, metric_named
from benchmarks.models import COMPLETED, OF_MODELS, Dataset, Run
from benchmarks.presentation.numbers import points
from benchmarks.services.experiments.requests import PlannedRun
from benchmarks.services.experiments.start import ExperimentPlan, plan_of_runs
from benchmarks.services.runs.estimate import tasks_of
from benchmarks.services.runs.sizing import DISCORDANCE, gap_shown, paired_design, tasks_per_cluster
from benchmarks.services.runs.start import run_of
from benchmarks.statistics.intervals import score_bounds
from benchmarks.statistics.planning import tasks_needed
from benchmarks.statistics.spread import two_sided_z

MOST_READ = 2_000
"""Among how many stored runs one that asked the same is looked for."""
FINER = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25)
"""The gaps of which it is said how many tasks they need: the next below the one that shows."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one run will give: the widest that its 95% interval can be, half of it, ``None`` of what is no score; and
    the latest stored run that asked the same tasks in the same way and was scored so."""

    half_width: float | None
    stored: int | None

    @property
    def words(self) -> str:
        return "–" if self.half_width is None else f"± {points(self.half_width)}"


@dataclass(frozen=True, slots=True)
class Candidate:
    model: str
    variant: str
    cells: Sequence[Cell]

    @property
    def words(self) -> str:
        """Without the provider, which the whole name has."""
        return ", ".join(filter(None, (self.model.rpartition("/")[2], self.variant)))


@dataclass(frozen=True, slots=True)
class Gap:
    """The difference that a dataset shows between two candidates with 80% power, ``None`` if it shows none; ``more``
    tasks would show one of ``finer``."""

    dataset: Dataset
    tasks: int
    shown: float | None
    finer: float
    more: int

    @property
    def words(self) -> str:
        return "" if self.shown is None else points(self.shown).removesuffix(".0")

    @property
    def finer_words(self) -> str:
        return f"{100 * self.finer:g}"


@dataclass(frozen=True, slots=True)
class Preview:
    """The totals of the runs, the empty matrix of what they will give, and the gap that each dataset shows between any
    of ``pairs`` of candidates; not for subsets, whose runs ask different tasks."""

    plan: ExperimentPlan
    datasets: Sequence[Dataset]
    candidates: Sequence[Candidate]
    gaps: Sequence[Gap]
    pairs: int = 1

    @property
    def stored(self) -> list[int]:
        """The runs that are stored already."""
        return [cell.stored for candidate in self.candidates for cell in candidate.cells if cell.stored]


def preview(planned: Sequence[PlannedRun]) -> Preview:
    """``planned`` are runs of one experiment, or a single run."""
    plan = plan_of_runs(planned)
    by_dataset = {run.request["dataset"].slug: run.request for run in planned}
    sizes = {slug: tasks_of(request).count() for slug, request in by_dataset.items()}
    stored = _stored([run_of(run.request) for run in planned])
    rows: dict[tuple[str, str], list[Cell]] = {}
    for run, pk in zip(planned, stored, strict=True):
        cell = Cell(_half_width(run.request, sizes[run.request["dataset"].slug]), pk)
        rows.setdefault((run.request["model"], run.variant), []).append(cell)
    pairs = max(1, plan.candidates * (plan.candidates - 1) // 2)
    gaps = [
        gap_of(request["dataset"], sizes[slug], pairs) for slug, request in by_dataset.items() if not request["subset"]
    ]
    candidates = [Candidate(model, variant, cells) for (model, variant), cells in rows.items()]
    return Preview(plan, [request["dataset"] for request in by_dataset.values()], candidates, gaps, pairs)


def gap_of(dataset: Dataset, n_tasks: int, pairs: int = 1) -> Gap:
    """As strict as the first step of Holm's correction for so many ``pairs`` of candidates."""
    shown = gap_shown(n_tasks, tasks_per_cluster(dataset), pairs)
    below = [size for size in FINER if size < min(DISCORDANCE, 1.0 if shown is None else shown)]
    finer = below[-1] if below else FINER[0]
    needed = tasks_needed(finer, paired_design(tasks_per_cluster(dataset), pairs)).tasks
    return Gap(dataset, n_tasks, shown, finer, max(0, needed - n_tasks))


def _half_width(request: Mapping[str, Any], n_tasks: int) -> float | None:
    """Scores from 0 to 1 vary most if half of them are 1, which is where Wilson's interval is widest."""
    if not request["metrics"] or not is_score(request["metrics"][0]) or not n_tasks:
        return None
    if request["subset"]:
        return outlooks(run_of(request), [request["subset"]])[0].half_width
    n = n_tasks / paired_design(tasks_per_cluster(request["dataset"])).variance_factor
    low, high = score_bounds(0.5, two_sided_z(0.95) ** 2 / n)
    return (high - low) / 2


def _stored(runs: Sequence[Run]) -> list[int | None]:
    """For each run: the latest completed one that asked the same tasks in the same way, as often, and was scored in the
    same way by all of its metrics; ``None`` if there is none."""
    columns = (
        "dataset_version_id",
        "model",
        "question_key",
        "answer_key",
        "limit",
        "only_task",
        "task_classes",
        "repeats",
    )
    same = Run.objects.filter(
        OF_MODELS,
        dataset_version__in={run.dataset_version_id for run in runs},
        model__in={run.model for run in runs},
        status__in=COMPLETED,
        import_format="",
        subset=None,
        target_half_width=None,
    )
    found: dict[tuple[Any, ...] | None, list[tuple[int, list[str], Any]]] = {}
    for pk, metrics, asked, *values in same.order_by("-pk").values_list("pk", "metrics", "asked", *columns)[:MOST_READ]:
        found.setdefault(_key(values), []).append((pk, metrics, asked))
    return [_latest(run, found.get(_asked(run, columns), ())) for run in runs]


def _asked(run: Run, columns: Iterable[str]) -> tuple[Any, ...] | None:
    if run.subset or run.target_half_width is not None:
        return None
    run.note_asked()
    return _key([getattr(run, column) for column in columns])


def _latest(run: Run, stored: Iterable[tuple[int, list[str], Any]]) -> int | None:
    judged = [name for name in run.metrics if (metric := metric_named(name)) is None or metric.judged]
    for pk, metrics, asked in stored:
        alike = not judged or asked.get("score") == run.asked.get("score")
        if alike and metrics[:1] == run.metrics[:1] and {*run.metrics} <= {*metrics}:
            return pk
    return None


def _key(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)
