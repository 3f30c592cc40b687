"""OpenTelemetry spans, if a collector is configured; otherwise nothing is imported, created or measured.

Attributes hold IDs, names, numbers, hosts and kinds of errors: never a prompt, an answer, a key, a URL or the message
of an error, which may quote any of them. The tracer is our own and not the process's global one, so that libraries
which write prompts into spans send them nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal

Attribute = str | int | float | bool | Sequence[str]
Kind = Literal["CLIENT", "INTERNAL", "SERVER"]


class NoSpan:
    """Replaces a span when there is no collector."""

    def set(self, **attributes: Attribute | None) -> None: ...

    def failed(self, kind: str) -> None: ...


class Span(NoSpan):
    """A piece of work in progress. Attribute names have ``__`` for a dot; ``None`` is left out."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def set(self, **attributes: Attribute | None) -> None:
        self._span.set_attributes(_named(attributes))

    def failed(self, kind: str) -> None:
        """Mark the work as failed, with the kind of error in one word."""
        from opentelemetry.trace import Status, StatusCode

        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR))


_NOTHING: AbstractContextManager[NoSpan] = nullcontext(NoSpan())
_tracer: Any = None


def take_spans(provider: Any) -> None:
    """Create spans with this OpenTelemetry ``TracerProvider`` from now on; none with ``None``."""
    global _tracer  # noqa: PLW0603 - one switch for the process, set at its start
    _tracer = None if provider is None else provider.get_tracer("codeforge")


def span(name: str, kind: Kind = "INTERNAL", **attributes: Attribute | None) -> AbstractContextManager[NoSpan]:
    """A span around a block, inside the surrounding one. It records the class of an exception that leaves the block."""
    return _NOTHING if _tracer is None else _span(name, kind, attributes)


def trace_headers() -> dict[str, str]:
    """Headers that take the current span to another process; empty without a span."""
    headers: dict[str, str] = {}
    if _tracer is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
    return headers


def within(headers: Mapping[str, str]) -> AbstractContextManager[object]:
    """Put the spans of a block inside the span that the headers carry, if they carry one."""
    return _NOTHING if _tracer is None else _within(headers)


@contextmanager
def _within(headers: Mapping[str, str]) -> Iterator[None]:
    from opentelemetry.context import attach, detach
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    token = attach(TraceContextTextMapPropagator().extract(headers))
    try:
        yield
    finally:
        detach(token)


@contextmanager
def _span(name: str, kind: Kind, attributes: Mapping[str, Attribute | None]) -> Iterator[Span]:
    from opentelemetry.trace import SpanKind

    # Both off, because the message of an exception may quote anything.
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with _tracer.start_as_current_span(name, kind=SpanKind[kind], attributes=_named(attributes), **quiet) as current:
        wrapped = Span(current)
        try:
            yield wrapped
        except BaseException as error:
            wrapped.failed(type(error).__name__)
            raise


def _named(attributes: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    return {name.replace("__", "."): value for name, value in attributes.items() if value is not None}
