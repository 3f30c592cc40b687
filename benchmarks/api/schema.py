"""What the OpenAPI schema says of every operation: its refusals, the scope that a token needs, and that bodies have no
further fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.permissions import SAFE_METHODS

from benchmarks.api.access import ReadOrPermitted
from benchmarks.models import ApiToken

_DETAIL = {"type": "object", "properties": {"detail": {"type": "string"}}, "required": ["detail"]}
_PROBLEMS = {"type": "object", "additionalProperties": {}}
_REFUSALS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "400": ("Invalid", "Field or parameter → list of problems; `detail` of a body that cannot be read", _PROBLEMS),
    "401": ("UnknownToken", "The token is unknown, revoked or expired", _DETAIL),
    "403": ("Forbidden", "The caller lacks the permission", _DETAIL),
    "404": ("NotFound", "Not found", _DETAIL),
    "413": ("TooLarge", "The body exceeds 12 MB", _DETAIL),
    "415": ("OtherMediaType", "The media type of the body is not supported", _DETAIL),
}


def with_refusals(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Add the refusals that operations refer to."""
    result["components"]["responses"] = {
        name: {"description": words, "content": {"application/json": {"schema": body}}}
        for name, words, body in _REFUSALS.values()
    }
    return result


class Schema(AutoSchema):
    """That of the framework, completed."""

    def get_operation(self, *args: Any, **options: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **options)
        if operation is None:
            return None
        pages = any(parameter["name"] == "page" for parameter in operation.get("parameters", ()))
        told = {"400", "401", "403"} | ({"404"} if pages or "{" in self.path else set())
        told |= {"413", "415"} if "requestBody" in operation else set()
        refused = {status: {"$ref": f"#/components/responses/{_REFUSALS[status][0]}"} for status in told}
        own = operation["responses"]
        for status in (status for status in own if status >= "400"):
            own[status]["content"] = {"application/json": {"schema": _DETAIL}}
        operation["responses"] = dict(sorted({**refused, **own}.items()))
        return operation

    def get_description(self) -> str:  # type: ignore[override]  # as in its base class, whose base has arguments
        scope = self._scope()
        return f"{super().get_description()}\n\nA token needs the scope `{scope}`.".strip()

    def get_auth(self) -> list[dict[str, list[str]]]:
        """An empty entry where a site may let everybody read."""
        auth: list[dict[str, list[str]]] = super().get_auth()
        return [*auth, {}] if self.method in SAFE_METHODS else auth

    def _scope(self) -> str:
        rules = [rule for rule in self.view.get_permissions() if isinstance(rule, ReadOrPermitted)]
        return ApiToken.Scope.READ if self.method in SAFE_METHODS else rules[0].writing


class StrictRequestScheme(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # its subclass hook has no types
    target_class = "benchmarks.services.requests.StrictRequest"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)  # type: ignore[no-untyped-call]
        return {**schema, "additionalProperties": False}
