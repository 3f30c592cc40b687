"""The colours of both themes are checked as WCAG 2.1 measures contrast."""

from __future__ import annotations

import pytest

from frontend import drawing

TEXT = ("--ink", "--ink-soft", "--accent", "--wrong")
MARKS = (
    *("--correct", "--wrong", "--unparsable", "--truncated", "--refused", "--provider-error", "--judge-error"),
    *(f"--series-{number}" for number in range(1, 7)),
)
GROUNDS = ("--paper", "--surface")


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", TEXT)
def test_text_can_be_read_on_every_ground(theme: drawing.Theme, ground: str, name: str) -> None:
    colours = drawing.tokens(theme)
    assert contrast(colours[name], colours[ground]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", MARKS)
def test_marks_that_carry_data_can_be_seen(theme: drawing.Theme, ground: str, name: str) -> None:
    colours = drawing.tokens(theme)
    assert contrast(colours[name], colours[ground]) >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_words_of_a_primary_button_can_be_read(theme: drawing.Theme) -> None:
    colours = drawing.tokens(theme)
    assert contrast(colours["--accent-ink"], colours["--accent"]) >= 4.5
