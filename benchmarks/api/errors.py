"""Turn the exceptions of services and queries, and bodies that cannot be read, into responses of the API."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404
from rest_framework import status
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.response import Response
from rest_framework.views import exception_handler

from benchmarks.services.errors import InvalidRequest, NotPossible


def handle(error: Exception, context: dict[str, object]) -> Response | None:
    """400 with the messages of each field, 409 for an action that is not possible now, 404 for a missing object."""
    if isinstance(error, InvalidRequest):
        return Response(error.errors, status=status.HTTP_400_BAD_REQUEST)
    if isinstance(error, NotPossible):
        return Response({"detail": error.message}, status=status.HTTP_409_CONFLICT)
    return exception_handler(Http404() if isinstance(error, ObjectDoesNotExist) else error, context)


class BoundedJSONParser(JSONParser):
    """Refuses a body that exceeds Python's recursion limit, which the framework reports as a server error."""

    def parse(self, *args: Any, **options: Any) -> Any:
        try:
            return super().parse(*args, **options)
        except RecursionError:
            raise ParseError("JSON parse error: the body is nested too deeply") from None
