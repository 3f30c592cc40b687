"""``python -m benchmarks.local_llm``: serve the model until Ctrl-C, as ``make local-llm`` does."""

from __future__ import annotations

import argparse
import signal
import socket
import sys
import threading

from benchmarks.local_llm.serving import HOST, NAME, PORT, missing, start

WELCOME = """\
{name} is served at {url}  (stop with Ctrl-C)

To start a run with it, with or without `make run` in another terminal:
  .venv/bin/python manage.py benchmark run reasoning --model local/{name} --metrics contains
In the dashboard, choose the model local/{name}. It is a very small model, so most of its answers are wrong."""


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
