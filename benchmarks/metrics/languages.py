"""The language of a text, by py3langid: statistics of its characters, computed here, without a network or a judge."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

from benchmarks.extras import how_to_install

INSTALL = how_to_install("text")
# fmt: off
LANGUAGES = (
    "af", "ar", "bg", "bn", "ca", "cs", "cy", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "gu", "he",
    "hi", "hr", "hu", "id", "it", "ja", "kn", "ko", "lt", "lv", "mk", "ml", "mr", "ne", "nl", "no", "pa", "pl",
    "pt", "ro", "ru", "sk", "sl", "so", "sq", "sv", "sw", "ta", "te", "th", "tl", "tr", "uk", "ur", "vi", "zh",
)
# fmt: on
"""Codes of ISO 639-1, without those that differ too little from others here to be told apart."""


def is_installed() -> bool:
    return importlib.util.find_spec("py3langid") is not None


def language_of(text: str) -> str | None:
    """One of ``LANGUAGES``; ``None`` if nothing in the text points to any, as in a number or a single name."""
    language, log_probability = _identifier().classify(text)
    return None if log_probability < -1e38 else str(language)


@cache
def _identifier() -> Any:
    """The module with its model, 40 MB read in a second, once a process when the first answer is scored."""
    import py3langid

    py3langid.set_languages(list(LANGUAGES))
    return py3langid
