"""The worker's chores: done at once, again and again, and on after a failure."""

from __future__ import annotations

import threading

from benchmarks.worker import Rounds


def test_chores_are_done_each_in_its_time_whatever_one_of_them_meets() -> None:
    done: list[str] = []
    enough, seldom = threading.Event(), threading.Event()

    def often() -> None:
        done.append("often")
        if done.count("often") == 3:
            enough.set()
        raise ConnectionError("the database is away")

    rounds = Rounds([(often, 0.01), (lambda: (done.append("seldom"), seldom.set()), 600.0)])
    rounds.start()
    assert enough.wait(10)
    assert seldom.wait(10)
    rounds.end()
    rounds.join(10)
    assert not rounds.is_alive()
    assert done[:2] == ["often", "seldom"]
    assert done.count("seldom") == 1
