"""Which runs stand together: on the same tasks of a dataset version, asked in the same way (``Setting``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Case, Exists, IntegerField, OuterRef, Q, QuerySet, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast

from benchmarks.analysis.rankings import Place, marks_of, metrics_of, places, under_baseline
from benchmarks.asking import differing, key_of, phrase
from benchmarks.models import COMPLETED, Dataset, DatasetVersion, Run
from benchmarks.presentation.labels import prompt_variant, version_label
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.ranks import Mark
from benchmarks.providers.model_names import is_baseline
from benchmarks.queries.runs import runs
from benchmarks.run_parameters import RUN_PARAMETERS, Decides, Kind, deciding

MOST_RUNS = 500
MOST_READ = 2_000
"""Among how many completed runs the latest of each model is looked for."""
DECISIVE = (
    *("pk", "dataset_version_id", "model", "import_format", "limit", "task_classes", "question_key", "answer_key"),
    *("target_half_width", "total", "repeats", "n_all", "added_canvases", "headline"),
    *(parameter.field for parameter in deciding(Decides.SCORE)),
    "rubrics",
)
"""Columns of ``completed_runs`` that decide whether a run is the latest of its model in its setting."""
PER_ROW = 3
"""Runs of one row of a leaderboard among which one with enough scores is looked for."""
_SCORED = (
    *("dataset", "dataset_version", "model", "variant", "kind", "import_format", "rescored_from", "status", "metrics"),
    "headline",
    *("rubrics", "judge_model", "limit", "subset", "task_classes", "representation", "repeats", "include_doubtful"),
    *("asked", "question_key", "answer_key", "target_half_width", "total", "added_canvases", "cost_usd"),
    *("judge_cost_usd", "summarized_at", "created_at"),
    *(row.field for row in RUN_PARAMETERS.values() if row.selects),
)
_OF_DATASET = ("dataset__slug", "dataset__name", "dataset__kind")
_SCORED_BEFORE = Run.objects.filter(pk=OuterRef("rescored_from"), dataset_version=OuterRef("dataset_version"))
_N_ALL = Cast(KeyTextTransform("n_all", KeyTransform("subset", "summary")), IntegerField())
# Built once, because that takes as long as the query: every page with standings begins with it.
_COMPLETED = (
    runs()
    .filter(~Exists(_SCORED_BEFORE), status__in=COMPLETED, fresh_of=None)
    .annotate(n_all=Case(When(subset__isnull=False, then=_N_ALL)))
)
# Without the dataset and version of each run, of which most runs share one. Filters come last, so these are built once.
_DECISIVE = _COMPLETED.select_related(None).values_list(*DECISIVE, named=True)
_NUMBERS = (
    _COMPLETED.select_related(None)
    .only(*_SCORED)
    .annotate(means=KeyTransform("metrics", "summary"), estimate=KeyTransform("subset", "summary"))
)


PROMPTS = {
    name
    for name, parameter in RUN_PARAMETERS.items()
    if parameter.kind in (Kind.TEXT, Kind.LONG_TEXT) and name != "split"
}
"""Parameters whose values may be texts of prompts."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the runs of one table have in common: the version with the canvases added to it, and what is asked of it.

    ``question`` is the hash of ``asked``, which may be left out. ``tasks`` and ``added_canvases`` are 0 for adaptive
    runs, which choose their own number.
    """

    question: str
    tasks: int
    added_canvases: int
    asked: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def version(self, number: int) -> str:
        """The version as these runs asked it: ``1 + 72 canvases``."""
        return version_label(number, self.added_canvases)

    def words(self, settings: Iterable[Setting], *, quotes: bool = True) -> str:
        """This setting with what distinguishes it from ``settings``. Without ``quotes``, of a prompt only that it is
        another one."""
        settings = list(settings)
        shown_as = self.asked.get("representation")
        parts = [prompt_variant(shown_as, self.asked.get("few_shot", False))] if shown_as else []
        told = {"split"} & self.asked.keys() | {*differing([other.asked for other in settings])}
        named = [name for name in RUN_PARAMETERS if name in told - {"representation", "few_shot"}]
        parts += [
            phrase(name, value) if quotes or not value or name not in PROMPTS else f"own {name.replace('_', ' ')}"
            for name in named
            for value in [self.asked.get(name)]
        ]
        if len({(other.tasks, other.added_canvases) for other in settings}) > 1:
            added = f" with {plural(self.added_canvases, 'added canvas')}" if self.added_canvases else ""
            parts.append(f"{plural(self.tasks, 'task')}{added}" if self.tasks else "adaptive number of tasks")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Alike:
    """The latest full run of each model, by how it answers, on one version in one setting, newest first; ``words``
    distinguish the setting from the others on the version, ``told`` does so without texts of prompts."""

    version: DatasetVersion
    setting: Setting
    words: str
    runs: Sequence[Run]
    told: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """The models of a dataset: ``places`` of runs of one version in one setting, by one metric."""

    version: DatasetVersion
    version_label: str
    setting: str
    metric: str
    places: Sequence[Place]

    @property
    def leaders(self) -> list[Place]:
        """The models that share the first rank; empty if none is ranked."""
        return [place for place in self.places if place.rank == 1]

    @property
    def marks(self) -> list[Mark]:
        return marks_of(self.places)

    @property
    def under(self) -> str:
        """The baseline that the best model does not reach; else empty."""
        return under_baseline(self.leaders[0], self.places, self.metric) if self.leaders else ""


def ranked_datasets() -> list[Dataset]:
    """Datasets with a completed run; neither calibrations nor fresh tasks, which only check another run."""
    ranked = completed_runs().order_by().values("dataset").distinct()
    fields = ("slug", "name", "kind", "current_version__number")
    return list(Dataset.objects.filter(pk__in=ranked).select_related("current_version").only(*fields))


def ranked_versions(dataset: Dataset) -> list[DatasetVersion]:
    """Versions of the dataset that have a completed run, newest first."""
    ranked = completed_runs().filter(dataset=dataset).order_by().values("dataset_version").distinct()
    return list(dataset.versions.filter(pk__in=ranked).only("number", "dataset", "facets").order_by("-number"))


def whole_runs(version: DatasetVersion) -> tuple[list[Run], int]:
    """The latest completed runs over all task classes of a version, newest first, and how many are on part of it."""
    completed = list(completed_runs().filter(dataset_version=version)[:MOST_RUNS])
    whole = [run for run in completed if is_whole(run, version)]
    return whole, len(completed) - len(whole)


def latest_runs(where: Q) -> list[Alike]:
    """The full runs among the latest ``MOST_READ`` completed ones that are the latest of their model in their setting,
    the group with the newest run first. Three queries."""
    return _read_groups(*_groups(where, lambda run: (run.model, run.import_format, run.answer_key), 1))


def table_candidates(where: Q) -> list[Alike]:
    """The same for ``places``: also apart by what scored the answers, and ``PER_ROW`` runs of each, so that an earlier
    one can stand for one with too few scores. Three queries."""
    return _read_groups(*_groups(where, row_of, PER_ROW))


def row_of(run: Any) -> tuple[object, ...]:
    """What makes runs of one setting different rows of a leaderboard: the model, how it answers, what scores it."""
    scored_by = (getattr(run, parameter.field) for parameter in deciding(Decides.SCORE))
    return run.model, run.import_format, run.answer_key, *scored_by, key_of(run.rubrics)


def most_shared_dataset() -> int | None:
    """The dataset on whose newest version most models share a setting and a headline, of equals the one with the newest
    run; ``None`` without runs. Two queries."""
    groups, by_id = _groups(Q(), lambda run: (run.model,), 1)
    newest: dict[int, DatasetVersion] = {}
    for version in sorted((by_id[pk] for pk in groups), key=lambda version: version.number):
        newest[version.dataset_id] = version

    def shared(version: DatasetVersion) -> tuple[int, int]:
        latest = [[runs[0] for runs in rows.values()] for rows in groups[version.pk].values()]
        counts = [
            max(Counter(run.headline for run in runs if not is_baseline(run.model)).values(), default=0)
            for runs in latest
        ]
        return max(counts), max(run.pk for runs in latest for run in runs)

    return max(newest, key=lambda dataset: shared(newest[dataset]), default=None)


def comparable_runs(run: Run) -> list[Run]:
    """A completed full run and those of the other rows of the leaderboard on which it stands, for ``places`` by its
    headline. In its own row it stands for the model, however old it is. Empty without another row. Two queries."""
    version, same = run.dataset_version, Q(dataset_version=run.dataset_version_id, question_key=run.question_key)
    candidates = [each for each in _decisive(same) if is_whole(each, version)] if is_whole(run, version) else []
    own = next((each for each in candidates if each.pk == run.pk), None)
    if own is None:
        return []
    alike = [each for each in candidates if each.n_all is None and like_of(each) == like_of(own)]
    rows = _latest_rows(alike, row_of, PER_ROW) | {row_of(own): [own]}
    if len(rows) == 1:
        return []
    read = completed_runs().in_bulk([each.pk for latest in rows.values() for each in latest])
    return sorted(read.values(), key=lambda each: -each.pk)


_Row = tuple[object, ...]
_Groups = dict[int, dict[Setting, dict[_Row, list[Any]]]]


def _latest_rows(candidates: Iterable[Any], row: Callable[[Any], _Row], per_row: int) -> dict[_Row, list[Any]]:
    """Row → the latest of its runs, newest first, as they come."""
    rows: dict[_Row, list[Any]] = {}
    for run in candidates:
        latest = rows.setdefault(row(run), [])
        if len(latest) < per_row:
            latest.append(run)
    return rows


def _groups(where: Q, row: Callable[[Any], _Row], per_row: int) -> tuple[_Groups, dict[int, DatasetVersion]]:
    """Version → setting → row → its latest full runs, newest first, with the columns ``DECISIVE``; and the versions."""
    candidates = _decisive(where)
    versions = DatasetVersion.objects.only("number", "dataset", "facets")
    by_id = versions.in_bulk({run.dataset_version_id for run in candidates})
    alike: dict[int, dict[Setting, list[Any]]] = {}
    for run in candidates:
        if run.n_all is None and is_whole(run, by_id[run.dataset_version_id]):
            alike.setdefault(run.dataset_version_id, {}).setdefault(like_of(run), []).append(run)
    groups = {
        version: {setting: _latest_rows(runs, row, per_row) for setting, runs in settings.items()}
        for version, settings in alike.items()
    }
    return groups, by_id


def _read_groups(groups: _Groups, by_id: Mapping[int, DatasetVersion]) -> list[Alike]:
    chosen = [run.pk for group in groups.values() for rows in group.values() for runs in rows.values() for run in runs]
    read = completed_runs().in_bulk(chosen)
    alike: list[Alike] = []
    for version, settings in groups.items():
        members = [
            [read[run.pk] for runs in rows.values() for run in runs if run.pk in read] for rows in settings.values()
        ]
        known = [(setting_of(runs[0]), runs) for runs in members if runs]
        alike += [
            Alike(
                by_id[version],
                setting,
                setting.words([other for other, _ in known]),
                runs,
                setting.words([other for other, _ in known], quotes=False),
            )
            for setting, runs in known
        ]
    return alike


def _decisive(where: Q) -> list[Any]:
    """What decides whether they are the latest of their model, of the latest ``MOST_READ`` completed runs."""
    # Most of these runs are not the latest of their model, so only those that are get read as a whole.
    return list(_DECISIVE.filter(where, limit=None)[:MOST_READ])


def is_whole(run: Run, version: DatasetVersion) -> bool:
    """Whether the run asked all tasks of its version, or those that an adaptive run chose."""
    # A run that lists all task classes by name is as comparable as one that lists none.
    classes = set(version.facets.get("group", ()))
    return not run.limit and (not run.task_classes or classes <= set(run.task_classes))


def standings(completed: Sequence[Run]) -> list[Standing]:
    """The models of each dataset among these ``scored_runs``, the dataset with the newest run first.

    A dataset is represented by its newest version, there by the setting with the most models and the first of
    ``metrics_of`` with a ranked run; without any, by the first that has a run at all.
    """
    groups: dict[int, dict[tuple[int, Setting], list[Run]]] = {}
    by_id = {run.dataset_version_id: run.dataset_version for run in completed}
    for run in completed:
        if is_whole(run, run.dataset_version):
            like = (run.dataset_version_id, setting_of(run))
            groups.setdefault(run.dataset_id, {}).setdefault(like, []).append(run)
    standings = []
    for of_dataset in groups.values():
        candidates = [
            Standing(
                version=by_id[version],
                version_label=setting.version(by_id[version].number),
                setting=setting.words([other for _, other in of_dataset]),
                metric=metric,
                places=ranked,
            )
            for (version, setting), alike in sorted(of_dataset.items(), key=lambda group: _precedence(by_id, *group))
            for metric in metrics_of(alike)
            if (ranked := places(alike, metric))
        ]
        standings += [next((each for each in candidates if each.places[0].rank), candidates[0])] if candidates else []
    return standings


def _precedence(
    by_id: Mapping[int, DatasetVersion], like: tuple[int, Setting], alike: Sequence[Run]
) -> tuple[int, int]:
    """Newer versions first, then settings with more models; the rest stays in the order of the newest run."""
    return -by_id[like[0]].number, -len({run.model_label for run in alike if not run.is_baseline})


def setting_of(run: Run) -> Setting:
    """What a run of ``completed_runs``, which annotates ``n_all``, asked."""
    return replace(like_of(run), asked=run.asked.get("question", {}))


def like_of(run: Any) -> Setting:
    """The same of the columns ``DECISIVE``, without what they do not have."""
    # An estimate stands, without a rank, beside the runs on all the tasks that it is about.
    tasks = run.n_all or run.total // run.repeats
    extent = (0, 0) if run.target_half_width is not None else (tasks, run.added_canvases)
    return Setting(run.question_key, *extent)


def by_setting(candidates: Sequence[Run]) -> dict[Setting, list[Run]]:
    """The runs of each setting, the setting with the most models first."""
    groups: dict[Setting, list[Run]] = {}
    for run in candidates:
        groups.setdefault(setting_of(run), []).append(run)
    return dict(sorted(groups.items(), key=lambda group: -len({run.model_label for run in group[1]})))


def completed_runs() -> QuerySet[Run]:
    """Completed runs as lists show them, newest first, with what ``setting_of`` needs.

    Without checks of others, and without second scorings of answers that count already on the same version.
    """
    return _COMPLETED.all()


def read_guesses(read: Sequence[Run]) -> None:
    """Give ``scored_runs`` what guessing scores on their tasks. One query."""
    chances = dict(
        Run.objects.filter(pk__in=[run.pk for run in read])
        .annotate(chance=KeyTransform("chance", "summary"))
        .values_list("pk", "chance")
    )
    for run in read:
        run.summary = {**run.summary, "chance": chances[run.pk]}


def scored_runs(limit: int, *where: Q) -> list[Run]:
    """The latest completed runs with what standings and histories need, newest first. Two queries.

    Their summaries have only the metrics and the subset, and runs on one version share it and its dataset: a page reads
    up to 200 of them.
    """
    read = list(_NUMBERS.filter(*where)[:limit])
    versions = DatasetVersion.objects.select_related("dataset").only("number", "facets", *_OF_DATASET)
    by_id = versions.in_bulk({run.dataset_version_id for run in read})
    for run in read:
        run.summary = {"metrics": run.means or {}, "subset": run.estimate or {}}
        run.dataset_version = by_id[run.dataset_version_id]
        run.dataset = run.dataset_version.dataset
    return [*read]
