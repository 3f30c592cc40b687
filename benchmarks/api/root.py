"""The first address of the API: what there is, and where it is described."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.resources import ROOT, serializer_of
from benchmarks.presentation.sentences import first_sentence
from benchmarks.queries.resources.api_root import ApiRootResource, Entry
from benchmarks.queries.resources.base import Url, json_of

_OF_LISTS = {"list": "GET", "create": "POST"}


class ApiRoot(APIView):
    """What the API has, each with its address."""

    views: ClassVar[Mapping[str, type[APIView]]] = MappingProxyType({})
    """Route below ``ROOT`` → its view."""

    @extend_schema(responses=serializer_of(ApiRootResource))
    def get(self, request: Request) -> Response:
        resources = [
            Entry(
                name=route,
                url=Url(request.build_absolute_uri(f"{ROOT}/{route}")),
                methods=_methods(view),
                about=_about(view),
            )
            for route, view in self.views.items()
        ]
        documentation, openapi = (Url(request.build_absolute_uri(reverse(name))) for name in ("docs", "schema"))
        found = ApiRootResource(documentation=documentation, openapi=openapi, resources=resources)
        return Response(json_of(found))


def _methods(view: type[APIView]) -> list[str]:
    own = [name.upper() for name in ("get", "post") if hasattr(view, name)]
    return own or [method for action, method in _OF_LISTS.items() if hasattr(view, action)]


def _about(view: type[APIView]) -> str:
    """The first sentence of what the view says of itself, or of its one method."""
    said = vars(view).get("__doc__") or inspect.getdoc(getattr(view, _methods(view)[0].lower())) or ""
    return first_sentence(" ".join(said.partition("\n\n")[0].split()))
