"""The documents of the project as pages: Markdown files of ``docs``, with links to each other."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

if TYPE_CHECKING:
    from markdown_it.token import Token

DOCUMENTS = {
    "Start": {
        "tutorial": "Tutorial",
        "how-to/own-dataset": "Add a dataset",
        "how-to/experiments": "Compare models and prompts",
        "how-to/import": "Import runs and datasets",
        "how-to/public-benchmarks": "Import public benchmarks",
        "how-to/labels": "Put people in the loop",
        "how-to/systems": "Test your own system",
        "how-to/ci": "Run benchmarks in CI",
        "how-to/schedules": "Run a benchmark every night",
        "how-to/webhooks": "Notify other systems",
    },
    "Reference": {
        "statistics": "Statistics",
        "validation": "Validation",
        "api": "API",
        "cli": "Command line",
        "configuration": "Configuration",
    },
    "Operate": {
        "deployment": "Deployment",
        "reliability": "Reliability",
        "security": "Security",
        "performance": "Performance",
    },
    "Extend": {
        "tour": "Tour of the code",
        "architecture": "Architecture",
        "how-to/own-metric": "Add a metric",
        "how-to/own-task-field": "Add a key of a task",
        "how-to/own-parameter": "Add a run parameter",
        "how-to/own-page": "Add a page with a table",
        "how-to/own-provider": "Add a provider",
        "how-to/own-importer": "Add an importer",
        "dependencies": "Dependencies",
        "releasing": "Release checklist",
    },
}
"""Group → name of a file without its ending → title."""
TITLES = {name: title for group in DOCUMENTS.values() for name, title in group.items()}
FEWEST_SECTIONS = 4
"""A document with fewer has no links to them."""


@cache
def document_html(folder: Path, name: str) -> str:
    """A document of ``TITLES`` as HTML. Raises ``OSError`` if this installation does not have it."""
    from markdown_it import MarkdownIt

    # No HTML in Markdown: what looks like it is written out.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>')
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    text = re.sub(r"^<!-- .* -->\n", "", (folder / f"{name}.md").read_text("utf-8"), flags=re.MULTILINE)
    tokens = parser.parse(text)
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _anchor(tokens[place + 1].content))
        elif token.type in ("th_open", "td_open") and token.attrs.pop("style", ""):
            token.attrSet("class", "num")  # the policy of the pages allows no styles
        if token.type in ("th_open", "th_close") and not tokens[place + (1 if token.nesting > 0 else -1)].content:
            token.tag = "td"  # a head without text is none
        token.children = [_linked(child, name) for child in token.children or () if child.type != "image"]
    html = str(parser.renderer.render(tokens, parser.options, {}))
    return html.replace("</h1>", f"</h1>{_contents(tokens)}", 1)


def _contents(tokens: Sequence[Token]) -> SafeString:
    """Links to the sections of a long document."""
    heads = [
        inside.content.replace("`", "")
        for head, inside in pairwise(tokens)
        if head.type == "heading_open" and head.tag == "h2"
    ]
    if len(heads) < FEWEST_SECTIONS:
        return SafeString("")
    links = format_html_join(" ", '<a href="#{}">{}</a>', [(_anchor(head), head) for head in heads])
    return format_html('<nav class="views" aria-label="Sections">{}</nav>', links)


def _anchor(heading: str) -> str:
    """As GitHub names it, so that links between documents work at both places."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _linked(token: Token, name: str) -> Token:
    """A link to another document leads to its page; one to another file of the project is only its text."""
    target = str(token.attrGet("href") or "")
    if token.type != "link_open" or "://" in target or target.startswith("#"):
        return token
    path, _, fragment = target.partition("#")
    other = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).removesuffix(".md")
    if other in TITLES:
        token.attrSet("href", reverse("frontend:document", args=(other,)) + (f"#{fragment}" if fragment else ""))
    else:
        del token.attrs["href"]
    return token
