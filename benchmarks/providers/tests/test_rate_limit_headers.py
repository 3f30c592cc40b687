from __future__ import annotations

import email.utils
import time
from datetime import UTC, datetime, timedelta

import pytest
from multidict import CIMultiDict

from benchmarks.providers.rate_limit_headers import retry_after, seconds_until_allowed


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"Retry-After": "0.25"}, 0.25),
        ({"Retry-After-Ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After": "-5"}, 0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"Retry-After": "Wed, 99 Oct 99999 07:28:00 GMT"}, None),
    ],
)
def test_the_wished_wait_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(CIMultiDict(headers)) == seconds


def test_a_date_to_wait_for_counts_from_now() -> None:
    wait = retry_after({"Retry-After": email.utils.formatdate(time.time() + 100, usegmt=True)})
    assert wait is not None
    assert 98 <= wait <= 100


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "9s"}, None),
        ({"x-ratelimit-remaining-requests": "0"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "9s or so"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1h6m0.5s"}, 3960.5),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2.5"}, 2.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1s", "x-ratelimit-remaining": "0"}, 1),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "3s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "7s",
            },
            7,
        ),
        ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2015-10-21T07:28:00Z"}, 0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "-1"}, 0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "999999999d999999999d"}, 366 * 86_400),
    ],
)
def test_a_limit_with_nothing_left_says_when_it_is_full_again(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds_until_allowed(CIMultiDict(headers)) == seconds


@pytest.mark.parametrize("form", ["seconds", "milliseconds", "rfc3339"])
def test_a_reset_can_be_a_moment(form: str) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=100)
    reset = {
        "seconds": str(int(moment.timestamp())),
        "milliseconds": str(int(moment.timestamp() * 1000)),
        "rfc3339": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }[form]
    wait = seconds_until_allowed({"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset})
    assert wait is not None
    assert 97 <= wait <= 100
