"""What the API returns and accepts beside the resources of ``benchmarks.queries.resources`` and the requests of
``benchmarks.services``."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from benchmarks.services.requests import StrictRequest


class CountSerializer(serializers.Serializer[Any]):
    results = serializers.IntegerField(help_text="Number of results that are sent or judged again")


class DoubtfulSerializer(StrictRequest):
    """Whether doubtful expected answers count."""

    include = serializers.BooleanField(help_text="Whether tasks with a doubtful expected answer count")


class BudgetSerializer(StrictRequest):
    """A higher budget."""

    budget_usd = serializers.FloatField(min_value=0)


class NeedsField(serializers.ListField):
    """Fields of a task, in the same order in every process."""

    child = serializers.CharField()

    def to_representation(self, data: Any) -> list[Any]:
        return super().to_representation(sorted(data))


class MetricSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    judged = serializers.BooleanField()
    needs = NeedsField(help_text="Fields of a task without which the metric does not apply")
    unit = serializers.CharField()
    higher_is_better = serializers.BooleanField()
