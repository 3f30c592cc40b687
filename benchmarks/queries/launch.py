"""What earlier runs say of what can be chosen for the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import FloatField, Max, Q
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast

from benchmarks.analysis.matrices import PLAIN
from benchmarks.analysis.rankings import Place
from benchmarks.metrics.registered_metrics import is_score
from benchmarks.models import COMPLETED, ERRORS, OF_MODELS, Dataset, Outcome, Result, Run, RunKind, Task
from benchmarks.presentation.cells import Mean
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import n_of, score
from benchmarks.presentation.ranks import BASELINE_UNRANKED
from benchmarks.presentation.sentences import n_of_mean
from benchmarks.presentation.texts import visible
from benchmarks.queries.benchmarks import RECENT
from benchmarks.queries.datasets import runnable_datasets
from benchmarks.queries.judge_words import joined, judge_words, judged_scores
from benchmarks.queries.leaderboard import scored_runs, standings
from benchmarks.queries.runs import turns
from benchmarks.run_parameters import Decides, deciding

MOST_ANSWERS = 60
"""Of runs that are tried out, which have three tasks each."""
_NOT_SCORED = ("", Outcome.ANSWERED, Outcome.CANCELLED, *ERRORS)
_ASKING = [row for row in deciding(Decides.QUESTION, Decides.ANSWER) if not row.selects]
"""Of a run, how its tasks are asked."""
_COMPARED = [row for row in deciding(*{*Decides} - {Decides.NEITHER}) if row not in _ASKING and row.name != "dataset"]
"""Beside the dataset, what two trials must share to be compared."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The runs of a trial, and each of its tasks with the result of each run, ``None`` of one that has none yet."""

    runs: Sequence[Run] = ()
    rows: Sequence[tuple[Task, Sequence[Result | None]]] = ()

    @property
    def pks(self) -> str:
        """Of its runs, as addresses have them."""
        return ",".join(str(run.pk) for run in self.runs)

    @property
    def is_live(self) -> bool:
        return any(run.is_live for run in self.runs)

    @property
    def of_variants(self) -> dict[str, Trial]:
        """Name → the runs of each variant, of which the only one may have no name."""
        places: dict[str, list[int]] = {}
        for place, run in enumerate(self.runs):
            places.setdefault(run.variant, []).append(place)
        return {
            name: Trial(
                [self.runs[place] for place in those],
                [(task, [results[place] for place in those]) for task, results in self.rows],
            )
            for name, those in places.items()
        }


def used_last(account: User | None) -> tuple[list[str], list[str]]:
    """The models and the slugs of the benchmarks of the latest run that the person started, or of its experiment."""
    own = Run.objects.filter(OF_MODELS, import_format="", created_by=account, scheduled=None).order_by("-pk")
    latest = own.only("experiment").first()
    if latest is None:
        return [], []
    together = Run.objects.filter(experiment=latest.experiment_id) if latest.experiment_id else own.filter(pk=latest.pk)
    models, runnable = (
        together.order_by("pk").values_list("model", flat=True),
        {each.slug for each in runnable_datasets()},
    )
    slugs = together.order_by("pk").values_list("dataset__slug", flat=True)
    return [*dict.fromkeys(models)], [slug for slug in dict.fromkeys(slugs) if slug in runnable]


def trial_of(pks: Sequence[int]) -> Trial:
    """The runs among these that are trials."""
    if not pks:
        return Trial()
    trials = Run.objects.filter(kind=RunKind.TRIAL, pk__in=pks)
    runs = list(trials.select_related("dataset").defer("summary").annotate(**turns()).order_by("pk"))
    found: dict[int, dict[int, Result]] = {}
    results = Result.objects.filter(run__in=runs, repeat=1).select_related("task", "transcript")
    for result in results.order_by("position")[:MOST_ANSWERS]:
        found.setdefault(result.task_id, {})[result.run_id] = result
    rows = [(next(iter(of.values())).task, [of.get(run.pk) for run in runs]) for of in found.values()]
    return Trial(runs, rows)


def earlier_trial(trial: Trial, pks: Sequence[int], account: User | None) -> Trial | None:
    """The person's trial with these runs, if ``changed_variants`` has any of the two."""
    earlier = trial_of(pks)
    is_own = all(run.created_by_id == (account and account.pk) for run in (*trial.runs, *earlier.runs))
    return earlier if is_own and changed_variants(earlier, trial) else None


def changed_variants(earlier: Trial, trial: Trial) -> list[tuple[Trial, Trial]]:
    """The runs of both trials, variant by variant, where they asked the same tasks of the same models in another way.

    Variants are the same by their names.
    """
    before = earlier.of_variants
    pairs = [(before[name], now) for name, now in trial.of_variants.items() if name in before]
    return [pair for pair in pairs if _asks_otherwise(*pair)]


def _asks_otherwise(earlier: Trial, trial: Trial) -> bool:
    shared = [sorted(map(_compared, each.runs)) for each in (earlier, trial)]
    ways = [[[row.value_of(run) for row in _ASKING] for run in each.runs] for each in (earlier, trial)]
    is_one_way = all(way == of_runs[0] for of_runs in ways for way in of_runs)
    return is_one_way and shared[0] == shared[1] and ways[0][0] != ways[1][0]


def _compared(run: Run) -> list[str]:
    return [run.model, *map(str, [run.dataset_version_id, run.headline, *(row.value_of(run) for row in _COMPARED)])]


def trials_in_words(*trials: Trial) -> list[str]:
    """What came out of each: how many are correct, or the mean if one of them has answers that are partly correct."""
    results = [[result for _, of_task in trial.rows for result in of_task if result] for trial in trials]
    scored = [[result for result in each if result.outcome not in _NOT_SCORED] for each in results]
    by_mean = any(result.outcome == Outcome.PARTIAL for each in scored for result in each)
    words = []
    for trial, asked, each in zip(trials, results, scored, strict=True):
        if trial.is_live:
            words.append("running")
        elif not each:
            words.append("not scored")
        elif by_mean:
            mean = sum(result.value or 0.0 for result in each) / len(each)
            words.append(f"mean {score(mean)}, n = {n_of(len(each), len(asked))}")
        else:
            words.append(f"{n_of(sum(result.outcome == Outcome.CORRECT for result in each), len(each))} correct")
    return words


@dataclass(frozen=True, slots=True)
class LastScore:
    """``words`` say of which run ``text`` is, by which metric, with its interval and of how many results."""

    run: int
    text: str
    words: str


def last_scores(dataset: Dataset) -> dict[str, LastScore]:
    """Model → its score by its newest run on all tasks of the current version, in the table that represents the
    dataset elsewhere, so that all are asked in the same way and scored by one metric. Runs of variants, of samples and
    of other tools do not count, nor those without a rank. Six queries at most."""
    whole = Q(dataset_version=dataset.current_version_id, limit=None, subset=None, target_half_width=None)
    found = standings(scored_runs(RECENT, whole, Q(variant__in=("", PLAIN), import_format="")))
    if not found or not is_score(found[0].metric):
        return {}
    metric, latest = found[0].metric, dict[str, Place]()
    for place in sorted(found[0].places, key=lambda place: place.run.pk):
        if place.rank or place.reason == BASELINE_UNRANKED:
            latest[place.run.model] = place
    judged = {model: judged_scores([(place.run, metric)]) for model, place in latest.items()}
    known = judge_words({pair for pairs in judged.values() for pair in pairs})
    return {model: _last_score(place, metric, joined(judged[model], known)) for model, place in latest.items()}


def _last_score(place: Place, metric: str, judged: str) -> LastScore:
    numbers = place.numbers
    said = Mean(numbers.mean, numbers.low, numbers.high).text
    parts = [f"{metric_title(metric)} {said}", f"n = {n_of_mean(metric, numbers)}", place.differs, judged]
    words = f"Run {place.run.pk} on {place.run.dataset.title}: {', '.join(filter(None, parts))}"
    return LastScore(place.run.pk, score(numbers.mean), visible(words))


def last_runs(column: str) -> dict[str, datetime]:
    """Value of the column → when the latest run with it was queued; imported runs and checks of judges do not count."""
    ours = Run.objects.filter(OF_MODELS, import_format="").order_by()
    return dict(ours.values_list(column).annotate(Max("created_at")))


def latencies() -> dict[str, float | None]:
    """Model → the median latency of its latest completed run, in milliseconds."""
    ended = Run.objects.filter(OF_MODELS, import_format="", status__in=COMPLETED).order_by()
    latest = ended.values_list("model").annotate(Max("pk")).values_list("pk__max", flat=True)
    median = Cast(KeyTransform("p50", KeyTransform("latency_ms", "summary")), FloatField())
    return dict(Run.objects.filter(pk__in=list(latest)).values_list("model", median))
