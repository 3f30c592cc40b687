"""Read YAML text into values that know their lines, within fixed bounds.

The parser's events are read one by one, so a hostile file is given up at the event that exceeds a bound, before it
costs anything. All errors of YAML itself are reported here; whether the values form a dataset is checked later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import yaml

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.problems import REPORTED, Path, Problem, format_path, printable, quoted
from benchmarks.dataset_format.scalars import Unclear, read_plain, unstorable

LOADER: type[yaml.SafeLoader] | type[yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_TOO_DEEP = f"lists and mappings are nested more than {limits.MAX_DEPTH} levels deep: flatten them"


_TAB = "a tab is used for indentation: use spaces"

_ADVICE_AT_START = {
    "unexpected end of stream|unexpected document indicator": (
        "the quoted text that starts here is not closed: add the closing quote"
    ),
    r"expected ',' or '\]'": "the list that starts here with [ is not closed or a comma is missing: add ] or the comma",
    r"expected ',' or '\}'": (
        "the mapping that starts here with { is not closed or a comma is missing: add } or the comma"
    ),
    "could not find expected ':'": (
        "this line is not `key: value`: add the colon, or indent the line as text below `|`"
    ),
}
"""What matches the message of libyaml or PyYAML → the advice for the line on which the construct starts."""

_ADVICE = {
    "tab character": _TAB,
    "mapping values are not allowed": (
        "a second `: ` in one line, or a line indented more than its siblings: quote the text, or align the keys"
    ),
    r"entries are not allowed|expected '-' indicator|expected <block end>, but found '\?'": (
        "a list item is not allowed here: start every `- ` on its own line, aligned, with no key between"
    ),
    "did not find expected key|expected <block end>": (
        "this does not match the lines above: align it with the other keys, and quote text that contains quotes"
    ),
    "unknown escape|escape sequence|Unicode character escape|hexadecimal": (
        "the backslash starts an unknown escape in double quotes: double the backslash, or use single quotes"
    ),
    "undefined tag handle": "tags are not allowed: quote text that starts with !",
    "directive|incompatible YAML": (
        "a line that starts with % is a YAML directive, which a dataset does not need: remove it"
    ),
    "document start": "there is text after the end of the document (`...`): a file contains one dataset",
    "node content": "a value is missing, or starts with a character that YAML reserves: quote the text",
    "anchor|alias": "& or * starts an anchor or an alias: quote the text if you mean neither",
    "block scalar|indentation indicator|chomping|line break": (
        "text cannot follow | or > on the same line: start it on the next line, indented more than the key"
    ),
}
"""The same for the line of the error."""


class Node(NamedTuple):
    """One value: text, a number, a boolean, ``None``, a list or a dict, with ``REPORTED`` for invalid scalars.

    ``text`` is a scalar as written; ``plain`` means unquoted, so that ``<<`` is a merge, and ``literal`` a ``|`` block,
    line by line as written.
    """

    line: int
    value: object
    text: str = ""
    plain: bool = False
    literal: bool = False
    children: Mapping[str | int, tuple[int, Node]] = {}
    """Key or position → the line of the key or the item, and the node."""
    depth: int = 0
    nodes: int = 1
    chars: int = 0
    """The size of an anchored value with everything inside, aliases counted each time."""


class _Stopped(Exception):
    """Reading stops here. The arguments are the line and the message of the last problem."""


def compose(text: str, file: str, problems: list[Problem]) -> Node | None:
    """Read the only document in ``text``, and append errors to ``problems``.

    Returns ``None`` without a complete value: no document, a syntax error, or a bound exceeded.
    """
    try:
        return _Reader(text, file, problems).document()
    except _Stopped as stop:
        line, message = stop.args
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # without libyaml, impossible escapes raise the latter
        line, message = _explain(error, text)
    problems.append(Problem(file, line, "", message))
    return None


class _Reader:
    def __init__(self, text: str, file: str, problems: list[Problem]) -> None:
        self.events = yaml.parse(text, Loader=LOADER)
        self.file = file
        self.problems = problems
        self.anchors: dict[str, Node | None] = {}
        """``None`` while the value is being read."""
        self.depth = 0
        self.nodes = 0
        self.chars = 0

    def document(self) -> Node | None:
        root = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    message = "a second document starts here: a file contains one dataset, so use one file for each"
                    raise _Stopped(_line(event), message)
                root = self._node(next(self.events), ())
        return root

    def _node(self, event: yaml.Event, path: Path, *, is_key: bool = False) -> Node:
        """The value that begins with the event. A key is always text; a value is read by the rules of ``scalars``."""
        line = _line(event)
        if isinstance(event, yaml.AliasEvent):
            return self._aliased(event.anchor or "", line, path)
        assert isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent), "no other event begins a value"
        nodes, chars = self.nodes, self.chars
        # Count first: a bound must hold before the value costs anything.
        self._count(line, 1, len(event.value) if isinstance(event, yaml.ScalarEvent) else 0)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event, path, is_key)
        else:
            node = self._collection(event, path)
        if event.anchor is not None:
            node = node._replace(nodes=self.nodes - nodes, chars=self.chars - chars)
            self.anchors[event.anchor] = node
        return node

    def _scalar(self, event: yaml.ScalarEvent, path: Path, is_key: bool) -> Node:
        line, text = _line(event), event.value
        plain = bool(event.implicit[0]) and event.tag != "!"
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            self._refuse_tag(event.tag, line, path)
            return Node(line, REPORTED, text)
        value: object = read_plain(text) if plain and not is_key else text
        if not is_key and (message := unstorable(text)):
            # Reported here, where the number of problems is bounded, rather than with all others of its task.
            self._report(line, path, message)
            value = REPORTED
        if isinstance(value, Unclear):
            shown = quoted(text)
            instead = f", or write {value.instead} if you mean that" if value.instead else ""
            message = f"some YAML readers interpret {shown[1:-1]} as {value.reading}"
            self._report(line, path, f"{message}: quote it ({shown}) if you mean text{instead}")
            value = REPORTED
        return Node(line, value, text, plain, event.style == "|")

    def _collection(self, event: yaml.CollectionStartEvent, path: Path) -> Node:
        line = _line(event)
        if event.tag is not None and event.tag != "!":
            self._refuse_tag(event.tag, line, path)
        self.depth += 1
        if self.depth > limits.MAX_DEPTH:
            raise _Stopped(line, _TOO_DEEP)
        value: object
        if isinstance(event, yaml.SequenceStartEvent):
            children = self._items(path)
            value = [child.value for _, child in children.values()]
        else:
            children = self._entries(path)
            value = {key: child.value for key, (_, child) in children.items()}
        self.depth -= 1
        depth = 1 + max((child.depth for _, child in children.values()), default=0)
        return Node(line, value, children=children, depth=depth)

    def _items(self, path: Path) -> dict[str | int, tuple[int, Node]]:
        items: dict[str | int, tuple[int, Node]] = {}
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            node = self._node(event, (*path, len(items)))
            items[len(items)] = node.line, node
        return items

    def _entries(self, path: Path) -> dict[str | int, tuple[int, Node]]:
        entries: dict[str | int, tuple[int, Node]] = {}
        merged: list[Node] = []
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key, line = self._node(event, path, is_key=True), _line(event)
            if isinstance(key.value, list | dict):
                self._report(line, path, "a key must be text, not a list or a mapping")
                self._node(next(self.events), path)
                continue
            below = (*path, key.text)
            node = self._node(next(self.events), below)
            if key.plain and key.text == "<<":
                sources = [child for _, child in node.children.values()] if isinstance(node.value, list) else [node]
                merged += [source for source in sources if isinstance(source.value, dict)]
                if not all(isinstance(source.value, dict) for source in sources):
                    self._report(line, below, "<< needs a mapping or a list of mappings, for example, *an-alias")
            elif key.text in entries:
                first = entries[key.text][0]
                self._report(line, below, f"the key occurs twice (first on line {first}): keep one")
            else:
                entries[key.text] = line, node
        # Merged keys come last, because the mapping's own keys and earlier sources win.
        for source in merged:
            for step, entry in source.children.items():
                entries.setdefault(step, entry)
        return entries

    def _aliased(self, name: str, line: int, path: Path) -> Node:
        shown = printable(name, 60)
        if name not in self.anchors:
            self._report(line, path, f"the alias *{shown} has no anchor &{shown} before it")
            return Node(line, REPORTED)
        node = self.anchors[name]
        if node is None:
            raise _Stopped(line, f"the alias *{shown} is inside the value it repeats: remove it")
        # The node is shared, not copied, but counts again: whoever walks through the value visits it again.
        self._count(line, node.nodes, node.chars)
        if self.depth + node.depth > limits.MAX_DEPTH:
            raise _Stopped(line, _TOO_DEEP)
        return node

    def _count(self, line: int, nodes: int, chars: int) -> None:
        self.nodes += nodes
        self.chars += chars
        if self.nodes > limits.MAX_NODES or self.chars > limits.MAX_BYTES:
            raise _Stopped(
                line,
                f"the file is too large, counting what aliases repeat; the limit is {limits.MAX_NODES:,} values and "
                f"{limits.MAX_BYTES:,} characters: split the file or remove aliases",
            )

    def _refuse_tag(self, tag: str, line: int, path: Path) -> None:
        shown = quoted(tag.replace("tag:yaml.org,2002:", "!!"))[1:-1]
        message = f"the tag {shown} is not allowed: remove it, because a dataset has only text, lists and mappings"
        self._report(line, path, message)

    def _report(self, line: int, path: Path, message: str) -> None:
        self.problems.append(Problem(self.file, line, format_path(path), message))
        if len(self.problems) >= limits.MAX_PROBLEMS:
            raise _Stopped(line, f"more than {limits.MAX_PROBLEMS} errors: the rest is not listed")


def _line(event: yaml.Event) -> int:
    """Counted from 1."""
    return event.start_mark.line + 1 if event.start_mark else 1


def find(root: Node, path: Path) -> tuple[int, Node | None]:
    """The line of the path's last key or item, and its node; for a missing key, the line above it and ``None``."""
    line, node = root.line, root
    for step in path:
        if step not in node.children:
            return line, None
        line, node = node.children[step]
    return line, node


def _explain(error: Exception, text: str) -> tuple[int, str]:
    """The line, counted from 1, and what to do there. Unknown errors keep the parser's words."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return 1, f"invalid YAML: {printable(str(error))}"
    complaint = error.problem or "syntax error"
    mark = error.problem_mark or error.context_mark
    advice = printable(complaint)
    if "cannot start any token" in complaint:
        lines = text.split("\n")
        char = lines[mark.line][mark.column : mark.column + 1] if mark and mark.line < len(lines) else ""
        advice = f"{printable(char) or 'this character'} cannot start a value: quote the text"
        if char == "\t":
            advice = _TAB
    elif known := _matching(_ADVICE_AT_START, complaint):
        advice, mark = known, error.context_mark or mark
    elif known := _matching(_ADVICE, complaint):
        advice = known
    return mark.line + 1 if mark else 1, f"invalid YAML: {advice}"


def _matching(advice: dict[str, str], complaint: str) -> str | None:
    return next((text for pattern, text in advice.items() if re.search(pattern, complaint)), None)
