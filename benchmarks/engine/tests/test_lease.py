"""The lease: one holder of a subject at a time, and none that keeps it after its death."""

from __future__ import annotations

import socket
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.engine import lease as leases
from benchmarks.models import Lease

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_exclusive_subject_has_one_holder_until_it_is_released() -> None:
    with leases.exclusive("retention") as held:
        assert held is not None
        assert leases.heartbeat(held)
        with leases.exclusive("retention") as second:
            assert second is None
        with leases.exclusive("canvas set 3") as other:
            assert other is not None
    assert not leases.heartbeat(held), "a released lease cannot be renewed"
    with leases.exclusive("retention") as again:
        assert again is not None


def test_the_lease_of_a_worker_that_is_gone_is_taken_over() -> None:
    here, quiet = socket.gethostname(), timedelta(seconds=10)
    for worker, silence, expired in (
        (f"{here}:4194305:token", quiet, True),
        (f"{here}:1:token", quiet, False),
        ("elsewhere:1:token", timedelta(seconds=leases.LEASE_SECONDS - 10), False),
        ("elsewhere:1:token", timedelta(seconds=leases.LEASE_SECONDS + 10), True),
    ):
        Lease.objects.create(subject="retention", worker=worker, heartbeat_at=timezone.now() - silence)
        lease = leases.acquire("retention")
        assert (lease is not None) is expired, worker
        assert leases.release_expired() == 0
        Lease.objects.all().delete()


def test_an_error_in_the_block_releases_the_lease() -> None:
    with pytest.raises(RuntimeError), leases.exclusive("retention"):
        raise RuntimeError
    assert not Lease.objects.exists()
