"""The bounds of a dataset file. They hold before and while a file is read, so a hostile one costs little."""

from __future__ import annotations

MAX_BYTES = 10_000_000
"""A file this large or larger is refused before it is read. Text repeated by aliases counts as often as it appears."""
MAX_NODES = 300_000
"""Scalars, lists and mappings in one file, again with what aliases repeat: room for some ten thousand tasks."""
MAX_DEPTH = 50
"""Lists and mappings inside each other."""
MAX_PROBLEMS = 200
"""After so many mistakes in one file the rest is not listed."""
MAX_NAME = 200
"""Characters in an id or a name: they are shown in tables and stored in columns of this width."""
MAX_PATTERN = 2_000
MAX_TESTS = 100_000
MAX_SCHEMA_NODES = 2_000
