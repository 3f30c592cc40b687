"""The REST API of providers. Keys are neither shown nor accepted here."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
    extend_schema_view,
)
from rest_framework import serializers, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.api.views import REFUSED
from benchmarks.presentation.providers import CAPABILITY, PROVIDER_STATUS, SUPPORT
from benchmarks.queries.providers import ProviderRow, provider_row, provider_rows
from benchmarks.services import providers as services
from benchmarks.services.requests import StrictRequest, StrictText, validated_by

NOT_TESTED = OpenApiResponse(description="Why this provider cannot be tested")
NAME = OpenApiParameter("name", str, OpenApiParameter.PATH, description="Name of the provider in codeforge.yaml")


class CapabilitySerializer(serializers.Serializer[Any]):
    support = serializers.ChoiceField(choices=list(SUPPORT))
    message = serializers.CharField(help_text="What the endpoint said, if it refused or failed")


class ModelTestSerializer(serializers.Serializer[Any]):
    tested_at = serializers.DateTimeField()
    duration_ms = serializers.FloatField(allow_null=True)
    error_kind = serializers.CharField(help_text="Empty if the model answered")
    error = serializers.CharField()
    capabilities = serializers.DictField(
        child=CapabilitySerializer(), help_text=f"By name: {', '.join(CAPABILITY)}. Empty without an answer"
    )


class ProviderModelSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="As in a request for a run")
    configured = serializers.BooleanField(help_text="Whether codeforge.yaml has it under models")
    listed = serializers.BooleanField(help_text="Whether the endpoint lists it")
    judge = serializers.BooleanField(help_text="Whether it is the configured judge")
    context_length = serializers.IntegerField(allow_null=True)
    input_per_million = serializers.FloatField(allow_null=True, help_text="US dollars; null: unknown")
    cached_input_per_million = serializers.FloatField(allow_null=True, help_text="null: as other input")
    output_per_million = serializers.FloatField(allow_null=True)
    test = ModelTestSerializer(allow_null=True)


class LastRunSerializer(serializers.Serializer[Any]):
    run = serializers.IntegerField()
    at = serializers.DateTimeField(allow_null=True)
    message = serializers.CharField()


class ProviderLimitsSerializer(serializers.Serializer[Any]):
    max_in_flight = serializers.IntegerField(allow_null=True)
    requests_per_minute = serializers.IntegerField(allow_null=True)
    tokens_per_minute = serializers.IntegerField(allow_null=True)


class ProviderSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.CharField()
    address = serializers.CharField(help_text="Empty for kinds without one")
    key_variable = serializers.CharField(allow_null=True, help_text="Environment variable of the key")
    key_source = serializers.ChoiceField(choices=["not needed", "environment", "stored", "unreadable", "missing"])
    status = serializers.ChoiceField(choices=list(PROVIDER_STATUS))
    problem = serializers.CharField(help_text="Why a run would fail, and what to do. Empty if nothing is known")
    looked_at = serializers.DateTimeField(allow_null=True, help_text="Of the latest check or test")
    duration_ms = serializers.FloatField(allow_null=True, help_text="Of the latest test's answer")
    listed_at = serializers.DateTimeField(allow_null=True, help_text="When the endpoint listed its models")
    limits = ProviderLimitsSerializer()
    last_answer = LastRunSerializer(allow_null=True)
    last_errors = LastRunSerializer(allow_null=True)


class ProviderDetailSerializer(ProviderSerializer):
    models = serializers.SerializerMethodField()

    @extend_schema_field(ProviderModelSerializer(many=True))
    def get_models(self, row: ProviderRow) -> list[dict[str, Any]]:
        return list(ProviderModelSerializer((*row.models, *row.others), many=True).data)


class ModelTestRequest(StrictRequest):
    """Which model is tested."""

    model = StrictText(help_text="Name of the model, without the provider's", max_length=250)


@extend_schema_view(
    list=extend_schema(responses=ProviderSerializer(many=True)), retrieve=extend_schema(parameters=[NAME])
)
class ProviderViewSet(viewsets.ViewSet):
    """Configured providers, those with problems first."""

    lookup_field = "name"
    lookup_value_regex = "[^/]{1,100}"
    pagination_class = None

    def list(self, request: Request) -> Response:
        return Response(ProviderSerializer(provider_rows(), many=True).data)

    @extend_schema(responses=ProviderDetailSerializer)
    def retrieve(self, request: Request, name: str) -> Response:
        """A provider with its models: the configured ones, and those that its endpoint lists."""
        return Response(ProviderDetailSerializer(_row(name)).data)

    @extend_schema(request=None, responses={200: ProviderDetailSerializer}, parameters=[NAME])
    @action(detail=True, methods=["post"])
    def check(self, request: Request, name: str) -> Response:
        """Have the endpoint list its models, within 10 seconds. This costs no tokens."""
        services.check_providers([_row(name).name])
        return self.retrieve(request, name)

    @extend_schema(
        request=ModelTestRequest,
        responses={200: ProviderDetailSerializer, 400: REFUSED, 409: NOT_TESTED},
        parameters=[NAME],
    )
    @action(detail=True, methods=["post"])
    def test(self, request: Request, name: str) -> Response:
        """Send up to seven short requests to a model, within 10 seconds. They cost a few hundred tokens."""
        model = validated_by(ModelTestRequest(data=request.data))["model"]
        services.run_tests([f"{_row(name).name}/{model}"], request.user)
        return self.retrieve(request, name)


def _row(name: str) -> ProviderRow:
    row = provider_row(name)
    if row is None:
        raise NotFound(f"Provider {name} does not exist.")
    return row
