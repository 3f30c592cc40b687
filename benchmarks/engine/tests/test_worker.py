"""The worker's periodic work: done at once, repeated, and continued after a failure."""

from __future__ import annotations

import threading

from benchmarks.worker import PeriodicThread


def test_each_call_is_repeated_after_its_own_time_even_if_it_fails() -> None:
    calls: list[str] = []
    enough, once = threading.Event(), threading.Event()

    def often() -> None:
        calls.append("often")
        if calls.count("often") == 3:
            enough.set()
        raise ConnectionError("the database is unavailable")

    thread = PeriodicThread(
        [(often, 0.01), (lambda: (calls.append("seldom"), once.set()), 600.0)], at_end=lambda: calls.append("end")
    )
    thread.start()
    assert enough.wait(10)
    assert once.wait(10)
    thread.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert calls[:2] == ["often", "seldom"]
    assert calls.count("seldom") == 1
    assert calls[-1] == "end"
