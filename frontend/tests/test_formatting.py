from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from frontend import formatting


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain", "plain"),
        ("two\r\nlines\n\tkept", "two\nlines\n\tkept"),
        ("\x1b[31mred\x1b[0m", "⟨ESC⟩[31mred⟨ESC⟩[0m"),
        ("name\u202egnp.exe", "name⟨RLO⟩gnp.exe"),
        ("\u2066x\u2069", "⟨LRI⟩x⟨PDI⟩"),
        ("a\x00b\x07c\x7f", "a⟨NUL⟩b⟨BEL⟩c⟨DEL⟩"),
        ("over\rwritten", "over⟨CR⟩written"),
        ("\x9b2J", "⟨U+009B⟩2J"),
        ("שלום 😀", "שלום 😀"),
    ],
)
def test_what_acts_unseen_is_made_visible(text: str, seen: str) -> None:
    assert formatting.visible(text) == seen


@pytest.mark.parametrize(
    ("usd", "written"),
    [
        (None, "unknown"),
        (0, "$0"),
        (0.00001, "< $0.0001"),
        (0.1234, "$0.1234"),
        (12.5, "$12.50"),
        (1234.5, "$1,234.50"),
    ],
)
def test_an_unknown_price_is_never_written_as_nothing(usd: float | None, written: str) -> None:
    assert formatting.money(usd) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(None, "–"), (0.42, "420 ms"), (3.14, "3.1 s"), (75, "1 min 15 s"), (3600, "1 h"), (90_061, "1 d 1 h")],
)
def test_a_duration_has_its_two_largest_units(seconds: float | None, written: str) -> None:
    assert formatting.duration(seconds) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, "–"), (0, "0.000"), (2 / 3, "0.667"), (-0.12, "−0.120"), (1234.4, "1\u202f234")],
)
def test_a_score_has_three_decimals_and_a_missing_one_a_dash(value: float | None, written: str) -> None:
    assert formatting.score(value) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(-5, "just now"), (30, "just now"), (60, "1 minute ago"), (7_300, "2 hours ago"), (90_000, "1 day ago")],
)
def test_a_moment_is_told_relative_to_now(seconds: float, written: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert formatting.ago(now - timedelta(seconds=seconds), now) == written


@pytest.mark.parametrize(("p", "written"), [(None, "–"), (0.0004, "< 0.001"), (0.0456, "0.046")])
def test_a_p_value_is_short(p: float | None, written: str) -> None:
    assert formatting.p_value(p) == written
