"""The keys that pages have, as the help and the dialog of keys list them."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """``keys`` do together, or one of them each, what ``does`` says; ``where`` is empty for every page."""

    keys: tuple[str, ...]
    does: str
    where: str = ""


KEYS = (
    Key(("Ctrl K", "⌘K", "/"), "Search and commands"),
    Key(("n",), "New run", "Outside Review and steps"),
    Key(("?",), "All keys"),
    Key(("j", "k"), "Next and previous row, result, task or canvas"),
    Key(("Enter",), "Open or close the row", "Tables"),
    Key(("e",), "Dismiss the notice", "Overview"),
    Key(("x",), "Select the row", "Runs"),
    Key(("c",), "Compare the selected rows", "Runs"),
    Key(("n",), "Next failed step", "Steps"),
    Key(("d",), "Show the differences from the reference run", "Task by task"),
    Key(("f",), "Mark the expected answer as doubtful", "Task by task"),
    Key(("1", "…", "9"), "Choose a label", "Review"),
    Key(("d", "u", "x"), "Flag a doubtful expected answer, an unclear task or an unreadable answer", "Review"),
    Key(("n",), "Write a note; Esc leaves it", "Review"),
    Key(("Enter",), "Save the label and show the next answer", "Review"),
    Key(("←", "→", "t"), "Choose left, right or a tie, and show the next pair", "Review of pairs"),
    Key(("s", "z"), "Skip the answer; undo the last label", "Review"),
)
