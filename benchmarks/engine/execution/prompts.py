"""Build what is sent for a task: the messages, the tools offered and, for the image representation, the image.

``PromptBuilder`` turns claimed results into questions. The same builder serves previews and the check that a run's
prompts are unchanged, so what is shown is what is sent.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet

from benchmarks.dataset_format.expectations import TURN_EXPECTATIONS
from benchmarks.dataset_format.messages import user_messages
from benchmarks.dataset_format.spec import TASK_KEYS, resolved_rubric
from benchmarks.engine.canvas_sets.rows import shapes_of
from benchmarks.engine.canvas_sets.shortcuts import BlindAnswers
from benchmarks.engine.configured import is_system
from benchmarks.engine.execution.budget import tool_steps
from benchmarks.engine.execution.work_items import Prompt, Question
from benchmarks.engine.sql import among
from benchmarks.metrics.base import Item
from benchmarks.metrics.conversations import most_turns
from benchmarks.metrics.task_parts import ExpectedCall, Tool
from benchmarks.metrics.trajectories import RecoveredErrors
from benchmarks.metrics.worlds import merged_world, world_spec
from benchmarks.models import Result, Run, Task
from benchmarks.prompt_template import fill, placeholders
from benchmarks.providers.base import AskedTask, BaselineContext, Message
from benchmarks.providers.steps import Failures
from benchmarks.run_parameters import seed_of_repeat
from tasks_app.canvas.picture import png
from tasks_app.loader import CanvasDocument, build_prompt

CONTEXT_HEADING = "Context:"
ACKNOWLEDGMENT = "OK."
"""What the reference baseline answers to a turn that expects no text."""
_png_of = lru_cache(maxsize=256)(png)
"""Cached, because the task classes of one canvas ask about the same image, one after the other."""
_OF_ITEM = {field.name for field in fields(Item)}
_IN_ITEM = tuple(key for key in TASK_KEYS if key in _OF_ITEM - {"input", "turns", "world", "rubric"})
"""Keys of a task that metrics see as they are stored."""
_JSON_TYPES = (
    (bool, "boolean"),  # before int, which it is a subclass of
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)


class PromptBuilder:
    """Builds the questions of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.version = run.dataset_version
        self._baseline: _BaselineAnswers | None = None
        self._is_system = is_system(run.model)

    def questions(self, ids: Sequence[int]) -> list[Question]:
        """The questions of results, in order. Raises whatever building one of the prompts raises."""
        if self.run.is_baseline and self._baseline is None:
            self._baseline = _BaselineAnswers(self.run)
        # Tasks of pending results are many and small: columns that only an answer fills would double what is read.
        return [self._question(result) for result in self.results(ids).only("repeat", "task")]

    def results(self, ids: Sequence[int], *related: str) -> QuerySet[Result]:
        """Results in order with their tasks, and with the canvases of canvas tasks."""
        tables = ("task", *(("task__question__canvas",) if self.run.representation else ()), *related)
        return Result.objects.filter(id__in=among(ids)).select_related(*tables).order_by("position")

    def prompt(self, task: Task) -> Prompt:
        if task.question_id is not None:
            return canvas_prompt(self.run, task)
        if task.turns:
            first, *later = (turn["user"] for turn in task.turns)
            opening = conversation(self.run, [*(task.messages or ()), *user_messages([first])])
            turns = user_messages(user_text(self.run, text) for text in later)
            return replace(self._with_tools(opening, task), turns=turns)
        if task.messages:
            return self._with_tools(conversation(self.run, task.messages), task)
        passages = "\n\n".join(f"[{number}] {passage}" for number, passage in enumerate(task.context, 1))
        messages = _messages(self.run.parameters.get("system_prompt"), user_text(self.run, task.input, passages))
        return self._with_tools(messages, task)

    def _with_tools(self, messages: tuple[Message, ...], task: Task) -> Prompt:
        tools = tuple(self._tools(task))
        steps = 1 if not tools else tool_steps(self.run, merged_world(self.version.world, task.world), task.final_state)
        return Prompt(messages, tools, extra=self.run.extra, steps=steps, user=task.user)

    def item(self, task: Task) -> Item:
        """The task as metrics see it, without an answer."""
        world = merged_world(self.version.world, task.world)
        rubric = resolved_rubric(task.rubric, self.version.rubrics)
        shown = {sight for each in (rubric, *self.run.rubrics.values()) for sight in each.get("sees", ())}
        return Item(
            input=task.input,
            actual_output="",
            other_answers=task.other_answers or (),
            tools_offered=bool(self._tools(task)),
            world=world_spec(world, self._tools(task)) if world else None,
            rubric=rubric,
            pictures=_pictures(self.prompt(task)) if "picture" in shown else (),
            steps="" if "steps" in shown else None,
            failures=Failures(0, 0) if RecoveredErrors.name in self.run.metrics else None,
            other_output=(task.known_answer or {}).get("other", ""),
            group=task.group,
            turns=_turns(task),
            simulated_turns=most_turns(task.user) if task.user else 0,
            opening_users=sum(message["role"] == "user" for message in task.messages or ()),
            **_given(task, _IN_ITEM),
        )

    def _question(self, result: Result) -> Question:
        task = result.task
        return Question(
            result_id=result.pk,
            repeat=result.repeat,
            seed=self.run.seed_of(result.repeat),
            prompt=self.prompt(task),
            asked=self._asked(task) if self._is_system else None,
            item=self.item(task),
            tool_results={**self.version.tool_results, **task.tool_results},
            baseline=self._baseline.context(task, result.repeat) if self._baseline else None,
        )

    def _asked(self, task: Task) -> AskedTask:
        # Only the prompt of a single input has passages before the text.
        has_passages = task.context and not (task.question_id or task.turns or task.messages)
        own_text = user_text(self.run, task.input) if has_passages else ""
        return AskedTask(task.task_id, own_text, tuple(task.context), task.value_of("metadata") or {})

    def _tools(self, task: Task) -> Sequence[Tool]:
        """The task's own tools, else the dataset's, else schemas inferred from the expected calls."""
        if task.tools is not None:
            return list(task.tools)
        return self.version.tools or inferred_tools(task.expected_tools)


def _pictures(prompt: Prompt) -> list[str]:
    """The URLs of the images in a prompt."""
    contents = [message["content"] for message in prompt.messages]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def _turns(task: Task) -> tuple[Item, ...]:
    """What each turn of a scripted conversation expects; of the last one, the task's own expectations."""
    if not task.turns:
        return ()
    items = []
    for turn in task.turns:
        stated = {name: value for name, value in turn.items() if name != "user"}
        answers = stated.pop("expected_output", "")
        first, *others = [answers] if isinstance(answers, str) else answers
        items.append(Item(turn["user"], first, "", other_answers=others, **stated))
    items[-1] = Item(
        task.turns[-1]["user"],
        actual_output="",
        other_answers=task.other_answers or (),
        **_given(task, TURN_EXPECTATIONS),
    )
    return tuple(items)


def _given(task: Task, keys: Iterable[str]) -> dict[str, Any]:
    return {key: value for key in keys if (value := task.value_of(key)) is not None}


def conversation(run: Run, messages: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """A task's messages as they are sent. The run's prompt template goes around the last text of the last message, and
    its system prompt comes first if the task has none of its own.
    """
    sent = [{"role": message["role"], "content": _content(message["content"])} for message in messages]
    last = sent[-1]
    if isinstance(last["content"], str):
        last["content"] = user_text(run, last["content"])
    elif texts := [part for part in last["content"] if part["type"] == "text"]:
        texts[-1]["text"] = user_text(run, texts[-1]["text"])
    system_prompt = run.parameters.get("system_prompt")
    if system_prompt and sent[0]["role"] != "system":
        sent.insert(0, {"role": "system", "content": system_prompt})
    return tuple(sent)


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [
        {"type": "text", "text": part["text"]}
        if "text" in part
        else {"type": "image_url", "image_url": {"url": part["image"]}}
        for part in content
    ]


def user_text(run: Run, text: str, passages: str = "") -> str:
    """A task's text in the run's prompt template. Passages that no ``{context}`` places stand before it, as they do
    without a template.
    """
    template = run.parameters.get("prompt_template") or "{input}"
    filled = fill(template, {"input": text, "context": passages})
    if not passages or "context" in placeholders(template):
        return filled
    return f"{CONTEXT_HEADING}\n\n{passages}\n\n{filled}"


def inferred_tools(expected: Sequence[ExpectedCall]) -> list[Tool]:
    """Function schemas that admit the expected calls: every argument seen, typed by its value, none required.

    No reference value goes into a schema, so it does not give the answer away.
    """
    functions: dict[str, dict[str, Mapping[str, object]]] = {}
    for call in expected:
        properties = functions.setdefault(call["name"], {})
        others = {argument: values[0] for argument, values in (call.get("accept") or {}).items()}
        for argument, value in {**others, **(call.get("args") or {})}.items():
            kind = next((name for cls, name in _JSON_TYPES if isinstance(value, cls)), "null")
            properties[argument] = {"type": kind}
    return [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
        for name, properties in functions.items()
    ]


def canvas_prompt(run: Run, task: Task) -> Prompt:
    """The prompt of a canvas question in the run's representation. The task comes with its question and canvas."""
    question = task.question
    assert question is not None, "only canvas tasks come here"
    shapes = shapes_of(question.canvas)
    questions_and_answers = (
        (question.question, question.answer),
        *((text, answer) for text, answer in question.examples),
    )
    document = CanvasDocument(shapes, question.canvas.descriptions, {question.task_name: questions_and_answers})
    built = build_prompt(document, question.task_name, run.representation, run.few_shot)
    system_prompt, text = run.parameters.get("system_prompt"), user_text(run, built.text)
    if not built.needs_image:
        return Prompt(_messages(system_prompt, text), extra=run.extra)
    image = _png_of(shapes)
    content: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(image).decode()}},
        {"type": "text", "text": text},
    ]
    picture = {"canvas": question.canvas_id, "sha256": hashlib.sha256(image).hexdigest()}
    return Prompt(_messages(system_prompt, content), picture=picture, extra=run.extra)


def _messages(system_prompt: str | None, content: Any) -> tuple[Message, ...]:
    user: Message = {"role": "user", "content": content}
    return ({"role": "system", "content": system_prompt}, user) if system_prompt else (user,)


class _BaselineAnswers:
    """The reference answers of comparable tasks of the version, for the random, majority and blind baselines."""

    def __init__(self, run: Run) -> None:
        self._run = run
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for group, answer in run.dataset_version.tasks.values_list("group", "expected_output").iterator():
            counts[group][answer] += 1
        self._choices = {group: tuple(sorted(answers)) for group, answers in counts.items()}
        # Ties go to the first in alphabetical order, so the baseline is the same in every run.
        self._majority = {
            group: min(answers, key=lambda answer: (-answers[answer], answer)) for group, answers in counts.items()
        }

        canvas_set = run.dataset.canvas_set
        is_blind = canvas_set and run.model == "baseline/blind"
        self._blind = BlindAnswers(canvas_set, few_shot=run.few_shot) if canvas_set and is_blind else None

    def _salt(self, task: Task, repeat: int) -> str:
        seed = self._run.parameters.get("seed") or 0
        if not self._run.seed_per_repeat:
            return f"{seed}:{task.task_id}:{repeat}"
        # A repeat answers as the first repeat of a run with its seed does, as with a model.
        return f"{seed_of_repeat(seed, repeat)}:{task.task_id}:1"

    def context(self, task: Task, repeat: int) -> BaselineContext:
        majority = self._majority[task.group]
        return BaselineContext(
            expected_output=task.expected_output,
            expected_tools=task.expected_tools,
            choices=task.choices or self._choices[task.group],
            majority=majority,
            blind=(self._blind.answer(task) if self._blind else None) or majority,
            salt=self._salt(task, repeat),
            known_answer=(task.known_answer or {}).get("text", ""),
            turns=[turn.expected_output or ACKNOWLEDGMENT for turn in _turns(task)[:-1]],
        )
