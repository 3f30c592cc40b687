"""Write a dataset as readable YAML that loads to the same content, and hash that content."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import yaml

from benchmarks.dataset_format.scalars import read_plain
from benchmarks.dataset_format.spec import DatasetSpec, TaskSpec, as_mapping, resolved_rubric
from benchmarks.metrics.worlds import merged_world

EDITOR_LINE = "# yaml-language-server: $schema=dataset.schema.json\n"
"""For editors that complete and check; the schema is in the folder of the datasets."""
_WIDTH = 110
_KEPT_IN_BLOCKS = re.compile("[\n\x20-\x7e\xa0-\u2027\u202f-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
"""Characters that a ``|`` block preserves: no tab, carriage return, bidi or other special character."""

_ENDS_IN_BLANK_LINES = re.compile(r"(?:^|\n)\n\Z")


def dump_dataset(spec: DatasetSpec) -> str:
    """The dataset as YAML: a line for editors, then keys in declared order, defaults left out.

    ``parse_dataset`` returns an equal dataset, if the YAML is smaller than ``limits.MAX_BYTES``.
    """
    head = as_mapping(spec)
    tasks = head.pop("tasks")
    # Task by task, because PyYAML has no option for blank lines between list items.
    written = (dump_values({"tasks": [task]}).removeprefix("tasks:\n") for task in tasks)
    return f"{EDITOR_LINE}{dump_values(head)}tasks:\n" + "\n".join(written)


def content_hash(spec: DatasetSpec) -> str:
    """SHA-256 (hex) of the content. Layout, comments, key order and explicit defaults do not change it."""
    return _hash(as_mapping(spec))


def task_hash(task: TaskSpec, dataset: DatasetSpec) -> str:
    """SHA-256 (hex) of what is asked and expected, with the dataset's tools, tool results, world and named rubric.

    Name, difficulty, split, cluster, weight, tags and metadata do not change it: results stay comparable when they are
    edited.
    """
    content = {name: value for name, value in as_mapping(task).items() if name not in TaskSpec.describing}
    content["tools"] = list(task.tools or dataset.tools)
    content["tool_results"] = {**dataset.tool_results, **task.tool_results}
    if world := merged_world(dataset.world, task.world):
        content["world"] = world
    if rubric := resolved_rubric(task.rubric, dataset.rubrics):
        content["rubric"] = {name: value for name, value in rubric.items() if name != "name"}
    return _hash(content)


def _hash(content: dict[str, Any]) -> str:
    # ASCII escapes, sorted keys and no spaces: the hash must never depend on a library's defaults.
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class _Dumper(yaml.SafeDumper):
    """Keeps the order, indents lists below their key, writes no aliases, and quotes what any reader may misread."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style: str | None
    if not _KEPT_IN_BLOCKS.fullmatch(text):
        style = '"'
    elif "\n" in text and not _ENDS_IN_BLANK_LINES.search(text):
        style = "|"
    else:
        style = None if isinstance(read_plain(text), str) and "\n" not in text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump_values(content: Any) -> str:
    """Plain values as readable YAML."""
    return yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False
    )
