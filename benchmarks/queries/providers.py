"""The configured providers with all that is known of them: configuration, key, checks, tests, runs. Sends nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.conf import settings
from django.db.models import F, Max, Q

from benchmarks.engine.addresses import Address, AddressSource, addresses_of
from benchmarks.engine.configured import all_providers
from benchmarks.engine.prices import (
    PerMillion,
    PriceSource,
    entered_prices,
    price_in,
    prices_in_list,
)
from benchmarks.engine.provider_keys import Key, KeySource, keys_of
from benchmarks.engine.sealing import sealing_allowed
from benchmarks.models import OF_BASELINES, ModelTest, ProviderCheck, ProviderKey, Run, RunStatus
from benchmarks.presentation.providers import CAPABILITY, PROBLEMS, key_sentence, missing_key
from benchmarks.providers.base import Limits

Status = Literal["ready", "no_key", "no_connection", "refusing", "failing", "unchecked"]
_STATUS_OF: dict[str, Status] = {
    "": "ready",
    "connection": "no_connection",
    "timeout": "no_connection",
    "authentication": "refusing",
    "rate_limited": "refusing",
}
"""Kind of error → status; every other kind is ``failing``."""
_OF_THE_MODEL = frozenset({"bad_request", "not_found", "too_large", "unsupported"})
"""Errors of a test that concern the model and not the endpoint, which did respond."""
ORDER: tuple[str, ...] = (*PROBLEMS, "unchecked", "ready")
MOST_SUGGESTED = 500
OTHERS_SHOWN = 8
"""Models that are listed but not configured, before the rest is folded."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model of a provider. ``name`` is ``provider/model``; prices are US dollars per million tokens, ``None`` where
    they are unknown; without a price of their own, cached tokens cost what other input costs."""

    name: str
    configured: bool
    listed: bool
    judge: bool
    context_length: int | None
    input_per_million: float | None
    output_per_million: float | None
    cached_input_per_million: float | None = None
    price_source: PriceSource = "unknown"
    price_listed_by: str = ""
    price_listed_at: datetime | None = None
    test: ModelTest | None = None

    @property
    def own_name(self) -> str:
        return self.name.partition("/")[2] or self.name

    @property
    def supports(self) -> list[tuple[str, str]]:
        """For each of ``CAPABILITY``: the support that the latest test found, and what the endpoint said."""
        tested = self.test.capabilities if self.test else {}
        untested = {"support": "unknown", "message": "Not tested"}
        return [(each["support"], each["message"]) for each in (tested.get(name, untested) for name in CAPABILITY)]


@dataclass(frozen=True, slots=True)
class LastRun:
    """The latest run in which a provider answered, or failed."""

    run: int
    at: datetime | None
    message: str = ""


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A configured provider. ``error`` is what the latest look at it met, if it failed; ``models`` are those that are
    configured or tested, ``others`` those that the endpoint lists besides. ``entered`` is a system from the page.
    A system lists no models."""

    name: str
    kind: str
    address: str
    address_source: AddressSource
    entered: bool
    is_system: bool
    key_variable: str | None
    key_source: KeySource
    key_set_at: datetime | None
    key_set_by: str
    status: Status
    error: str
    looked_at: datetime | None
    duration_ms: float | None
    listed_at: datetime | None
    limits: Limits
    models: tuple[ModelRow, ...]
    others: tuple[ModelRow, ...]
    last_answer: LastRun | None
    last_errors: LastRun | None

    def model_named(self, name: str) -> str:
        """The full name of a model that is named with or without the provider. An endpoint may list names that begin
        like the provider's own."""
        full = f"{self.name}/{name}"
        listed = {model.name for model in (*self.models, *self.others)}
        return name if name.startswith(f"{self.name}/") and full not in listed else full

    @property
    def others_shown(self) -> tuple[ModelRow, ...]:
        return self.others[:OTHERS_SHOWN]

    @property
    def others_folded(self) -> tuple[ModelRow, ...]:
        return self.others[OTHERS_SHOWN:]

    @property
    def known_status(self) -> Status:
        """Its status; one that nobody has checked is ready once its models have answered in a run."""
        return "ready" if self.status == "unchecked" and self.last_answer else self.status

    @property
    def n_shown(self) -> int:
        return len(self.models) + len(self.others_shown)

    @property
    def is_tested(self) -> bool:
        """Whether anything is known of what its models support."""
        return any(model.test for model in (*self.models, *self.others_shown))

    @property
    def tells_context(self) -> bool:
        return any(model.context_length for model in (*self.models, *self.others_shown))

    @property
    def priceable(self) -> list[ModelRow]:
        """Known models whose price can be entered on the page: codeforge.yaml has none."""
        return [model for model in (*self.models, *self.others) if model.price_source != "file"][:MOST_SUGGESTED]

    @property
    def key_words(self) -> str:
        return key_sentence(self.key_variable, self.key_source)

    @property
    def lacks_key(self) -> bool:
        return self.status == "no_key"

    @property
    def key_can_be_entered(self) -> bool:
        """Whether entering a key on the page changes anything: the environment wins."""
        return sealing_allowed() and self.key_source in ("missing", "stored", "unreadable")

    @property
    def address_can_be_entered(self) -> bool:
        """Whether codeforge.yaml and the settings leave the address to the page."""
        return sealing_allowed() and self.address_source in ("page", "default") and not self.entered

    @property
    def problem(self) -> str:
        """Why a run with this provider would fail, and what to do; empty if nothing is known against it."""
        if self.lacks_key:
            return missing_key(self.key_variable, self.key_source, on_page=sealing_allowed())
        return self.error.removeprefix(f"{self.name}: ") if self.status in PROBLEMS else ""


def provider_rows() -> list[ProviderRow]:
    """All configured providers, those with problems first. At most twelve queries, whatever is stored."""
    providers = all_providers()
    names = list(providers)
    keys, addresses = keys_of(names), addresses_of(names)
    stored = {row.provider: row for row in ProviderKey.objects.select_related("set_by").defer("sealed")}
    checks = {check.provider: check for check in ProviderCheck.objects.all()}
    tests: dict[str, list[ModelTest]] = defaultdict(list)
    for test in ModelTest.objects.order_by("-tested_at"):
        tests[test.provider].append(test)
    entered = entered_prices()
    answers, errors = _last_runs(Q(done__gt=F("errors"))), _last_runs(Q(errors__gt=0) | Q(status=RunStatus.FAILED))
    rows = [
        _row(
            name,
            providers[name],
            address=addresses[name],
            key=keys[name],
            stored=stored.get(name),
            check=checks.get(name),
            tests=tests[name],
            entered=entered,
            answer=answers.get(name),
            errors=errors.get(name),
        )
        for name in names
    ]
    return sorted(rows, key=lambda row: (ORDER.index(row.status), row.name))


def provider_row(name: str) -> ProviderRow | None:
    return next((row for row in provider_rows() if row.name == name), None)


def any_provider_works() -> bool:
    """Whether an endpoint has answered: a run from here, a test, or a check. At most four queries."""
    asked = Run.objects.filter(import_format="", done__gt=F("errors")).exclude(OF_BASELINES)
    names = list(all_providers())
    return (
        asked.exists()
        or ProviderCheck.objects.filter(provider__in=names, error_kind="").exists()
        or ModelTest.objects.filter(provider__in=names, error_kind="").exists()
    )


def suggested_models(rows: Iterable[ProviderRow]) -> list[str]:
    """Names for a list to choose from: configured and tested models first, then what endpoints list."""
    rows = list(rows)
    names = [
        *(model.name for row in rows for model in row.models),
        *(model.name for row in rows for model in row.others),
    ]
    return list(dict.fromkeys(names))[:MOST_SUGGESTED]


def _row(
    name: str,
    configured: Any,
    *,
    address: Address,
    key: Key,
    stored: ProviderKey | None,
    check: ProviderCheck | None,
    tests: list[ModelTest],
    entered: dict[str, PerMillion],
    answer: LastRun | None,
    errors: LastRun | None,
) -> ProviderRow:
    # What was seen at another address says nothing about this one.
    check = check if check and check.address == address.shown else None
    tests = [test for test in tests if test.address == address.shown]
    status, look = _status(key, check, tests)
    models, others = _models(name, address, check, tests, entered, is_system=configured.is_system)
    return ProviderRow(
        name=name,
        kind=configured.kind,
        address=address.shown,
        address_source=address.source,
        entered=configured.entered,
        is_system=configured.is_system,
        key_variable=configured.api_key_env,
        key_source=key.source,
        key_set_at=stored.set_at if stored else None,
        key_set_by=stored.set_by.get_username() if stored and stored.set_by else "",
        status=status,
        error=look.error if look and status != "ready" else "",
        looked_at=_time_of(look) if look else None,
        duration_ms=next((test.duration_ms for test in tests if test.duration_ms is not None), None),
        listed_at=check.listed_at if check else None,
        limits=configured.limits,
        models=models,
        others=others,
        last_answer=answer,
        last_errors=errors,
    )


def _status(
    key: Key, check: ProviderCheck | None, tests: list[ModelTest]
) -> tuple[Status, ProviderCheck | ModelTest | None]:
    """The status by the latest look, and that look."""
    if key.source in ("missing", "unreadable"):
        return "no_key", None
    # Many endpoints answer requests but list no models.
    looks: list[ProviderCheck | ModelTest] = [*tests]
    if check and not (tests and check.error_kind in _OF_THE_MODEL):
        looks.append(check)
    if not looks:
        return "unchecked", None
    latest = max(looks, key=_time_of)
    if isinstance(latest, ModelTest) and latest.error_kind in _OF_THE_MODEL:
        return "ready", latest
    if latest.error_kind == "unsupported":
        return "unchecked", latest
    return _STATUS_OF.get(latest.error_kind, "failing"), latest


def _time_of(look: ProviderCheck | ModelTest) -> datetime:
    return look.checked_at if isinstance(look, ProviderCheck) else look.tested_at


def _models(
    provider: str,
    address: Address,
    check: ProviderCheck | None,
    tests: list[ModelTest],
    entered: dict[str, PerMillion],
    *,
    is_system: bool,
) -> tuple[tuple[ModelRow, ...], tuple[ModelRow, ...]]:
    config = settings.CODEFORGE
    there = {f"{provider}/{model['name']}": model["context_length"] for model in (check.listed if check else ())}
    tested = {test.model: test for test in tests}
    configured = [name for name in config.models if name.partition("/")[0] == provider]
    if is_system:
        configured = list(dict.fromkeys([provider, *configured]))

    prices = prices_in_list(check, address) | entered

    def row(name: str) -> ModelRow:
        known, price = config.model(name), price_in(name, prices, address)
        return ModelRow(
            name=name,
            configured=name in configured,
            listed=name in there,
            judge=name == config.judge.model,
            context_length=known.context_length or there.get(name),
            input_per_million=price.input,
            output_per_million=price.output,
            cached_input_per_million=price.cached,
            price_source=price.source,
            price_listed_by=price.listed_by,
            price_listed_at=price.listed_at,
            test=tested.get(name),
        )

    priced = [name for name in entered if name.partition("/")[0] == provider]
    main = list(dict.fromkeys([*configured, *sorted({*tested, *priced})]))
    return tuple(map(row, main)), tuple(row(name) for name in there if name not in main)


def _last_runs(condition: Q) -> dict[str, LastRun]:
    """Provider → its latest run of which the condition holds."""
    ours = Run.objects.filter(condition, import_format="")
    by_model = dict(ours.order_by().values_list("model").annotate(Max("id")))
    latest: dict[str, int] = {}
    for model, pk in by_model.items():
        provider = model.partition("/")[0]
        latest[provider] = max(pk, latest.get(provider, 0))
    runs = Run.objects.only("completed_at", "started_at", "error_message").in_bulk(latest.values())
    return {
        provider: LastRun(pk, runs[pk].completed_at or runs[pk].started_at, runs[pk].error_message)
        for provider, pk in latest.items()
        if pk in runs
    }
