"""Reading the bodies of requests."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class BoundedJSONParser(JSONParser):
    """The framework's, which lets a body that nests deeper than Python goes become a server error."""

    def parse(self, *args: Any, **options: Any) -> Any:
        try:
            return super().parse(*args, **options)
        except RecursionError:
            raise ParseError("JSON parse error - it is nested too deeply") from None
