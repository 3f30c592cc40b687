"""The bounds of a dataset file. They apply before and during reading, so a hostile file costs little."""

from __future__ import annotations

MAX_BYTES = 10_000_000
"""Files of this size or more are refused unread. Text that aliases repeat counts each time."""
MAX_NODES = 300_000
"""Scalars, lists and mappings in one file, aliases counted each time. Enough for some 10,000 tasks."""
MAX_DEPTH = 50
"""Levels of nested lists and mappings."""
MAX_PROBLEMS = 200
"""Errors listed for one file. The rest is left out."""
MAX_ITEMS = 10_000
"""Entries of one list in a task, and keys of one record. Bounds the errors that a single task can have."""
MAX_NAME = 200
"""Characters of an id or a name, which is the width of their database columns."""
MAX_PATTERN = 2_000
MAX_TESTS = 100_000
MAX_SCHEMA_NODES = 2_000
