"""Which runs stand together: on the same tasks of a dataset version, asked in the same way (``Setting``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Case, Exists, IntegerField, OuterRef, Q, QuerySet, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast

from benchmarks.analysis.rankings import Place, marks_of, metrics_of, places, under_baseline
from benchmarks.asking import differing, phrase
from benchmarks.metrics.registered_metrics import metric_named
from benchmarks.models import COMPLETED, Dataset, DatasetVersion, Run
from benchmarks.presentation.labels import prompt_variant, version_label
from benchmarks.presentation.numbers import plural
from benchmarks.presentation.ranks import Mark
from benchmarks.queries.runs import runs
from benchmarks.run_parameters import RUN_PARAMETERS, Decides, Kind, deciding

MOST_RUNS = 500
MOST_READ = 2_000
"""Among how many completed runs the latest of each model is looked for."""
DECISIVE = (
    *("pk", "dataset_version_id", "model", "import_format", "limit", "task_classes", "question_key", "answer_key"),
    *("target_half_width", "total", "repeats", "n_all", "added_canvases", "headline"),
)
"""Columns of ``completed_runs`` that decide whether a run is the latest of its model in its setting."""
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
    candidates = _decisive(where)
    by_id = DatasetVersion.objects.only("number", "dataset", "facets").in_bulk(
        {run.dataset_version_id for run in candidates}
    )
    groups: dict[int, dict[Setting, dict[tuple[str, ...], int]]] = {}
    for run in candidates:
        if run.n_all is None and is_whole(run, by_id[run.dataset_version_id]):
            by_model = groups.setdefault(run.dataset_version_id, {}).setdefault(like_of(run), {})
            by_model.setdefault((run.model, run.import_format, run.answer_key), run.pk)
    read = completed_runs().in_bulk(
        [pk for group in groups.values() for latest in group.values() for pk in latest.values()]
    )
    alike: list[Alike] = []
    for version, settings in groups.items():
        members = [[read[pk] for pk in latest.values() if pk in read] for latest in settings.values()]
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


def comparable_places(run: Run) -> list[Place]:
    """A completed full run among the latest of each other model in its setting, by its headline. Two queries.

    A model that was asked to answer in another way is another one. Empty for any other run, and where no other model
    has such a run. A judged metric compares runs that were judged alike.
    """
    if not is_whole(run, run.dataset_version):
        return []
    metric = run.headline
    known = metric_named(metric)
    same = Q(dataset_version=run.dataset_version_id, question_key=run.question_key)
    if known is not None and known.judged:
        same &= Q(**{parameter.field: parameter.value_of(run) for parameter in deciding(Decides.SCORE)})
    candidates = [each for each in _decisive(same) if is_whole(each, run.dataset_version)]
    own = next((each for each in candidates if each.pk == run.pk), None)
    if own is None:
        return []
    setting, of_own = like_of(own), (own.model, bool(own.import_format), own.answer_key)
    latest = {of_own: run.pk}
    for each in candidates:
        if each.n_all is None and like_of(each) == setting:
            latest.setdefault((each.model, bool(each.import_format), each.answer_key), each.pk)
    if len(latest) == 1:
        return []
    read = completed_runs().in_bulk(list(latest.values()))
    others = [
        read[pk]
        for model, pk in latest.items()
        if model != of_own
        and pk in read
        and metric in read[pk].numbers.metrics
        and read[pk].rubric_version(metric) == run.rubric_version(metric)
    ]
    return places([read[run.pk], *others], metric) if others and run.pk in read else []


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
