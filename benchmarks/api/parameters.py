"""Refuses query parameters that an address does not have, as unknown fields of a body are refused."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from rest_framework.exceptions import ValidationError
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

if TYPE_CHECKING:
    from rest_framework.views import APIView


class KnownParameters(BasePermission):
    """The last of the permissions, so that whoever may not use an address learns nothing of it. Raises
    ``ValidationError`` that names the parameter and what the address has instead.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.query_params and (known := _parameters(request.path, (request.method or "").lower())) is not None:
            unknown = [name for name in request.query_params if name not in known]
            if unknown:
                has = f"This address has {', '.join(known)}." if known else "This address has none."
                raise ValidationError({name: [f"Unknown parameter. {has}"] for name in unknown})
        return True


def _parameters(path: str, method: str) -> list[str] | None:
    """The query parameters of an operation; ``None`` if the schema does not have it."""
    for address, operations in _operations():
        if address.fullmatch(path) and method in operations:
            return operations[method]
    return None


@cache
def _operations() -> list[tuple[re.Pattern[str], dict[str, list[str]]]]:
    """The addresses of the schema with the query parameters of each method; those with fewest variables first."""
    # The framework reads its settings, and with them this module, while its views are imported.
    from drf_spectacular.generators import SchemaGenerator

    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    paths: dict[str, dict[str, Any]] = generator.get_schema(request=None, public=True)["paths"]  # type: ignore[no-untyped-call]
    operations = []
    for path in sorted(paths, key=lambda path: path.count("{")):
        methods = {
            method: sorted(entry["name"] for entry in operation.get("parameters", ()) if entry["in"] == "query")
            for method, operation in paths[path].items()
        }
        operations.append((re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "/?"), methods))
    return operations
