"""The REST API of labels, and of the review queues in which people give them."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.access import ReadOrEdit, ReadOrLabel, ReadOrPermitted
from benchmarks.api.parameters import KnownParameters
from benchmarks.api.resources import NOT_NOW, ResourceViewSet, answer, created, reader_of, serializer_of
from benchmarks.forms.reviews import ImportLabelsForm
from benchmarks.models import Result, ReviewQueue
from benchmarks.queries.resources.reviews import ResultLabels, ReviewDetail, ReviewResource
from benchmarks.queries.results import result_of_any_run
from benchmarks.queries.reviews import labels_of_answer, reviews
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.labels import LabelRequest
from benchmarks.services.reviews import queues as services
from benchmarks.services.reviews.files import CONTENT_TYPES, export_labels


def _labels_for(result: Result, request: Request, status: int = status.HTTP_200_OK) -> Response:
    reader = reader_of(request)
    labels = labels_of_answer(result, reader.name, reader.sees_reviewers)
    return answer(request, ResultLabels, labels, status)


class ResultLabelsView(APIView):
    """The labels of a result's answer, whichever run scored it."""

    permission_classes = (ReadOrLabel,)

    @extend_schema(responses={200: serializer_of(ResultLabels)})
    def get(self, request: Request, pk: str) -> Response:
        """Current labels with those they replaced."""
        return _labels_for(result_of_any_run(int(pk)), request)

    @extend_schema(request=LabelRequest, responses={201: serializer_of(ResultLabels), 409: NOT_NOW})
    def post(self, request: Request, pk: str) -> Response:
        """Label a result. The label replaces your earlier one by the same metric; that stays in the history.

        If the answer is in an open review by that metric, and you have a place there, the label counts in the review.
        """
        result = result_of_any_run(int(pk))
        services.label_answer(result, request.data, request.user)
        return _labels_for(result, request, status.HTTP_201_CREATED)


class ImportedLabelsSerializer(serializers.Serializer[Any]):
    new = serializers.IntegerField()
    corrected = serializers.IntegerField()
    unchanged = serializers.IntegerField()


class ReviewViewSet(ResourceViewSet[ReviewQueue]):
    """Reviews: answers drawn for people to label, open ones first."""

    queryset = ReviewQueue.objects.none()
    listed, shown = ReviewResource, ReviewDetail

    def get_queryset(self) -> QuerySet[ReviewQueue]:
        return reviews()

    @extend_schema(request=services.ReviewRequest, responses={201: serializer_of(ReviewDetail)})
    def create(self, request: Request) -> Response:
        """Draw answers of runs for people to label. The same seed draws the same answers."""
        queue = services.create_review(request.data, request.user)
        return created(request, f"reviews/{queue.pk}", ReviewDetail, queue)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a review. Its labels are kept with their answers."""
        services.delete_review(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={200: serializer_of(ReviewDetail)})
    @action(detail=True, methods=["post"])
    def close(self, request: Request, pk: str) -> Response:
        """End the labeling. What a blind review hides becomes visible."""
        services.close_review(self.get_object(), request.user)
        return self.retrieve(request, pk)

    @extend_schema(request=None, responses={200: serializer_of(ReviewDetail)})
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
        responses={200: ImportedLabelsSerializer},
    )
    def post(self, request: Request, pk: str) -> Response:
        """Store the labels of a CSV or JSON Lines file, all or none. The same file again changes nothing."""
        form = ImportLabelsForm({}, request.FILES)
        imported = form.save(reviews().get(pk=int(pk)), request.user)
        if imported is None:
            raise InvalidRequest({name: [str(error) for error in errors] for name, errors in form.errors.items()})
        return Response(ImportedLabelsSerializer(imported).data)
