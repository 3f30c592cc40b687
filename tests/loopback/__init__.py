"""A model endpoint on loopback: OpenAI-compatible, deterministic, fast, and faulty on demand.

Tests and benches start it instead of reaching for a real vendor. ``serve()`` runs it in a thread, ``spawn()`` in a
process of its own, ``python -m tests.loopback`` from a shell. It counts what it was asked, so that a test can
prove that a question was asked exactly once.
"""

from tests.loopback.faults import FAULTS, Fault
from tests.loopback.hosting import fetch_stats, listen, serve, spawn
from tests.loopback.replies import Asked, Reply
from tests.loopback.server import LoopbackServer, Stats

__all__ = ["FAULTS", "Asked", "Fault", "LoopbackServer", "Reply", "Stats", "fetch_stats", "listen", "serve", "spawn"]
