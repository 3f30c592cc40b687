"""The web server of ``manage.py dev``: waitress, which gives a request to a thread once all of it has arrived.

A slow or silent client therefore occupies a connection, never a thread. Production runs gunicorn behind a proxy that
does the same (docs/deployment.md).
"""

from __future__ import annotations

import argparse
import resource
import signal
import socket
import sys
from types import FrameType

import waitress

from codeforge.wsgi import application

THREADS = 8
IDLE_SECONDS = 20
"""A connection on which nothing arrives or leaves for this long is closed, unless its request is being worked on."""
MOST_CONNECTIONS = 1000
MOST_BODY_BYTES = 64 * 1024 * 1024
"""More than the application accepts, so that it explains the refusal; still more is refused before it is stored."""
MOST_UNREAD_BYTES = 2 * 1024**3
"""How far a streamed export may run ahead of its reader, in a temporary file, before its thread waits for it."""


def main(arguments: list[str]) -> None:
    """Serve until SIGTERM or SIGINT. Requests that are being worked on then have five seconds to end."""
    parser = argparse.ArgumentParser(prog="python -m codeforge.web_server", description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:8080", help="address and port (default: %(default)s)")
    parser.add_argument("--socket", type=int, metavar="FD", help="an inherited socket that listens, instead")
    options = parser.parse_args(arguments)
    place = (
        {"listen": options.listen} if options.socket is None else {"sockets": [socket.socket(fileno=options.socket)]}
    )
    signal.signal(signal.SIGTERM, _leave)
    _allow_open_files(3 * MOST_CONNECTIONS)  # a connection, and a temporary file each for its request and response
    waitress.serve(
        application,
        threads=THREADS,
        channel_timeout=IDLE_SECONDS,
        cleanup_interval=2,
        connection_limit=MOST_CONNECTIONS,
        max_request_body_size=MOST_BODY_BYTES,
        outbuf_high_watermark=MOST_UNREAD_BYTES,
        asyncore_use_poll=True,  # select() is limited to 1024 files
        ident=None,
        _quiet=True,
        **place,
    )


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit  # waitress catches it, and stops its threads


def _allow_open_files(number: int) -> None:
    """Raise the soft limit, which is 256 on macOS, as far as the hard limit permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    permitted = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft != resource.RLIM_INFINITY and soft < permitted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (permitted, hard))


if __name__ == "__main__":
    main(sys.argv[1:])
