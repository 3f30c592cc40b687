"""What a soaked installation stands on, all of it its own: a small disk, PostgreSQL and Redis that may be broken."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

DISK_MB = 768
SOCKETS = "/tmp"
"""A short path that PostgreSQL's account can write to."""
Row = tuple[Any, ...]


class SmallDisk:
    """A file system in memory that can be filled; needs root."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True)
        self.path = path
        self._ballast = path / "ballast"
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", path], check=True)

    def fill(self) -> None:
        """Leave no byte free."""
        with self._ballast.open("ab", buffering=0) as ballast, contextlib.suppress(OSError):
            while ballast.write(bytes(1 << 20)):
                pass

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def remove(self) -> None:
        subprocess.run(["umount", "--lazy", self.path], check=False)


class Postgres:
    """A server with its data on ``disk``, run by the account ``postgres`` if this is root."""

    def __init__(self, disk: Path, host: str = "127.0.0.1") -> None:
        self._bin = Path(shutil.which("pg_ctl") or max(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))).parent
        self._data, self._port = disk / "data", free_port()
        self._account: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
        if self._account:
            shutil.chown(disk, "postgres", "postgres")
        self._run("initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8")
        settings = f"port={self._port}\nlisten_addresses='{host}'\nunix_socket_directories='{SOCKETS}'\n"
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(f"{settings}max_wal_size=128MB\nmin_wal_size=32MB\nshared_buffers=64MB\n")
        with (self._data / "pg_hba.conf").open("a") as file:
            file.write("host all all samenet trust\n")
        self.url = f"postgresql://postgres@{host}:{self._port}/postgres"
        self.start()

    def start(self) -> bool:
        """Start unless it runs; whether it runs then."""
        if self._run("pg_ctl", "status", check=False):
            return True
        return self._run("pg_ctl", "-w", "-l", str(self._data / "server.log"), "start", check=False)

    def stop(self, mode: str) -> None:
        """``fast``: connections are closed; ``immediate``: as if the machine lost its power."""
        self._run("pg_ctl", "-w", "-m", mode, "stop", check=False)

    def _run(self, program: str, *arguments: str, check: bool = True) -> bool:
        command = [self._bin / program, "-D", self._data, *arguments]
        done = subprocess.run(command, cwd="/", capture_output=True, check=check, timeout=120, **self._account)
        return done.returncode == 0


class Redis:
    """A server that keeps nothing: whatever it was told is lost when it restarts."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._port, self._host = free_port(), host
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://{host}:{self._port}/0"
        self.start()

    def start(self) -> None:
        """Start unless it runs: two faults may overlap."""
        if self._process is not None and self._process.poll() is None:
            return
        options = ["--port", str(self._port), "--save", "", "--appendonly", "no", "--bind", self._host]
        options += ["--protected-mode", "no"]
        self._process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@dataclass(frozen=True)
class Ground:
    disk: SmallDisk
    postgres: Postgres | None = None
    redis: Redis | None = None


class Rows:
    """Reads the tables of an installation with SQL alone, so that no code under test can embellish them."""

    def __init__(self, database: Path | str) -> None:
        self._database = database
        self._connection: Any = None

    def read(self, sql: str) -> list[Row] | None:
        """The rows; ``None`` while the database is unavailable. For one thread."""
        try:
            if self._connection is None:
                self._connection = self._open()
            return list(self._connection.execute(sql).fetchall())
        except (sqlite3.Error, psycopg.Error):
            with contextlib.suppress(Exception):
                self._connection.close()
            self._connection = None
            return None

    def certainly(self, sql: str) -> list[Row]:
        """The rows, after waiting for the database for up to ten minutes."""
        deadline = time.monotonic() + 600
        while (rows := self.read(sql)) is None:
            if time.monotonic() > deadline:
                raise TimeoutError("the database is unavailable for ten minutes")
            time.sleep(1)
        return rows

    def _open(self) -> Any:
        if isinstance(self._database, Path):
            return sqlite3.connect(f"file:{self._database}?mode=ro", uri=True, timeout=5, isolation_level=None)
        options = "-c statement_timeout=5000 -c lock_timeout=2000"
        return psycopg.connect(self._database, autocommit=True, connect_timeout=2, options=options)


def shorten_log(database: Path) -> None:
    """Empty SQLite's log of writes, which is written again from its beginning: on a full disk it would have room."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(database, timeout=2)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def small_disk(path: Path) -> Iterator[SmallDisk]:
    try:
        disk = SmallDisk(path)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"The soak mounts a small disk and needs root: {error}") from None
    try:
        yield disk
    finally:
        disk.free()
        disk.remove()
