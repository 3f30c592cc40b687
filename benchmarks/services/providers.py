"""Look at providers before a run does: check an endpoint, test a model; store a key, an address or a price.

Requests are sent by the calling process, because a worker may be busy for hours. Each call is bounded in time (see
``TEST_SECONDS``), so a web page can wait for it.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from benchmarks.engine.addresses import Address, address_of
from benchmarks.engine.configured import all_providers, is_system, provider_named, providers_named
from benchmarks.engine.execution.model_clients import limits_of, provider_spec
from benchmarks.engine.prices import prices_per_million
from benchmarks.engine.provider_keys import key_of, keys_of, sealed_key
from benchmarks.engine.sealing import sealing_allowed
from benchmarks.models import LIVE, ModelPrice, ModelTest, ProviderAddress, ProviderCheck, ProviderKey, Run
from benchmarks.presentation.providers import missing_key
from benchmarks.providers.base import ListedModel, Provider, ProviderError, Timeouts
from benchmarks.providers.clean_text import without_secrets
from benchmarks.providers.http_provider import http_address
from benchmarks.providers.listed_prices import HIGHEST_PRICE
from benchmarks.providers.model_families import traits_of
from benchmarks.providers.model_names import split_model
from benchmarks.providers.model_test import PARALLEL, TEST_SECONDS, TEST_TIMEOUTS, ModelReport, run_model_test
from benchmarks.providers.registered_providers import make_provider
from benchmarks.providers.vendors import vendor_of
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.errors import InvalidRequest, NotPossible

CHECK_TIMEOUTS = Timeouts(connect=3.0, first_byte=5.0, whole=8.0)
QUICK_TIMEOUTS = Timeouts(connect=1.0, first_byte=2.0, whole=2.0)
"""For a form that is being filled in."""
LONGEST_MODEL = 300
LONGEST_ADDRESS = 2_000
FRESH_FOR = timedelta(minutes=1)
_KEY = re.compile(r"[\x21-\x7e]{1,500}")
"""What an HTTP header can carry."""
_SHORTEST_OF_VENDORS = 8
"""What is shorter was pasted in part; an endpoint of one's own may have any key."""


def check_providers(names: Iterable[str] | None = None, timeouts: Timeouts = CHECK_TIMEOUTS) -> list[ProviderCheck]:
    """Have each provider, by default all, list its models, all at the same time. This costs no tokens.

    Providers whose key is missing are left out, because nothing can be learned of them. Raises ``NotPossible`` for
    a provider that is not configured.
    """
    chosen = list(all_providers() if names is None else names)
    ways = {name: way for name in chosen if (way := _way_to(name, timeouts)) is not None}
    lists = asyncio.run(_lists(list(ways.values())))
    return [_store_check(name, result) for name, result in zip(ways, lists, strict=True)]


def missing_keys(models: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Field → what is wrong with the keys that requests to its models need, and what to do; each provider once."""
    field_of: dict[str, str] = {}
    for field, names in models.items():
        for name in names:
            field_of.setdefault(name.partition("/")[0], field)
    configured = providers_named(field_of)
    problems: dict[str, list[str]] = {}
    for provider, key in keys_of(list(configured)).items():
        if key.source in ("missing", "unreadable"):
            what = missing_key(configured[provider].api_key_env, key.source, on_page=sealing_allowed())
            if key.source == "missing":
                switch = f"`providers.{provider}.key_required: false` in codeforge.yaml"
                what = f"{provider} has no key. {what} If its endpoint needs none, set {switch}."
            problems.setdefault(field_of[provider], []).append(what)
    return problems


def check_if_stale(models: Iterable[str]) -> None:
    """Check the ``stale_providers`` of these models."""
    if stale := stale_providers(models):
        check_providers(stale, QUICK_TIMEOUTS)


def stale_providers(models: Iterable[str]) -> set[str]:
    """The providers of these models that were not checked within ``FRESH_FOR``. Unknown ones are ignored."""
    names = set(providers_named(model.partition("/")[0] for model in models))
    since = timezone.now() - FRESH_FOR
    fresh = set(
        ProviderCheck.objects.filter(provider__in=names, checked_at__gt=since).values_list("provider", flat=True)
    )
    return names - fresh


def run_tests(models: Sequence[str], user: Caller = None) -> list[ModelTest]:
    """Send a few tiny requests to each ``provider/model``, which cost some tokens, and store what came of them. All
    models are tested at the same time.

    Raises ``NotPossible`` if a provider is not configured or its key is missing; then nothing is sent.
    """
    ways = [_ways_to_test(model) for model in models]
    reports = asyncio.run(_reports(models, ways))
    return [_store_test(model, report, user) for model, report in zip(models, reports, strict=True)]


def _ways_to_test(model: str) -> tuple[Provider, Provider]:
    """The provider of a model, and the same for streamed requests."""
    _require_name(model)
    provider, _ = split_model(model)
    way, streaming = _way_to(provider, TEST_TIMEOUTS), _way_to(provider, TEST_TIMEOUTS, stream=True)
    if way is None or streaming is None:
        missing = missing_key(_configured(provider).api_key_env, key_of(provider).source, on_page=sealing_allowed())
        raise NotPossible(f"{provider} cannot be tested. {missing}")
    return way, streaming


def _store_test(model: str, report: ModelReport, user: Caller) -> ModelTest:
    provider, failure = split_model(model)[0], report.error
    values = {
        "provider": provider,
        "address": address_of(provider).shown,
        "tested_at": timezone.now(),
        "duration_ms": report.duration_ms,
        "error_kind": failure.kind if failure else "",
        "error": failure.message if failure else "",
        "capabilities": {capability: asdict(support) for capability, support in report.capabilities.items()},
    }
    with transaction.atomic():
        test, _ = ModelTest.objects.update_or_create(model=model, defaults=values)
        record(user, "provider.test", f"model {model}", error=failure.kind if failure else "")
    return test


def set_key(provider: str, key: str, user: Caller = None) -> None:
    """Store a provider's API key, encrypted. Raises ``NotPossible`` without ever quoting the key."""
    _require_key_variable(provider)
    key = key.strip()
    vendor = vendor_of(address_of(provider).base_url)
    if not _KEY.fullmatch(key) or (vendor and len(key) < _SHORTEST_OF_VENDORS):
        raise NotPossible("This is not an API key. Paste the key as the vendor shows it, without spaces.")
    with transaction.atomic():
        ProviderKey.objects.update_or_create(
            provider=provider, defaults={"sealed": sealed_key(provider, key), "set_by": account_of(user)}
        )
        _forget_failures(provider)
        record(user, "provider.set_key", f"provider {provider}")


def remove_key(provider: str, user: Caller = None) -> None:
    """Delete a stored key. Removing it again changes nothing."""
    _require_key_variable(provider)
    with transaction.atomic():
        if ProviderKey.objects.filter(provider=provider).delete()[0]:
            record(user, "provider.remove_key", f"provider {provider}")


def set_address(provider: str, base_url: str, user: Caller = None) -> None:
    """Store the address of a provider whose address codeforge.yaml leaves open. Workers use it from their next lease
    on. A key that was entered for another address is deleted with it.

    Raises ``NotPossible`` if the file has the address, if the URL cannot be one, and while a run asks the provider.
    """
    _require_open_address(provider)
    try:
        base_url = http_address(base_url.strip()[: LONGEST_ADDRESS + 1])
        make_provider(provider_spec(provider, None, Address("page", base_url)))
    except ValueError as error:
        raise NotPossible(str(error)) from None
    if refusal := settings.OUTBOUND.refusal(base_url):
        raise NotPossible(refusal)
    if len(base_url) > LONGEST_ADDRESS:
        raise NotPossible(f"The URL has over {LONGEST_ADDRESS:,} characters. Enter a shorter one.")
    if base_url != address_of(provider).base_url:
        with transaction.atomic():
            _forget_key(provider)
            ProviderAddress.objects.update_or_create(
                provider=provider, defaults={"base_url": base_url, "set_by": account_of(user)}
            )
            shown = address_of(provider).shown
            record(user, "provider.set_address", f"provider {provider}", address=shown)


def remove_address(provider: str, user: Caller = None) -> None:
    """Return to the file's ``default_url``, without the key that was entered. Doing it again changes nothing."""
    _require_open_address(provider)
    with transaction.atomic():
        if ProviderAddress.objects.filter(provider=provider).delete()[0]:
            _forget_key(provider)
            record(user, "provider.remove_address", f"provider {provider}")


def _require_open_address(provider: str) -> None:
    configured = _configured(provider)
    if configured.entered:
        raise NotPossible(f"{provider} is a system that was entered on the page. Edit it there.")
    if not configured.address_can_be_entered:
        raise NotPossible(f"codeforge.yaml has the address of {provider}. Change it there, or name it `default_url`.")
    if not sealing_allowed():
        raise NotPossible("Addresses cannot be entered here. Set CODEFORGE_KEYS_ON_PAGE=1, or use codeforge.yaml.")
    asks = Q(model__startswith=f"{provider}/") | Q(judge_model__contains=f"{provider}/")
    if (run := Run.objects.filter(asks, status__in=LIVE).values_list("pk", flat=True).first()) is not None:
        raise NotPossible(f"Run {run} asks {provider}. Wait until it ends, or cancel it.")


def _forget_key(provider: str) -> None:
    """A key goes only to the address for which it was entered."""
    ProviderKey.objects.filter(provider=provider).delete()


def set_price(
    model: str, input_usd: float | None, output_usd: float | None, cached_usd: float | None = None, user: Caller = None
) -> None:
    """Store the price of a ``provider/model`` in US dollars per million tokens; 0 is free. Runs count it from their
    next lease on. Raises ``InvalidRequest``, and ``NotPossible`` where codeforge.yaml has the price."""
    _require_own_price(model)
    given = {"input_per_million": input_usd, "output_per_million": output_usd, "cached_input_per_million": cached_usd}
    errors = {
        name: ["Enter US dollars per million tokens, from 0 to 1,000,000."]
        for name, usd in given.items()
        if (usd is None and name != "cached_input_per_million")
        or (usd is not None and not (math.isfinite(usd) and 0 <= usd <= HIGHEST_PRICE))
    }
    if errors:
        raise InvalidRequest(errors)
    with transaction.atomic():
        ModelPrice.objects.update_or_create(model=model, defaults={**given, "set_by": account_of(user)})
        record(user, "model.set_price", f"model {model}", **given)


def remove_price(model: str, user: Caller = None) -> None:
    """Delete a price that was entered. Removing it again changes nothing."""
    _require_name(model)
    with transaction.atomic():
        if ModelPrice.objects.filter(model=model).delete()[0]:
            record(user, "model.remove_price", f"model {model}")


def _require_own_price(model: str) -> None:
    _require_name(model)
    provider = model.partition("/")[0]
    _configured(provider)
    if prices_per_million([model])[model].source == "file":
        raise NotPossible(f"codeforge.yaml has the price of {model}. Change it there.")


def _require_name(model: str) -> None:
    """Raises ``NotPossible`` if this cannot be the name of a model."""
    try:
        provider, name = split_model(model)
    except ValueError as error:
        raise NotPossible(str(error)) from None
    if not name and not is_system(provider):
        raise NotPossible(f"{model[:60]!r} is not a valid model name. Use provider/model, for example, openai/gpt-4o.")
    if len(model) > LONGEST_MODEL or not model.isprintable():
        raise NotPossible("This is not the name of a model. Use provider/model, for example, openai/gpt-4o.")


def _require_key_variable(provider: str) -> None:
    if not sealing_allowed():
        raise NotPossible("Keys cannot be entered here. Set CODEFORGE_KEYS_ON_PAGE=1, or the provider's variable.")
    configured = _configured(provider)
    if configured.api_key_env is None:
        raise NotPossible(f"{provider} needs no key. If it does, set `api_key_env` in codeforge.yaml.")


def _configured(provider: str) -> Any:
    configured = provider_named(provider)
    if configured is None:
        raise NotPossible(f"Provider {provider} is not configured. Add it to codeforge.yaml.")
    return configured


def _forget_failures(provider: str) -> None:
    """What failed under another key says nothing about this one."""
    ProviderCheck.objects.filter(provider=provider).exclude(error_kind="").delete()
    ModelTest.objects.filter(provider=provider).exclude(error_kind="").delete()


def _way_to(name: str, timeouts: Timeouts, *, stream: bool = False) -> Provider | None:
    """The provider with its key and these timeouts; ``None`` if its key is missing."""
    if provider_named(name) is None:
        known = ", ".join(sorted(all_providers()))
        raise NotPossible(f"Provider {name} is not configured. Configured providers: {known}.")
    key = key_of(name)
    if key.source in ("missing", "unreadable"):
        return None
    spec = provider_spec(name, key.value, address_of(name))
    return make_provider(replace(spec, timeouts=timeouts, stream=stream and spec.system is None))


async def _lists(providers: list[Provider]) -> list[list[ListedModel] | ProviderError]:
    async def models(provider: Provider) -> list[ListedModel] | ProviderError:
        try:
            async with asyncio.timeout(TEST_SECONDS):
                return await provider.list_models()
        except ProviderError as error:
            return error
        except TimeoutError:
            return ProviderError("timeout", f"{provider.name}: No response within {TEST_SECONDS:g} s.")
        finally:
            await provider.close()

    return await asyncio.gather(*map(models, providers))


async def _reports(models: Sequence[str], ways: Sequence[tuple[Provider, Provider]]) -> list[ModelReport]:
    async def report(model: str, way: tuple[Provider, Provider]) -> ModelReport:
        parallel = min(limits_of(model).max_in_flight or PARALLEL, PARALLEL)
        names = traits_of(model, settings.CODEFORGE.model_families).names
        try:
            return await run_model_test(*way, split_model(model)[1], parallel, names)
        finally:
            for provider in way:
                await provider.close()

    return await asyncio.gather(*map(report, models, ways))


def _store_check(name: str, result: list[ListedModel] | ProviderError) -> ProviderCheck:
    values: dict[str, Any] = {"address": address_of(name).shown, "checked_at": timezone.now()}
    if isinstance(result, ProviderError):
        values |= {"error_kind": result.kind, "error": without_secrets(result.message, ())}
    else:
        listed = [asdict(model) for model in result]
        values |= {"error_kind": "", "error": "", "listed": listed, "listed_at": values["checked_at"]}
    check, _ = ProviderCheck.objects.update_or_create(provider=name, defaults=values)
    return check
