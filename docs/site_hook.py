"""For MkDocs: the navigation of the dashboard's Help, the documents beside the code, and links between all of them."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from frontend.documents import BESIDE as SHOWN_BESIDE
from frontend.documents import DOCUMENTS, PATHS

ROOT = Path(__file__).resolve().parents[1]
BESIDE = {
    "benchmarks/metrics/README.md": "Metrics",
    "tasks_app/tasks/README.md": "Add a task class",
}
"""Document outside ``docs`` that the dashboard does not show → its title."""
OUTSIDE = (*SHOWN_BESIDE.values(), *BESIDE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    groups = {
        group: {PATHS[name].removeprefix("docs/"): page.title for name, page in pages.items()}
        for group, pages in DOCUMENTS.items()
    }
    groups["Work on the code"] |= BESIDE
    nav = [{group: [{title: path} for path, title in pages.items()]} for group, pages in groups.items()]
    config["nav"] = [{"Documents": "README.md"}, *nav]
    return config


def on_files(files: Files, config: Any) -> Files:
    for path in OUTSIDE:
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as paths of the site; a link to a file that is not in it is only its text."""
    uri = page.file.src_uri
    here = posixpath.dirname(uri if uri in OUTSIDE else f"docs/{uri}")

    def linked(match: re.Match[str]) -> str:
        text, path, anchor = match[1], match[2], match[3] or ""
        target = posixpath.normpath(posixpath.join(here, path)).removeprefix("docs/")
        if files.get_file_from_path(target) is None:
            return text
        return f"[{text}]({posixpath.relpath(target, posixpath.dirname(uri) or '.')}{anchor})"

    return LINK.sub(linked, markdown)
