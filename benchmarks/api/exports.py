"""A run's results as a file, streamed."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from benchmarks.api.views import NOT_NOW
from benchmarks.queries.runs import run_detail
from benchmarks.services.runs.exports import CONTENT_TYPES, export_name, export_pieces


class ExportView(APIView):
    """All results of a run: ``csv`` for spreadsheets, ``jsonl`` with every score, reason and tool call, ``parquet``
    for data frames if pyarrow is installed."""

    @extend_schema(
        responses={
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "application/jsonl"): OpenApiTypes.STR,
            (200, CONTENT_TYPES["parquet"]): OpenApiTypes.BINARY,
            409: NOT_NOW,
        }
    )
    def get(self, request: Request, pk: str, form: str) -> StreamingHttpResponse:
        run = run_detail(int(pk))
        headers = {"Content-Disposition": f'attachment; filename="{export_name(run, form)}"'}
        return StreamingHttpResponse(export_pieces(run, form), content_type=CONTENT_TYPES[form], headers=headers)
