"""Parse the bytes of a YAML file into a dataset, or into all its errors with their lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.messages import embed_images
from benchmarks.dataset_format.nodes import Node, compose, find
from benchmarks.dataset_format.problems import Fault, Problem, format_path, quoted
from benchmarks.dataset_format.spec import DatasetSpec
from benchmarks.dataset_format.validation import check_dataset

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Either a dataset, or the file's problems ordered by line."""

    spec: DatasetSpec | None
    problems: tuple[Problem, ...] = ()

    def __post_init__(self) -> None:
        if (self.spec is None) != bool(self.problems):
            raise ValueError("a parsed file has either a dataset or problems")


def parse_dataset(
    data: bytes, file: str, images: Mapping[str, bytes] = MappingProxyType({}), seed: int | None = None
) -> Parsed:
    """Parse a whole file; ``file`` is its name in problems, and ``images`` are the image files that it may name.
    ``seed`` replaces that of its generator. Raises nothing, whatever the bytes.

    Time and memory are bounded by ``limits``.
    """
    problems: list[Problem] = []
    root = read_yaml(data, file, problems, "name, description and tasks")
    if root is not None:
        embed_images(root.value, images)
        if seed is not None:
            _replace_seed(root.value, seed)
        spec, faults = check_dataset(root.value)
        left = limits.MAX_PROBLEMS - len(problems)
        problems += [located(fault, root, file) for fault in faults[:left] if not fault.reported]
        if not problems:
            return Parsed(spec)
    return Parsed(None, tuple(sorted(problems, key=lambda problem: problem.line)))


def _replace_seed(values: object, seed: int) -> None:
    if isinstance(values, dict) and isinstance(values.get("generator"), dict):
        values["generator"]["seed"] = seed


def read_yaml(data: bytes, file: str, problems: list[Problem], keys: str) -> Node | None:
    """The values of a YAML file with their lines; what is wrong with it is added to ``problems``.

    ``keys`` are what an empty file lacks. Raises nothing, whatever the bytes; ``limits`` bound time and memory.
    """
    text = _decode(data, file)
    if isinstance(text, Problem):
        problems.append(text)
        return None
    root = compose(text, file, problems)
    if root is None and not problems:
        problems.append(Problem(file, 1, "", f"the file is empty: enter a mapping with {keys}"))
    return root


def too_large(size: int, file: str) -> Problem:
    """The problem of a file of ``size`` bytes."""
    return Problem(file, 1, "", f"the file has {size:,} bytes; the limit is {limits.MAX_BYTES:,}: split the dataset")


def _decode(data: bytes, file: str) -> str | Problem:
    # In this order, so that the message names the cause: UTF-16 text has NUL bytes, binary files are no UTF-8 either.
    if len(data) >= limits.MAX_BYTES:
        return too_large(len(data), file)
    if data.startswith(_UTF16_MARKS):
        return Problem(file, 1, "", "the file is UTF-16: save it as UTF-8")
    if (at := data.find(b"\0")) >= 0:
        return Problem(
            file, _line_of(data, at), "", f"the file is binary (byte {at + 1:,} is NUL): save the YAML as text"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = _line_of(error.object, error.start)
        return Problem(file, line, "", f"byte {error.start + 1:,} is not UTF-8: save the file as UTF-8")
    if match := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, match.start()) + 1
        code = f"{ord(match[0]):04x}"
        message = (
            f'the character U+{code.upper()} is not allowed in YAML: remove it, or use "\\u{code}" in double quotes'
        )
        return Problem(file, line, "", message)
    return text


def _line_of(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def located(fault: Fault, root: Node, file: str) -> Problem:
    """The fault at the line of its key or list item, or at its own line inside a ``|`` block."""
    line, node = find(root, fault.path)
    message = fault.message
    if node and node.literal and fault.inner_line:
        line = node.line + fault.inner_line
    if node and node.text and fault.quotable:
        message += f"; if you mean text, quote it: {quoted(node.text)}"
    if fault.first is not None:
        message += f" (first on line {find(root, fault.first)[0]}): each must be unique"
    return Problem(file, line, format_path(fault.path), message)
