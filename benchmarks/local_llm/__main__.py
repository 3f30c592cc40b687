"""``python -m benchmarks.local_llm``: serve the model until Ctrl-C, as ``make local-llm`` does."""

from __future__ import annotations

import argparse
import signal
import socket
import sys
import threading

from benchmarks.local_llm.serving import HOST, NAME, PORT, missing, start

WELCOME = """\
{name} is served at {url}  (Ctrl-C stops it)

It is the model local/{name}. With `make run` in another terminal, or by itself, start a run with it:
  .venv/bin/python manage.py benchmark run reasoning --model local/{name} --metrics contains
In the form of the dashboard it is chosen by the same name. It is a very small model: do not expect it to be right."""


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted. Returns 1 where the model is not installed or the port is taken."""
    parser = argparse.ArgumentParser(prog="benchmarks.local_llm", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help=f"on loopback, default {PORT}; 0 takes any free one")
    parser.add_argument("--quiet", action="store_true", help="print the base URL alone")
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
            return f"Port {port} cannot be used ({error}). Is the model served already? Otherwise free the port."
    return None


if __name__ == "__main__":
    sys.exit(main())
