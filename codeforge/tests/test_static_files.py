"""Styles and scripts of production say the same as those in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.test import override_settings

from codeforge.static_files import OWN, SmallerFilesStorage, smaller
from tests.support.stack import ROOT

STATIC = [ROOT / app / "static" for app in OWN]
SCRIPTS = [path for folder in STATIC for path in folder.rglob("*.js")]
STYLES = [path for folder in STATIC for path in folder.rglob("*.css")]


def test_a_style_keeps_what_its_strings_hold() -> None:
    text = """
    /* gone */
    a::after { content: "/* kept */  two  spaces \\" , "; background: url('data:image/svg+xml,<svg a="/* b */"/>'); }
    b/* a space */:is(c, d) > e { width: calc(1px + 2 * 3px); background: url(f/*g*/,h.png) }
    @media (width > 1px) and (height) { b { color: var(--h, red) } }
    """
    assert smaller("x/y.css", text) == (
        """a::after{content: "/* kept */  two  spaces \\" , ";"""
        """background: url('data:image/svg+xml,<svg a="/* b */"/>');}"""
        "b :is(c,d) > e{width: calc(1px + 2 * 3px);background: url(f/*g*/,h.png)}"
        "@media (width > 1px) and (height){b{color: var(--h,red)}}"
    )


def test_a_script_loses_whole_lines_of_comment_and_nothing_else() -> None:
    text = "// gone\nconst a = 'http://x' // kept\n\n    const b = /[/*]/\n    return\n    c\n"
    assert smaller("x/y.js", text) == "const a = 'http://x' // kept\nconst b = /[/*]/\nreturn\nc\n"


def test_other_texts_stay_as_they_are() -> None:
    assert smaller("x/y.svg", "<svg>  <!-- a -->\n</svg>") == "<svg>  <!-- a -->\n</svg>"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_text_of_a_script_spans_lines(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.count("`") % 2 or "/*" in line or line.endswith("\\")] == []


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_every_style_is_read_to_its_end(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = smaller(path.name, text)
    assert found
    assert set(re.findall(r"--[a-z][\w-]*(?=:)", found)) == set(re.findall(r"--[a-z][\w-]*(?=\s*:)", text))


def test_collected_files_are_small_named_by_their_content_and_lead_to_each_other(tmp_path: Path) -> None:
    source = StaticFilesStorage(str(ROOT / "frontend" / "static"))
    names = ("frontend/css/tokens.css", "frontend/fonts/inter.woff2", "frontend/js/app.js")
    with override_settings(STATIC_ROOT=str(tmp_path)):
        storage = SmallerFilesStorage()
        for name in names:
            with source.open(name) as file:
                storage.save(name, file)
        done = list(storage.post_process({name: (source, name) for name in names}))
    assert not [error for *_, error in done if isinstance(error, Exception)]
    style, font, script = (storage.hashed_files[name] for name in names)
    text = (tmp_path / style).read_text()
    assert Path(font).name in text
    assert "/*" not in text
    assert (tmp_path / f"{style}.br").exists()
    assert (tmp_path / names[0]).read_text() == text.replace(Path(font).name, "inter.woff2"), "error pages name it so"
    assert len((tmp_path / script).read_bytes()) < len((ROOT / "frontend/static" / names[2]).read_bytes())
