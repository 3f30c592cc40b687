"""What stands before a table is a caption: what explains it opens on demand."""

from __future__ import annotations

import re
from pathlib import Path

from django.utils.html import strip_tags

import frontend

MOST_WORDS = 12
"""Without numbers and names."""
TEMPLATES = Path(frontend.__path__[0]) / "templates"
_CODE = re.compile(r"{%.*?%}|{#.*?#}|{{.*?}}", re.DOTALL)
_HEAD = re.compile(r'<div class="section-head">(.*?)</div>', re.DOTALL)
_NOTE = re.compile(r"<p(?: class=\"[^\"]*\")?>(.*?)</p>", re.DOTALL)
_BEFORE = re.compile(
    r'<p class="soft small[^"]*">((?:(?!</p>).)*)</p>\s*(?:{%[^%]*%}\s*)*(?:<div class="scroll"|<table|{% table )',
    re.DOTALL,
)


def _words(note: str) -> int:
    return len(re.findall(r"\w+", strip_tags(_CODE.sub(" ", note))))


def test_no_note_stands_before_a_table() -> None:
    long = {
        f"{path.relative_to(TEMPLATES)}: {' '.join(_CODE.sub(' ', note).split())}"
        for path in sorted(TEMPLATES.rglob("*.html"))
        for text in [path.read_text()]
        for note in [note for head in _HEAD.findall(text) for note in _NOTE.findall(head)] + _BEFORE.findall(text)
        if _words(note) > MOST_WORDS
    }
    assert long == set()
