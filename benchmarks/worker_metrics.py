"""Counters of what this worker sends and spends, for Prometheus; it serves them if it is told an address.

A restart begins at 0, as Prometheus expects of counters. Labels are names of providers and models and kinds of errors,
so their number is bounded by the configuration.
"""

from __future__ import annotations

import logging
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server

logger = logging.getLogger(__name__)

REGISTRY = CollectorRegistry()
MODEL = ("provider", "model")
# From an answer out of a vendor's cache to the longest thinking.
SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640)

_requests = Counter("codeforge_requests", "Attempts at requests to models", (*MODEL, "outcome"), registry=REGISTRY)
_seconds = Histogram(
    "codeforge_request_seconds", "Duration of answered attempts", MODEL, buckets=SECONDS, registry=REGISTRY
)
_tokens = Counter("codeforge_tokens", "Tokens that endpoints reported", (*MODEL, "direction"), registry=REGISTRY)
_cost = Counter("codeforge_cost_usd", "Known cost, with judging", MODEL, registry=REGISTRY)


# A look at the labels takes as long as counting does, and every answer is counted four times.
_requests_of, _seconds_of, _tokens_of = cache(_requests.labels), cache(_seconds.labels), cache(_tokens.labels)


def count_answer(provider: str, model: str, seconds: float, tokens_in: int | None, tokens_out: int | None) -> None:
    _requests_of(provider, model, "answered").inc()
    _seconds_of(provider, model).observe(seconds)
    for direction, tokens in (("in", tokens_in), ("out", tokens_out)):
        if tokens is not None:
            _tokens_of(provider, model, direction).inc(tokens)


def count_error(provider: str, model: str, kind: str) -> None:
    """``kind`` is an ``ErrorKind``."""
    _requests_of(provider, model, kind).inc()


def count_cost(model: str, usd: float | None) -> None:
    """``model`` is ``provider/model``; an unknown cost is not counted."""
    if usd:
        provider, _, name = model.partition("/")
        _cost.labels(provider, name).inc(usd)


def serve(host: str, port: int) -> None:
    """Serve the counters on a thread. If the address is not free, log that and serve nothing: the work goes on."""
    try:
        start_http_server(port, host, REGISTRY)
    except OSError as error:
        logger.error("this worker serves no counters: %s:%s: %s", host, port, error.strerror)
