"""The REST API of canvas sets: the list, each canvas with its questions, and the generation of more."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.api import filters
from benchmarks.api.access import ReadOrEdit
from benchmarks.api.pagination import Pages
from benchmarks.api.parameters import KnownParameters
from benchmarks.api.resources import NOT_NOW, ResourceViewSet, created, serializer_of
from benchmarks.queries.canvas_sets import canvas_sets, canvases_of
from benchmarks.queries.resources.canvas_sets import CanvasResource, CanvasSetDetail, CanvasSetResource
from benchmarks.services.canvas_sets.control import CanvasSetRequest, delete_canvas_set, request_canvas_set
from tasks_app.models import Canvas, CanvasSet

SLUG = "[-a-zA-Z0-9_]{1,100}"


class CanvasPages(Pages):
    page_size = 20
    max_page_size = 100


class CanvasSetViewSet(ResourceViewSet[CanvasSet]):
    """Canvas sets, newest first. Each is a dataset: a run names its slug."""

    queryset = canvas_sets()
    listed, shown = CanvasSetResource, CanvasSetDetail
    permission_classes = (ReadOrEdit, KnownParameters)
    lookup_field = "slug"
    lookup_value_regex = SLUG
    filterset_class = filters.CanvasSetFilter

    def get_queryset(self) -> QuerySet[CanvasSet]:
        queryset = super().get_queryset()
        return queryset if self.action == "retrieve" else queryset.defer("audit")

    @extend_schema(request=CanvasSetRequest, responses={202: serializer_of(CanvasSetResource)})
    def create(self, request: Request) -> Response:
        """Generate a set, or extend one. A job does it; until it is done, ``count`` is below ``wanted``."""
        slug = request_canvas_set(request.data, request.user).slug
        canvas_set = canvas_sets().get(slug=slug)
        return created(request, f"canvas-sets/{slug}", CanvasSetResource, canvas_set, status.HTTP_202_ACCEPTED)

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, slug: str) -> Response:
        """Delete a set that no run has used, with its dataset."""
        delete_canvas_set(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)


class CanvasViewSet(viewsets.ReadOnlyModelViewSet[Canvas]):
    """The canvases of a set in order, with shapes, descriptions and questions; or one of them, by its index."""

    queryset = Canvas.objects.none()
    serializer_class = serializer_of(CanvasResource)
    filterset_class = filters.CanvasFilter
    pagination_class = CanvasPages
    lookup_field = "index"
    lookup_value_regex = "[0-9]{1,9}"

    def get_queryset(self) -> QuerySet[Canvas]:
        return canvases_of(self.kwargs["slug"])
