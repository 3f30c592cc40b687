"""What a preset is, and how rows of a public benchmark become a dataset: mapped, sampled, and preceded by examples."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.problems import format_path, printable, quoted
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.dataset_format.validation import check_dataset
from benchmarks.imports.parts import shown
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_columns import LETTERS
from benchmarks.imports.table_tasks import cell_text
from benchmarks.imports.tables import Row

SEED = 1
MAX_SHOTS = 25
MAX_GENERATED = 200
_MAX_NAME = 80


class LeftOutError(Exception):
    """A row that the format cannot express. The message is a reason for people, equal for equal reasons."""


@dataclass(frozen=True, slots=True)
class Cells:
    """One row of the benchmark's ``config``. The methods raise ``ImportProblem`` if a column is not of the type."""

    row: Row
    config: str = ""
    seed: int = SEED

    def text(self, name: str) -> str:
        return cell_text(self._value(name), name)

    def items(self, name: str) -> list[Any]:
        value = self._value(name)
        if not isinstance(value, list):
            raise ImportProblem(f"column {quoted(name)}: expected a list, found {shown(value)}")
        return value

    def texts(self, name: str) -> list[str]:
        return [cell_text(each, name) for each in self.items(name)]

    def nested(self, name: str) -> Cells:
        """The columns inside the column ``name``."""
        value = self._value(name)
        if not isinstance(value, dict):
            raise ImportProblem(f"column {quoted(name)}: expected an object, found {shown(value)}")
        return Cells(Row(self.row.line, value), self.config, self.seed)

    def shuffled(self, items: Iterable[str]) -> list[str]:
        """The items in an order that depends on the seed and the row alone."""
        order = list(items)
        random.Random(f"{self.seed}:{self.config}:{self.row.line}").shuffle(order)
        return order

    def _value(self, name: str) -> Any:
        if name not in self.row.values:
            names = ", ".join(map(quoted, [*self.row.values][:20])) or "none"
            raise ImportProblem(f"no column {quoted(name)}; columns: {names}. Leave @REVISION out")
        return self.row.values[name]


Task = dict[str, Any]
Needles = Callable[[int, int], list[Task]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A public benchmark as this dashboard imports it.

    ``path`` is a pattern of files in the repository, in which ``{config}`` and ``{split}`` are filled in; every config
    is read. ``task`` makes a task of a row, without ``id`` and ``name`` if they shall be made here. With ``shots``,
    the first rows of ``shot_split`` (``{split}`` of the same path) precede each question as ``shot`` writes them, those
    of the same ``group`` if it is set. ``group`` is also the key of metadata by which samples are stratified.
    """

    name: str
    title: str
    about: str
    repository: str = ""
    revision: str = ""
    license: str
    path: str = ""
    configs: tuple[str, ...] = ("",)
    split: str = "test"
    size: int
    """Tasks of the split, as published."""
    metrics: tuple[str, ...]
    difference: str
    """What differs from the task of the same name in lm-evaluation-harness, or from the named original."""
    task: Callable[[Cells], Task] | None = None
    group: str = ""
    limit: int | None = None
    """Tasks that are sampled unless a number is given: as many as fit into a dataset."""
    shots: int = 0
    shot_split: str = ""
    first_shot: int = 0
    shot: Callable[[Cells], str] | None = None
    header: Callable[[Cells], str] | None = None
    answers_path: str = ""
    """Pattern of files whose rows complete those of ``path`` with the same ``id``."""
    generate: Needles | None = None
    """Makes tasks from their number and a seed, in place of rows."""

    @property
    def needs_parquet(self) -> bool:
        return self.path.endswith(".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetRequest:
    """Which part of a benchmark to import; ``None`` stands for what the preset says."""

    limit: int | None = None
    split: str = ""
    shots: int | None = None
    seed: int = SEED


@dataclass(frozen=True, slots=True)
class PresetReport:
    """The dataset, how many tasks the split has, and how many rows were left out by reason."""

    spec: DatasetSpec
    available: int
    left_out: Mapping[str, int]


def dataset_of_preset(
    preset: Preset,
    rows: Iterable[tuple[str, Row]],
    examples: Iterable[tuple[str, Row]],
    request: PresetRequest,
    origin: str,
) -> PresetReport:
    """Rows and examples with their config as a dataset. ``origin`` says where they are from, for the description.

    Raises ``ImportProblem`` with the first row that is not of the published form.
    """
    left_out: Counter[str] = Counter()
    mapped: list[tuple[Cells | None, Task]] = []
    limit = request.limit or preset.limit
    if preset.generate is not None:
        if limit and limit > MAX_GENERATED:
            raise ImportProblem(
                f"{preset.name}: {limit:,} tasks exceed the size of a dataset: use at most {MAX_GENERATED}"
            )
        mapped = [(None, task) for task in preset.generate(limit or preset.size, request.seed)]
    for number, (config, row) in enumerate(rows, 1):
        if number > limits.MAX_NODES // 4:
            raise ImportProblem(f"{preset.name}: more than {limits.MAX_NODES // 4:,} rows, the limit")
        cells = Cells(row, config, request.seed)
        try:
            mapped.append((cells, _task(preset, cells)))
        except LeftOutError as reason:
            left_out[str(reason)] += 1
    if not mapped:
        raise ImportProblem(f"{preset.name}: no row can be imported: {_counted(left_out) or 'there are none'}")
    chosen = _sample(mapped, preset.group, limit, request.seed)
    shots = _shots(preset, examples, request)
    for origin_cells, task in chosen:
        if origin_cells is not None and "input" in task:
            parts = (preset.header(origin_cells) if preset.header else "", *shots(task), task["input"])
            task["input"] = "\n\n".join(filter(None, parts))
    if sum(len(json.dumps(task, ensure_ascii=False)) for _, task in chosen) >= limits.MAX_BYTES:
        most = f"{limits.MAX_BYTES // 1_000_000} MB, the limit of a dataset"
        raise ImportProblem(f"{preset.name}: {len(chosen):,} tasks have more than {most}: set a smaller limit")
    spec, faults = check_dataset(
        {
            "name": preset.title,
            "description": _description(preset, request, origin, (len(chosen), len(mapped)), left_out),
            "metrics": list(preset.metrics),
            "tasks": [task for _, task in chosen],
        }
    )
    if spec is None:
        fault = faults[0]
        place = fault.path[1] if len(fault.path) > 1 and fault.path[0] == "tasks" else None
        task_id = chosen[place][1]["id"] if isinstance(place, int) else preset.name
        raise ImportProblem(f"{task_id}: {format_path(fault.path[2:])}: {fault.message}")
    return PresetReport(spec, len(mapped), dict(left_out))


def _task(preset: Preset, cells: Cells) -> Task:
    assert preset.task is not None, "presets without rows generate their tasks"
    if cells.row.problem:
        raise ImportProblem(f"row {cells.row.line}: {cells.row.problem}")
    try:
        task = preset.task(cells)
    except ImportProblem as problem:
        raise ImportProblem(f"{cells.config or preset.name}, row {cells.row.line}: {problem}") from None
    stem = cells.config or preset.name
    title = task.pop("title", "") or task.get("input", "")
    task_id = task.pop("id", "") or f"{stem}-{cells.row.line}"
    return {"id": _line(task_id, limits.MAX_NAME), "name": _line(title, _MAX_NAME) or task_id, **task}


def _sample(
    tasks: Sequence[tuple[Cells | None, Task]], group: str, limit: int | None, seed: int
) -> Sequence[tuple[Cells | None, Task]]:
    """``limit`` tasks in their order, as many of each group as its share (largest remainders)."""
    if limit is None or limit >= len(tasks):
        return tasks
    by_group = defaultdict(list)
    for place, (_, task) in enumerate(tasks):
        by_group[str(task.get("metadata", {}).get(group, ""))].append(place)
    shares = {name: len(places) * limit / len(tasks) for name, places in by_group.items()}
    counts = {name: int(share) for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: (counts[name] - shares[name], name))
    for name in by_remainder[: limit - sum(counts.values())]:
        counts[name] += 1
    chosen = {
        place
        for name, places in sorted(by_group.items())
        for place in random.Random(f"{seed}:{name}").sample(places, counts[name])
    }
    return [tasks[place] for place in sorted(chosen)]


def _shots(
    preset: Preset, examples: Iterable[tuple[str, Row]], request: PresetRequest
) -> Callable[[Task], Sequence[str]]:
    """The examples that precede a task. Raises ``ImportProblem`` for a number of them that does not exist."""
    count = preset.shots if request.shots is None else request.shots
    if not count:
        return lambda task: ()
    shot = preset.shot
    if shot is None:
        raise ImportProblem(f"{preset.name} has no examples: leave their number out")
    if count > MAX_SHOTS:
        raise ImportProblem(f"{count:,} examples before each question; the limit is {MAX_SHOTS}")
    by_group = defaultdict(list)
    for config, row in examples:
        cells = Cells(row, config, request.seed)
        key = str(_task(preset, cells).get("metadata", {}).get(preset.group, "")) if preset.group else ""
        by_group[key].append(cells)

    def shots(task: Task) -> Sequence[str]:
        key = str(task.get("metadata", {}).get(preset.group, "")) if preset.group else ""
        own = by_group[key][preset.first_shot : preset.first_shot + count]
        if len(own) < count:
            raise ImportProblem(f"{preset.name} has {len(own)} examples{key and f' of {key}'}: use at most {len(own)}")
        return [shot(cells) for cells in own]

    return shots


def _description(
    preset: Preset, request: PresetRequest, origin: str, counts: tuple[int, int], left_out: Mapping[str, int]
) -> str:
    """What was imported from where, and how it differs. ``counts`` are the tasks chosen and the tasks there are."""
    chosen, mapped = counts
    available = mapped + sum(left_out.values())
    shots = preset.shots if request.shots is None else request.shots
    sampled = chosen < mapped or preset.generate is not None
    share = f"{chosen:,} tasks" if chosen == available else f"{chosen:,} of {available:,} tasks"
    sentences = [
        preset.about,
        origin,
        f"License: {preset.license}." if preset.repository else "",
        share
        + (f" of seed {request.seed}" * sampled)
        + (f", {shots} examples before each question." if shots else "."),
        f"Left out: {_counted(left_out)}." if left_out else "",
        f"Differs from lm-evaluation-harness: {preset.difference}.",
    ]
    return " ".join(filter(None, sentences))


def _counted(left_out: Mapping[str, int]) -> str:
    return "; ".join(f"{count:,} {reason}" for reason, count in left_out.items())


def _line(text: str, limit: int) -> str:
    return printable(" ".join(text.split()), limit)


def labels(**values: object) -> dict[str, Any]:
    """Metadata without empty values, with texts on one line and short enough."""
    lines = {
        name: _line(value, limits.MAX_LABEL) if isinstance(value, str) else value for name, value in values.items()
    }
    return {name: value for name, value in lines.items() if value not in (None, "")}


def options(choices: Sequence[str], mark: str = "{}. ") -> str:
    """The choices in a line each, with their letters."""
    return "\n".join(mark.format(letter) + text for letter, text in zip(LETTERS, choices, strict=False))


def chosen(choices: Sequence[str], place: int) -> Task:
    """The fields of a task with choices, of which the one at ``place`` is correct.

    Choices that are empty or equal are compared by letter alone.
    """
    if not 0 <= place < len(choices) <= len(LETTERS):
        raise ImportProblem(f"the answer is number {place} of {len(choices)} choices")
    texts = [" ".join(text.split()) for text in choices]
    distinct = all(texts) and len({text.casefold() for text in texts}) == len(texts)
    return {"expected_output": LETTERS[place], **({"choices": texts} if distinct else {})}


def accepted(texts: Iterable[str]) -> str | list[str]:
    """Different accepted answers, the first ones if there are too many; the text itself if there is one."""
    answers = [text for text in dict.fromkeys(" ".join(text.split()) for text in texts) if text][: limits.MAX_ANSWERS]
    return answers[0] if len(answers) == 1 else answers
