"""The documents of the project as pages: Markdown files, with links to each other, and a search through them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from frontend.code_blocks import code_block

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


class Document(NamedTuple):
    """``about`` says in a few words what one gets of it."""

    title: str
    about: str


START = "Start"
DOCUMENTS = {
    START: {
        "tutorial": Document("Tutorial", "From the first run to a comparison in ten minutes"),
        "how-to/own-dataset": Document("Add a dataset", "Write tasks in YAML, check them and run them"),
        "how-to/experiments": Document("Compare models and prompts", "Find out which is better, and how sure that is"),
        "how-to/systems": Document("Test your own system", "Benchmark an agent or pipeline over HTTP or a command"),
        "how-to/import": Document("Import runs and datasets", "From Inspect, promptfoo, JSON Lines, CSV and others"),
        "how-to/ci": Document("Run benchmarks in CI", "Fail a build when a score drops"),
    },
    "More how-tos": {
        "how-to/public-benchmarks": Document("Import public benchmarks", "MMLU, GSM8K, HumanEval and others"),
        "how-to/labels": Document("Put people in the loop", "Label answers, and check judges by the labels"),
        "how-to/schedules": Document("Run a benchmark every night", "And be told when a score drops"),
        "how-to/webhooks": Document("Notify other systems", "Signed messages when a run ends"),
    },
    "Reference": {
        "datasets": Document("Datasets and metrics", "Every key of a dataset and a task, every metric"),
        "statistics": Document("Statistics", "How each number is computed"),
        "validation": Document("Validation", "How each number was checked"),
        "api": Document("API", "Everything the pages do, over HTTP"),
        "cli": Document("Command line", "All commands and their options"),
        "configuration": Document("Configuration", "Files, environment variables, providers"),
    },
    "Run a server": {
        "deployment": Document("Deployment", "Docker Compose, Kubernetes, backups, upgrades"),
        "reliability": Document("Reliability", "What happens when a part fails"),
        "security": Document("Security", "Access, secrets, the sandbox"),
        "performance": Document("Performance", "Measured limits and how to tune"),
    },
    "Work on the code": {
        "tour": Document("Tour of the code", "The way through in ten files"),
        "architecture": Document("Architecture", "Parts, flows and rules of the code"),
        "how-to/own-metric": Document("Add a metric", "Score answers in another way"),
        "how-to/own-task-field": Document("Add a key of a task", "Store more with each task"),
        "how-to/own-parameter": Document("Add a run parameter", "Change how a run asks"),
        "how-to/own-page": Document("Add a page with a table", "From a query to a sorted table"),
        "how-to/own-provider": Document("Add a provider", "Reach models another way"),
        "how-to/own-importer": Document("Add an importer", "Read the results of another tool"),
        "dependencies": Document("Dependencies", "Each package and why it is needed"),
        "releasing": Document("Release checklist", "Steps of a release"),
    },
}
"""Group → name of a document in its address."""
TITLES = {name: document.title for group in DOCUMENTS.values() for name, document in group.items()}
BESIDE = {"datasets": "datasets/README.md"}
"""Files of documents outside ``docs``, by name."""
PATHS = {name: BESIDE.get(name, f"docs/{name}.md") for name in TITLES}
"""Name → file, from the folder of the project."""
MOST_FOUND = 30
_AROUND = 90
"""Characters of a passage that are shown before and after what was searched."""
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|^```\w*$|^#+ |^\|[-|: ]+$|[*`|]", re.MULTILINE)
"""Of Markdown; of a link its text is kept."""
_CODE = frozenset({"console", "text", ""})
"""Kinds of code that are not offered for copying as a whole: with what was printed."""


class Found(NamedTuple):
    """A section of a document: where it is, and its words around what was searched."""

    title: str
    section: str
    url: str
    before: str
    match: str
    after: str


class Page(NamedTuple):
    """A document as HTML, with the anchors and heads of its sections."""

    head: SafeString
    sections: Sequence[tuple[str, str]]
    text: SafeString


@dataclass(frozen=True, slots=True)
class _Section:
    """``head`` is empty for what stands above the first head."""

    name: str
    head: str
    text: str

    @property
    def url(self) -> str:
        return reverse("frontend:document", args=(self.name,)) + (f"#{_anchor(self.head)}" if self.head else "")


@cache
def document_page(folder: Path, name: str) -> Page:
    """A document of ``TITLES``, from the folder of the project. Raises ``OSError`` if this installation does not have
    it."""
    parser, tokens = _parsed(folder, name)
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _anchor(tokens[place + 1].content))
        elif token.type in ("th_open", "td_open") and token.attrs.pop("style", ""):
            token.attrSet("class", "num")  # the policy of the pages allows no styles
        if token.type in ("th_open", "th_close") and not tokens[place + (1 if token.nesting > 0 else -1)].content:
            token.tag = "td"  # a head without text is none
        token.children = [_linked(child, name) for child in token.children or () if child.type != "image"]
    _label_cells(tokens)
    head, end, text = str(parser.renderer.render(tokens, parser.options, {})).partition("</h1>")
    sections = [
        (_anchor(inside.content), inside.content.replace("`", ""))
        for opened, inside in pairwise(tokens)
        if opened.type == "heading_open" and opened.tag == "h2"
    ]
    return Page(mark_safe(head + end), sections, mark_safe(text))


def found_in_documents(folder: Path, words: str) -> list[Found]:
    """Sections that have all the words, those with the words in their head or title first."""
    wanted = words.lower().split()
    hits = []
    for section in _sections(folder):
        named = f"{TITLES[section.name]} {section.head}".lower()
        if wanted and all(word in named or word in section.text.lower() for word in wanted):
            hits.append((sum(word not in named for word in wanted), section))
    hits.sort(key=lambda hit: hit[0])
    return [_found(section, wanted) for _, section in hits[:MOST_FOUND]]


def _found(section: _Section, wanted: Sequence[str]) -> Found:
    text, lower = section.text, section.text.lower()
    at, word = min(((lower.find(word), word) for word in wanted if word in lower), default=(0, ""))
    start, end = max(0, at - _AROUND), at + len(word) + _AROUND
    before = ("… " if start else "") + text[start:at]
    after = text[at + len(word) : end] + (" …" if end < len(text) else "")
    return Found(TITLES[section.name], section.head, section.url, before, text[at : at + len(word)], after)


@cache
def _sections(folder: Path) -> list[_Section]:
    """The sections of all documents that this installation has."""
    return [section for name in TITLES if (folder / PATHS[name]).is_file() for section in _sections_of(folder, name)]


def _sections_of(folder: Path, name: str) -> Iterator[_Section]:
    """Read without a parser, which would take seconds for all documents."""
    for place, part in enumerate(re.split("^## ", _source(folder, name), flags=re.MULTILINE)):
        head, _, text = part.partition("\n")
        yield _Section(name, head.replace("`", "") if place else "", " ".join(_MARKUP.sub(r"\1", text).split()))


def _source(folder: Path, name: str) -> str:
    return re.sub(r"^<!-- .* -->\n", "", (folder / PATHS[name]).read_text("utf-8"), flags=re.MULTILINE)


def _parsed(folder: Path, name: str) -> tuple[MarkdownIt, list[Token]]:
    from markdown_it import MarkdownIt

    # No HTML in Markdown: what looks like it is written out.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table class="cards">')
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    for kind in ("fence", "code_block"):
        parser.add_render_rule(kind, lambda _, tokens, place, *__: _code(tokens[place], place))
    return parser, parser.parse(_source(folder, name))


def _code(token: Token, place: int) -> SafeString:
    kind = token.info.strip()
    return code_block(f"code-{place}", token.content, language=kind, is_copied=kind not in _CODE)


def _label_cells(tokens: Sequence[Token]) -> None:
    """Make the first cell of a row its head, and name the column at the others: on phones, rows are cards."""
    heads, column = list[str](), 0
    for token, inside in pairwise(tokens):
        if token.type == "thead_open":
            heads = []
        elif token.type == "th_open":
            heads.append(inside.content.replace("`", ""))
        elif token.type == "tr_open":
            column = 0
        elif token.type in ("td_open", "td_close") and not column:
            token.tag = "th"
            if token.nesting > 0:
                token.attrSet("scope", "row")
        elif token.type == "td_open" and heads[column]:
            token.attrSet("data-label", heads[column])
        column += token.type == "td_close"


def _anchor(heading: str) -> str:
    """As GitHub names it, so that links between documents work at both places."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _linked(token: Token, name: str) -> Token:
    """A link to another document leads to its page; one to another file of the project is only its text."""
    target = str(token.attrGet("href") or "")
    if token.type != "link_open" or "://" in target or target.startswith("#"):
        return token
    path, _, fragment = target.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(PATHS[name]), path))
    other = next((each for each, known in PATHS.items() if known == file), None)
    if other is not None:
        token.attrSet("href", reverse("frontend:document", args=(other,)) + (f"#{fragment}" if fragment else ""))
    else:
        del token.attrs["href"]
    return token
