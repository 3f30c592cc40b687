"""From YAML text to a tree of nodes that remember their lines, within fixed bounds.

The parser's events are read one by one and the tree is built without recursion, so a hostile file is given up at the
event that crosses a bound, before it costs anything. Every mistake of YAML itself is reported here; what the values
should be is no concern of this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.problems import Path, Problem, format_path, printable, quoted
from benchmarks.dataset_format.scalars import Unclear, read_plain
from benchmarks.dataset_format.syntax import explain_syntax_error

LOADER: type[yaml.SafeLoader] | type[yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MERGE_KEY = "<<"
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})


class Reported:
    """Stands for a value that already has a problem, so that no second one is raised about it."""


REPORTED = Reported()


@dataclass(slots=True)
class Node:
    """One value. ``nodes`` and ``chars`` weigh it together with all that it holds, aliases counted each time."""

    line: int
    nodes: int = 1
    chars: int = 0


@dataclass(slots=True)
class ScalarNode(Node):
    text: str = ""
    value: object = None
    plain: bool = False
    """Whether the text stands without quotes, so that ``<<`` means a merge."""
    literal: bool = False
    """Whether the text stands in a ``|`` block, line by line as in the file."""


@dataclass(slots=True)
class Entry:
    line: int
    node: Node


@dataclass(slots=True)
class CollectionNode(Node):
    open: bool = True

    def weigh(self, child: Node) -> None:
        self.nodes += child.nodes
        self.chars += child.chars


@dataclass(slots=True)
class ListNode(CollectionNode):
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class MappingNode(CollectionNode):
    entries: dict[str, Entry] = field(default_factory=dict)
    merged: list[MappingNode] = field(default_factory=list)
    key: Node | None = None
    """The key whose value is awaited."""

    def close(self) -> None:
        for source in self.merged:
            for key, entry in source.entries.items():
                self.entries.setdefault(key, entry)


class TooMuchError(Exception):
    """A bound is crossed or the text is no YAML: reading stops here. Carries the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def compose(text: str, file: str, problems: list[Problem]) -> Node | None:
    """Build the tree of the one document in ``text``, appending what is wrong to ``problems``.

    Returns ``None`` where there is no whole tree: no document, a syntax error, or a bound crossed.
    """
    builder = _Builder(file, problems)
    try:
        for event in yaml.parse(text, Loader=LOADER):
            builder.take(event)
    except TooMuchError as stop:
        problems.append(stop.problem)
        return None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the latter two: impossible escapes, without libyaml
        line, message = explain_syntax_error(error, text)
        problems.append(Problem(file, line, "", message))
        return None
    return builder.root


class _Builder:
    def __init__(self, file: str, problems: list[Problem]) -> None:
        self.file = file
        self.problems = problems
        self.root: Node | None = None
        self.documents = 0
        self.stack: list[ListNode | MappingNode] = []
        self.anchors: dict[str, Node] = {}
        self.nodes = 0
        self.chars = 0

    def take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        match event:
            case yaml.ScalarEvent():
                self._count(line, 1, len(event.value))
                self._anchor(event.anchor, node := self._scalar(event, line))
                self._attach(node, line)
            case yaml.AliasEvent():
                self._attach(self._aliased(event.anchor, line), line)
            case yaml.SequenceStartEvent():
                self._open(ListNode(line), event, line)
            case yaml.MappingStartEvent():
                self._open(MappingNode(line), event, line)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._close()
            case yaml.DocumentStartEvent():
                self._start_document(line)

    def _start_document(self, line: int) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self._stop(line, "a second document starts here: a file holds one dataset, put each in its own file")

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> ScalarNode:
        """A key is always text, whatever it looks like; a value is read by the rules of ``scalars``."""
        text: str = event.value
        plain = bool(event.implicit[0]) and event.tag != "!"
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            self._refuse_tag(event.tag, line)
            return ScalarNode(line, 1, len(text), text, REPORTED)
        value: object = read_plain(text) if plain and not self._awaits_key() else text
        if isinstance(value, Unclear):
            self._refuse_unclear(text, value, line)
            value = REPORTED
        return ScalarNode(line, 1, len(text), text, value, plain, event.style == "|")

    def _refuse_unclear(self, text: str, unclear: Unclear, line: int) -> None:
        instead = f", or write {unclear.instead} to mean that" if unclear.instead else ""
        shown = quoted(text)
        self._report(line, f"{shown[1:-1]} is {unclear.reading}: quote it, {shown}, to mean the text{instead}")

    def _refuse_tag(self, tag: str, line: int) -> None:
        shown = quoted(tag.replace("tag:yaml.org,2002:", "!!"))[1:-1]
        self._report(line, f"the tag {shown} is not allowed: remove it, a dataset holds plain text, lists and mappings")

    def _open(self, node: ListNode | MappingNode, event: yaml.CollectionStartEvent, line: int) -> None:
        self._count(line, 1, 0)
        if event.tag is not None and event.tag != "!":
            self._refuse_tag(event.tag, line)
        self._anchor(event.anchor, node)
        self.stack.append(node)
        if len(self.stack) > limits.MAX_DEPTH:
            raise self._stop(line, f"lists and mappings are nested more than {limits.MAX_DEPTH} deep: flatten them")

    def _close(self) -> None:
        node = self.stack.pop()
        node.open = False
        if isinstance(node, MappingNode):
            node.close()
        self._attach(node, node.line)

    def _anchor(self, name: str | None, node: Node) -> None:
        if name is not None:
            self.anchors[name] = node

    def _aliased(self, name: str | None, line: int) -> Node:
        node = self.anchors.get(name or "")
        name = printable(name or "", 60)
        if node is None:
            self._report(line, f"there is no anchor &{name} before this alias *{name}")
            return ScalarNode(line, value=REPORTED)
        if isinstance(node, CollectionNode) and node.open:
            raise self._stop(line, f"the alias *{name} stands inside what it repeats: it would never end")
        self._count(line, node.nodes, node.chars)
        return node

    def _awaits_key(self) -> bool:
        return bool(self.stack) and isinstance(top := self.stack[-1], MappingNode) and top.key is None

    def _attach(self, node: Node, line: int) -> None:
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        parent.weigh(node)
        if isinstance(parent, ListNode):
            parent.items.append(node)
        elif parent.key is None:
            parent.key = node
            if not isinstance(node, ScalarNode):
                self._report(line, "a key must be text, not a list or a mapping")
        else:
            self._enter(parent, parent.key, node)
            parent.key = None

    def _enter(self, parent: MappingNode, key: Node, node: Node) -> None:
        if not isinstance(key, ScalarNode):
            return
        first = parent.entries.get(key.text)
        if key.plain and key.text == MERGE_KEY:
            self._merge(parent, node, key.line)
        elif first is not None:
            message = f"the key is given twice (first on line {first.line}): keep one"
            self._report(key.line, message)
        else:
            parent.entries[key.text] = Entry(key.line, node)

    def _merge(self, parent: MappingNode, node: Node, line: int) -> None:
        sources = node.items if isinstance(node, ListNode) else [node]
        for source in sources:
            if isinstance(source, MappingNode):
                parent.merged.append(source)
            else:
                self._report(line, "<< merges a mapping or a list of mappings, such as *an-alias")
                return

    def _count(self, line: int, nodes: int, chars: int) -> None:
        self.nodes += nodes
        self.chars += chars
        if self.nodes > limits.MAX_NODES or self.chars > limits.MAX_BYTES:
            raise self._stop(
                line,
                f"the file holds too much, counting what aliases repeat: at most {limits.MAX_NODES:,} values and "
                f"{limits.MAX_BYTES:,} characters; split it or remove aliases",
            )

    def _report(self, line: int, message: str) -> None:
        self.problems.append(Problem(self.file, line, format_path(tuple(self._steps())), message))
        if len(self.problems) >= limits.MAX_PROBLEMS:
            raise self._stop(line, f"more than {limits.MAX_PROBLEMS} mistakes: the rest is not listed")

    def _stop(self, line: int, message: str) -> TooMuchError:
        return TooMuchError(Problem(self.file, line, "", message))

    def _steps(self) -> Iterator[str | int]:
        """The path to the value that is being read."""
        for node in self.stack:
            if isinstance(node, ListNode):
                yield len(node.items)
            elif isinstance(node.key, ScalarNode):
                yield node.key.text


def plain_value(node: Node) -> object:
    """The node as plain Python: text, numbers, booleans, ``None``, lists, dicts, and ``REPORTED`` for bad scalars."""
    match node:
        case ScalarNode():
            return node.value
        case ListNode():
            return [plain_value(item) for item in node.items]
        case MappingNode():
            return {key: plain_value(entry.node) for key, entry in node.entries.items()}
    raise TypeError(f"not a node of a dataset: {node!r}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: the line of its key or list item, and the node there (``None`` for a missing key)."""

    line: int
    node: Node | None


def find(root: Node, path: Path) -> Place:
    """Follow a path from the root as far as it goes."""
    place = Place(root.line, root)
    for step in path:
        match place.node, step:
            case MappingNode(entries=entries), str() if step in entries:
                place = Place(entries[step].line, entries[step].node)
            case ListNode(items=items), int() if 0 <= step < len(items):
                place = Place(items[step].line, items[step])
            case _:
                return Place(place.line, None)
    return place
