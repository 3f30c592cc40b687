"""What the API has, for whoever looks at its first address."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.queries.resources.base import Resource, Url


@dataclass(frozen=True, kw_only=True)
class Entry(Resource):
    name: str
    url: Url
    methods: list[str]
    about: str


@dataclass(frozen=True, kw_only=True)
class ApiRootResource(Resource):
    documentation: Url
    """Every path, parameter and field, to read"""
    openapi: Url
    """The same as an OpenAPI 3 document"""
    resources: list[Entry]
    """Addresses without parameters; parts of a resource are below them"""
