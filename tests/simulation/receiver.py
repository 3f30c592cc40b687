"""The receiver of webhooks: it accepts, refuses, hangs and fails as the seed says, and remembers all that came."""

from __future__ import annotations

import asyncio
import base64
import os
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace

from tests.simulation.world import World

NAME, SECRET_VARIABLE = "simulated", "SIMULATED_WEBHOOK_SECRET"
KEY = b"a key of twenty-four bytes or more"
SECRET = "whsec_" + base64.b64encode(KEY).decode()
RETRIES = {"max_attempts": 4, "base_seconds": 2.0, "cap_seconds": 6.0}
TIMEOUT_SECONDS = 5.0
CONFIGURED = {
    "url": "http://127.0.0.1:1",
    "secret_env": SECRET_VARIABLE,
    "timeout_seconds": TIMEOUT_SECONDS,
    "retries": RETRIES,
}


@dataclass
class Post:
    """One message that came; ``status`` is what it was answered with, 0 while it was not."""

    id: str
    timestamp: str
    signature: str
    body: bytes
    came_at: float
    status: int = 0


class Receiver:
    """Takes the place of the HTTP session in which deliveries are sent."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.fault_rate = world.random.choice((0.0, 0.2, 0.7))
        self.signs_from = random.Random(f"secret of {world.seed}").choice((0.0, 0.0, 30.0))
        """When the workers get the secret"""
        self.posts: list[Post] = []
        self.on_post: Callable[[Post], None] = lambda post: None

    def begin(self) -> None:
        """Keep the secret back for a time."""
        if self.signs_from:
            self.world.count("the secret comes late")
            os.environ.pop(SECRET_VARIABLE)
            self.world.at(self.signs_from, lambda: os.environ.update({SECRET_VARIABLE: SECRET}))

    @asynccontextmanager
    async def post(
        self, url: str, *, data: bytes, headers: dict[str, str], allow_redirects: bool
    ) -> AsyncIterator[SimpleNamespace]:
        random, world = self.world.random, self.world
        given = (headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        post = Post(*given, body=data, came_at=world.now)
        world.note(f"posts {post.id[:8]}")
        self.on_post(post)
        self.posts.append(post)
        await asyncio.sleep(random.uniform(0.01, 0.5))
        if random.random() < self.fault_rate:
            fault = random.choice(("refuses", "hangs", "breaks", "accepts without a word"))
            world.count(f"receiver: {fault}")
            if fault == "hangs":
                await asyncio.sleep(60.0)
            if fault == "accepts without a word":
                post.status = 200
            if fault in ("breaks", "accepts without a word"):
                raise ConnectionResetError("simulated")
            post.status = random.choice((301, 400, 500))
        else:
            post.status = 204
        world.note(f"answers {post.status} to {post.id[:8]}")
        yield SimpleNamespace(status=post.status)
