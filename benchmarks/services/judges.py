"""Judge calibration: one definition of the request for the command, the page and the API.

A calibration is a run. Its dataset version holds answers with known truth, its model replays them, and its judged
metric scores them. Everything the engine does for runs holds for calibrations too: limits, retries, resume, cancel.
"""

from __future__ import annotations

import hashlib
import platform
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any

import django
import orjson
from django.conf import settings
from django.db import transaction
from rest_framework import serializers

from benchmarks.extras import command
from benchmarks.metrics.base import JudgedMetric
from benchmarks.metrics.judge_calibration import PHRASINGS, CanvasQuestion, KnownAnswer, known_answers
from benchmarks.metrics.panel import judges_named
from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
from benchmarks.models import Dataset, DatasetVersion, Run, Task
from benchmarks.providers.baseline import KNOWN_ANSWERS
from benchmarks.services.access import Caller, account_of, record
from benchmarks.services.datasets.versions import add_version
from benchmarks.services.errors import InvalidRequest
from benchmarks.services.operations.code_version import code_version
from benchmarks.services.providers import missing_keys
from benchmarks.services.requests import StrictRequest, StrictText, validated_by
from benchmarks.services.runs.requests import RunRequest
from benchmarks.services.runs.start import enqueue_run, judge_settings
from tasks_app.models import CanvasSet, Question

CANVAS_FIELDS = frozenset({"input", "expected_output", "actual_output"})
"""What a canvas question offers to a judge. Judges cannot be calibrated for metrics that need more."""


def calibratable_metrics() -> list[str]:
    """The judged metrics that compare an answer with the expected one and need nothing that canvas questions lack."""
    return [
        name
        for name, metric in REGISTERED_METRICS.items()
        if isinstance(metric, JudgedMetric) and metric.needs <= CANVAS_FIELDS and "expected_output" in metric.needs
    ]


def _whole(default: int, limits: tuple[int, int], help_text: str) -> serializers.IntegerField:
    return serializers.IntegerField(
        required=False, default=default, min_value=limits[0], max_value=limits[1], help_text=help_text
    )


class CalibrationRequest(StrictRequest):
    """A request for a calibration. Validation turns ``canvas_set`` into the ``CanvasSet``."""

    judge_model = StrictText(
        required=False, max_length=200, help_text="provider/model. Default: judge.model in codeforge.yaml"
    )
    canvas_set = StrictText(help_text="Identifier of the canvas set whose questions are used")
    metric = StrictText(required=False, default="correctness", help_text="Judged metric")
    questions = _whole(50, (2, 5_000), "Maximum, spread evenly over the set's task classes")
    repeats = _whole(2, (1, 20), "How often each answer is judged")
    concurrency = _whole(8, (1, 256), "Concurrent requests to the judge")
    seed = _whole(0, (0, 2**31 - 1), "Selects the questions and their order")

    def validate_judge_model(self, model: str) -> str:
        return RunRequest().validate_judge_model(model)

    def validate_canvas_set(self, slug: str) -> CanvasSet:
        ready = CanvasSet.objects.filter(dataset__current_version__isnull=False)
        canvas_set = ready.filter(slug=slug).first()
        if canvas_set is None:
            known = ", ".join(ready.values_list("slug", flat=True)) or f"(none yet: {command('canvases generate')})"
            raise serializers.ValidationError(f"Canvas set {slug!r} does not exist. Choose one of: {known}.")
        return canvas_set

    def validate_metric(self, name: str) -> str:
        known = calibratable_metrics()
        if name not in known:
            raise serializers.ValidationError(
                f"Judges cannot be calibrated for {name!r} on canvas questions. Choose one of: {', '.join(known)}."
            )
        return name

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs["judge_model"] = attrs.get("judge_model") or settings.CODEFORGE.judge.model
        if not attrs["judge_model"]:
            message = "Select a judge, or set judge.model in codeforge.yaml."
            raise serializers.ValidationError({"judge_model": [message]})
        return attrs


def start_calibration(data: Any, user: Caller = None) -> Run:
    """Queue a calibration and enqueue its jobs once it is committed. Raises ``InvalidRequest`` naming every bad field.

    A wrong answer is the correct answer to another question of its task class, so the set needs several questions per
    class.
    """
    valid = validated_by(CalibrationRequest(data=data))
    answers = _known_answers(valid["canvas_set"], valid["questions"], valid["seed"])
    if not answers:
        message = (
            "Too few questions: no task class has two questions with different answers. "
            "Raise the number of questions, or choose a larger set."
        )
        raise InvalidRequest({"questions": [message]})
    if problems := missing_keys({"judge_model": judges_named(valid["judge_model"])}):
        raise InvalidRequest(problems)
    with transaction.atomic():
        version = _version_of(valid["canvas_set"], answers, user)
        run = Run.objects.create(
            dataset=version.dataset,
            dataset_version=version,
            model=f"baseline/{KNOWN_ANSWERS}",
            metrics=[valid["metric"]],
            judge_model=valid["judge_model"],
            judge_settings=judge_settings(valid["judge_model"]),
            repeats=valid["repeats"],
            concurrency=valid["concurrency"],
            calibration={
                "questions": valid["questions"],
                "seed": valid["seed"],
                "phrasings": list(PHRASINGS),
            },
            code_version=code_version(),
            environment={"python": platform.python_version(), "django": django.get_version()},
            created_by=account_of(user),
        )
        record(user, "calibration.start", f"run {run.pk}", judge=run.judge_model)
        enqueue_run(run)
    return run


def _known_answers(canvas_set: CanvasSet, limit: int, seed: int) -> list[KnownAnswer]:
    """Answers to at most ``limit`` questions, about as many of each task class. The same seed selects the same ones.

    Questions whose expected answer is known to be wrong are not used.
    """
    tasks = Task.objects.filter(version=canvas_set.dataset.current_version)
    by_class: dict[str, list[int]] = defaultdict(list)
    for pk, group in (
        tasks.exclude(question__audit=Question.Audit.WRONG).order_by("position").values_list("pk", "group")
    ):
        by_class[group].append(pk)
    rng = random.Random(seed)
    for ids in by_class.values():
        rng.shuffle(ids)
    # One of each class in turn: a class with few questions gives all it has, the others fill the rest evenly.
    selected = [pk for pk in chain.from_iterable(zip_longest(*by_class.values())) if pk is not None][:limit]
    questions = [
        CanvasQuestion(task.task_id, task.cluster, task.group, task.input, task.expected_output)
        for task in Task.objects.filter(pk__in=selected).order_by("position")
    ]
    return known_answers(questions, seed=seed)


def _version_of(canvas_set: CanvasSet, answers: Sequence[KnownAnswer], user: Caller) -> DatasetVersion:
    """The version of the set's hidden dataset that holds these answers; equal answers share a version.

    The dataset has no current version, so nothing offers it for runs.
    """
    dataset, _ = Dataset.objects.get_or_create(
        known_answers_of=canvas_set,
        # No file, upload or canvas set can have this slug: theirs never start with an underscore.
        defaults={
            "slug": f"_calibration-{canvas_set.pk}",
            "name": f"Known answers: {canvas_set.slug}",
            "kind": Dataset.Kind.CALIBRATION,
        },
    )
    Dataset.objects.select_for_update().get(pk=dataset.pk)  # numbers its versions one at a time
    hashes = [_hash(answer.question.input, answer.question.expected, answer.text) for answer in answers]
    content = _hash(*hashes)
    version = dataset.versions.filter(content_hash=content).first()
    if version is not None:
        return version
    return add_version(
        dataset,
        [_task(answer, content_hash) for answer, content_hash in zip(answers, hashes, strict=True)],
        user,
        content_hash=content,
        origin=DatasetVersion.Origin.GENERATED,
        name=dataset.name,
        facets={
            "difficulty": {Task.Difficulty.MEDIUM: len(answers)},
            "group": dict(Counter(answer.question.group for answer in answers)),
            "fields": {"expected_output": len(answers), "group": len(answers)},
        },
    )


def _task(answer: KnownAnswer, content_hash: str) -> Task:
    question, truth = answer.question, "correct" if answer.correct else "wrong"
    return Task(
        task_id=f"{question.id}/{answer.phrasing.replace(' ', '-')}/{truth}",
        name=f"{question.id}: {truth} answer, {answer.phrasing}",
        input=question.input,
        expected_output=question.expected,
        content_hash=content_hash,
        group=question.group,
        cluster=question.canvas,
        known_answer={
            "question": question.id,
            "phrasing": answer.phrasing,
            "correct": answer.correct,
            "text": answer.text,
        },
    )


def _hash(*texts: str) -> str:
    return hashlib.sha256(orjson.dumps(texts)).hexdigest()
