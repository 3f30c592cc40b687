"""What calibrations and preference runs share in the REST API: they are runs in which only a judge is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.api.resources import NOT_NOW, ResourceViewSet
from benchmarks.models import Run
from benchmarks.services.runs import control


class JudgingViewSet(ResourceViewSet[Run]):
    """Read, cancel, resume and delete. ``runs`` returns the runs for a list."""

    queryset = Run.objects.none()
    runs: ClassVar[Callable[[], QuerySet[Run]]]

    def get_queryset(self) -> QuerySet[Run]:
        return type(self).runs().defer(*(() if self.action == "retrieve" else ("summary",)))

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a run that is not live, with its verdicts."""
        control.delete_run(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Send nothing more to the judge. Its verdicts are kept."""
        control.cancel_run(self.get_object(), request.user)
        return self.retrieve(request, pk)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Judge what has no verdict yet in a canceled, failed or incomplete run."""
        control.resume_judging(self.get_object(), request.user)
        return self.retrieve(request, pk)
