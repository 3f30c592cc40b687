"""The REST API of labels, and of the review queues in which people give them."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.access import ReadOrEdit, ReadOrLabel, ReadOrPermitted
from benchmarks.api.parameters import KnownParameters
from benchmarks.api.views import NOT_NOW, REFUSED, created
from benchmarks.forms.reviews import ImportLabelsForm
from benchmarks.models import Flag, Label, Result, ReviewQueue
from benchmarks.queries.results import result_of_any_run
from benchmarks.queries.reviews import labels_of_answer, review_counts, reviews
from benchmarks.services.access import Caller, may_see_reviewers
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.labels import LabelRequest, label_result, reviewer_name
from benchmarks.services.reviews import queues as services
from benchmarks.services.reviews.files import CONTENT_TYPES, export_labels


class EarlierLabelSerializer(serializers.ModelSerializer[Label]):
    flags = serializers.ListField(child=serializers.ChoiceField(Flag.choices))

    class Meta:
        model = Label
        fields: tuple[str, ...] = ("value", "reason", "flags", "created_at", "replaced_at")


class LabelSerializer(serializers.Serializer[Any]):
    """A current label. Its author is a number for those who may not see who labeled."""

    id = serializers.IntegerField(source="label.pk")
    metric = serializers.CharField(source="label.metric")
    value = serializers.FloatField(source="label.value", allow_null=True)
    reason = serializers.CharField(source="label.reason")
    flags = serializers.ListField(source="label.flags", child=serializers.ChoiceField(Flag.choices))
    author = serializers.CharField()
    mine = serializers.BooleanField(help_text="Whether the caller gave it")
    review = serializers.IntegerField(source="label.queue_id", allow_null=True, help_text="The queue it was given in")
    created_at = serializers.DateTimeField(source="label.created_at")
    earlier = EarlierLabelSerializer(many=True, help_text="What the same person said before, newest first")


class ResultLabelsSerializer(serializers.Serializer[Any]):
    labels = LabelSerializer(many=True, source="shown")
    hidden = serializers.IntegerField(
        source="n_hidden", help_text="Labels of an open blind review that you see after labeling the answer"
    )


def labels_for(result: Result, user: Caller) -> dict[str, Any]:
    labels = labels_of_answer(result, reviewer_name(user), may_see_reviewers(user))
    return dict(ResultLabelsSerializer(labels).data)


class ResultLabels(APIView):
    """The labels of a result's answer, whichever run scored it."""

    permission_classes = (ReadOrLabel,)

    @extend_schema(responses={200: ResultLabelsSerializer})
    def get(self, request: Request, pk: str) -> Response:
        """Current labels with those they replaced."""
        return Response(labels_for(result_of_any_run(int(pk)), request.user))

    @extend_schema(request=LabelRequest, responses={201: ResultLabelsSerializer, 400: REFUSED, 409: NOT_NOW})
    def post(self, request: Request, pk: str) -> Response:
        """Label a result. The label replaces your earlier one by the same metric; that stays in the history."""
        result = result_of_any_run(int(pk))
        label_result(result, request.data, request.user)
        return Response(labels_for(result, request.user), status=status.HTTP_201_CREATED)


class ReviewSerializer(serializers.ModelSerializer[ReviewQueue]):
    drawn_from = serializers.SerializerMethodField(
        help_text="Runs or experiment, filters, and the number of answers drawn from. Runs of an open blind review are "
        "left out"
    )
    sampling = serializers.JSONField(help_text="Method, size, seed, and groups of a stratified draw")

    class Meta:
        model = ReviewQueue
        fields: tuple[str, ...] = (
            *("id", "name", "description", "metric", "drawn_from", "sampling", "blind", "overlap"),
            *("created_at", "closed_at"),
        )

    def get_drawn_from(self, queue: ReviewQueue) -> dict[str, Any]:
        hidden = ("runs", "experiment") if queue.blind and queue.closed_at is None else ()
        return {name: value for name, value in queue.source.items() if name not in hidden}


class CountsSerializer(serializers.Serializer[Any]):
    answers = serializers.IntegerField()
    labels = serializers.IntegerField()
    wanted = serializers.IntegerField(help_text="Labels of a finished review")
    twice = serializers.IntegerField(help_text="Answers that two people have labeled")
    flagged = serializers.IntegerField()
    disagreeing = serializers.IntegerField(help_text="Answers with different values")
    wrong = serializers.IntegerField(help_text="Answers with the lowest value")


class ReviewDetailSerializer(ReviewSerializer):
    progress = serializers.SerializerMethodField()

    class Meta(ReviewSerializer.Meta):
        fields = (*ReviewSerializer.Meta.fields, "progress")

    @extend_schema_field(CountsSerializer)
    def get_progress(self, queue: ReviewQueue) -> dict[str, Any]:
        return dict(CountsSerializer(review_counts(queue)).data)


class ImportedLabelsSerializer(serializers.Serializer[Any]):
    new = serializers.IntegerField()
    corrected = serializers.IntegerField()
    unchanged = serializers.IntegerField()


class ReviewViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[ReviewQueue]):
    """Reviews: answers drawn for people to label, open ones first."""

    queryset = ReviewQueue.objects.none()
    serializer_class = ReviewSerializer
    lookup_value_regex = "[0-9]{1,18}"

    def get_queryset(self) -> QuerySet[ReviewQueue]:
        return reviews()

    def get_serializer_class(self) -> type[ReviewSerializer]:
        return ReviewSerializer if self.action == "list" else ReviewDetailSerializer

    @extend_schema(request=services.ReviewRequest, responses={201: ReviewDetailSerializer, 400: REFUSED})
    def create(self, request: Request) -> Response:
        """Draw answers of runs for people to label. The same seed draws the same answers."""
        queue = services.create_review(request.data, request.user)
        return created(request, f"reviews/{queue.pk}", ReviewDetailSerializer(queue).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a review. Its labels are kept with their answers."""
        services.delete_review(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={200: ReviewDetailSerializer})
    @action(detail=True, methods=["post"])
    def close(self, request: Request, pk: str) -> Response:
        """End the labeling. What a blind review hides becomes visible."""
        services.close_review(self.get_object(), request.user)
        return self.retrieve(request, pk)

    @extend_schema(request=None, responses={200: ReviewDetailSerializer})
    @action(detail=True, methods=["post"])
    def reopen(self, request: Request, pk: str) -> Response:
        """Let people label again."""
        services.reopen_review(self.get_object(), request.user)
        return self.retrieve(request, pk)


class ReviewExport(APIView):
    """The current labels of a review as a file."""

    permission_classes = (ReadOrPermitted, KnownParameters)

    @extend_schema(responses={(200, kind.partition(";")[0]): OpenApiTypes.STR for kind in CONTENT_TYPES.values()})
    def get(self, request: Request, pk: str, form: str) -> StreamingHttpResponse:
        """CSV or JSON Lines. While a blind review is open, only your own labels, unless you may see who labeled."""
        pieces = export_labels(reviews().get(pk=int(pk)), form, request.user)
        headers = {"Content-Disposition": f'attachment; filename="labels-{pk}.{form}"'}
        return StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[form], headers=headers)


class ReviewImport(APIView):
    """Labels from a file."""

    permission_classes = (ReadOrEdit,)
    parser_classes = (MultiPartParser,)

    @extend_schema(
        request={
            "multipart/form-data": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
        },
        responses={200: ImportedLabelsSerializer, 400: REFUSED},
    )
    def post(self, request: Request, pk: str) -> Response:
        """Store the labels of a CSV or JSON Lines file, all or none. The same file again changes nothing."""
        form = ImportLabelsForm({}, request.FILES)
        imported = form.save(reviews().get(pk=int(pk)), request.user)
        if imported is None:
            raise InvalidRequest({name: [str(error) for error in errors] for name, errors in form.errors.items()})
        return Response(ImportedLabelsSerializer(imported).data)
