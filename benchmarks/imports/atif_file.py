"""Trajectories in ATIF, as Harbor and other agents write them: one file is one task that an agent worked on.

The task is what the user said first, the answer what the agent said last. A trajectory has no reference and no scores.
Files of sub-agents and continuations that another file names are part of it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from benchmarks.dataset_format.spec import TaskSpec
from benchmarks.imports.base import Files, Importer
from benchmarks.imports.parts import Amount, Count, Part, Text, at, read
from benchmarks.imports.runs import ImportedResult, ImportedRun, ImportProblem, Unused, name_of
from benchmarks.providers.atif import file_name, is_trajectory, parts_of, trajectory_steps
from benchmarks.providers.base import known_sum
from benchmarks.providers.steps import MESSAGE, MODEL_CALL, TOOL_CALL, Step, StepProblem


class Header(Part):
    """What a trajectory says beside its steps."""

    called: ClassVar = "trajectories"
    without_loss: ClassVar = frozenset(
        {"trajectory_id", "final_metrics.total_steps", "agent.tool_definitions", "continued_trajectory_ref"}
    )
    schema_version: Text
    session: Text = at("session_id|trajectory_id", "")
    agent: Text = at("agent.name", ...)
    version: Text = at("agent.version", "")
    model: Text = at("agent.model_name", "")
    notes: Text = ""
    tokens_in: Count | None = at("final_metrics.total_prompt_tokens")
    tokens_out: Count | None = at("final_metrics.total_completion_tokens")
    cached_tokens: Count | None = at("final_metrics.total_cached_tokens")
    cost_usd: Amount | None = at("final_metrics.total_cost_usd")
    steps: Any = None
    subagent_trajectories: Any = None


_TOTALS = ("tokens_in", "tokens_out", "cached_tokens", "cost_usd")


class AtifImporter(Importer):
    name = "atif"
    title = "ATIF"
    files = "trajectories (.json)"

    def detect(self, files: Files) -> Sequence[Files]:
        found = [file for file in files if {"schema_version", "agent", "steps"} <= file.outline.keys()]
        # Whose file it is shows only in what refers to it, so that several files are read.
        named = {file.name: _referred(file.document()) for file in found} if len(found) > 1 else {}
        roots = [file for file in found if not any(file.name in names for names in named.values())]
        if not roots:
            return [[file] for file in found]
        parts = [file for file in found if file not in roots]
        return [[root, *(part for part in parts if _reaches(root.name, part.name, named))] for root in roots]

    def read(self, log: Files) -> list[ImportedRun]:
        unused: Unused = Counter()
        root, *others = ((file.name, file.document()) for file in log)
        header = read(Header, root[1], "", unused)
        known = {name: document for name, document in others if is_trajectory(document)}
        known |= {str(each["session_id"]): each for each in known.values() if each.get("session_id")}
        steps = partial(trajectory_steps, root[1], known)
        *_, last = parts_of(root[1], known)
        if last is not root[1]:  # whose numbers are of all parts
            totals = read(Header, last, "", Counter())
            header = header.model_copy(update={name: getattr(totals, name) for name in _TOTALS})
        if last.get("continued_trajectory_ref"):
            unused["continued_trajectory_ref", "trajectories"] += 1
        return [_run(header, steps_checked(steps()), steps, unused)]


def steps_checked(steps: Iterable[Step]) -> list[Step]:
    """The steps. Raises ``ImportProblem`` with the place of what is wrong."""
    try:
        return list(steps)
    except StepProblem as problem:
        raise ImportProblem(str(problem)) from None


def _run(
    header: Header, steps: Sequence[Step], read_again: Callable[[], Iterator[Step]], unused: Unused
) -> ImportedRun:
    own = [step for step in steps if not step.depth]
    asked = next((step.text for step in own if step.kind == MESSAGE and step.name == "user"), "")
    if not asked:
        raise ImportProblem("steps: no message of a user found, so there is no task")
    task = TaskSpec(
        id=f"task-{hashlib.sha256(asked.encode()).hexdigest()[:16]}",
        name=name_of(asked),
        input=asked,
        expected_output="",
    )
    said = [step.text for step in own if step.text and (step.kind == MODEL_CALL or step.name == "assistant")]
    times = [step.at for step in steps if step.at]
    took = (max(times) - min(times)).total_seconds() if len(times) > 1 else None
    result = ImportedResult(
        task_id=task.id,
        answer=said[-1] if said else "",
        cancelled=not said and not any(step.kind == TOOL_CALL for step in own),
        messages=list(_messages(own)),
        tool_calls=[_call(step) for step in steps if step.kind == TOOL_CALL],
        duration_ms=None if took is None else 1_000 * took,
        tokens_in=header.tokens_in if header.tokens_in is not None else _sum(steps, "tokens_in"),
        tokens_out=header.tokens_out if header.tokens_out is not None else _sum(steps, "tokens_out"),
        cached_tokens=header.cached_tokens,
        cost_usd=header.cost_usd,
        finished_at=max(times, default=None),
        notes=[header.notes] if header.notes else [],
        steps=read_again,
    )
    return ImportedRun(
        model=header.model or header.agent,
        name=header.agent,
        tasks=[task],
        results=[result],
        evaluation=header.session,
        facts={"agent": f"{header.agent} {header.version}".strip(), "ATIF": header.schema_version},
        unread=unused,
        started_at=min(times, default=None),
        completed_at=max(times, default=None),
    )


def _messages(steps: Iterable[Step]) -> Iterator[dict[str, object]]:
    for step in steps:
        if step.kind == MESSAGE:
            yield {"role": step.name, "content": step.text}
        elif step.kind == MODEL_CALL and step.text:
            yield {"role": "assistant", "content": step.text}


def _call(step: Step) -> dict[str, object]:
    arguments = step.arguments if isinstance(step.arguments, dict) else None
    return {"name": step.name, "arguments": arguments, "raw": str(step.arguments), "malformed": arguments is None}


def _sum(steps: Iterable[Step], name: str) -> int | None:
    counts = [getattr(step, name) for step in steps if step.kind == MODEL_CALL]
    return known_sum(*counts) if counts else None


def _referred(document: Any) -> frozenset[str]:
    """The names of the files that a trajectory refers to."""
    continued = file_name(document.get("continued_trajectory_ref")) if isinstance(document, Mapping) else ""
    found = {continued} - {""}
    steps = document.get("steps") if isinstance(document, Mapping) else None
    for step in steps if isinstance(steps, list) else ():
        observation = step.get("observation") if isinstance(step, Mapping) else None
        results = observation.get("results") if isinstance(observation, Mapping) else None
        for result in results if isinstance(results, list) else ():
            references = result.get("subagent_trajectory_ref") if isinstance(result, Mapping) else None
            for each in references if isinstance(references, list) else [references]:
                if isinstance(each, Mapping):
                    found |= {file_name(each.get("trajectory_path"))} - {""}
    return frozenset(found)


def _reaches(root: str, name: str, named: Mapping[str, frozenset[str]]) -> bool:
    """Whether a file refers to another one, or one that it refers to does."""
    left, seen = [root], {root}
    while left:
        for each in named.get(left.pop(), ()):
            if each == name:
                return True
            if each not in seen:
                seen.add(each)
                left.append(each)
    return False
