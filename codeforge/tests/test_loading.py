"""What web servers and workers load at their start stays out of the way of the garbage collector."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import worker

CODE = """
import gc, sys
import codeforge.wsgi
print(gc.get_freeze_count() > 9 * len(gc.get_objects()), "frontend.views.runs" in sys.modules)
"""


def test_a_web_server_loads_its_views_at_its_start_and_leaves_them_to_stay(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "APP_ENV": "development", "CODEFORGE_STATE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"], done.stderr


LEFT = """
import gc, weakref
import codeforge.wsgi
from django.core.signals import request_finished

class Node:
    pass

def leave(number):
    nodes = [Node() for _ in range(number)]
    for node in nodes:
        node.itself = node
    return weakref.ref(nodes[0])

few = leave(100)
request_finished.send(None)
many = leave(10_000)
amid = many() is not None
request_finished.send(None)
print(few() is None, amid, many() is None)
"""


def test_a_web_server_looks_for_garbage_after_requests(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "APP_ENV": "development", "CODEFORGE_STATE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", LEFT], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"], done.stderr


def test_a_web_server_loads_nothing_that_few_requests_need(tmp_path: Path) -> None:
    code = "import sys, codeforge.wsgi; print(*sys.modules)"
    environment = {"PATH": os.environ["PATH"], "APP_ENV": "development", "CODEFORGE_STATE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    late = {"aiohttp", "deepeval", "jsonschema", "markdown_it", "numpy", "psycopg", "redis", "requests", "scipy"}
    assert late.isdisjoint(done.stdout.split())


def test_a_worker_freezes_what_it_has_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PeriodicThread", lambda calls, at_end=None: SimpleNamespace(start=lambda: None))
    step = worker.EngineStep(None)
    try:
        step.start(SimpleNamespace(concurrency=1))
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
        worker.STOPPING.clear()
