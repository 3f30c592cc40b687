"""Serializers of responses, made of their dataclasses: fields from the types, help texts from the docstrings; and what
the viewsets of resources share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, is_typeddict

from django.db.models import Model, TextChoices
from drf_spectacular.utils import OpenApiResponse
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.queries.resources.base import Reader, Resource, Url, fields_of, json_of
from benchmarks.services.access import may_see_reviewers
from benchmarks.services.labels import reviewer_name

NOT_NOW = OpenApiResponse(description="Why this is not possible in the present state of the run")
ROOT = "/api/v1/benchmarks"

Field = serializers.Field[Any, Any, Any, Any]
_PLAIN: dict[Any, Callable[..., Field]] = {
    **{str: serializers.CharField, Url: serializers.URLField, bool: serializers.BooleanField},
    **{int: serializers.IntegerField, float: serializers.FloatField, datetime: serializers.DateTimeField},
    **{Any: serializers.JSONField, object: serializers.JSONField},
}


_MADE: dict[type, type[ResourceSerializer]] = {}


def reader_of(request: Request) -> Reader:
    user = request.user
    return Reader(request.build_absolute_uri("/").rstrip("/"), reviewer_name(user), may_see_reviewers(user))


class ResourceSerializer(serializers.Serializer[Any]):
    # Represents a row by its response. No docstring, because the schema would describe every response by it.
    response: ClassVar[type]

    def to_representation(self, instance: Any) -> dict[str, object]:
        if issubclass(self.response, Resource):
            instance = self.response.of(instance, reader_of(self.context["request"]))
        return dict(json_of(instance))


def serializer_of(response: type) -> type[ResourceSerializer]:
    """The serializer of a dataclass or ``TypedDict``, one for each, as the schema wants."""
    if response not in _MADE:
        _MADE[response] = _serializer(response)
    return _MADE[response]


def _serializer(response: type) -> type[ResourceSerializer]:
    """Of the name of the response without the ending ``Resource``, and with its docstring."""
    made = {each.name: _field(each.type, required=each.required, help_text=each.text) for each in fields_of(response)}
    text = response.__dict__.get("__doc__") or ""
    about = {"__doc__": "" if text.startswith(f"{response.__name__}(") else text, "__module__": response.__module__}
    name = f"{response.__name__.removesuffix('Resource')}Serializer"
    return type(name, (ResourceSerializer,), {**about, "response": response, **made})


def _field(kind: Any, **options: Any) -> Field:
    options = {name: value for name, value in options.items() if value != ""}
    if get_origin(kind) in (Union, UnionType):
        kinds = [each for each in get_args(kind) if each not in (NoneType, Literal[""])]
        marks = {"allow_null": NoneType in get_args(kind), "allow_blank": Literal[""] in get_args(kind)}
        return _field(kinds[0], **options, **{name: True for name, given in marks.items() if given})
    if is_dataclass(kind) or is_typeddict(kind):
        return serializer_of(kind)(**options)
    if get_origin(kind) is Literal:
        return serializers.ChoiceField(choices=get_args(kind), **options)
    if isinstance(kind, type) and issubclass(kind, TextChoices):
        return serializers.ChoiceField(choices=kind.choices, **options)
    if get_origin(kind) in (list, tuple, dict, Mapping, Sequence):
        return _collection(get_origin(kind), get_args(kind), options)
    return _PLAIN[kind](**options)


def _collection(kind: Any, inner: tuple[Any, ...], options: dict[str, Any]) -> Field:
    if kind in (dict, Mapping):
        return serializers.DictField(**options if inner[1] in (Any, object) else {**options, "child": _field(inner[1])})
    if is_dataclass(inner[0]) or is_typeddict(inner[0]):
        return serializer_of(inner[0])(many=True, **options)
    if kind is tuple:
        options |= {"min_length": len(inner), "max_length": len(inner)}
    if inner[0] not in (Any, object):
        options["child"] = _field(inner[0])
    return serializers.ListField(**options)


def answer(request: Request, response: type[Resource], row: Any, status: int = status.HTTP_200_OK) -> Response:
    return Response(json_of(response.of(row, reader_of(request))), status=status)


def created(
    request: Request, path: str, response: type[Resource], row: Any, status: int = status.HTTP_201_CREATED, **given: Any
) -> Response:
    """A new object, and its address in ``Location``."""
    return located(request, path, json_of(response.of(row, reader_of(request), **given)), status)


def located(request: Request, path: str, data: Any, status: int = status.HTTP_201_CREATED) -> Response:
    return Response(data, status=status, headers={"Location": request.build_absolute_uri(f"{ROOT}/{path}")})


M = TypeVar("M", bound=Model)


class ResourceViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[M]):
    """Lists a resource as ``listed``, and shows one as ``shown``."""

    listed: ClassVar[type[Resource]]
    shown: ClassVar[type[Resource]]
    lookup_value_regex = "[0-9]{1,18}"

    def get_serializer_class(self) -> type[ResourceSerializer]:
        return serializer_of(self.shown if self.action == "retrieve" else self.listed)
