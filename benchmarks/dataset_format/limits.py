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
MAX_ANSWERS = 50
"""Accepted answers of one task. Each is compared with every answer of a model."""
MAX_MESSAGES = 100
"""Messages of one task."""
MAX_TURNS = 50
"""Turns of one scripted conversation. Each is a request, which sends all turns before it again."""
MAX_GOAL = 4_000
"""Characters of a simulated user's goal, and of its persona."""
MAX_PARTS = 50
"""Texts and images of one message."""
MAX_URL = 2_000
MAX_IMAGE_BYTES = 2_000_000
MAX_IMAGES_BYTES = 6_000_000
"""All images of a dataset together: written with them, it must be smaller than ``MAX_BYTES``."""
MAX_IMAGES = 500
"""Files with images that one dataset may name."""
MAX_LABELS = 20
"""Tags of one task, and keys of its metadata."""
MAX_LABEL = 100
"""Characters of a tag or of a text in the metadata."""
MAX_SPLITS = 20
"""Splits of one dataset."""
MAX_SPLIT = 40
"""Characters of a split's name, which is the width of its database column."""
MAX_CLUSTER = 32
"""Characters of a cluster's name, which is the width of its database column."""
MIN_WEIGHT, MAX_WEIGHT = 0.001, 1_000
"""Of one task."""
MAX_NAME = 200
"""Characters of an id or a name, which is the width of their database columns."""
MAX_KEYWORDS = 100
"""Texts that one task wants in an answer, and as many that it does not."""
MAX_TABLES = 50
MAX_ROWS = 1_000
"""Rows of all tables of one world. Each call compares them."""
MAX_RULES = 200
MAX_CONDITIONS = 50
"""Conditions on one row, columns of one rule, and requirements of one rule."""
MAX_STEPS = 100
"""Tool calls that a task may allow."""
MAX_RUBRICS = 50
MAX_CRITERIA = 20
"""Criteria of one rubric, and as many steps."""
MAX_CRITERION = 4_000
"""Characters of a criterion or of a step."""
MAX_RUBRIC_NAME = 50
MAX_PATTERN = 2_000
MAX_TESTS = 100_000
MAX_SCHEMA_NODES = 2_000
