"""A run's prompts are built anew from what is stored; whatever was changed behind its back is found and shown."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from benchmarks.engine.execution import verification
from benchmarks.engine.execution.dispatch import work_on_run_once
from benchmarks.models import Run, Task, Transcript
from benchmarks.services.canvas_sets.control import generate_canvas_set
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.control import verify_run
from codeforge.config import ModelConfig
from tasks_app.models import Question
from tests.support.factories import MODEL, make_dataset, make_run, make_task
from tests.support.running import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)


def worked(run: Run) -> Run:
    work_on_run_once(run.pk)
    run.refresh_from_db()
    return run


def test_the_prompts_of_an_unchanged_run_hold(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "BATCH", 3)
    endpoint()
    task = make_task(9, context=["One", "Two"])
    run = worked(make_run(make_dataset([make_task(1), make_task(2), task]), repeats=3, system_prompt="Be brief."))
    found = verify_run(run)
    assert found.holds
    assert (found.checked, found.unasked, found.differing) == (9, 0, 0)


def test_the_hash_of_a_run_is_that_of_its_prompts_in_order(endpoint: Endpoint) -> None:
    endpoint()
    run = worked(make_run(make_dataset(4)))
    hashes = (
        Transcript.objects.filter(result__run=run).order_by("result__position").values_list("prompt_hash", flat=True)
    )
    assert run.prompt_hash == hashlib.sha256("".join(hashes).encode()).hexdigest()
    again = worked(make_run(run.dataset))
    assert again.prompt_hash == run.prompt_hash
    shorter = worked(make_run(run.dataset, limit=3))
    assert shorter.prompt_hash != run.prompt_hash


def test_a_changed_task_is_found_with_the_place_of_the_change(endpoint: Endpoint) -> None:
    endpoint()
    run = worked(make_run(make_dataset(5)))
    Task.objects.filter(version=run.dataset_version, task_id="task-3").update(input="What is 3 + 4?")
    found = verify_run(run)
    assert not found.holds
    assert (found.checked, found.differing) == (5, 1)
    (difference,) = found.first_differences
    assert (difference.task_id, difference.position) == ("task-3", 3)
    assert "character 13" in difference.where
    assert "'What is 3 + 3?' then, 'What is 3 + 4?' now" in difference.where
    assert difference.stored != difference.rebuilt


def test_only_the_first_differences_are_described_and_all_are_counted(endpoint: Endpoint) -> None:
    endpoint()
    run = worked(make_run(make_dataset(12)))
    Run.objects.filter(pk=run.pk).update(parameters={"system_prompt": "Lie."})
    found = verify_run(Run.objects.get(pk=run.pk))
    assert found.differing == 12
    assert [difference.position for difference in found.first_differences] == list(range(1, 11))
    assert "the role of message 1 changed from user to system" in found.first_differences[0].where


def test_tools_that_changed_are_found(endpoint: Endpoint) -> None:
    endpoint()
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
    run = worked(make_run(make_dataset([make_task(1, tools=[tool])])))
    assert verify_run(run).holds
    Task.objects.filter(version=run.dataset_version).update(tools=[])
    assert "tools" in verify_run(run).first_differences[0].where


@pytest.mark.parametrize("representation", ["full", "image"])
def test_prompts_of_canvases_are_verified_in_every_representation(
    endpoint: Endpoint, settings: Any, representation: str
) -> None:
    endpoint()
    seeing = {MODEL: ModelConfig(input_per_million=1.0, output_per_million=1.0, sees_pictures=True)}
    settings.CODEFORGE = settings.CODEFORGE.model_copy(update={"models": seeing})
    canvas_set = generate_canvas_set({"shapes": "3", "count": 2, "seed": 5})
    tasks = ["existence"]
    run = worked(make_run(canvas_set.dataset, metrics=["task_score"], representation=representation, tasks=tasks))
    assert verify_run(run).holds
    question = Question.objects.filter(canvas__canvas_set=canvas_set, task_name="existence").earliest("pk")
    Question.objects.filter(pk=question.pk).update(question="Is there nothing?")
    found = verify_run(run)
    assert found.differing == 1
    assert "Is there nothing?" in found.first_differences[0].where


def test_a_prompt_that_can_no_longer_be_built_is_a_difference(endpoint: Endpoint) -> None:
    endpoint()
    canvas_set = generate_canvas_set({"shapes": "3", "count": 2, "seed": 5})
    run = worked(make_run(canvas_set.dataset, metrics=["task_score"], tasks=["existence"]))
    Question.objects.filter(canvas__canvas_set=canvas_set, task_name="existence").update(task_name="gone")
    found = verify_run(run)
    assert found.differing == 2
    assert found.first_differences[0].rebuilt is None
    assert "can no longer be built" in found.first_differences[0].where


def test_a_run_that_asked_nothing_has_nothing_to_verify(endpoint: Endpoint) -> None:
    endpoint()
    with pytest.raises(NotPossible, match="has not sent any prompts"):
        verify_run(make_run())


def test_what_was_never_asked_is_counted_apart(endpoint: Endpoint) -> None:
    endpoint()
    run = worked(make_run(make_dataset(3)))
    Transcript.objects.filter(result__run=run, result__position=1).delete()
    found = verify_run(run)
    assert (found.checked, found.unasked, found.differing) == (2, 1, 0)
    assert not found.holds, "the run's own hash says that one is missing"
