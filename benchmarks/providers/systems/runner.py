"""Call a function for each task on stdin and write its answer on stdout. A process of the kind ``python`` runs this.

Started as ``python runner.py MODULE:FUNCTION PARALLEL`` by any interpreter from 3.8 on, so it imports nothing but the
standard library. What the function prints goes to stderr.
"""

import asyncio
import concurrent.futures
import importlib
import inspect
import json
import os
import sys
import traceback
from typing import Any


def main() -> None:
    name, parallel = sys.argv[1], int(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # also for what a library writes below Python
    sys.path[0] = os.getcwd()  # in place of this file's folder
    try:
        function = load(name)
    except Exception:
        traceback.print_exc()
        sys.exit(78)  # EX_CONFIG: no task can be answered
    asyncio.run(serve(function, parallel, answers))


def load(name: str) -> Any:
    module, _, attribute = name.partition(":")
    function: Any = importlib.import_module(module)
    for part in attribute.split("."):
        function = getattr(function, part)
    return function


async def serve(function: Any, parallel: int, answers: Any) -> None:
    loop = asyncio.get_running_loop()
    threads = concurrent.futures.ThreadPoolExecutor(parallel)
    reader = concurrent.futures.ThreadPoolExecutor(1)
    running = set()
    while True:
        line = await loop.run_in_executor(reader, sys.stdin.readline)
        if not line:
            os._exit(0)  # the worker has gone: nobody waits for what still runs
        work = asyncio.ensure_future(answer(function, json.loads(line), threads, answers))
        running.add(work)
        work.add_done_callback(running.discard)


async def answer(function: Any, task: Any, threads: Any, answers: Any) -> None:
    number = task.pop("request")
    try:
        if inspect.iscoroutinefunction(function):
            given = await function(task)
        else:
            given = await asyncio.get_running_loop().run_in_executor(threads, function, task)
            if inspect.isawaitable(given):
                given = await given
        reply = dict(given) if isinstance(given, dict) else {"answer": given}
        line = json.dumps({**reply, "request": number})
    except Exception as error:
        traceback.print_exc()
        line = json.dumps({"request": number, "error": f"{type(error).__name__}: {error}"})
    answers.write(line + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
