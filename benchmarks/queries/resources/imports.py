"""Imported runs and runs that are being pushed, as other programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from benchmarks.models import PushedRun
from benchmarks.queries.resources.base import Reader, Resource


@dataclass(frozen=True, kw_only=True)
class PushedRunResource(Resource):
    described_by: ClassVar = PushedRun

    id: int
    status: Literal["receiving", "closed"]
    run: int | None
    """Id of the run, once it is closed"""
    model: str
    dataset: str
    expected: int | None
    received: int
    created_at: datetime
    received_at: datetime | None

    @classmethod
    def of(cls, row: PushedRun, reader: Reader, **given: Any) -> Self:
        return super().of(row, reader, run=row.run_id, **given)


@dataclass(frozen=True, kw_only=True)
class ReceivedKeys(Resource):
    """What a push that was interrupted need not send again."""

    keys: list[str]

    @classmethod
    def of(cls, row: PushedRun, reader: Reader, **given: Any) -> Self:
        return super().of(row, reader, keys=list(row.results.order_by("pk").values_list("key", flat=True)), **given)


@dataclass(frozen=True, kw_only=True)
class ReceivedResource(Resource):
    """What was received with a batch of results."""

    received: int
    """Results of the run so far"""
    new: int
    """Of this batch"""
    repeated: int
    """Results of this batch that were received before"""

    @classmethod
    def of(cls, row: Any, reader: Reader, **given: Any) -> Self:
        return super().of(row, reader, received=row.pushed.received, **given)


@dataclass(frozen=True, kw_only=True)
class ImportedRunResource(Resource):
    run: int
    is_new: bool
    """Whether the file was not imported before"""
    model: str
    dataset: str
    unused: Sequence[str]
    """What was left out of the file, in words"""

    @classmethod
    def of(cls, row: Any, reader: Reader, **given: Any) -> Self:
        run = row.run
        return super().of(row, reader, run=run.pk, model=run.model, dataset=run.dataset.slug, **given)
