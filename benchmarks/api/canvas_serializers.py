"""What the API answers about canvas sets. What it accepts for one is ``services.canvas_requests.CanvasSetRequest``."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from tasks_app.models import Canvas, CanvasSet, Question


class CanvasSetSerializer(serializers.ModelSerializer[CanvasSet]):
    dataset = serializers.CharField(source="dataset.slug", help_text="The dataset that a run names")
    tasks = serializers.IntegerField(source="dataset.current_version.task_count", default=0)

    class Meta:
        model = CanvasSet
        fields: tuple[str, ...] = (
            "slug",
            "name",
            "origin",
            "seed",
            "generator_version",
            "shapes_low",
            "shapes_high",
            "tracking_steps",
            "task_classes",
            "count",
            "wanted",
            "audited",
            "error_message",
            "not_applicable",
            "dataset",
            "tasks",
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
        source="__str__", help_text="As in its file's name, and before / in the ids of its tasks"
    )
    shapes = ShapeSerializer(many=True)
    descriptions = serializers.DictField(child=serializers.CharField())
    questions = QuestionSerializer(many=True)

    class Meta:
        model = Canvas
        fields = ("id", "index", "n_shapes", "number", "shapes", "descriptions", "questions")
