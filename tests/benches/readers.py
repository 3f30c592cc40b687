"""Readers of the pages of a running installation: they open a page, read for a while, and open the next."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle

import aiohttp

PATIENCE_SECONDS = 60.0
IDLE_SECONDS = 1.0
"""Less than the 2 s after which gunicorn closes an idle connection. A request into a closing one is lost, which is no
error of a page: a browser sends it again by itself."""


@dataclass(frozen=True, slots=True)
class Page:
    """What is kept of one page's answers. Times are seconds until the last byte; failures say what came instead."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def p95(self) -> float:
        """The 95th percentile; the only time where there is one."""
        ordered = self.seconds * 2 if len(self.seconds) == 1 else self.seconds
        return statistics.quantiles(ordered, n=20, method="inclusive")[-1]


def read(
    base: str, pages: Mapping[str, str], *, readers: int, seconds: float, think: float, seed: int = 0
) -> dict[str, Page]:
    """So many readers for so long, each thinking ``think`` seconds on average between pages. Page name → what came.

    A page is read through; anything but status 200 is a failure, a broken connection as well. Readers begin at
    different pages and moments, fixed by ``seed``.
    """
    chances = [random.Random(f"{seed} {number}") for number in range(readers)]
    return asyncio.run(_read(base, pages, chances, time.monotonic() + seconds, think))


async def _read(
    base: str, pages: Mapping[str, str], chances: Sequence[random.Random], until: float, think: float
) -> dict[str, Page]:
    found: dict[str, Page] = defaultdict(Page)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS)
    timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
    async with (
        aiohttp.ClientSession(base, connector=connector, timeout=timeout) as session,
        asyncio.TaskGroup() as crowd,
    ):

        async def reader(chance: random.Random) -> None:
            names = chance.sample(list(pages), len(pages))
            await asyncio.sleep(chance.uniform(0, think))
            for name in cycle(names):
                if time.monotonic() > until:
                    return
                await _open(session, pages[name], found[name])
                await asyncio.sleep(chance.uniform(0, 2 * think))

        for chance in chances:
            crowd.create_task(reader(chance))
    return dict(found)


async def _open(session: aiohttp.ClientSession, path: str, page: Page) -> None:
    began = time.perf_counter()
    try:
        async with session.get(path) as response:
            await response.read()
    except (aiohttp.ClientError, OSError) as error:
        page.failures.append(type(error).__name__)
        return
    if response.status == 200:
        page.seconds.append(time.perf_counter() - began)
    else:
        page.failures.append(f"status {response.status}")
