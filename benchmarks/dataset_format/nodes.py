"""Build a tree of nodes that know their lines from YAML text, within fixed bounds.

The parser's events are read one by one and the tree is built without recursion, so a hostile file is given up at the
event that exceeds a bound, before it costs anything. All errors of YAML itself are reported here; whether the values
form a dataset is checked later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from benchmarks.dataset_format import limits
from benchmarks.dataset_format.problems import REPORTED, Path, Problem, format_path, printable, quoted
from benchmarks.dataset_format.scalars import Unclear, read_plain, unstorable
from benchmarks.dataset_format.syntax import explain_syntax_error

LOADER: type[yaml.SafeLoader] | type[yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MERGE_KEY = "<<"
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})


@dataclass(slots=True)
class Node:
    """One value. ``nodes`` and ``chars`` are its size with everything inside, aliases counted each time."""

    line: int
    nodes: int = 1
    chars: int = 0


@dataclass(slots=True)
class ScalarNode(Node):
    """``plain`` means unquoted, so that ``<<`` is a merge; ``literal`` means a ``|`` block, line by line as written."""

    text: str = ""
    value: object = None
    plain: bool = False
    literal: bool = False


@dataclass(slots=True)
class Entry:
    """A key of a mapping: its line, and its value."""

    line: int
    node: Node


@dataclass(slots=True)
class CollectionNode(Node):
    open: bool = True


@dataclass(slots=True)
class ListNode(CollectionNode):
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class MappingNode(CollectionNode):
    entries: dict[str, Entry] = field(default_factory=dict)
    merged: list[MappingNode] = field(default_factory=list)
    key: Node | None = None
    """The key whose value comes next."""


class LimitExceededError(Exception):
    """Reading stops here. Carries the last problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def compose(text: str, file: str, problems: list[Problem]) -> Node | None:
    """Build the tree of the only document in ``text``, and append errors to ``problems``.

    Returns ``None`` without a complete tree: no document, a syntax error, or a bound exceeded.
    """
    builder = _Builder(file, problems)
    try:
        for event in yaml.parse(text, Loader=LOADER):
            builder.take(event)
    except LimitExceededError as stop:
        problems.append(stop.problem)
        return None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # without libyaml, impossible escapes raise the latter
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
                # Count first: a bound must hold before the value costs anything.
                self._count(line, 1, len(event.value))
                self._anchor(event.anchor, node := self._scalar(event, line))
                self._attach(node, line)
            case yaml.AliasEvent():
                self._attach(self._aliased(event.anchor or "", line), line)
            case yaml.SequenceStartEvent():
                self._open(ListNode(line), event, line)
            case yaml.MappingStartEvent():
                self._open(MappingNode(line), event, line)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._close()
            case yaml.DocumentStartEvent():
                self.documents += 1
                if self.documents > 1:
                    message = "a second document starts here: a file contains one dataset, so use one file for each"
                    raise self._stop(line, message)

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> ScalarNode:
        """A key is always text; a value is read by the rules of ``scalars``."""
        text: str = event.value
        plain = bool(event.implicit[0]) and event.tag != "!"
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            self._refuse_tag(event.tag, line)
            return ScalarNode(line, 1, len(text), text, REPORTED)
        is_key = bool(self.stack) and isinstance(top := self.stack[-1], MappingNode) and top.key is None
        value: object = read_plain(text) if plain and not is_key else text
        if not is_key and (message := unstorable(text)):
            # Reported here, where the number of problems is bounded, rather than with all others of its task.
            self._report(line, message)
            value = REPORTED
        if isinstance(value, Unclear):
            shown = quoted(text)
            instead = f", or write {value.instead} if you mean that" if value.instead else ""
            message = f"some YAML readers interpret {shown[1:-1]} as {value.reading}"
            self._report(line, f"{message}: quote it ({shown}) if you mean text{instead}")
            value = REPORTED
        return ScalarNode(line, 1, len(text), text, value, plain, event.style == "|")

    def _refuse_tag(self, tag: str, line: int) -> None:
        shown = quoted(tag.replace("tag:yaml.org,2002:", "!!"))[1:-1]
        message = f"the tag {shown} is not allowed: remove it, because a dataset has only text, lists and mappings"
        self._report(line, message)

    def _open(self, node: ListNode | MappingNode, event: yaml.CollectionStartEvent, line: int) -> None:
        self._count(line, 1, 0)
        if event.tag is not None and event.tag != "!":
            self._refuse_tag(event.tag, line)
        self._anchor(event.anchor, node)
        self.stack.append(node)
        if len(self.stack) > limits.MAX_DEPTH:
            message = f"lists and mappings are nested more than {limits.MAX_DEPTH} levels deep: flatten them"
            raise self._stop(line, message)

    def _close(self) -> None:
        node = self.stack.pop()
        node.open = False
        if isinstance(node, MappingNode):
            # Merged keys come last, because the mapping's own keys and earlier sources win.
            for source in node.merged:
                for key, entry in source.entries.items():
                    node.entries.setdefault(key, entry)
        self._attach(node, node.line)

    def _anchor(self, name: str | None, node: Node) -> None:
        if name is not None:
            self.anchors[name] = node

    def _aliased(self, name: str, line: int) -> Node:
        node = self.anchors.get(name)
        name = printable(name, 60)
        if node is None:
            self._report(line, f"the alias *{name} has no anchor &{name} before it")
            return ScalarNode(line, value=REPORTED)
        if isinstance(node, CollectionNode) and node.open:
            raise self._stop(line, f"the alias *{name} is inside the value it repeats: remove it")
        # The node is shared, not copied, but counts again: whoever walks the tree visits it again.
        self._count(line, node.nodes, node.chars)
        return node

    def _attach(self, node: Node, line: int) -> None:
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        parent.nodes += node.nodes
        parent.chars += node.chars
        if isinstance(parent, ListNode):
            parent.items.append(node)
        elif parent.key is None:
            parent.key = node
            if not isinstance(node, ScalarNode):
                self._report(line, "a key must be text, not a list or a mapping")
        else:
            if isinstance(parent.key, ScalarNode):
                self._enter(parent, parent.key, node)
            parent.key = None

    def _enter(self, parent: MappingNode, key: ScalarNode, node: Node) -> None:
        first = parent.entries.get(key.text)
        if key.plain and key.text == MERGE_KEY:
            self._merge(parent, node, key.line)
        elif first is not None:
            self._report(key.line, f"the key occurs twice (first on line {first.line}): keep one")
        else:
            parent.entries[key.text] = Entry(key.line, node)

    def _merge(self, parent: MappingNode, node: Node, line: int) -> None:
        sources = node.items if isinstance(node, ListNode) else [node]
        for source in sources:
            if isinstance(source, MappingNode):
                parent.merged.append(source)
            else:
                self._report(line, "<< needs a mapping or a list of mappings, for example, *an-alias")
                return

    def _count(self, line: int, nodes: int, chars: int) -> None:
        self.nodes += nodes
        self.chars += chars
        if self.nodes > limits.MAX_NODES or self.chars > limits.MAX_BYTES:
            raise self._stop(
                line,
                f"the file is too large, counting what aliases repeat; the limit is {limits.MAX_NODES:,} values and "
                f"{limits.MAX_BYTES:,} characters: split the file or remove aliases",
            )

    def _report(self, line: int, message: str) -> None:
        self.problems.append(Problem(self.file, line, format_path(tuple(self._steps())), message))
        if len(self.problems) >= limits.MAX_PROBLEMS:
            raise self._stop(line, f"more than {limits.MAX_PROBLEMS} errors: the rest is not listed")

    def _stop(self, line: int, message: str) -> LimitExceededError:
        return LimitExceededError(Problem(self.file, line, "", message))

    def _steps(self) -> Iterator[str | int]:
        """The path of the value that is being read."""
        for node in self.stack:
            if isinstance(node, ListNode):
                yield len(node.items)
            elif isinstance(node.key, ScalarNode):
                yield node.key.text


def plain_value(node: Node) -> object:
    """The node as text, number, boolean, ``None``, list or dict, with ``REPORTED`` for invalid scalars."""
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
    """The end of a path: the line of its key or list item, and the node there (``None`` for a missing key)."""

    line: int
    node: Node | None


def find(root: Node, path: Path) -> Place:
    """Follow a path from the root as far as it exists."""
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
