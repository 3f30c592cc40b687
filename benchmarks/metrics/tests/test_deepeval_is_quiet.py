"""DeepEval in a process of its own: what it must not touch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import asyncio, json, os, socket, sys
touched = []
for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, lambda *args, **kwargs: touched.append(str(args[1:])))
socket.getaddrinfo = lambda *args, **kwargs: touched.append(str(args))

from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
imported_at_start = "deepeval" in sys.modules
before = dict(os.environ)

from benchmarks.metrics.tests.factories import ScriptedJudge, item

async def main():
    judge = ScriptedJudge(lambda prompt: {"reason": "fine", "score": 8})
    metric = REGISTERED_METRICS["correctness"]
    scores = await asyncio.gather(*(metric.judge(item("a", "b"), judge) for _ in range(120)))
    return [score.value for score in scores]

if sys.argv[1] == "uvloop":
    import uvloop
    values = uvloop.run(main())
else:
    values = asyncio.run(main())

from deepeval.tracing.tracing import trace_manager
print(json.dumps({
    "values": sorted(set(values)),
    "imported_at_start": imported_at_start,
    "touched": touched,
    "patched": hasattr(asyncio, "_nest_patched"),
    "traces": len(trace_manager.traces) + len(trace_manager.active_traces),
    "secret": os.environ.get("FROM_DOTENV"),
}))
"""


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def aftermath(request, tmp_path_factory):
    """What a process says that judged 120 results, and the home and working directory it ran in."""
    home = tmp_path_factory.mktemp("home")
    work = tmp_path_factory.mktemp("work")
    (work / ".env").write_text("FROM_DOTENV=read\n")
    root = Path(__file__).parents[3]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(root), "OPENAI_API_KEY": "sk-none"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, request.param],
        check=False,
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return {
        **json.loads(done.stdout.splitlines()[-1]),
        "stdout": done.stdout,
        "stderr": done.stderr,
        "home": home,
        "work": work,
    }


def test_every_result_is_judged(aftermath):
    assert aftermath["values"] == [0.8]


def test_it_is_imported_on_first_use_only(aftermath):
    assert aftermath["imported_at_start"] is False


def test_it_opens_no_connection(aftermath):
    assert aftermath["touched"] == []


def test_it_writes_nothing(aftermath):
    assert [path.name for path in aftermath["home"].rglob("*")] == []
    assert [path.name for path in aftermath["work"].rglob("*")] == [".env"]
    assert aftermath["stderr"] == ""
    assert len(aftermath["stdout"].splitlines()) == 1


def test_it_reads_no_dotenv_file(aftermath):
    assert aftermath["secret"] is None


def test_it_patches_no_event_loop(aftermath):
    assert aftermath["patched"] is False


def test_it_keeps_no_traces(aftermath):
    assert aftermath["traces"] == 0
