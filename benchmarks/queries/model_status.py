"""What is known of a model before it is asked: its provider, its tests, and its latest run. One truth for all pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import F, Max, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from benchmarks.engine.prices import prices_per_million
from benchmarks.models import LIVE, OF_MODELS, ModelTest, Result, Run, RunKind, RunStatus
from benchmarks.presentation.numbers import ago, n_of
from benchmarks.presentation.providers import PROBLEMS, PROVIDER_STATUS, REFUSED, RUN_FAILED
from benchmarks.presentation.ranks import listed
from benchmarks.presentation.sentences import silent
from benchmarks.providers.model_names import is_baseline
from benchmarks.queries.providers import ModelRow, ProviderRow, provider_rows
from benchmarks.queries.runs import turns

Level = Literal["ok", "caution", "bad", ""]
_READ = (
    *("model", "status", "errors", "done", "total", "error_message", "summary"),
    *("created_at", "completed_at", "progressed_at", "active_since"),
)
"""Columns of a run that say what went wrong in it."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong in the latest run of a model, in ``words`` and as a ``message``.

    ``level`` is ``caution`` if only some results failed. ``kind`` is that of the error which stopped the run before its
    first answer, ``silent`` for one that waits for an answer, else empty.
    """

    run: int
    at: datetime
    level: Level
    kind: str
    words: str
    message: str


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """``words`` say what a run may expect; ``problem`` is what to do about it, empty where nothing is known; ``run`` is
    the one that met it, 0 if that is known without one."""

    level: Level
    words: str
    problem: str = ""
    run: int = 0


def troubled_models() -> dict[str, Trouble]:
    """The models whose latest ended run had errors, or whose newest run has got no answer for long; without those that
    have answered a test since. Four queries."""
    ours = Run.objects.filter(OF_MODELS, import_format="").order_by()
    ended = dict(ours.exclude(status__in=LIVE).values_list("model").annotate(Max("pk")))
    kind = Result.objects.filter(run=OuterRef("pk")).exclude(error_kind="").values("error_kind")[:1]
    failed = Run.objects.filter(Q(status=RunStatus.FAILED) | Q(errors__gt=0), pk__in=list(ended.values()))
    failed = failed.annotate(met=Coalesce(Subquery(kind), Value(""))).only(*_READ)
    found = {run.model: trouble for run in failed if (trouble := _of_ended(run, run.met)) is not None}
    for run in ours.filter(status=RunStatus.RUNNING).order_by("pk").only(*_READ).annotate(**turns()):
        if run.pk > ended.get(run.model, 0) and (words := silent(run)):
            message = f"{words}, after {n_of(run.done, run.total)} results."
            since = run.progressed_at or run.created_at
            found[run.model] = Trouble(run.pk, since, "bad", "silent", words, message)
    tests = ModelTest.objects.filter(model__in=found, error_kind="")
    answered = {test.model for test in tests if test.tested_at > found[test.model].at}
    return {name: trouble for name, trouble in found.items() if name not in answered}


def _of_ended(run: Run, kind: str) -> Trouble | None:
    at = run.completed_at or run.created_at
    if run.status == RunStatus.FAILED and run.done <= run.errors:
        return Trouble(run.pk, at, "bad", kind, REFUSED.get(kind, RUN_FAILED), run.error_message)
    failed = n_of(run.errors, run.done)
    return Trouble(run.pk, at, "caution", "", f"{failed} failed", f"{failed} results failed.") if run.errors else None


def answered_models(models: Collection[str] | None = None) -> set[str]:
    """The models that have answered in a run from here, as model or as judge; of ``models`` only, if they are given."""
    answering = Run.objects.filter(import_format="", done__gt=F("errors")).order_by()
    judging = answering.filter(Q(judge_tokens_out__gt=0) | Q(kind__in=(RunKind.CALIBRATION, RunKind.PREFERENCE)))
    answering = answering if models is None else answering.filter(model__in=models)
    judges = judging.exclude(judge_model="").values_list("judge_model", flat=True).distinct()
    return {*answering.values_list("model", flat=True).distinct(), *(name for of in judges for name in of.split(","))}


def model_status(
    name: str, provider: ProviderRow | None, known: ModelRow | None, trouble: Trouble | None, *, answered: bool
) -> ModelStatus:
    """How ready a model is. What its latest run met counts more than what its endpoint says of itself."""
    if provider is None:
        of_none = ModelStatus("bad", "No provider", f"codeforge.yaml has no provider {name.partition('/')[0]}.")
        return ModelStatus("ok", "Built in") if is_baseline(name) else of_none
    if provider.status in PROBLEMS:
        return ModelStatus("bad", PROVIDER_STATUS[provider.status], provider.problem)
    if known and known.test and known.test.error:
        return ModelStatus("bad", "Test failed", known.test.error)
    if trouble:
        return ModelStatus(trouble.level, trouble.words, f"Run {trouble.run}: {trouble.message}", trouble.run)
    if answered or not is_unlisted(provider, known):
        ready = answered or provider.status == "ready"
        return ModelStatus("ok" if ready else "", PROVIDER_STATUS["ready" if ready else provider.status])
    return ModelStatus("caution", "Not listed", f"{provider.name} does not list it. Check its name.")


def is_unlisted(provider: ProviderRow, known: ModelRow | None) -> bool:
    """Whether the endpoint lists its models, but not this one."""
    return provider.listed_at is not None and (known is None or not known.listed)


def warnings_before_run(models: Iterable[str]) -> list[str]:
    """What is known against requests to these models: no key, no connection, a failed test, an unknown price."""
    models = list(dict.fromkeys(models))
    rows = {row.name: row for row in provider_rows()}
    answered, troubled = answered_models(models), troubled_models()
    sentences = []
    for model in models:
        row = rows.get(model.partition("/")[0])
        if row is None:  # a baseline
            continue
        known = {each.name: each for each in (*row.models, *row.others)}.get(model)
        test, trouble = known.test if known else None, troubled.get(model)
        if row.problem:
            when = f" (checked {ago(row.looked_at, timezone.now())})" if row.looked_at else ""
            sentences.append(f"{row.name}: {row.problem}{when}")
        elif test and test.error:
            sentences.append(f"The latest test of {model} failed: {test.error}")
        elif trouble:
            sentences.append(f"{model}, run {trouble.run}: {trouble.message}")
        elif model not in answered and is_unlisted(row, known):
            # An answer proves that a model exists; many endpoints list only a part of theirs.
            sentences.append(f"{row.name} does not list {model.partition('/')[2]}. Check the name of the model.")
    return [*dict.fromkeys(sentences), *_unknown_prices(name for name in models if name.partition("/")[0] in rows)]


def _unknown_prices(models: Iterable[str]) -> Iterator[str]:
    """One sentence for all models that lack the same."""
    alike: dict[str, list[str]] = {}
    for model, price in prices_per_million(models).items():
        names = [f"`{name}_per_million`" for name in ("input", "output") if getattr(price, name) is None]
        if names:  # what nobody configured can be entered on a page
            alike.setdefault("" if price.source == "unknown" else listed(names), []).append(model)
    for keys, lacking in alike.items():
        whose = f"The price of {lacking[0]} is" if len(lacking) == 1 else f"The prices of {listed(lacking)} are"
        section = f"`models.{lacking[0]}`" if len(lacking) == 1 else "`models`"
        how = f"set {keys} of {section} in codeforge.yaml" if keys else "enter prices under Models"
        yield f"{whose} unknown. To see costs, {how}."
