"""The REST API of canvas sets: the list, each canvas with its questions, and the generation of more."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.api import filters
from benchmarks.api.access import ReadOrEdit
from benchmarks.api.pagination import Pages
from benchmarks.api.parameters import KnownParameters
from benchmarks.api.views import NOT_NOW, REFUSED, created
from benchmarks.queries.canvas_sets import canvas_sets, canvases_of
from benchmarks.services.canvas_sets.control import CanvasSetRequest, delete_canvas_set, request_canvas_set
from tasks_app.models import Canvas, CanvasSet, Question


class CanvasSetSerializer(serializers.ModelSerializer[CanvasSet]):
    dataset = serializers.CharField(source="dataset.slug", help_text="The dataset that a run names")
    tasks = serializers.IntegerField(source="dataset.current_version.task_count", default=0)

    class Meta:
        model = CanvasSet
        fields: tuple[str, ...] = (
            *("slug", "name", "origin", "seed", "generator_version", "shapes_low", "shapes_high", "tracking_steps"),
            *("task_classes", "count", "wanted", "audited", "error_message", "not_applicable", "dataset", "tasks"),
            "created_at",
        )


class CanvasSetDetailSerializer(CanvasSetSerializer):
    audit = serializers.DictField(help_text="Answer balance, guess scores, duplicates and solver agreement by class")

    class Meta(CanvasSetSerializer.Meta):
        fields = (*CanvasSetSerializer.Meta.fields, "audit")


class ShapeSerializer(serializers.Serializer[Any]):
    shape = serializers.CharField()
    color = serializers.CharField()
    size = serializers.CharField()
    center = serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2)


class QuestionSerializer(serializers.ModelSerializer[Question]):
    task = serializers.CharField(source="task_name")
    examples = serializers.ListField(
        child=serializers.ListField(), help_text="[question, answer] shown first in few-shot runs"
    )

    class Meta:
        model = Question
        fields = ("task", "question", "answer", "examples", "difficulty", "audit", "audit_note")


class CanvasSerializer(serializers.ModelSerializer[Canvas]):
    id = serializers.CharField(
        source="key", help_text="As in the name of its file, and before the / in the ids of its tasks"
    )
    shapes = ShapeSerializer(many=True)
    descriptions = serializers.DictField(child=serializers.CharField())
    questions = QuestionSerializer(many=True)

    class Meta:
        model = Canvas
        fields = ("id", "index", "n_shapes", "number", "shapes", "descriptions", "questions")


SLUG = "[-a-zA-Z0-9_]{1,100}"


class CanvasPages(Pages):
    page_size = 20
    max_page_size = 100


class CanvasSetViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[CanvasSet]):
    """Canvas sets, newest first. Each is a dataset: a run names its slug."""

    queryset = canvas_sets()
    serializer_class = CanvasSetSerializer
    permission_classes = (ReadOrEdit, KnownParameters)
    lookup_field = "slug"
    lookup_value_regex = SLUG
    filterset_class = filters.CanvasSetFilter

    def get_queryset(self) -> QuerySet[CanvasSet]:
        queryset = super().get_queryset()
        return queryset if self.action == "retrieve" else queryset.defer("audit")

    def get_serializer_class(self) -> type[CanvasSetSerializer]:
        return CanvasSetDetailSerializer if self.action == "retrieve" else CanvasSetSerializer

    @extend_schema(request=CanvasSetRequest, responses={202: CanvasSetSerializer, 400: REFUSED})
    def create(self, request: Request) -> Response:
        """Generate a set, or extend one. A job does it; until it is done, ``count`` is below ``wanted``."""
        slug = request_canvas_set(request.data, request.user).slug
        data = CanvasSetSerializer(canvas_sets().get(slug=slug)).data
        return created(request, f"canvas-sets/{slug}", data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, slug: str) -> Response:
        """Delete a set that no run has used, with its dataset."""
        delete_canvas_set(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)


class CanvasViewSet(viewsets.ReadOnlyModelViewSet[Canvas]):
    """The canvases of a set in order, with shapes, descriptions and questions; or one of them, by its index."""

    queryset = Canvas.objects.none()
    serializer_class = CanvasSerializer
    filterset_class = filters.CanvasFilter
    pagination_class = CanvasPages
    lookup_field = "index"
    lookup_value_regex = "[0-9]{1,9}"

    def get_queryset(self) -> QuerySet[Canvas]:
        return canvases_of(self.kwargs["slug"])
