"""The REST API of preference runs. A preference run is a run, so its id is a run's."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.api import filters
from benchmarks.api.judges import JudgingViewSet
from benchmarks.api.resources import NOT_NOW, answer, created, serializer_of
from benchmarks.queries.preferences import preferences
from benchmarks.queries.resources.judges import PreferenceDetail, PreferenceResource
from benchmarks.queries.resources.plans import Plan
from benchmarks.services import preferences as services
from benchmarks.services.preferences import PreferenceRequest

PreferenceSerializer = serializer_of(PreferenceResource)


@extend_schema_view(
    cancel=extend_schema(responses={200: PreferenceSerializer, 409: NOT_NOW}),
    resume=extend_schema(responses={200: PreferenceSerializer, 409: NOT_NOW}),
)
class PreferenceViewSet(JudgingViewSet):
    """Preference runs, newest first."""

    listed, shown = PreferenceResource, PreferenceDetail
    filterset_class = filters.PreferenceFilter
    runs = staticmethod(preferences)

    @extend_schema(request=PreferenceRequest, responses={201: PreferenceSerializer})
    def create(self, request: Request) -> Response:
        """Have a judge choose between the stored answers of runs. The run is queued for a worker."""
        run = services.start_preference(request.data, request.user)
        return created(request, f"preferences/{run.pk}", PreferenceResource, run)

    @extend_schema(request=PreferenceRequest, responses={200: serializer_of(Plan)})
    @action(detail=False, methods=["post"])
    def plan(self, request: Request) -> Response:
        """Estimate the judge's requests, tokens, cost and duration. Sends nothing."""
        return answer(request, Plan, services.plan_preference(request.data))
