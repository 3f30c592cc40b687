from __future__ import annotations

import pytest

from benchmarks.providers.base import ProviderError
from benchmarks.providers.retrying import Breaker
from benchmarks.providers.tests.stand_ins import bad_key, server_error


def test_a_new_breaker_is_closed() -> None:
    assert Breaker().tripped is None


def test_a_bad_key_at_the_start_stops_at_once_and_says_why() -> None:
    breaker = Breaker()
    breaker.record(bad_key())
    assert breaker.tripped == "bad key"


def test_a_stray_systemic_error_among_answers_stops_nothing() -> None:
    breaker = Breaker(systemic_limit=3)
    for error in (None, bad_key(), bad_key(), None, bad_key(), server_error(), bad_key(), bad_key()):
        breaker.record(error)
    assert breaker.tripped is None


def test_a_key_that_is_revoked_midway_stops_after_a_few() -> None:
    breaker = Breaker(systemic_limit=3)
    breaker.record(None)
    for _ in range(2):
        breaker.record(bad_key())
    assert breaker.tripped is None
    breaker.record(bad_key())
    assert breaker.tripped


@pytest.mark.parametrize(("failures", "tripped"), [(4, False), (5, True)])
def test_failures_in_a_row_stop_at_the_limit(failures: int, tripped: bool) -> None:
    breaker = Breaker(consecutive_limit=5)
    for _ in range(failures):
        breaker.record(server_error())
    assert bool(breaker.tripped) is tripped
    if tripped:
        assert breaker.tripped == "5 consecutive requests failed. Last error: broken"


def test_an_answer_begins_the_count_anew() -> None:
    breaker = Breaker(consecutive_limit=3)
    for error in (server_error(), server_error(), None) * 5:
        breaker.record(error)
    assert breaker.tripped is None


def test_prompts_that_are_too_long_do_not_count() -> None:
    breaker = Breaker(consecutive_limit=3)
    for _ in range(10):
        breaker.record(ProviderError("too_large", "too long"))
    assert breaker.tripped is None


def test_a_tripped_breaker_keeps_its_first_reason() -> None:
    breaker = Breaker(consecutive_limit=1)
    breaker.record(server_error())
    reason = breaker.tripped
    breaker.record(None)
    breaker.record(bad_key())
    assert reason
    assert breaker.tripped == reason
