"""The REST API of preference runs. A preference run is a run, so its id is a run's."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.api import filters
from benchmarks.api.judging import JudgingViewSet
from benchmarks.api.serializers import PlanSerializer
from benchmarks.api.views import NOT_NOW, REFUSED, created
from benchmarks.models import Run
from benchmarks.queries.preferences import (
    candidates_of,
    judgements_to_make,
    numbers_of,
    peoples_choices,
    pooled_numbers,
    preferences,
)
from benchmarks.services import preferences as services
from benchmarks.services.access import may_see_reviewers
from benchmarks.services.preferences import PreferenceRequest


class CandidateSerializer(serializers.Serializer[Any]):
    """A compared run."""

    run = serializers.IntegerField()
    model = serializers.CharField()
    variant = serializers.CharField()
    name = serializers.CharField(help_text="Model and variant, distinct among the candidates")


class PreferenceSerializer(serializers.ModelSerializer[Run]):
    dataset = serializers.CharField(source="preference.dataset")
    version = serializers.IntegerField(source="preference.version")
    experiment = serializers.IntegerField(source="preference.experiment", allow_null=True)
    candidates = serializers.SerializerMethodField()
    criteria = serializers.CharField(source="preference.criteria")
    tasks = serializers.IntegerField(source="preference.tasks", allow_null=True)
    pairs_per_task = serializers.IntegerField(source="preference.pairs_per_task", allow_null=True)
    only_new = serializers.BooleanField(source="preference.only_new")
    seed = serializers.IntegerField(source="preference.seed")
    total = serializers.SerializerMethodField(help_text="Judgements: each pair in both orders")
    tokens_in = serializers.IntegerField(source="judge_tokens_in", allow_null=True)
    tokens_out = serializers.IntegerField(source="judge_tokens_out", allow_null=True)
    cost_usd = serializers.FloatField(source="judge_cost_usd", allow_null=True)

    class Meta:
        model = Run
        fields: tuple[str, ...] = (
            *("id", "judge_model", "dataset", "version", "experiment", "candidates", "criteria"),
            *("tasks", "pairs_per_task", "only_new", "seed", "concurrency", "budget_usd", "status"),
            *("error_message", "total", "done", "errors", "tokens_in", "tokens_out", "cost_usd"),
            *("created_at", "completed_at"),
        )

    @extend_schema(responses=CandidateSerializer(many=True))
    def get_candidates(self, run: Run) -> list[dict[str, Any]]:
        return candidates_of(run)

    def get_total(self, run: Run) -> int:
        return judgements_to_make(run)


class PreferenceDetailSerializer(PreferenceSerializer):
    numbers = serializers.SerializerMethodField(
        help_text="Strengths with intervals and ranks, win rates of pairs, position bias, cycles, pairs to ask next. "
        "Candidates are numbered from 0. Empty until the run has completed"
    )

    pooled = serializers.SerializerMethodField(
        help_text="Numbers over this and all other preference runs with the same dataset, judge and criteria and no "
        "other candidates, and runs, their ids; null if there are none. Each pair and order counts once"
    )
    people = serializers.SerializerMethodField(
        help_text="What people chose between the same pairs, as in numbers, with agreement of the judge with people, "
        "kappa, and alpha of people with each other; null if there are none. Choices of open blind reviews are "
        "excluded unless the caller may see who labeled"
    )

    class Meta(PreferenceSerializer.Meta):
        fields = (*PreferenceSerializer.Meta.fields, "numbers", "pooled", "people", "code_version")

    def get_pooled(self, run: Run) -> dict[str, Any] | None:
        return pooled_numbers(run)

    def get_people(self, run: Run) -> dict[str, Any] | None:
        choices = peoples_choices(run, may_see_reviewers(self.context["request"].user))
        return choices.as_json() if choices else None

    def get_numbers(self, run: Run) -> dict[str, Any]:
        return numbers_of(run)


@extend_schema_view(
    cancel=extend_schema(responses={200: PreferenceSerializer, 409: NOT_NOW}),
    resume=extend_schema(responses={200: PreferenceSerializer, 409: NOT_NOW}),
)
class PreferenceViewSet(JudgingViewSet):
    """Preference runs, newest first."""

    serializer_class = PreferenceSerializer
    detail_serializer_class = PreferenceDetailSerializer
    filterset_class = filters.PreferenceFilter
    runs = staticmethod(preferences)

    @extend_schema(request=PreferenceRequest, responses={201: PreferenceSerializer, 400: REFUSED})
    def create(self, request: Request) -> Response:
        """Have a judge choose between the stored answers of runs. The run is queued for a worker."""
        run = services.start_preference(request.data, request.user)
        return created(request, f"preferences/{run.pk}", PreferenceSerializer(run).data)

    @extend_schema(request=PreferenceRequest, responses={200: PlanSerializer, 400: REFUSED})
    @action(detail=False, methods=["post"])
    def plan(self, request: Request) -> Response:
        """Estimate the judge's requests, tokens, cost and duration. Sends nothing."""
        return Response(PlanSerializer(services.plan_preference(request.data)).data)
