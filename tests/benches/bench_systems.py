"""``make bench-systems``: what the worker spends on tasks of programs and functions, and how a long trajectory opens.

The first table has milliseconds of a task whose program or function answers at once: 2,000 tasks, 32 in flight, as a
worker sends them, medians of the rounds. The second one has a log of Inspect with one result of 300,000 events: import
by command, with the most memory that its process had (on Linux), and the page of its steps.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.imports.tests.logs import write_long_log
from benchmarks.providers.base import AskedTask, ChatRequest, Provider, ProviderSpec
from benchmarks.providers.registered_providers import make_provider
from benchmarks.providers.systems.options import SystemOptions
from tests.support.stack import Stack, installed

IN_FLIGHT = 32
PROGRAM = """import json, sys
for line in sys.stdin:
    print(json.dumps({"answer": "4", "request": json.loads(line)["request"]}), flush=True)
"""
FUNCTION = "def answer(task): return '4'\n\nasync def at_once(task): return '4'\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=300_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(PROGRAM)
        Path(folder, "functions.py").write_text(FUNCTION)
        print("| system | processes × parallel | ms a task |\n|---|---:|---:|")
        for title, spec in systems(folder):
            taken = [asyncio.run(local_loop(spec, arguments.tasks)) for _ in range(arguments.rounds)]
            ms = statistics.median(taken) * 1000
            print(f"| {title} | {spec.system.processes} × {spec.system.parallel} | {ms:.2f} |", flush=True)
    for events in (arguments.events // 100, arguments.events):
        with installed("http://127.0.0.1:1") as stack:
            trajectory(stack, events, arguments.rounds)


def systems(folder: str) -> Iterator[tuple[str, ProviderSpec]]:
    for parallel in (1, 8):
        options = {"folder": folder, "parallel": parallel, "processes": 4}
        for title, kind, given in (
            ("`command`", "command", {"command": [sys.executable, "program.py"]}),
            ("`python`, a function", "python", {"function": "functions:answer"}),
            ("`python`, `async`", "python", {"function": "functions:at_once"}),
        ):
            system = SystemOptions.model_validate({**options, **given})
            yield title, ProviderSpec("local", kind, system=system)


async def local_loop(spec: ProviderSpec, tasks: int) -> float:
    """Seconds a task, without the start of the processes."""
    system = make_provider(spec)
    try:
        await ask(system, range(IN_FLIGHT))
        began = time.perf_counter()
        await ask(system, range(tasks))
        return (time.perf_counter() - began) / tasks
    finally:
        await system.close()


async def ask(system: Provider, numbers: Iterable[int]) -> None:
    left = iter(numbers)

    async def work() -> None:
        for number in left:
            messages = [{"role": "user", "content": f"What is {number} + {number}?"}]
            await system.complete(ChatRequest("", messages, task=AskedTask(str(number))))

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))


def trajectory(stack: Stack, events: int, rounds: int) -> None:
    path = stack.state / "long.eval"
    write_long_log(path, events)
    began = time.perf_counter()
    imported = stack.manage("benchmark", "import", str(path), "--json")
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"\nImport of {events:,} events: {seconds:.0f} s, at most {peak:.0f} MB.")
    run = json.loads(imported)[0]["id"]
    stack.start_web()
    result = stack.get(f"/api/v1/benchmarks/runs/{run}/results")["results"][0]["id"]
    page = f"{stack.address}/runs/{run}/results/{result}/steps/"
    print("\n| page | ms | kB |\n|---|---:|---:|")
    for title, query in (("first steps", ""), ("last steps", f"?from={events - 50}"), ("a search", "?text=nothing")):
        taken, size = [], 0
        for _ in range(rounds):
            began = time.perf_counter()
            with urllib.request.urlopen(page + query, timeout=60) as response:
                size = len(response.read())
            taken.append(time.perf_counter() - began)
        print(f"| {title} | {statistics.median(taken) * 1000:.0f} | {size / 1000:.0f} |", flush=True)


if __name__ == "__main__":
    main()
