"""Reads of runs. Lists carry the summary, never the breakdown, the parameters or the environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from typing import Any

from django.db.models import (
    BooleanField,
    Case,
    Count,
    Exists,
    Expression,
    F,
    FloatField,
    Func,
    IntegerField,
    OrderBy,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Coalesce, Concat, Left, Lower
from django.db.models.lookups import Exact
from django.utils import timezone

from benchmarks.asking import key_of
from benchmarks.engine.configured import limited
from benchmarks.models import (
    COMPLETED,
    FIRST_START,
    OF_BASELINES,
    OF_MODELS,
    STOPPED,
    DatasetVersion,
    Lease,
    Outcome,
    PushedRun,
    Result,
    ResultState,
    Run,
    RunKind,
    RunStatus,
)
from benchmarks.run_parameters import RUN_PARAMETERS, Decides

_FUTILE = Q(status__in=STOPPED)
TROUBLED = (RunStatus.FAILED, RunStatus.COMPLETED_WITH_ERRORS, RunStatus.PAUSED)
"""The statuses of runs that failed, ended with errors or ran out of budget."""

_LIST_FIELDS = (
    *("name", "tags", "pinned", "baseline"),
    *("kind", "import_format", "fresh_of", "rescored_from", "metrics", "headline", "rubrics"),
    *("asked", "question_key", "answer_key"),
    *(row.field for row in RUN_PARAMETERS.values() if row.field and row.decides is not Decides.NEITHER),
    *("experiment_id", "variant", "tokens_out"),
    *(
        "status",
        "error_message",
        "is_prepared",
        "total",
        "done",
        "errors",
        "cost_usd",
        "judge_cost_usd",
        "summary",
        "summarized_at",
    ),
    *("texts_pruned_at", "created_at", "started_at", "completed_at", "active_seconds", "active_since", "progressed_at"),
    *("dataset__slug", "dataset__name", "dataset__kind", "dataset_version__number", "dataset_version__task_count"),
    "added_canvases",
)
_WAITS = Lease.objects.filter(run=OuterRef("pk"), waits_until__isnull=False).order_by("-waits_until")
_TO_ASK = Result.objects.filter(run=OuterRef("pk"), state__in=(ResultState.PENDING, ResultState.CLAIMED))
JUDGING = {
    "is_judging": Case(
        # Only of a running run with results left; for all others the database looks at no result.
        When(Q(status=RunStatus.RUNNING, is_prepared=True, done__lt=F("total")), then=~Exists(_TO_ASK)),
        default=Value(False),
        output_field=BooleanField(),
    )
}
"""Whether all answers of a run are there and verdicts are still to come: a state of its progress, not of the run."""
_LIVE_STATE = {"waits_until": Subquery(_WAITS.values("waits_until")[:1]), **JUDGING}
"""Until when the endpoint asked the run's workers to wait, ``None`` while they do not wait; and ``JUDGING``."""
_ASKS_NOW = Case(
    When(kind__in=(RunKind.CALIBRATION, RunKind.PREFERENCE), then=F("judge_model")),
    When(JUDGING["is_judging"], then=F("judge_model")),
    default=F("model"),
)
"""The model that the next answers or verdicts of a run come from."""


_JUST_ENDED = timedelta(minutes=10)


class HeadlineNumber(Func):
    """Of a run's summary, a number of its headline: the strict ``mean``, or ``low`` and ``high`` of its interval."""

    output_field = FloatField()

    def __init__(self, key: str = "mean") -> None:
        super().__init__("summary", "headline")
        self.key = key

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        (summary, _), (headline, _) = map(compiler.compile, self.get_source_expressions())
        # A path cannot contain a quotation mark; no metric that is registered here does.
        path = f"""'$.metrics."' || replace({headline}, '"', '') || '".{self.key}'"""
        return f"json_extract({summary}, {path})", ()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        (summary, _), (headline, _) = map(compiler.compile, self.get_source_expressions())
        return f"({summary} -> 'metrics' -> {headline} ->> '{self.key}')::float", ()


class HasTag(Func):
    """Whether a list of tags has a tag; a JSON column of SQLite has no such lookup."""

    output_field = BooleanField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        (tags, _), (tag, given) = map(compiler.compile, self.get_source_expressions())
        return f"EXISTS (SELECT 1 FROM json_each({tags}) WHERE value = {tag})", given

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        (tags, _), (tag, given) = map(compiler.compile, self.get_source_expressions())
        return f"{tags} @> to_jsonb({tag}::text)", given


WORDS_OF_RUN = ("name", "model", "variant", "dataset__name", "dataset__slug", "experiment__name")
"""Where a search for runs looks."""
MOST_WORDS = 8
"""Of a search; the words after them are ignored, because each is one more condition on every row."""


def words_of(text: str) -> list[str]:
    """The words that a search looks for, each once."""
    return list(dict.fromkeys(text.split()))[:MOST_WORDS]


def in_one_of(places: Iterable[str], text: str) -> Q:
    """Rows with the text as a part of one of the places, in upper or lower case."""
    return Q(*((f"{place}__icontains", text) for place in places), _connector=Q.OR)


def every_word(text: str, places: Iterable[str], *, tags: bool = False) -> Q:
    """Rows that have each word of a search in one of the places, in any order.

    With ``tags`` a word may also be a whole tag, and so may the whole text.
    """
    if not tags:
        return Q(*(in_one_of(places, word) for word in words_of(text)))
    each = (in_one_of(places, word) | Q(HasTag("tags", Value(word))) for word in words_of(text))
    return Q(*each) | Q(HasTag("tags", Value(text)))


SORTS: dict[str, Expression | F] = {
    "run": F("id"),
    "name": Lower("name"),
    "model": F("model"),
    "dataset": F("dataset__slug"),
    "status": F("status"),
    "score": Case(When(status__in=COMPLETED, then=HeadlineNumber()), output_field=FloatField()),
    "cost": F("cost_usd") + Coalesce("judge_cost_usd", 0.0),
}
"""Head of the list → what it sorts by. Unknown scores and costs come last, and so do provisional scores."""


@dataclass(frozen=True, slots=True)
class RunFilters:
    """``name`` is a part of it, ``text`` words that ``WORDS_OF_RUN`` or its tags have, ``days`` its greatest age.

    ``sort`` is a key of ``SORTS``, with a minus sign for the descending order.
    """

    dataset: str = ""
    model: str = ""
    status: str = ""
    name: str = ""
    tag: str = ""
    pinned: bool = False
    text: str = ""
    days: int | None = None
    kinds: tuple[str, ...] = ()
    scheduled: bool = False
    sort: str = "-run"


def turns() -> dict[str, Any]:
    """Annotations of runs for ``sentences.waits_for_turn``: ``asks_now``, the model that a run waits for, ``places``,
    how many requests it takes at once, ``per_minute``, how many in a minute, and of other runs that it answers
    ``others_answered_at`` and ``others_p95_ms``.

    Only those of running runs are computed, and none where no such limit is configured.
    """
    places, per_minute = (_limit_of(*limited(by)) for by in ("max_in_flight", "requests_per_minute"))
    if not places and not per_minute:
        return {}
    # Of one that has just ended, the places are free, and answers are on their way.
    lately = Q(status=RunStatus.RUNNING) | Q(completed_at__gt=timezone.now() - _JUST_ENDED)
    others = Run.objects.filter(lately, progressed_at__isnull=False).exclude(pk=OuterRef("pk"))
    others = others.annotate(asks_now=_ASKS_NOW).filter(asks_now=OuterRef("asks_now")).order_by("-progressed_at")
    p95 = Cast(KeyTextTransform("p95", KeyTransform("latency_ms", "summary")), FloatField())
    takes_turns = Q(status=RunStatus.RUNNING) & (Q(places__isnull=False) | Q(per_minute__isnull=False))
    return {
        "asks_now": Case(When(status=RunStatus.RUNNING, then=_ASKS_NOW), default=Value("")),
        "places": Case(*places, output_field=IntegerField()),
        "per_minute": Case(*per_minute, output_field=IntegerField()),
        "others_answered_at": Case(When(takes_turns, then=Subquery(others.values("progressed_at")[:1]))),
        "others_p95_ms": Case(When(takes_turns, then=Subquery(others.values(p95=p95)[:1]))),
    }


def _limit_of(of_models: Mapping[str, int], of_providers: Mapping[str, int]) -> list[When]:
    """The limit of the model that a run waits for."""
    whens = [When(asks_now=name, then=Value(most)) for name, most in of_models.items()]
    for name, most in of_providers.items():  # a system without models has the name of its provider
        begins = Left(Concat("asks_now", Value("/")), len(name) + 1)
        whens.append(When(Exact(begins, f"{name}/"), then=Value(most)))
    return whens


def runs(which: Q = OF_MODELS) -> QuerySet[Run]:
    """All runs as lists show them, newest first. Judge calibrations have lists of their own."""
    runs = Run.objects.filter(which)
    return runs.select_related("dataset", "dataset_version").only(*_LIST_FIELDS).annotate(**turns())


def full_runs() -> QuerySet[Run]:
    """All runs with their parameters, newest first, for the API. Breakdown and environment are deferred."""
    runs = Run.objects.select_related("dataset", "dataset_version").annotate(**_LIVE_STATE, **turns())
    return runs.defer("breakdown", "environment").order_by("-id")


def runs_named(ids: Iterable[int]) -> list[Run]:
    """These runs in their order. Raises ``Run.DoesNotExist`` for the first that is missing, and without any."""
    wanted = list(dict.fromkeys(ids))
    by_id = full_runs().in_bulk(wanted)
    if missing := [pk for pk in wanted if pk not in by_id]:
        raise Run.DoesNotExist(f"Run {missing[0]} does not exist.")
    if not wanted:
        raise Run.DoesNotExist("There are no runs to export.")
    return [by_id[pk] for pk in wanted]


def run_list(filters: RunFilters, *, full: bool = False) -> QuerySet[Run]:
    """Runs in the order of ``filters``, those that are pinned first; ``full`` as in ``full_runs``."""
    which = listed_kinds(filters.tag)
    every = full_runs().filter(which) if full else runs(which)
    descending, key = filters.sort.startswith("-"), filters.sort.removeprefix("-")
    order = OrderBy(SORTS.get(key, SORTS["run"]), descending=descending, nulls_last=True)
    # Scores of different benchmarks and metrics do not compare, so they have no common order.
    within = ("dataset__name", "dataset_id", "headline") if key == "score" and not filters.dataset else ()
    return matching(every, filters).order_by("-pinned", *within, order, "-id")


def listed_kinds(tag: str) -> Q:
    """Runs that measure a model; trials, too, if a list is filtered by their tag."""
    return OF_MODELS | Q(kind=RunKind.TRIAL) if tag == RunKind.TRIAL else OF_MODELS


def matching(every: QuerySet[Run], filters: RunFilters) -> QuerySet[Run]:
    """Those of the runs that the filters select."""
    chosen = {
        "dataset__slug": filters.dataset,
        "model": filters.model,
        "status": filters.status,
        "name__icontains": filters.name,
        "pinned": filters.pinned,
        "kind__in": filters.kinds,
        "created_at__gte": filters.days and timezone.now() - timedelta(days=filters.days),
    }
    selected = every.filter(**{name: value for name, value in chosen.items() if value})
    if filters.scheduled:
        selected = selected.filter(scheduled__isnull=False)
    if filters.tag:
        selected = selected.filter(HasTag("tags", Value(filters.tag)))
    if filters.text:
        selected = selected.filter(every_word(filters.text, WORDS_OF_RUN, tags=True))
    return selected


def tags_used() -> list[str]:
    """All tags of runs, sorted."""
    tagged = Run.objects.filter(OF_MODELS | Q(kind=RunKind.TRIAL)).exclude(tags=[]).order_by()
    return sorted({tag for tags in tagged.values_list("tags", flat=True) for tag in tags})


def reference_first(chosen: Sequence[Run]) -> list[Run]:
    """The runs with the reference run first: the one that is marked, else the oldest; the others in their order."""
    if not chosen:
        return []
    reference = min(chosen, key=lambda run: (not run.baseline, run.pk))
    return [reference, *(run for run in chosen if run.pk != reference.pk)]


def latest_runs(limit: int, statuses: Iterable[str] = RunStatus.values) -> list[Run]:
    """The latest runs with one of these statuses."""
    return list(runs().filter(status__in=statuses).order_by("-id")[:limit])


def troubled_runs(limit: int) -> list[Run]:
    """The latest runs that failed, and then those that ended with errors or are paused, with what decides on their
    actions."""
    latest = runs().filter(status__in=TROUBLED).order_by("-id")[:limit]
    return sorted(latest, key=lambda run: run.status != RunStatus.FAILED)


@dataclass(frozen=True, slots=True)
class Blocked:
    """What somebody must change before a run can go on: its ``budget``, or else the key of a ``provider``."""

    provider: str = ""

    @property
    def by_budget(self) -> bool:
        return not self.provider


def blocked(run: Run) -> Blocked | None:
    """``None`` of a run that can be resumed as it is, and of one that is not stopped."""
    if run.status == RunStatus.PAUSED:
        return Blocked() if run.budget_usd is not None and run.error_message else None
    if run.status != RunStatus.FAILED:
        return None
    refused = run.results.filter(error_kind="authentication").values_list("outcome", flat=True).first()
    if refused is None:
        return None
    asked = run.judge_model if refused == Outcome.JUDGE_ERROR else run.model
    return Blocked(asked.partition("/")[0])


def count_running() -> int:
    """How many runs have begun and not ended."""
    return Run.objects.filter(status=RunStatus.RUNNING).count()


def spending(since: datetime) -> tuple[float, bool]:
    """What runs queued since then have cost in US dollars with their judges, and whether a part of it is unknown."""
    recent = Run.objects.filter(created_at__gte=since, total__gt=0)
    unknown = Count("pk", filter=Q(cost_usd=None) | Q(judge_cost_usd=None) & ~Q(judge_model=""))
    sums = recent.aggregate(own=Sum("cost_usd"), judge=Sum("judge_cost_usd"), unknown=unknown)
    return (sums["own"] or 0.0) + (sums["judge"] or 0.0), bool(sums["unknown"])


def run_detail(pk: int) -> Run:
    """One run with everything about it. Raises ``Run.DoesNotExist``."""
    runs = Run.objects.select_related("dataset", "dataset_version")
    return runs.annotate(**_LIVE_STATE, **turns()).get(pk=pk)


def run_status(pk: int) -> Run:
    """One run as its status shows it, without what is only drawn once. Raises ``Run.DoesNotExist``."""
    return full_runs().defer("breakdown", "environment", "parameters").get(pk=pk)


def still_changes(run: Run) -> bool:
    """Whether a page must go on to look at the run: it is live, or was stopped while answers are still on their way."""
    stopped = run.status in (RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.PAUSED)
    return run.is_live or (stopped and run.leases.exists())


def other_variants(run: Run, limit: int = 12) -> list[Run]:
    """The latest completed run of the same model on the same version for each other prompt variant: another
    representation, or with or without examples, and otherwise asked and answered alike."""
    variants = product(RUN_PARAMETERS["representation"].choices, ({}, {"few_shot": True}))
    question = {
        name: value for name, value in run.asked["question"].items() if name not in ("representation", "few_shot")
    }
    keys = {key_of({**question, "representation": shown_as, **examples}) for shown_as, examples in variants}
    same = runs().filter(
        dataset_version=run.dataset_version_id,
        model=run.model,
        status__in=COMPLETED,
        limit=None,
        subset=None,
        question_key__in=keys - {run.question_key},
        answer_key=run.answer_key,
    )
    latest: dict[str, Run] = {}
    for other in same.defer("summary")[:200]:
        latest.setdefault(other.question_key, other)
    return list(latest.values())[:limit]


def previous_run(run: Run) -> Run | None:
    """The latest completed run of the same model on the same dataset before this one that asks the same question."""
    before = Run.objects.filter(dataset=run.dataset_id, model=run.model, status__in=COMPLETED, pk__lt=run.pk)
    return before.filter(OF_MODELS, question_key=run.question_key).only("pk").order_by("-pk").first()


def models_used(*, external: bool = True) -> list[str]:
    """The names of all models that any run asked, sorted; without ``external`` those that were asked from here."""
    selected = Run.objects.filter(OF_MODELS)
    if not external:
        selected = selected.filter(import_format="")
    return list(selected.order_by("model").values_list("model", flat=True).distinct())


def real_models_used() -> bool:
    """Whether any run from here asked a model other than a baseline."""
    return Run.objects.filter(import_format="").exclude(OF_BASELINES).exists()


def person_completed_a_run() -> bool:
    """Whether a run that measures a model completed, other than those that the first start queued by itself."""
    of_people = ~Q(HasTag("tags", Value(FIRST_START)))
    return Run.objects.filter(OF_MODELS, of_people, status__in=COMPLETED).exists()


def moved_by(old: DatasetVersion, new: DatasetVersion, most: int) -> list[tuple[Run, Run | None]]:
    """The latest completed runs on the old version, each with the latest scoring of its answers on the new one.

    That scoring may still be in progress.
    """
    moved = list(full_runs().filter(OF_MODELS, dataset_version=old, rescored_from=None, status__in=COMPLETED)[:most])
    again = full_runs().filter(dataset_version=new, rescored_from__in=[run.pk for run in moved]).exclude(_FUTILE)
    by_source = {run.rescored_from: run for run in again.order_by("pk")}
    return [(run, by_source.get(run.pk)) for run in moved]


def runs_with_surface(model: str, most: int = 5) -> list[Run]:
    """The latest completed runs on whole canvas sets, which have a difficulty surface, newest first; those of the model
    are preferred."""
    on_canvases = runs().filter(status__in=COMPLETED, limit=None).exclude(representation="")
    own_first = Case(When(model=model, then=0), default=1)
    found = on_canvases.exclude(OF_BASELINES).order_by(own_first, "-pk")[:most]
    return sorted(found, key=lambda run: run.pk, reverse=True)


def runs_to_rescore(old: DatasetVersion, new: DatasetVersion, most: int) -> list[Run]:
    """The latest completed runs on the old version of whose answers there is no scoring on the new one."""
    again = Run.objects.filter(dataset_version=new, rescored_from=OuterRef("pk")).exclude(_FUTILE)
    sources = Run.objects.filter(
        OF_MODELS, ~Exists(again), dataset_version=old, rescored_from=None, status__in=COMPLETED
    )
    return list(sources.select_related("dataset", "dataset_version").order_by("-pk")[:most])


def scorings(run: Run) -> list[Run]:
    """All runs that score the same answers, oldest first; empty if there is no other than the run itself."""
    source = run.rescored_from or run.pk
    same = Run.objects.filter(Q(pk=source) | Q(rescored_from=source)).values_list("pk", flat=True)
    ids = list(same.order_by()[:2])
    return list(full_runs().filter(Q(pk=source) | Q(rescored_from=source)).order_by("pk")) if len(ids) > 1 else []


def receiving() -> QuerySet[PushedRun]:
    """Runs that receive results and are not closed, newest first; ``services.pushes`` bounds their number."""
    return PushedRun.objects.filter(run=None).select_related("created_by").defer("request")
