"""The embedded broker: Celery's filesystem transport, with files that appear whole or not at all.

The transport as it comes creates a message's file and then writes into it. A worker that looks in between reads an
empty message, and dies of it: at a few messages a second that took a worker down within minutes. Here everything is
written under another name and then renamed, which the file system does in one step.
"""

from __future__ import annotations

import logging
import os
import uuid
from pathlib import Path
from queue import Empty
from time import monotonic_ns
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)

SCHEME = "files"


class Channel(filesystem.Channel):
    def _put(  # type: ignore[override]  # kombu's two stubs of it disagree
        self, queue: str, payload: Any, **options: Any
    ) -> None:
        """Put a message onto a queue. Raises ``ChannelError`` where it cannot be written."""
        name = f"{monotonic_ns() // 1_000_000}_{uuid.uuid4()}.{queue}.msg"
        _write_whole(Path(self.data_folder_out) / name, dumps(payload))

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """Take the oldest message of a queue; a file that holds none is ignored. Raises ``Empty``."""
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = folder / f".{name}.taken"
            try:
                os.rename(folder / name, taken)  # of several workers one succeeds
            except FileNotFoundError:
                continue
            try:
                message = loads(taken.read_text(encoding="utf-8"))
            except ValueError:
                logger.warning("%s holds no message and is ignored", folder / name)
                continue
            finally:
                taken.unlink()
            return message
        raise Empty

    def _queue_bind(self, exchange: str, routing_key: Any, pattern: Any, queue: str) -> None:
        """Bind a queue; the exchange's table is there before anybody can read it half written."""
        table: Path = self._exchange_file(exchange)  # type: ignore[attr-defined]  # its stubs are older
        if not table.exists():
            table.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(table, dumps([[routing_key or "", pattern or "", queue or ""]]))
        super()._queue_bind(exchange, routing_key, pattern, queue)


class Transport(filesystem.Transport):
    Channel = Channel


def _write_whole(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        raise ChannelError(f"Cannot write {path}: {error}") from error


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
