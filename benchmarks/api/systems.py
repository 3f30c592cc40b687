"""The REST API of systems under test that are entered here. They are read as providers, without headers."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status, viewsets
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.access import ReadOrEnter
from benchmarks.api.resources import answer, created, serializer_of
from benchmarks.queries.providers import provider_row
from benchmarks.queries.resources.providers import ProviderDetail, SystemTrialResource
from benchmarks.services import systems as services
from benchmarks.services.errors import NotPossible
from benchmarks.services.requests import validated_by
from benchmarks.services.systems import NewSystemRequest, SystemRequest, SystemTrialRequest

NAME = OpenApiParameter("name", str, OpenApiParameter.PATH, description="Name of the system")
NOT_NOW = OpenApiResponse(description="Why this is not possible, such as a run that asks the system")


class SystemViewSet(viewsets.ViewSet):
    """Systems under test behind a route, beside those of codeforge.yaml."""

    permission_classes = (ReadOrEnter,)
    lookup_field = "name"
    lookup_value_regex = "[a-z0-9_-]{1,60}"

    @extend_schema(request=NewSystemRequest, responses={201: serializer_of(ProviderDetail), 409: NOT_NOW})
    def create(self, request: Request) -> Response:
        """Enter a system. Its headers, and keys in its URL, are stored encrypted and never shown."""
        values = validated_by(NewSystemRequest(data=request.data))
        name = values.pop("name")
        services.save_system(name, values, request.user)
        return created(request, f"providers/{name}", ProviderDetail, provider_row(name))

    @extend_schema(
        request=SystemRequest, responses={200: serializer_of(ProviderDetail), 409: NOT_NOW}, parameters=[NAME]
    )
    def update(self, request: Request, name: str) -> Response:
        """Change how a system is asked. Headers with an empty value keep the stored one."""
        _require_entered(name)
        services.save_system(name, request.data, request.user, replacing=True)
        return answer(request, ProviderDetail, provider_row(name))

    @extend_schema(responses={204: None, 409: NOT_NOW}, parameters=[NAME])
    def destroy(self, request: Request, name: str) -> Response:
        """Delete a system with its headers. Its runs stay, and cannot be continued."""
        _require_entered(name)
        services.delete_system(name, request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SystemTrialView(APIView):
    """One task sent to a system, which need not be stored yet."""

    permission_classes = (ReadOrEnter,)

    @extend_schema(request=SystemTrialRequest, responses={200: serializer_of(SystemTrialResource), 409: NOT_NOW})
    def post(self, request: Request) -> Response:
        """Send one question, and see the reply and what a run would read from it. Nothing is stored."""
        values = validated_by(SystemTrialRequest(data=request.data))
        question, name = values.pop("question"), values.pop("system")
        return answer(request, SystemTrialResource, services.try_system(values, question, name))


def _require_entered(name: str) -> None:
    try:
        services.entered_system(name)
    except NotPossible as refusal:
        raise NotFound(refusal.message) from None
