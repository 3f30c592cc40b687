"""A TCP proxy that can go away: in front of a database it is a database that is restarted, or cut off."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class Proxy:
    """Forwards connections to ``address`` while it is ``there``; otherwise drops and refuses them."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._sockets: set[socket.socket] = set()
        self._listener = self._listening(0)
        self.port: int = self._listener.getsockname()[1]

    def go_away(self) -> None:
        """Refuse connections from now on, and break those there are."""
        self._close(self._listener)
        for end in tuple(self._sockets):
            self._close(end)

    def come_back(self) -> None:
        self._listener = self._listening(self.port)

    def _listening(self, port: int) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(self._address)
                self._sockets |= {client, server}
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
        for end in (source, sink):
            self._sockets.discard(end)
            self._close(end)

    @staticmethod
    def _close(end: socket.socket) -> None:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextlib.contextmanager
def proxy_to(host: str, port: int) -> Iterator[Proxy]:
    proxy = Proxy((host, port))
    try:
        yield proxy
    finally:
        proxy.go_away()
