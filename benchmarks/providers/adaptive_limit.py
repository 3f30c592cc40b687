"""How many requests an endpoint bears now: additive increase, multiplicative decrease, as TCP finds its window."""

from __future__ import annotations


class AdaptiveLimit:
    """The most requests in flight. Starts at ``ceiling``, halves when the endpoint says slow down, and grows by one for
    every whole round of answers while it is what holds requests back.

    ``value`` is ``None`` while there is neither a ceiling nor a reason for a limit.
    """

    def __init__(self, ceiling: int | None = None) -> None:
        self._ceiling = ceiling
        self._exact: float | None = ceiling
        self._cut_at = float("-inf")

    @property
    def value(self) -> int | None:
        return None if self._exact is None else int(self._exact)

    def admits_beside(self, in_flight: int) -> bool:
        """Whether one more may join so many."""
        return self._exact is None or in_flight < int(self._exact)

    def slowed(self, in_flight: int, sent_at: float, now: float) -> bool:
        """The endpoint refused a request sent at ``sent_at``. Returns whether that halved the limit.

        It halves once a round: requests sent before the last cut say nothing about the limit after it.
        """
        if sent_at < self._cut_at:
            return False
        borne = in_flight if self._exact is None else min(self._exact, in_flight)
        self._exact = max(1.0, borne / 2)
        self._cut_at = now
        return True

    def answered(self, in_flight: int) -> None:
        if self._exact is None or in_flight < int(self._exact):
            return
        self._exact += 1 / self._exact
        if self._ceiling is not None:
            self._exact = min(self._exact, self._ceiling)
