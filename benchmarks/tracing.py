"""OpenTelemetry spans, where somebody takes them: otherwise nothing is imported, made or measured.

Attributes hold ids, names, numbers and kinds of errors: never a prompt, an answer, a key, an address or the message of
an error, which may quote any of them. The tracer is our own and not the process's global one, so that libraries which
write prompts into spans have nobody to send them to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

Attribute = str | int | float | bool


class NoSpan:
    """Stands in for a span that nobody takes."""

    def set(self, **attributes: Attribute | None) -> None: ...

    def failed(self, kind: str) -> None: ...


class Span:
    """One piece of work under way. Attributes are named with ``__`` for a dot; ``None`` is left out."""

    def __init__(self, recorded: Any) -> None:
        self._recorded = recorded

    def set(self, **attributes: Attribute | None) -> None:
        self._recorded.set_attributes(_named(attributes))

    def failed(self, kind: str) -> None:
        """It went wrong, in one word."""
        from opentelemetry.trace import Status, StatusCode

        self._recorded.set_attribute("error.type", kind)
        self._recorded.set_status(Status(StatusCode.ERROR))


_NOTHING: AbstractContextManager[Span | NoSpan] = nullcontext(NoSpan())
_tracer: Any = None


def take_spans(provider: Any) -> None:
    """Make spans with this OpenTelemetry ``TracerProvider`` from now on; ``None`` makes none any more."""
    global _tracer  # noqa: PLW0603 - one switch for the process, set at its start
    _tracer = None if provider is None else provider.get_tracer("codeforge")


def span(name: str, **attributes: Attribute | None) -> AbstractContextManager[Span | NoSpan]:
    """A span around a block, inside the one that surrounds it.

    An exception that leaves the block is noted by its class.
    """
    return _NOTHING if _tracer is None else _recorded(name, attributes)


def carried() -> dict[str, str]:
    """Headers that take the current span to another process; none where there is no span."""
    headers: dict[str, str] = {}
    if _tracer is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
    return headers


def within(headers: Mapping[str, str]) -> AbstractContextManager[object]:
    """Spans of the block lie inside the span that the ``headers`` carry, if they carry one."""
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
def _recorded(name: str, attributes: Mapping[str, Attribute | None]) -> Iterator[Span]:
    quiet = {"record_exception": False, "set_status_on_exception": False}  # its message may quote anything
    with _tracer.start_as_current_span(name, attributes=_named(attributes), **quiet) as recorded:
        found = Span(recorded)
        try:
            yield found
        except BaseException as error:
            found.failed(type(error).__name__)
            raise


def _named(attributes: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    return {name.replace("__", "."): value for name, value in attributes.items() if value is not None}
