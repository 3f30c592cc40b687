"""The REST API of imports: files of other tools, and runs that another tool pushes in batches of results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.access import ReadOrEdit
from benchmarks.api.parameters import KnownParameters
from benchmarks.api.resources import NOT_NOW, ResourceViewSet, answer, created, reader_of, serializer_of
from benchmarks.forms.dataset_files import DatasetFileForm, UploadForm
from benchmarks.forms.datasets import ProblemForm
from benchmarks.forms.imports import MOST_BYTES, PresetForm, RunImportForm, TableForm
from benchmarks.imports.registered_importers import IMPORTERS, tools
from benchmarks.imports.table_columns import FIELDS, NAMED_ALONE
from benchmarks.models import PushedRun
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.datasets import DatasetResource
from benchmarks.queries.resources.imports import ImportedRunResource, PushedRunResource, ReceivedKeys, ReceivedResource
from benchmarks.queries.resources.runs import RunResource
from benchmarks.services.access import may
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.imports import OUR_METRICS
from benchmarks.services.pushes.closing import close_push
from benchmarks.services.pushes.receiving import add_results, delete_push, open_push
from benchmarks.services.pushes.requests import BatchRequest, CloseRequest, PushRequest

MOST_PROBLEMS = 100
"""Errors of a file that a refusal lists."""


class ReadOrImport(ReadOrEdit):
    """An import makes a run and may make a dataset, so it requires both permissions."""

    def has_permission(self, request: Request, view: Any) -> bool:
        super().has_permission(request, view)
        if request.method not in ("GET", "HEAD", "OPTIONS") and not may(
            request.user, "benchmarks.launch_run", "benchmarks.add_dataset"
        ):
            raise PermissionDenied("You do not have permission to import runs. Ask an administrator for it.")
        return True


class PushedRunViewSet(ResourceViewSet[PushedRun]):
    """Runs that another tool pushes in batches of results, newest first."""

    queryset = PushedRun.objects.all()
    listed = shown = PushedRunResource
    permission_classes = (ReadOrImport, KnownParameters)

    @extend_schema(
        request=PushRequest,
        parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
        responses={201: serializer_of(PushedRunResource), 409: NOT_NOW},
    )
    def create(self, request: Request) -> Response:
        """Open a run that receives results. The same request with the same ``Idempotency-Key`` returns the same one."""
        pushed = open_push(request.data, request.headers.get("Idempotency-Key"), request.user)
        return created(request, f"imports/runs/{pushed.pk}", PushedRunResource, pushed)

    @extend_schema(responses={204: None, 409: NOT_NOW})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete an open run with the results that it has received."""
        delete_push(self.get_object(), request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=BatchRequest, responses={200: serializer_of(ReceivedResource), 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def results(self, request: Request, pk: str) -> Response:
        """Add a batch of results, all or none. Results with a key that was received before are not stored again."""
        return answer(request, ReceivedResource, add_results(self.get_object().pk, request.data))

    @extend_schema(responses={200: serializer_of(ReceivedKeys)})
    @results.mapping.get
    def keys(self, request: Request, pk: str) -> Response:
        """The keys of the results that were received; none once the run is closed."""
        return answer(request, ReceivedKeys, self.get_object())

    @extend_schema(request=CloseRequest, responses={200: serializer_of(RunResource), 409: NOT_NOW})
    @action(detail=True, methods=["post"])
    def close(self, request: Request, pk: str) -> Response:
        """Check the number of results and the means, and complete the run."""
        run = close_push(self.get_object().pk, request.data, request.user)
        return answer(request, RunResource, run)


class ImportRequest(serializers.Serializer[Any]):
    dataset = serializers.CharField(required=False, help_text="Slug of the dataset with the same tasks")
    slug = serializers.CharField(required=False, help_text="Of the new dataset")
    model = serializers.CharField(required=False, help_text="Model that answered, if the file does not name it")
    metrics = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Metrics of this dashboard that score the answers too"
    )

    def get_fields(self) -> dict[str, Any]:
        """What names the importers, which packages may add to."""
        file = serializers.ListField(
            child=serializers.FileField(), help_text=f"Files of {tools()}, up to {MOST_BYTES // 2**20} MB"
        )
        known = ", ".join(IMPORTERS)
        form = serializers.CharField(required=False, help_text=f"One of {known}; by default detected")
        return {"file": file, "format": form, **super().get_fields()}


class ImportFile(APIView):
    permission_classes = (ReadOrImport, KnownParameters)
    parser_classes = (MultiPartParser,)

    @extend_schema(
        request={"multipart/form-data": ImportRequest},
        responses={200: serializer_of(ImportedRunResource)(many=True)},
    )
    def post(self, request: Request) -> Response:
        """Import the runs in a file of another tool, all or none."""
        data = request.POST.copy()
        if "metrics" not in data:
            data.setlist("metrics", list(OUR_METRICS))
        _check_names(request, ImportRequest().fields)
        imported = _saved(RunImportForm(data, request.FILES), request)
        reader = reader_of(request)
        return Response(json_of([ImportedRunResource.of(each, reader) for each in imported]))


class DatasetImportRequest(serializers.Serializer[Any]):
    file = serializers.FileField(
        required=False,
        help_text="A dataset (YAML), a table, dataset of OpenAI evals, Langfuse or Phoenix (JSON Lines, JSON or CSV), "
        "or traces in OTLP/JSON",
    )
    preset = serializers.CharField(required=False, help_text="A public benchmark in place of a file")
    slug = serializers.CharField(required=False, help_text="By default that of the file or the preset")
    name = serializers.CharField(required=False, help_text="Title, for tables")
    description = serializers.CharField(required=False, help_text="For tables")
    limit = serializers.IntegerField(required=False, help_text="The first rows of a table, a sample of a preset")
    seed = serializers.IntegerField(required=False, help_text="Of the sample of a preset")
    answer_after = serializers.CharField(required=False, help_text="Text in a table before the expected answer")

    column = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text=f"What becomes of a table's column: NAME=FIELD, where FIELD is one of {', '.join(FIELDS)}",
    )

    def get_fields(self) -> dict[str, Any]:
        """Some columns have a field of their own, too."""
        columns = {
            field: serializers.CharField(required=False, help_text=f"Column of a table with {FIELDS[field].text}")
            for field in NAMED_ALONE
        }
        return super().get_fields() | columns


class ImportDataset(APIView):
    permission_classes = (ReadOrImport, KnownParameters)
    parser_classes = (MultiPartParser,)

    @extend_schema(
        request={"multipart/form-data": DatasetImportRequest},
        responses={201: serializer_of(DatasetResource)},
    )
    def post(self, request: Request) -> Response:
        """Import a dataset: a file of this format or of another tool, or a public benchmark by its preset."""
        names = [str(file.name).lower() for file in request.FILES.getlist("file")]
        form: DatasetFileForm | PresetForm
        if "preset" in request.POST:
            form = PresetForm(request.POST)
        elif any(name.endswith((".yaml", ".yml")) for name in names):
            form = UploadForm(request.POST, request.FILES)
        else:
            form = TableForm(request.POST, request.FILES)
        _check_names(request, form.fields)
        dataset = _saved(form, request).dataset
        return created(request, f"datasets/{dataset.slug}", DatasetResource, dataset)


def _check_names(request: Request, known: Iterable[str]) -> None:
    """Refuse fields with other names."""
    if unknown := [name for name in (*request.POST, *request.FILES) if name not in known]:
        raise InvalidRequest({name: [f"Unknown field. Valid fields: {', '.join(known)}."] for name in unknown})


def _saved(form: ProblemForm, request: Request) -> Any:
    """What the form stores. Raises ``InvalidRequest`` with its errors, and with those of a file by their lines."""
    saved = form.save(request.user)
    if form.errors or saved is None:
        errors = {
            "file" if name == NON_FIELD_ERRORS else name: list(map(str, messages))
            for name, messages in form.errors.items()
        }
        lines = [str(problem) for problem, _ in getattr(form, "problems", ())[:MOST_PROBLEMS]]
        raise InvalidRequest(errors | ({"file": [*errors.get("file", ()), *lines]} if lines else {}))
    return saved
