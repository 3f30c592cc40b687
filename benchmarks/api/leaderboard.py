"""The REST API of the leaderboard over several datasets."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.api.resources import REFUSED, answer, serializer_of
from benchmarks.queries.overall_leaderboard import overall_leaderboard
from benchmarks.queries.resources.leaderboard import OverallResource


class OverallLeaderboard(APIView):
    """Models ranked over several datasets by the average of their ranks."""

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "datasets",
                str,
                description="Slugs, separated by commas; by default all, or the most that two models share",
            )
        ],
        responses={200: serializer_of(OverallResource), 400: REFUSED},
    )
    def get(self, request: Request) -> Response:
        board = overall_leaderboard(list(filter(None, request.query_params.get("datasets", "").split(","))))
        if board.problem:
            raise ValidationError({"datasets": [board.problem]})
        return answer(request, OverallResource, board)
