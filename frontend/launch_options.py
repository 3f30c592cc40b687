"""What the launch page lists: models with their state and price, benchmarks with what they can show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import md5
from itertools import groupby

from django.conf import settings

from benchmarks.metrics.rubrics import PREFIX
from benchmarks.models import Dataset
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import money, number, plural
from benchmarks.presentation.providers import PROBLEMS, PROVIDER_STATUS, REFUSED, RUN_FAILED
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.queries.launch import LastResult, last_results, last_runs
from benchmarks.queries.providers import ModelRow, ProviderRow, Stopped, provider_rows, stopped_models
from benchmarks.services.experiments.preview import Gap, gap_of
from benchmarks.services.runs.presets import preset_metrics

SHOWN = 8
"""Rows of a list before the rest is folded."""
SHORT = 4
"""The same in the short form."""
MOST_LISTED = 150
"""Models that endpoints list and nobody has used; the others are found by typing their names."""


@dataclass(frozen=True, slots=True)
class ModelOption:
    """``state`` is ``ok``, ``bad`` or empty, ``status`` its words; ``problem`` says what to do about a bad one.
    ``last`` is the latest completed run."""

    name: str
    price: str
    last: LastResult | None
    state: str
    status: str
    last_run: datetime | None = None
    problem: str = ""

    @property
    def cost_id(self) -> str:
        """Of the place for what the chosen tasks cost."""
        return cost_id(self.name)


def cost_id(model: str) -> str:
    return f"cost-{md5(model.encode('utf-8', 'replace'), usedforsecurity=False).hexdigest()[:12]}"


class View(StrEnum):
    """How models and benchmarks are listed."""

    RECENT = ""
    ALL = "all"
    BY_PROVIDER = "provider"


VIEWS = {View.RECENT: "Recent", View.ALL: "All"}
MODEL_VIEWS = VIEWS | {View.BY_PROVIDER: "By provider"}


@dataclass(frozen=True, slots=True)
class Group:
    """Models under a title, or under none; ``folded`` are shown on demand."""

    title: str
    shown: Sequence[ModelOption]
    folded: Sequence[ModelOption] = ()


def model_groups(options: Sequence[ModelOption], view: str, most: int) -> list[Group]:
    """The options as ``view`` lists them: the first ``most`` and the others folded, all by name, or by provider."""
    by_name = sorted(options, key=lambda each: each.name)
    if view == View.ALL:
        return [Group("", by_name)]
    if view == View.BY_PROVIDER:
        groups = groupby(by_name, key=lambda each: each.name.partition("/")[0])
        return [Group(provider, [*members]) for provider, members in groups]
    return [Group("", options[:most], options[most:])]


@dataclass(frozen=True, slots=True)
class BenchmarkOption:
    """``shows`` is the difference that its tasks show between two models with 80% power."""

    dataset: Dataset
    size: str
    scored_by: Sequence[str]
    shows: str
    last_run: datetime | None


def model_options(chosen: Collection[str]) -> list[ModelOption]:
    """The chosen models, then those used last, then the other known ones; a chosen name that nobody knows is marked."""
    last, results, stopped = last_runs("model"), last_results(), stopped_models()
    rows = {row.name: row for row in provider_rows()}
    known: dict[str, ModelRow | None] = {model.name: model for row in rows.values() for model in row.models}
    others = [model for row in rows.values() for model in row.others]
    known |= {model.name: model for model in others if model.name in last or model.name in chosen}
    known |= {f"baseline/{name}": None for name in BASELINE_MODELS}
    known |= {name: None for name in last if name not in known and name.partition("/")[0] in rows}
    known |= {model.name: model for model in others[:MOST_LISTED]}
    recent = sorted(known, key=lambda name: (name not in last, -last[name].timestamp() if name in last else 0.0))
    names = dict.fromkeys([*chosen, *recent])
    return [
        _model_option(
            name,
            known,
            rows.get(name.partition("/")[0]),
            result=results.get(name),
            last_run=last.get(name),
            stopped=stopped.get(name),
        )
        for name in names
    ]


def preselected(models: Sequence[str]) -> Sequence[str]:
    """Of the models used last those that nothing is known against; if there is none, a ready one that has run."""
    options = {option.name: option for option in model_options(models)}
    ready = (name for name, each in options.items() if each.state == "ok" and each.last)
    others = [name for name in ready if name.partition("/")[0] in settings.CODEFORGE.providers]
    return [name for name in models if options[name].state != "bad"] or others[:1] or models


def _model_option(
    name: str,
    known: dict[str, ModelRow | None],
    provider: ProviderRow | None,
    *,
    result: LastResult | None,
    last_run: datetime | None,
    stopped: Stopped | None,
) -> ModelOption:
    price, problem = _price(known.get(name)), ""
    if name not in known:
        state, status = "", "Not listed"
    elif provider is None:
        price, state, status = "free", "ok", "Built in"
    elif provider.status in PROBLEMS:
        state, status, problem = "bad", PROVIDER_STATUS[provider.status], provider.problem
    elif (row := known[name]) and row.test and row.test.error:
        state, status, problem = "bad", "Test failed", row.test.error
    elif stopped:
        state, status, problem = "bad", REFUSED.get(stopped.kind, RUN_FAILED), stopped.message
    elif provider.status == "ready" or result:
        state, status = "ok", PROVIDER_STATUS["ready"]
    else:
        state, status = "", PROVIDER_STATUS[provider.status]
    return ModelOption(name, price, result, state, status, last_run, problem)


def _price(known: ModelRow | None) -> str:
    """US dollars per million tokens, in and out."""
    if known is None or known.input_per_million is None or known.output_per_million is None:
        return "no price"
    if known.input_per_million == known.output_per_million == 0:
        return "free"
    return f"{money(known.input_per_million)} / {money(known.output_per_million)}"


def gaps_shown(
    datasets: Iterable[Dataset], limit: int | None = None, pairs: int = 1, planned: Sequence[Gap] = ()
) -> dict[str, str]:
    """Slug → the gap that a benchmark shows, in words: with a task ``limit``, between any of ``pairs`` of candidates.
    Of those in the plan it is what the plan says."""
    known = {gap.dataset.slug: gap for gap in planned}
    gaps = [known.get(dataset.slug) or gap_of(dataset, _size(dataset, limit), pairs) for dataset in datasets]
    return {
        gap.dataset.slug: f"gaps of {gap.words} points" if gap.shown is not None else "too few tasks" for gap in gaps
    }


def _size(dataset: Dataset, limit: int | None) -> int:
    version = dataset.current_version
    assert version is not None, "a dataset that can be run"
    return min(version.task_count, limit or version.task_count)


def benchmark_options(
    datasets: Iterable[Dataset], chosen: Collection[str], shows: Mapping[str, str]
) -> list[BenchmarkOption]:
    """The chosen ones first, then those that were run last; ``shows`` are of ``gaps_shown``."""
    last = last_runs("dataset__slug")
    ordered = sorted(
        datasets,
        key=lambda each: (
            each.slug not in chosen,
            each.slug not in last,
            -last[each.slug].timestamp() if each.slug in last else 0.0,
        ),
    )
    return [_benchmark_option(dataset, last.get(dataset.slug), shows[dataset.slug]) for dataset in ordered]


def _benchmark_option(dataset: Dataset, last_run: datetime | None, shows: str) -> BenchmarkOption:
    version = dataset.current_version
    assert version is not None, "a dataset that can be run"
    size = f"{plural(version.task_count, 'task')} · version {version.number}"
    if dataset.canvas_set:
        size = f"{plural(dataset.canvas_set.count, 'canvas')}, {number(version.task_count)} questions"
    titles = [metric_title(name).removeprefix(PREFIX) for name in preset_metrics(dataset)]
    return BenchmarkOption(dataset, size, titles, shows, last_run)
