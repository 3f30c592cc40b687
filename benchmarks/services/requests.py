"""What requests for runs, canvas sets and calibrations have in common: strict fields, and errors by field."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from rest_framework import serializers

from benchmarks.services.errors import InvalidRequest

_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class StrictBoolean(serializers.BooleanField):
    """True or false, or the strings that a form sends; no other numbers and words."""

    TRUE_VALUES = {True, "true", "True", "on", "1"}  # noqa: RUF012 - declared like this by the base class
    FALSE_VALUES = {False, "false", "False", "off", "0", ""}  # noqa: RUF012 - as above


class StrictText(serializers.CharField):
    """A string; numbers are not converted."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictNumber(serializers.FloatField):
    """A number; true and false are not converted."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool):
            self.fail("invalid")
        try:
            return super().to_internal_value(data)
        except OverflowError:  # an integer that no float can hold
            self.fail("invalid")


class StrictInteger(serializers.IntegerField):
    """A whole number; true and false are not converted."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictRequest(serializers.Serializer[Any]):
    """A request without unknown fields."""

    def to_internal_value(self, data: Any) -> Any:
        """Validate each field by itself; report unknown fields together with the errors of known ones."""
        known = ", ".join(self.fields)
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, Mapping) else []
        errors: dict[str, Any] = {str(name): [f"Unknown field. Valid fields: {known}."] for name in unknown}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**errors, **cast("dict[str, Any]", error.detail)}) from None
        if errors:
            raise serializers.ValidationError(errors)
        return values


class Tags(serializers.ListField):
    """Words by which runs and experiments are found; each at most once."""

    child = StrictText(max_length=40)

    def __init__(self, **given: Any) -> None:
        super().__init__(max_length=20, **given)

    def to_internal_value(self, data: Any) -> list[str]:
        return list(dict.fromkeys(super().to_internal_value(data)))


def validated_by(request: serializers.Serializer[Any]) -> dict[str, Any]:
    """The values of a request. Raises ``InvalidRequest`` with the messages of each field."""
    if not request.is_valid():
        raise InvalidRequest({name: list(_flat(messages)) for name, messages in request.errors.items()})
    return dict(request.validated_data)


def check_idempotency_key(key: str) -> None:
    """Raises ``InvalidRequest`` for a key that cannot be one."""
    if not _KEY.fullmatch(key):
        raise InvalidRequest({"Idempotency-Key": ["Send 1 to 200 printable ASCII characters, such as a UUID."]})


def fingerprint(data: Any) -> str:
    """SHA-256 of what was sent, in hexadecimal."""
    # Not orjson, which refuses integers of more than 64 bits.
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _flat(messages: Any) -> Iterable[str]:
    if isinstance(messages, Mapping):
        for place, inner in messages.items():
            yield from (f"Item {int(place) + 1}: {message}" for message in _flat(inner))
    elif isinstance(messages, list | tuple):
        for message in messages:
            yield from _flat(message)
    else:
        yield str(messages)
