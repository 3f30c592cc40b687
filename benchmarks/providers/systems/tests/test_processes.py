"""Programs and functions under test, with what can go wrong with them."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from benchmarks.providers.base import AskedTask, ChatRequest, ProviderError, ProviderSpec, Timeouts
from benchmarks.providers.registered_providers import make_provider
from benchmarks.providers.systems import processes
from benchmarks.providers.systems.options import SystemOptions

BOT = """
import json, os, sys, time
for line in sys.stdin:
    task = json.loads(line)
    what = task["input"]
    if what == "crash":
        print("it went wrong", file=sys.stderr); sys.stderr.flush(); os._exit(3)
    if what == "killed":
        os.kill(os.getpid(), 9)
    if what == "hang":
        time.sleep(60)
    if what == "flood":
        sys.stdout.write("x" * 3_000_000); sys.stdout.flush(); time.sleep(60)
    if what == "noise":
        print("Loading the model"); sys.stdout.flush(); time.sleep(60)
    if what == "twice":
        print(json.dumps("one")); print(json.dumps("two")); sys.stdout.flush(); continue
    if what == "stderr":
        sys.stderr.write("y" * 5_000_000); sys.stderr.flush()
    if what == "closed":
        os.close(1); time.sleep(60)
    print(json.dumps({"answer": what.upper(), "pid": os.getpid(), "retrieved": [os.environ.get("SECRET_KEY", "none")]}))
    sys.stdout.flush()
"""


def request(text: str) -> ChatRequest:
    return ChatRequest("", [{"role": "user", "content": text}], task=AskedTask("t1", text, (), {}, "c1"))


@asynccontextmanager
async def program(tmp_path: Path, code: str = BOT, seconds: float = 5.0, **options):
    (tmp_path / "bot.py").write_text(textwrap.dedent(code))
    given = {"command": [sys.executable, "bot.py"], "folder": str(tmp_path), "processes": 2} | options
    kind = "python" if "function" in options else "command"
    given = {name: value for name, value in given.items() if kind == "command" or name != "command"}
    spec = ProviderSpec("bot", kind, timeouts=Timeouts(whole=seconds), system=SystemOptions(**given))
    provider = make_provider(spec)
    try:
        yield provider
    finally:
        await provider.close()


async def test_a_program_answers_line_by_line(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "ours")
    async with program(tmp_path) as bot:
        replies = await asyncio.gather(*(bot.complete(request(f"task {number}")) for number in range(32)))

    assert [reply.text for reply in replies] == [f"TASK {number}" for number in range(32)]
    assert replies[0].retrieved == ("none",), "our own settings are no part of its environment"


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("crash", "bad_response", "ended with exit code 3 before it answered. Its last lines on stderr: it went wrong"),
        ("killed", "bad_response", "ended by the signal SIGKILL"),
        ("hang", "timeout", "No answer within 1 s"),
        ("flood", "bad_response", "without the end of a line"),
        ("noise", "bad_response", "a line that is not JSON: “Loading the model”. Write anything but answers to stderr"),
        ("closed", "bad_response", "before it answered"),
    ],
)
async def test_a_fault_ends_its_task_and_the_next_one_is_answered(tmp_path, monkeypatch, text, kind, said):
    monkeypatch.setattr(processes, "MOST_BYTES", 1_000_000)
    async with program(tmp_path, seconds=1.0 if text == "hang" else 10.0) as bot:
        with pytest.raises(ProviderError) as caught:
            await bot.complete(request(text))
        answered = await bot.complete(request("next"))

    assert caught.value.kind == kind
    assert caught.value.retryable
    assert said in caught.value.message
    assert answered.text == "NEXT"


async def test_a_key_that_a_program_prints_when_it_fails_is_hidden(tmp_path):
    code = "import sys\nprint('refused: sk-abcdefghijklmnop', file=sys.stderr)\nsys.exit(1)"
    async with program(tmp_path, code) as bot:
        with pytest.raises(ProviderError, match=r"refused: \[key hidden\]") as caught:
            await bot.complete(request("x"))

    assert "abcdefgh" not in caught.value.message


async def test_a_second_answer_to_one_task_is_not_taken_for_the_next(tmp_path):
    async with program(tmp_path, processes=1) as bot:
        first = await bot.complete(request("twice"))
        await asyncio.sleep(0.2)
        second = await bot.complete(request("next"))

    assert (first.text, second.text) == ("one", "NEXT")


async def test_a_flood_on_stderr_blocks_nothing(tmp_path):
    async with program(tmp_path) as bot:
        assert (await bot.complete(request("stderr"))).text == "STDERR"


async def test_a_program_that_is_not_there_ends_the_run(tmp_path):
    async with program(tmp_path, command=["/nowhere/bot"]) as bot:
        with pytest.raises(ProviderError, match="Cannot start /nowhere/bot") as caught:
            await bot.complete(request("x"))

    assert caught.value.systemic


async def test_one_process_a_task_gets_the_end_of_its_input(tmp_path):
    code = "import json, os, sys\ntask = json.loads(sys.stdin.read())\nprint(json.dumps(task['input'] + ' once'))"
    async with program(tmp_path, code, reuse=False) as bot:
        replies = await asyncio.gather(*(bot.complete(request(f"{number}")) for number in range(4)))

    assert [reply.text for reply in replies] == [f"{number} once" for number in range(4)]


async def test_a_canceled_task_leaves_no_process_and_no_child_of_it(tmp_path):
    code = """
    import subprocess, sys
    child = subprocess.Popen(["sleep", "300"])
    open("pids", "w").write(f"{child.pid}")
    sys.stdin.readline()
    sys.stdin.readline()
    """
    async with program(tmp_path, code) as bot:
        asking = asyncio.create_task(bot.complete(request("x")))
        await _until(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text())
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        child = int((tmp_path / "pids").read_text())
        await _until(lambda: not _runs(child))

    assert not _runs(child)


async def _until(condition: Callable[[], object]) -> None:
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


FUNCTION = """
import asyncio
print("imported")

def answer(task):
    print("a stray line")
    if task["input"] == "raise":
        raise ValueError("no index")
    return {"answer": task["input"].title(), "retrieved": task["context"], "cost_usd": 0.01}

async def slow(task):
    await asyncio.sleep(0.3)
    return task["input"] + " slowly"

def nothing(task):
    return None
"""


async def test_a_function_answers_in_a_process_of_its_own(tmp_path):
    async with program(tmp_path, FUNCTION, function="bot:answer") as bot:
        reply = await bot.complete(request("how high?"))
        with pytest.raises(ProviderError, match="The system reports an error: ValueError: no index"):
            await bot.complete(request("raise"))
        again = await bot.complete(request("again"))

    assert (reply.text, reply.retrieved, reply.cost_usd) == ("How High?", (), 0.01)
    assert again.text == "Again"


async def test_an_async_function_answers_many_tasks_at_the_same_time_in_one_process(tmp_path):
    async with program(tmp_path, FUNCTION, function="bot:slow", processes=1, parallel=32) as bot:
        await bot.complete(request("first"))
        began = time.monotonic()
        replies = await asyncio.gather(*(bot.complete(request(f"{number}")) for number in range(32)))
        took = time.monotonic() - began

    assert [reply.text for reply in replies] == [f"{number} slowly" for number in range(32)]
    assert took < 32 * 0.3, "they were answered one after the other"


@pytest.mark.parametrize(
    ("function", "said"),
    [("bot:missing", "has no attribute 'missing'"), ("nowhere:answer", "No module named 'nowhere'")],
)
async def test_a_function_that_cannot_be_imported_says_so_and_ends_the_run(tmp_path, function, said):
    async with program(tmp_path, FUNCTION, function=function) as bot:
        with pytest.raises(ProviderError, match=said) as caught:
            await bot.complete(request("x"))

    assert caught.value.systemic


async def test_a_function_that_returns_nothing_gave_no_answer(tmp_path):
    async with program(tmp_path, FUNCTION, function="bot:nothing") as bot:
        with pytest.raises(ProviderError, match="The reply has no answer"):
            await bot.complete(request("x"))


def test_the_environment_of_a_program_has_none_of_our_settings(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("OPENAI_API_KEY", "its own")

    environment = processes.Program(("x",)).environment()

    assert "DATABASE_URL" not in environment
    assert environment["OPENAI_API_KEY"] == "its own"
    assert os.environ["DATABASE_URL"]
