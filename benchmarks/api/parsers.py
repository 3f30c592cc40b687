"""Parsers of request bodies."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class BoundedJSONParser(JSONParser):
    """Refuses a body that exceeds Python's recursion limit, which the framework reports as a server error."""

    def parse(self, *args: Any, **options: Any) -> Any:
        try:
            return super().parse(*args, **options)
        except RecursionError:
            raise ParseError("JSON parse error: the body is nested too deeply") from None
