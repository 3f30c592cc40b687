"""``python -m tests.loopback --port 9999 --delay-ms 50``: serve until interrupted. Prints the base URL first."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys

from tests.loopback.faults import FAULTS
from tests.loopback.hosting import listen
from tests.loopback.server import LoopbackServer
from tests.loopback.vendors import refusing


def _arguments() -> argparse.Namespace:
    faults = "\n".join(f"  {name:24} {fault.meaning}" for name, fault in FAULTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.loopback",
        description="An OpenAI-compatible endpoint with deterministic answers.",
        epilog=f"faults:\n{faults}\n\nGET /stats tells what was asked, POST /reset forgets it.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=9999, help="0 takes any free port (default: %(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="time before every reply (default: %(default)s)")
    parser.add_argument(
        "--token-ms", type=float, default=0.0, help="time between streamed words (default: %(default)s)"
    )
    parser.add_argument("--fault-rate", type=float, default=0.0, help="chance of a fault per attempt, 0 to 1")
    parser.add_argument("--fault", action="append", choices=tuple(FAULTS), metavar="NAME", help="repeat for several")
    parser.add_argument("--seed", type=int, default=0, help="fixes which attempts meet a fault")
    parser.add_argument("--model", action="append", default=[], metavar="NAME", help="any other model is a 404")
    parser.add_argument("--refuse", action="store_true", help="refuse parameters as the vendors of models do, by name")
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace) -> None:
    server = LoopbackServer(
        refusing(lambda asked: None) if arguments.refuse else None,
        delay_ms=arguments.delay_ms,
        token_ms=arguments.token_ms,
        fault_rate=arguments.fault_rate,
        faults=arguments.fault or ("server_500",),
        seed=arguments.seed,
        models=arguments.model,
    )
    await listen(server, arguments.port, arguments.host)
    print(server.url, flush=True)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await stopped.wait()


def main() -> None:
    arguments = _arguments()
    with contextlib.suppress(ImportError):
        import uvloop

        sys.exit(uvloop.run(_serve(arguments)))
    asyncio.run(_serve(arguments))


if __name__ == "__main__":
    main()
