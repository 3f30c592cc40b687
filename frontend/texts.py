"""Long and untrusted texts prepared for a page: excerpts, differences, transcripts, tool calls. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from itertools import pairwise, takewhile, zip_longest
from typing import Any

from benchmarks.metrics.extraction import extract_json, parse_json
from benchmarks.metrics.json_match import Leaf, differing, leaves, shown_path
from benchmarks.metrics.task_parts import ExpectedCall
from benchmarks.metrics.tool_calls import call_credit
from benchmarks.providers.base import ToolCall

EXCERPT_LENGTH = 6_000
DIFF_LENGTH = 6_000
"""Longer texts are shown side by side without marks: comparing word by word takes quadratic time."""
MIN_RATIO = 0.3
"""Texts with a smaller share of words in common would be marks all over."""
SHORT = 80
"""Texts up to this length are marked however different they are."""
TURNS_SHOWN = 40
TEXT_BUDGET = 40_000
"""Characters of all turns together; the full text has the rest."""
CALLS_SHOWN = 50
ATTEMPTS_SHOWN = 50
PASSAGES_SHOWN = 20
FIELDS_SHOWN = 20
ARGUMENTS_LENGTH = 2_000

Segment = tuple[str, str]
"""``(kind, text)`` with kind ``same``, ``added`` or ``removed``."""
Stretch = tuple[bool, list[str], list[str]]
"""Whether two texts are the same there, and the words of each."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a text, and how many characters of it are not shown."""

    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class FieldDifferences:
    rows: list[tuple[str, str | None, str | None]]
    """The first differing fields: path, expected and answered value, ``None`` where the field is missing."""
    n_differing: int
    n_fields: int

    @property
    def telling(self) -> tuple[str, str | None, str | None]:
        """The first field that both texts have; the first one if they share none."""
        return next((row for row in self.rows if None not in row), self.rows[0])


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts with their differences marked: only in the left one ``removed``, only in the right one ``added``; and
    both in one."""

    left: tuple[Segment, ...]
    right: tuple[Segment, ...]
    both: tuple[Segment, ...]
    equal: bool
    is_long: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as sent or received. ``pictures`` counts the images in it."""

    role: str
    text: Excerpt
    calls: tuple[str, ...] = ()
    pictures: int = 0


@dataclass(frozen=True, slots=True)
class CallPair:
    """An expected tool call and the actual one; either may be missing."""

    expected: str | None
    made: str | None
    equal: bool
    malformed: bool = False


def excerpt(text: str, length: int = EXCERPT_LENGTH) -> Excerpt:
    return Excerpt(text[:length], max(0, len(text) - length))


_LAYOUT = re.compile(r"^[|>#]|^[ \t]|\t|\S {2,}\S|`{3}|\n\d+[.)] |\n[-*+•] ", re.MULTILINE)
"""What stands where it stands on purpose: code, tables, lists, columns, quotes."""
_NARROWEST, _FILLED = 60, 0.85
"""Characters of the longest line of wrapped prose, and the share of it that its other lines fill."""


def has_layout(text: str) -> bool:
    """Whether the places of words in a text mean something, as in code and tables."""
    return bool(_LAYOUT.search(text))


def wrapped_lines(text: str) -> list[tuple[str, bool]]:
    """The lines of a text, each with whether the break after it only wraps prose, as in a file of narrow lines.

    A break does where the line was full: the next word would not have fitted. All lines joined by breaks are the text.
    """
    lines = text.split("\n")
    soft = [False] * len(lines)
    start = 0
    for end in (*(at for at, line in enumerate(lines) if not line.strip()), len(lines)):
        paragraph = lines[start:end]
        widest = max(map(len, paragraph), default=0)
        pairs = list(pairwise(paragraph))
        if widest >= _NARROWEST and not has_layout("\n".join(paragraph)):
            is_full = [len(line) + 1 + len(after.split(" ")[0]) > _FILLED * widest for line, after in pairs]
            soft[start : start + len(pairs)] = is_full if all(is_full) else [False] * len(pairs)
        start = end + 1
    return list(zip(lines, soft, strict=True))


def passages_of(context: Sequence[str], retrieved: Sequence[str] | None) -> list[tuple[str, int, list[Excerpt]]]:
    """Title, number and the first of the passages that a system retrieved, and of those that the task gives."""
    lists = {"Retrieved": retrieved or (), "Context": context}
    return [
        (title, len(texts), [excerpt(str(text)) for text in texts[:PASSAGES_SHOWN]])
        for title, texts in lists.items()
        if texts
    ]


def difference(left: str, right: str) -> Difference | None:
    """Compare word by word; ``None`` if a text is too long for that or the two have too few words in common."""
    if max(len(left), len(right)) > DIFF_LENGTH:
        return None
    # Words, runs of whitespace and single characters: joined, they are the text again.
    a, b = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (left, right))
    common = _common(a, b)
    n_common, n_words = sum(not a[at].isspace() for at, _ in common), sum(not token.isspace() for token in (*a, *b))
    if 2 * n_common < MIN_RATIO * n_words and max(len(left), len(right)) > SHORT:
        return None
    stretches = _stretches(a, b, common)
    return Difference(
        left=tuple(_segments([(same, tokens) for same, tokens, _ in stretches], "removed")),
        right=tuple(_segments([(same, tokens) for same, _, tokens in stretches], "added")),
        both=tuple(_in_one(stretches)),
        equal=left == right,
        is_long=max(len(left), len(right)) > SHORT,
    )


def differing_fields(expected: str, answer: str) -> FieldDifferences | None:
    """The fields that differ between two JSON texts, by path; ``None`` if none do, one has none, or is too long."""
    if max(len(expected), len(answer)) > TEXT_BUDGET:
        return None
    try:
        wanted, given = leaves(parse_json(expected)), leaves(parse_json(extract_json(answer).text))
    except ValueError:
        return None
    different = differing(wanted, given)
    if not different or not wanted.keys() - {()}:
        return None
    return FieldDifferences(
        [(shown_path(path), _field(wanted.get(path)), _field(given.get(path))) for path in different[:FIELDS_SHOWN]],
        len(different),
        len(wanted | given),
    )


def _field(leaf: Leaf | None) -> str | None:
    if leaf is None:
        return None
    kind, value = leaf
    text = {"object": "{}", "list": "[]"}.get(kind) or json.dumps(value, ensure_ascii=False)
    # JSON can escape half a surrogate pair, which no page can be sent with.
    return text[:ARGUMENTS_LENGTH].encode(errors="backslashreplace").decode()


def _common(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """The places in ``a`` and ``b`` of a longest common subsequence.

    Bit-parallel (Hyyrö, 2004): a row of the dynamic program is the bits of one integer, so texts of ``DIFF_LENGTH``
    take milliseconds whatever they say. ``difflib`` takes minutes for some.
    """
    places: dict[str, int] = {}
    for at, token in enumerate(a):
        places[token] = places.get(token, 0) | 1 << at
    rows = [every := (1 << len(a)) - 1]
    for token in b:
        matching = rows[-1] & places.get(token, 0)
        rows.append((rows[-1] + matching | rows[-1] - matching) & every)
    common, x, y = [], len(a), len(b)
    while x and y:
        bit = 1 << x - 1
        if rows[y] & bit:
            x -= 1
        elif not rows[y - 1] & bit:
            y -= 1
        else:
            x, y = x - 1, y - 1
            common.append((x, y))
    return common[::-1]


def _stretches(a: list[str], b: list[str], common: Iterable[tuple[int, int]]) -> list[Stretch]:
    """Both texts in turn as what they share and what not. Between two differences, spaces and signs are not shared."""
    found: list[Stretch] = []
    i = j = 0
    for x, y in common:
        _extend(found, False, a[i:x], b[j:y])
        _extend(found, True, a[x : x + 1], b[y : y + 1])
        i, j = x + 1, y + 1
    _extend(found, False, a[i:], b[j:])
    stretches: list[Stretch] = []
    for place, (same, left, right) in enumerate(found):
        is_inner = 0 < place < len(found) - 1
        has_words = any(token[0].isalnum() for token in left)
        _extend(stretches, same and (has_words or not is_inner), left, right)
    return stretches


def _in_one(stretches: Iterable[Stretch]) -> Iterator[Segment]:
    """Each difference as what was removed, then what was added; what both end with is the same."""
    for same, left, right in stretches:
        if same:
            yield "same", "".join(left)
            continue
        n_alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left[::-1], right[::-1], strict=False)))
        ends = len(left) - n_alike, len(right) - n_alike
        texts = {"removed": left[: ends[0]], "added": right[: ends[1]], "same": left[ends[0] :]}
        yield from ((kind, "".join(tokens)) for kind, tokens in texts.items() if tokens)


def _extend(stretches: list[Stretch], same: bool, left: list[str], right: list[str]) -> None:
    if not left and not right:
        return
    if not stretches or stretches[-1][0] != same:
        stretches.append((same, [], []))
    stretches[-1][1].extend(left)
    stretches[-1][2].extend(right)


def _segments(blocks: Iterable[tuple[bool, list[str]]], kind: str) -> Iterator[Segment]:
    return (("same" if equal else kind, "".join(tokens)) for equal, tokens in blocks if tokens)


def turns(messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """The first ``TURNS_SHOWN`` messages, each one cut once all together exceed ``TEXT_BUDGET``."""
    shown, left = [], TEXT_BUDGET
    for message in messages[:TURNS_SHOWN]:
        content = message.get("content")
        # Content is a text, nothing, or a list of parts: texts and images.
        parts = [{"text": content}] if isinstance(content, str) else content or ()
        parts = [part for part in parts if isinstance(part, Mapping)]
        full_text = "\n".join(str(part["text"]) for part in parts if "text" in part)
        text = excerpt(full_text, max(0, min(left, TEXT_BUDGET // 3)))
        left -= len(text.text)
        functions = [call.get("function") or {} for call in (message.get("tool_calls") or ())[:CALLS_SHOWN]]
        calls = (f"{called.get('name', '')}({_readable(called.get('arguments', ''))})" for called in functions)
        calls = (call[:ARGUMENTS_LENGTH] for call in calls)
        pictures = sum("text" not in part for part in parts)
        shown.append(Turn(str(message.get("role", "")), text, tuple(calls), pictures))
    return shown


def _readable(arguments: object) -> str:
    """The JSON of a call's arguments without escapes of letters; what is not JSON as it is."""
    if not isinstance(arguments, str) or len(arguments) > EXCERPT_LENGTH:
        return str(arguments)
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)
    except ValueError:
        return arguments


def messages_as_json(messages: Iterable[Mapping[str, Any]]) -> str:
    """Everything sent and received."""
    return json.dumps(list(messages), ensure_ascii=False, indent=2)


def call_pairs(expected: Sequence[ExpectedCall], made: Sequence[Mapping[str, Any]]) -> list[CallPair]:
    """Calls of the same name side by side, in order."""
    wanted, called = list(expected[:CALLS_SHOWN]), list(made[:CALLS_SHOWN])
    names = SequenceMatcher(None, [str(c.get("name")) for c in wanted], [str(c.get("name")) for c in called], False)
    return [
        _pair(first, second)
        for _, a, b, c, d in names.get_opcodes()
        for first, second in zip_longest(wanted[a:b], called[c:d])
    ]


def _pair(expected: ExpectedCall | None, made: Mapping[str, Any] | None) -> CallPair:
    wanted = None if expected is None else written_expectation(expected)
    if made is not None and made.get("malformed"):
        return CallPair(wanted, f"{made.get('name', '')}({made.get('raw', '')})"[:ARGUMENTS_LENGTH], False, True)
    if expected is not None and (others := expected.get("accept")):
        wanted = f"{wanted} or {json.dumps(others, ensure_ascii=False)}"[:ARGUMENTS_LENGTH]
    called = None if made is None else written_call(made.get("name"), made.get("arguments") or {})
    if expected is None or made is None:
        return CallPair(wanted, called, False)
    call = ToolCall("", str(made.get("name")), made.get("arguments") or {}, "")
    return CallPair(wanted, called, call_credit(expected, call) == 1.0)


def written_call(name: Any, arguments: Any) -> str:
    """Keys are sorted, so equal arguments are written equally."""
    return f"{name}({json.dumps(arguments, ensure_ascii=False, sort_keys=True)})"[:ARGUMENTS_LENGTH]


def written_expectation(call: ExpectedCall) -> str:
    return written_call(call.get("name"), call.get("args") or {})


def attempt_rows(attempts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The first ``ATTEMPTS_SHOWN`` requests of a result; ``retried_at`` is set if one was sent to replace an error."""
    return [
        {**attempt, "retried_at": datetime.fromisoformat(retried) if (retried := attempt.get("retried_at")) else None}
        for attempt in attempts[:ATTEMPTS_SHOWN]
    ]
