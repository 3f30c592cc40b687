"""Logs without secrets: one JSON object per line in production, plain lines in development."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from benchmarks.providers.clean_text import without_secrets
from benchmarks.services import origin

_SECRET_NAME = re.compile(r"KEY|SECRET|PASSWORD|TOKEN|OTLP_.*HEADERS", re.IGNORECASE)
_SHORTEST_UNLISTED = 6
"""Shorter values of variables that only sound secret are switches, such as ``CODEFORGE_KEYS_ON_PAGE=1``."""
_NAMED = re.compile(r"\b(run|result)s?[ /](\d{1,18})\b")


class LineFormatter(logging.Formatter):
    """A record as a plain line, with its traceback below."""

    def __init__(self, environ: Mapping[str, str] = os.environ, secret_variables: Iterable[str] = ()) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self.secrets = tuple(secrets_of(environ, secret_variables))

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record), self.secrets)


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON: time, level, logger, message, request id, and the run and result it names."""

    def __init__(self, environ: Mapping[str, str] = os.environ, secret_variables: Iterable[str] = ()) -> None:
        super().__init__()
        self.secrets = tuple(secrets_of(environ, secret_variables))

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": self._clean(message),
        }
        if current := origin.request_id.get():
            line["request_id"] = current
        line |= {name: int(number) for name, number in _NAMED.findall(message)}
        line |= {name: self._clean(value) for name, value in getattr(record, "fields", {}).items()}
        if record.exc_info:
            line["exception"] = self._clean(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)

    def _clean(self, value: Any) -> Any:
        return without_secrets(value, self.secrets) if isinstance(value, str) else value


def secrets_of(environ: Mapping[str, str], secret_variables: Iterable[str] = ()) -> Iterable[str]:
    """The values of variables that are named like secrets or listed as such, and the passwords in URLs."""
    listed = frozenset(secret_variables)
    for name, value in environ.items():
        if name in listed or (_SECRET_NAME.search(name) and len(value) >= _SHORTEST_UNLISTED):
            yield value
        elif "://" in value and (password := _password_in(value)):
            yield password
            yield unquote(password)


def _password_in(address: str) -> str | None:
    try:
        return urlsplit(address).password
    except ValueError:
        return None


def logging_config(*, as_json: bool, level: str, secret_variables: Iterable[str] = ()) -> dict[str, Any]:
    """Django's ``LOGGING``: JSON with a line for every request in production, plain lines in development.

    ``secret_variables`` are the environment variables that hold a secret although their names do not show it.
    """
    secret = {"secret_variables": tuple(secret_variables)}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"()": "codeforge.logs.LineFormatter", **secret},
            "json": {"()": "codeforge.logs.JsonFormatter", **secret},
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json" if as_json else "line"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "codeforge.requests": {"level": "INFO" if as_json else "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "kombu.connection": {"level": "ERROR"},  # it warns that the filesystem transport has no host name
            "axes": {"level": "WARNING"},
            "waitress": {"level": "ERROR"},  # it warns whenever a request waits for a thread
        },
    }
