"""The REST API of providers. Keys are neither shown nor accepted here."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.api.resources import answer, reader_of, serializer_of
from benchmarks.queries.providers import ProviderRow, provider_row, provider_rows
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.providers import ProviderDetail, ProviderResource
from benchmarks.services import providers as services
from benchmarks.services.requests import StrictRequest, StrictText, validated_by

NOT_TESTED = OpenApiResponse(description="Why this provider cannot be tested")
NAME = OpenApiParameter("name", str, OpenApiParameter.PATH, description="Name of the provider in codeforge.yaml")


class ModelTestRequest(StrictRequest):
    """Which model is tested."""

    model = StrictText(help_text="Name of the model, with or without the provider's", max_length=250)


@extend_schema_view(
    list=extend_schema(responses=serializer_of(ProviderResource)(many=True)), retrieve=extend_schema(parameters=[NAME])
)
class ProviderViewSet(viewsets.ViewSet):
    """Configured providers, those with problems first."""

    lookup_field = "name"
    lookup_value_regex = "[^/]{1,100}"
    pagination_class = None

    def list(self, request: Request) -> Response:
        return Response([json_of(ProviderResource.of(row, reader_of(request))) for row in provider_rows()])

    @extend_schema(responses=serializer_of(ProviderDetail))
    def retrieve(self, request: Request, name: str) -> Response:
        """A provider with its models: the configured ones, and those that its endpoint lists."""
        return answer(request, ProviderDetail, _row(name))

    @extend_schema(request=None, responses={200: serializer_of(ProviderDetail)}, parameters=[NAME])
    @action(detail=True, methods=["post"])
    def check(self, request: Request, name: str) -> Response:
        """Have the endpoint list its models, within 10 seconds. This costs no tokens."""
        services.check_providers([_row(name).name])
        return self.retrieve(request, name)

    @extend_schema(
        request=ModelTestRequest,
        responses={200: serializer_of(ProviderDetail), 409: NOT_TESTED},
        parameters=[NAME],
    )
    @action(detail=True, methods=["post"])
    def test(self, request: Request, name: str) -> Response:
        """Send up to seven short requests to a model, within 10 seconds. They cost a few hundred tokens."""
        model = validated_by(ModelTestRequest(data=request.data))["model"]
        services.run_tests([_row(name).model_named(model)], request.user)
        return self.retrieve(request, name)


def _row(name: str) -> ProviderRow:
    row = provider_row(name)
    if row is None:
        raise NotFound(f"Provider {name} does not exist.")
    return row
