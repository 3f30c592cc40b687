"""DeepEval in a process of its own: what it must not touch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# uvloop comes first, so that DeepEval is imported under it: patching such a loop at import would fail.
SCRIPT = """
import asyncio, json, os, socket, sys, uvloop
touched = []
for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, lambda *args, **kwargs: touched.append(str(args[1:])))
socket.getaddrinfo = lambda *args, **kwargs: touched.append(str(args))

from benchmarks.metrics.registered_metrics import REGISTERED_METRICS
imported_at_start = "deepeval" in sys.modules

from benchmarks.metrics.tests.factories import ScriptedJudge, item

async def main():
    judge = ScriptedJudge(lambda prompt: {"reason": "fine", "score": 8})
    metric = REGISTERED_METRICS["correctness"]
    scores = await asyncio.gather(*(metric.judge(item("a", "b"), judge) for _ in range(120)))
    return [score.value for score in scores]

values = {"uvloop": uvloop.run(main()), "asyncio": asyncio.run(main())}

from deepeval.tracing.tracing import trace_manager
print(json.dumps({
    "values": values,
    "imported_at_start": imported_at_start,
    "touched": touched,
    "patched": hasattr(asyncio, "_nest_patched"),
    "traces": len(trace_manager.traces) + len(trace_manager.active_traces),
    "secret": os.environ.get("FROM_DOTENV"),
}))
"""


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """The report of a process that judged 120 results on each event loop, with its home and working directory."""
    home = tmp_path_factory.mktemp("home")
    work = tmp_path_factory.mktemp("work")
    (work / ".env").write_text("FROM_DOTENV=read\n")
    root = Path(__file__).parents[3]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(root), "OPENAI_API_KEY": "sk-none"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        check=False,
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    return {**report, "stdout": done.stdout, "stderr": done.stderr, "home": home, "work": work}


def test_every_result_is_judged_on_either_event_loop_and_none_is_patched(process):
    assert process["values"] == {"uvloop": [0.8] * 120, "asyncio": [0.8] * 120}
    assert process["patched"] is False


def test_it_is_imported_on_first_use_only(process):
    assert process["imported_at_start"] is False


def test_it_opens_no_connection_and_keeps_no_traces(process):
    assert process["touched"] == []
    assert process["traces"] == 0


def test_it_reads_no_dotenv_file_and_writes_nothing(process):
    assert process["secret"] is None
    assert [path.name for path in process["home"].rglob("*")] == []
    assert [path.name for path in process["work"].rglob("*")] == [".env"]
    assert process["stderr"] == ""
    assert len(process["stdout"].splitlines()) == 1
