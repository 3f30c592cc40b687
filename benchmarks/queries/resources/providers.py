"""Providers and their models, as other programs read them. Keys are not shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Self, TypedDict

from benchmarks.engine.addresses import AddressSource
from benchmarks.engine.prices import PriceSource
from benchmarks.engine.provider_keys import KeySource
from benchmarks.presentation.providers import CAPABILITY
from benchmarks.providers.systems.trial import Trial
from benchmarks.queries.providers import ModelRow, ProviderRow, Status
from benchmarks.queries.resources.base import Reader, Resource
from benchmarks.queries.resources.runs import ToolCall

Support = Literal["yes", "ignored", "refused", "unknown"]


class Capability(TypedDict):
    support: Support
    message: str
    """What the endpoint said, if it refused or failed"""


@dataclass(frozen=True, kw_only=True)
class ModelTest(Resource):
    tested_at: datetime
    duration_ms: float | None
    error_kind: str
    """Empty if the model answered"""
    error: str
    capabilities: dict[str, Capability] = field(
        metadata={"text": f"By name: {', '.join(CAPABILITY)}. Empty without an answer"}
    )


@dataclass(frozen=True, kw_only=True)
class ProviderModel(Resource):
    name: str
    """As in a request for a run"""
    configured: bool
    """Whether codeforge.yaml has it under models"""
    listed: bool
    """Whether the endpoint lists it"""
    judge: bool
    """Whether it is the configured judge"""
    context_length: int | None
    input_per_million: float | None
    """US dollars; null: unknown"""
    cached_input_per_million: float | None
    """null: as other input"""
    output_per_million: float | None
    price_source: PriceSource
    """file: codeforge.yaml, which wins; page: entered on the page; endpoint: its list; litellm: the installed table"""
    price_listed_by: str
    """The provider, or LiteLLM with its version; empty for your own prices"""
    price_listed_at: datetime | None
    """When the endpoint listed it, or LiteLLM was installed"""
    test: ModelTest | None

    @classmethod
    def of(cls, row: ModelRow, reader: Reader, **given: Any) -> Self:
        return super().of(row, reader, test=row.test and ModelTest.of(row.test, reader), **given)


@dataclass(frozen=True, kw_only=True)
class LastRun(Resource):
    run: int
    at: datetime | None
    message: str


@dataclass(frozen=True, kw_only=True)
class ProviderLimits(Resource):
    max_in_flight: int | None
    requests_per_minute: int | None
    tokens_per_minute: int | None


@dataclass(frozen=True, kw_only=True)
class ProviderResource(Resource):
    name: str
    kind: str
    address: str
    """Empty for kinds without one"""
    address_source: AddressSource
    """file: codeforge.yaml, which wins; page: entered on the page; default: the file's `default_url`"""
    entered: bool
    """Whether it is a system that was entered on the page or by command"""
    key_variable: str | None
    """Environment variable of the key"""
    key_source: KeySource
    status: Status
    problem: str
    """Why a run would fail, and what to do. Empty if nothing is known"""
    looked_at: datetime | None
    """Of the latest check or test"""
    duration_ms: float | None
    """Of the latest test's answer"""
    listed_at: datetime | None
    """When the endpoint listed its models"""
    limits: ProviderLimits
    last_answer: LastRun | None
    last_errors: LastRun | None

    @classmethod
    def of(cls, row: ProviderRow, reader: Reader, **given: Any) -> Self:
        last = {name: getattr(row, name) for name in ("last_answer", "last_errors")}
        return super().of(
            row,
            reader,
            limits=ProviderLimits.of(row.limits, reader),
            **{name: each and LastRun.of(each, reader) for name, each in last.items()},
            **given,
        )


@dataclass(frozen=True, kw_only=True)
class ProviderDetail(ProviderResource):
    models: list[ProviderModel]

    @classmethod
    def of(cls, row: ProviderRow, reader: Reader, **given: Any) -> Self:
        models = [ProviderModel.of(each, reader) for each in (*row.models, *row.others)]
        return super().of(row, reader, models=models, **given)


@dataclass(frozen=True, kw_only=True)
class SystemTrialResource(Resource):
    method: str
    url: str
    """Without the part of its query that may hold a secret"""
    body: str
    """As it was sent"""
    status: int | None
    """Of HTTP; null without a response"""
    documents: list[Any]
    """The reply's JSON, or that of each server-sent event"""
    text: str
    """What of the reply is not JSON"""
    is_stream: bool
    error: str
    """Why a run could not read an answer; empty if it could"""
    answer: str | None
    """What a run would read"""
    retrieved: list[str] | None
    tool_calls: list[ToolCall]
    steps: int
    """How many the reply has"""
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None

    @classmethod
    def of(cls, row: Trial, reader: Reader, **given: Any) -> Self:
        reply = row.reply
        return super().of(
            row,
            reader,
            answer=reply and reply.text,
            retrieved=None if reply is None or reply.retrieved is None else [*reply.retrieved],
            tool_calls=[
                ToolCall(name=call.name, arguments=call.arguments, raw=call.raw_arguments, malformed=call.malformed)
                for call in (reply.tool_calls if reply else ())
            ],
            steps=len(reply.steps) if reply else 0,
            **{name: reply and getattr(reply, name) for name in ("tokens_in", "tokens_out", "cost_usd")},
            **given,
        )
