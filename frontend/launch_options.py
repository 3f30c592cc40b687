"""What the launch page lists: models with their state and price, benchmarks with what they can show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import md5
from itertools import groupby

from benchmarks.engine.execution.presets import preset_metrics
from benchmarks.metrics.rubrics import PREFIX
from benchmarks.models import Dataset
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import money, number, plural
from benchmarks.providers.baseline import BASELINE_MODELS
from benchmarks.providers.model_names import is_baseline
from benchmarks.queries.launch import LastScore, last_runs, latencies
from benchmarks.queries.model_status import ModelStatus, Trouble, answered_models, model_status, troubled_models
from benchmarks.queries.providers import ModelRow, ProviderRow, provider_rows
from benchmarks.services.experiments.preview import Gap, gap_of

SHOWN = 8
"""Rows of a list before the rest is folded."""
SHORT = 4
"""The same in the short form."""
MOST_LISTED = 150
"""Models that endpoints list and nobody has used; the others are found by typing their names."""
NO_PRICE = "no price"
BASELINES_ARE = "not language models: what guessing, rules and expected answers score"


@dataclass(frozen=True, slots=True)
class ModelOption:
    """``latency_ms`` is the median of the latest completed run, if it ``has_run``. ``cost`` is what the chosen tasks
    cost, if that is known yet, and ``score`` the last one on the chosen benchmark."""

    name: str
    price: str
    has_run: bool
    latency_ms: float | None
    status: ModelStatus
    last_run: datetime | None = None
    cost: str = ""
    score: LastScore | None = None

    @property
    def is_baseline(self) -> bool:
        return is_baseline(self.name)

    @property
    def cost_id(self) -> str:
        """Of the place for what the chosen tasks cost."""
        return place_id("cost", self.name)

    @property
    def score_id(self) -> str:
        return place_id("score", self.name)


def place_id(kind: str, model: str) -> str:
    """Of the place in the list where something is said of the model."""
    return f"{kind}-{md5(model.encode('utf-8', 'replace'), usedforsecurity=False).hexdigest()[:12]}"


class View(StrEnum):
    """How models and benchmarks are listed."""

    RECENT = ""
    ALL = "all"
    BY_PROVIDER = "provider"


VIEWS = {View.RECENT: "Recent", View.ALL: "All"}
MODEL_VIEWS = VIEWS | {View.BY_PROVIDER: "By provider"}


@dataclass(frozen=True, slots=True)
class Group:
    """Models under a title, or under none; ``folded`` are shown on demand, and ``hint`` says what they are."""

    title: str
    shown: Sequence[ModelOption]
    folded: Sequence[ModelOption] = ()
    hint: str = ""


def model_groups(options: Sequence[ModelOption], view: str, most: int) -> list[Group]:
    """The options as ``view`` lists them: the first ``most`` and the others folded, all by name, or by provider.
    Baselines are a group of their own, the last one."""
    by_name = sorted(options, key=lambda each: each.name)
    shown, folded = (options[:most], options[most:]) if view == View.RECENT else (by_name, [])
    models = _those(shown, baselines=False)
    if view == View.BY_PROVIDER:
        by_provider = groupby(models, key=lambda each: each.name.partition("/")[0])
        groups = [Group(provider, [*members]) for provider, members in by_provider]
    else:
        groups = [Group("", models, _those(folded, baselines=False))]
    baselines = Group("Baselines", _those(shown, baselines=True), _those(folded, baselines=True), BASELINES_ARE)
    return [*groups, baselines]


def _those(options: Sequence[ModelOption], *, baselines: bool) -> list[ModelOption]:
    return [option for option in options if option.is_baseline == baselines]


@dataclass(frozen=True, slots=True)
class BenchmarkOption:
    """``shows`` is the difference that its tasks show between two models with 80% power."""

    dataset: Dataset
    size: str
    scored_by: Sequence[str]
    shows: str
    last_run: datetime | None


@dataclass(frozen=True, slots=True)
class KnownModels:
    """What is known of all models, read once for a page."""

    last: Mapping[str, datetime]
    latencies: Mapping[str, float | None]
    troubled: Mapping[str, Trouble]
    answered: Collection[str]
    rows: Mapping[str, ProviderRow]

    @classmethod
    def read(cls) -> KnownModels:
        rows = {row.name: row for row in provider_rows()}
        return cls(last_runs("model"), latencies(), troubled_models(), answered_models(), rows)

    def options(self, chosen: Collection[str]) -> list[ModelOption]:
        """The chosen models, then those used last of which nothing is known against them, those in trouble, and the
        others; a chosen name that nobody knows is marked."""
        known: dict[str, ModelRow | None] = {model.name: model for row in self.rows.values() for model in row.models}
        others = [model for row in self.rows.values() for model in row.others]
        known |= {model.name: model for model in others if model.name in self.last or model.name in chosen}
        known |= {f"baseline/{name}": None for name in BASELINE_MODELS}
        known |= {name: None for name in self.last if name not in known and name.partition("/")[0] in self.rows}
        known |= {model.name: model for model in others[:MOST_LISTED]}
        options = {name: self._option(name, known.get(name)) for name in [*known, *chosen]}
        recent = sorted(known, key=lambda name: _order(options[name]))
        return [options[name] for name in dict.fromkeys([*chosen, *recent])]

    def preselected(self, models: Sequence[str], unwanted: Collection[str] = ()) -> Sequence[str]:
        """Of the models used last those that are neither in trouble nor ``unwanted``. If there is none, a ready one
        that has run, with a known price if possible."""
        options = {option.name: option for option in self.options(models)}
        fine = {name: each for name, each in options.items() if each.status.level != "bad" and name not in unwanted}
        ready = [each for each in fine.values() if each.status.level == "ok" and each.has_run]
        others = [each for each in ready if each.name.partition("/")[0] in self.rows]
        others.sort(key=lambda each: each.price == NO_PRICE)
        return [name for name in models if name in fine] or [each.name for each in others[:1]] or models

    def _option(self, name: str, known: ModelRow | None) -> ModelOption:
        provider = self.rows.get(name.partition("/")[0])
        status = model_status(name, provider, known, self.troubled.get(name), answered=name in self.answered)
        price = "free" if is_baseline(name) else _price(known)
        has_run = name in self.latencies
        return ModelOption(name, price, has_run, self.latencies.get(name), status, self.last.get(name))


def _order(option: ModelOption) -> tuple[bool, bool, float]:
    """Those that have run before the others, the last one first, those in trouble at the end."""
    last = option.last_run
    return last is None, last is not None and option.status.level == "bad", -last.timestamp() if last else 0.0


def _price(known: ModelRow | None) -> str:
    """US dollars per million tokens, in and out."""
    if known is None or known.input_per_million is None or known.output_per_million is None:
        return NO_PRICE
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
        gap.dataset.slug: f"{gap.words} points or more" if gap.shown is not None else "too few tasks" for gap in gaps
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
