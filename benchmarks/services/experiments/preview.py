"""What planned runs will show, before anything is spent: expected intervals, results that are stored, visible gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.analysis.gaps import DISCORDANCE, gap_shown, paired_design, tasks_per_cluster
from benchmarks.engine.configured import any_retrieves
from benchmarks.engine.execution.subsets import outlooks
from benchmarks.metrics.deciding import is_deciding
from benchmarks.metrics.registered_metrics import is_score, metric_named
from benchmarks.models import COMPLETED, OF_BASELINES, OF_MODELS, Dataset, Run
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import points, whole_points
from benchmarks.services.experiments.requests import PlannedRun
from benchmarks.services.experiments.start import ExperimentPlan, plan_of_runs
from benchmarks.services.runs.checks import missing_fields
from benchmarks.services.runs.estimate import tasks_of
from benchmarks.services.runs.measured import Measured, taken_by
from benchmarks.services.runs.start import run_of
from benchmarks.statistics.intervals import score_bounds
from benchmarks.statistics.planning import tasks_needed
from benchmarks.statistics.spread import two_sided_z

MOST_READ = 2_000
"""Among how many stored runs one that asked the same is looked for."""
_TOGETHER = ("dataset_version_id", "question_key", "limit", "only_task", "task_classes")
"""Columns that two runs share if their scores can stand beside each other."""
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
        return "" if self.shown is None else whole_points(self.shown)

    @property
    def finer_words(self) -> str:
        return f"{100 * self.finer:g}"


@dataclass(frozen=True, slots=True)
class Beside:
    """How many of the ``stored`` runs of models on a dataset, asked in the same way, have a score beside which the
    planned ones can stand, and by which ``metric``; if none, that is the metric of most of them, which the planned
    runs can have too if ``can_add``."""

    dataset: Dataset
    stored: int
    comparable: int
    metric: str
    can_add: bool = False

    @property
    def title(self) -> str:
        return metric_title(self.metric)


@dataclass(frozen=True, slots=True)
class Preview:
    """The totals of the runs, the empty matrix of what they will give, and the gap that each dataset shows between any
    of ``pairs`` of candidates, and which stored runs they can be compared with; the last two not for subsets, whose
    runs ask different tasks."""

    plan: ExperimentPlan
    datasets: Sequence[Dataset]
    candidates: Sequence[Candidate]
    gaps: Sequence[Gap]
    beside: Sequence[Beside]
    pairs: int = 1

    @property
    def only_stored(self) -> Measured | None:
        """What the stored run of a single planned one took."""
        stored = self.stored if self.plan.runs == 1 else ()
        return taken_by(Run.objects.get(pk=stored[0])) if stored else None

    @property
    def all_stored(self) -> bool:
        """Whether nothing has to be asked to compare them."""
        return len(self.stored) == self.plan.runs > 1

    @property
    def common(self) -> list[str]:
        """For each dataset what all of several candidates will give, in words; empty where they differ."""
        columns = [
            {cell.words for cell in column} for column in zip(*(each.cells for each in self.candidates), strict=True)
        ]
        return [words.pop() if len(words) == 1 < len(self.candidates) else "" for words in columns]

    @property
    def has_common(self) -> bool:
        return any(self.common)

    @property
    def rows(self) -> list[tuple[Candidate, list[tuple[Cell, str]]]]:
        """Each candidate with its cells and what they say beyond ``common``; none if that is which runs are stored, and
        all or none are."""
        common = self.common
        if all(common) and len(self.stored) in (0, self.plan.runs):
            return []
        return [
            (each, [(cell, "" if known else cell.words) for cell, known in zip(each.cells, common, strict=True)])
            for each in self.candidates
        ]

    @property
    def precision(self) -> str:
        """Of all cells: ``± 17.4 to 17.9 points``; empty if none is a score."""
        widths = [cell.half_width for each in self.candidates for cell in each.cells if cell.half_width is not None]
        ends = dict.fromkeys(points(end) for end in (min(widths), max(widths))) if widths else ()
        return f"± {' to '.join(ends)} points" if ends else ""

    @property
    def stored(self) -> list[int]:
        """The runs that are stored already."""
        return [cell.stored for candidate in self.candidates for cell in candidate.cells if cell.stored]


def preview(planned: Sequence[PlannedRun]) -> Preview:
    """``planned`` are runs of one experiment, or a single run."""
    plan = plan_of_runs(planned)
    by_dataset = {run.request["dataset"].slug: run.request for run in planned}
    sizes = {slug: tasks_of(request).count() for slug, request in by_dataset.items()}
    runs = [run_of(run.request) for run in planned]
    stored = _stored(runs)
    rows: dict[tuple[str, str], list[Cell]] = {}
    for run, pk in zip(planned, stored, strict=True):
        cell = Cell(_half_width(run.request, sizes[run.request["dataset"].slug]), pk)
        rows.setdefault((run.request["model"], run.variant), []).append(cell)
    pairs = max(1, plan.candidates * (plan.candidates - 1) // 2)
    gaps = [
        gap_of(request["dataset"], sizes[slug], pairs) for slug, request in by_dataset.items() if not request["subset"]
    ]
    candidates = [Candidate(model, variant, cells) for (model, variant), cells in rows.items()]
    return Preview(
        plan, [request["dataset"] for request in by_dataset.values()], candidates, gaps, _beside(runs), pairs
    )


def gap_of(dataset: Dataset, n_tasks: int, pairs: int = 1) -> Gap:
    """As strict as the first step of Holm's correction for so many ``pairs`` of candidates."""
    shown = gap_shown(n_tasks, tasks_per_cluster(dataset), pairs)
    # Below what is said, which is in whole points.
    below = [size for size in FINER if size < round(min(DISCORDANCE, 1.0 if shown is None else shown), 2)]
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


def _beside(runs: Sequence[Run]) -> list[Beside]:
    """For each dataset of which runs are stored that asked as one of ``runs``, by their headlines."""
    planned: dict[tuple[Any, ...], Run] = {key: run for run in runs if (key := _asked(run, _TOGETHER)) is not None}
    same = Run.objects.filter(
        OF_MODELS,
        dataset_version__in={run.dataset_version_id for run in planned.values()},
        status__in=COMPLETED,
        import_format="",
        rescored_from=None,
        subset=None,
        target_half_width=None,
    ).exclude(OF_BASELINES)
    of_dataset: dict[int, list[tuple[str, bool]]] = {}
    for metric, metrics, asked, *values in same.order_by("-pk").values_list("headline", "metrics", "asked", *_TOGETHER)[
        :MOST_READ
    ]:
        if run := planned.get(_key(values)):
            has_it = metric in run.metrics or metrics == run.metrics
            of_dataset.setdefault(run.dataset_id, []).append((metric, has_it and _same_judge(run, [metric], asked)))
    datasets = {run.dataset_id: run.dataset for run in planned.values()}
    return [_standing_beside(datasets[pk], found) for pk, found in of_dataset.items()]


def _standing_beside(dataset: Dataset, stored: Sequence[tuple[str, bool]]) -> Beside:
    comparable = Counter(metric for metric, is_comparable in stored if is_comparable)
    metric, n = (comparable or Counter(metric for metric, _ in stored)).most_common(1)[0]
    return Beside(dataset, len(stored), n if comparable else 0, metric, not comparable and _fits(metric, dataset))


def _fits(name: str, dataset: Dataset) -> bool:
    """Whether the metric asks no judge and applies to the current version."""
    metric, version = metric_named(name), dataset.current_version
    if metric is None or metric.judged or is_deciding(name) or version is None:
        return False
    return not missing_fields(metric, version, retrieves=any_retrieves())


def _same_judge(run: Run, metrics: Iterable[str], asked: Mapping[str, Any]) -> bool:
    """Whether no judge scores by the metrics, or the same in both."""
    judged = any((metric := metric_named(name)) is None or metric.judged for name in metrics)
    return not judged or asked.get("score") == run.asked.get("score")


def _stored(runs: Sequence[Run]) -> list[int | None]:
    """For each run: the latest completed one that asked the same tasks in the same way, as often, and was scored in the
    same way by all of its metrics; ``None`` if there is none."""
    columns = (*_TOGETHER, "model", "answer_key", "repeats")
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
    for pk, metrics, asked in stored:
        alike = metrics[:1] == run.metrics[:1] and {*run.metrics} <= {*metrics}
        if alike and _same_judge(run, run.metrics, asked):
            return pk
    return None


def _key(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(tuple(sorted(value)) if isinstance(value, list) else value for value in values)
