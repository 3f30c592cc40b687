"""Requests that never arrive completely cost connections, not threads: in development, and behind the shipped proxy."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import services

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
EACH = 64
HALF_HEADERS = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
HALF_BODY = (
    b"POST /api/v1/benchmarks/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b'Content-Length: 1000\r\n\r\n{"dataset"'
)
PROMPT_SECONDS = 5.0
"""For an answer. With one half-sent request in a thread's way, it would take as long as the client likes."""
TRUSTING = ssl._create_unverified_context()
DEVELOPMENT = (
    "from codeforge import web_server; web_server.IDLE_SECONDS = 2; web_server.main(['--listen', '{address}'])"
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def started(folder: Path, url: str, *command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is stopped at the end; waits until ``url`` answers."""
    folder.mkdir(exist_ok=True)
    own = {"CODEFORGE_STATE_DIR": str(folder), "CODEFORGE_ENV_FILE": os.devnull, **environment}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **own}, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(url, timeout=5, context=TRUSTING)
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise AssertionError((folder / "log").read_text()) from None
                time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def development(tmp_path: Path) -> Iterator[tuple[str, int]]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    code = DEVELOPMENT.format(address=f"127.0.0.1:{port}")
    with started(tmp_path / "web", f"{url}/healthz", sys.executable, "-c", code, APP_ENV="development"):
        yield url, port


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """The shipped nginx.conf with short timeouts, in front of a gunicorn with a single thread."""
    if not (nginx := shutil.which("nginx") or shutil.which("/usr/sbin/nginx")):
        services.missing("nginx")
    behind, plain, port = free_port(), free_port(), free_port()
    openssl = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    keys = ("-keyout", tmp_path / "privkey.pem", "-out", tmp_path / "fullchain.pem")
    subprocess.run([*openssl.split(), *keys], check=True, capture_output=True)
    text = (ROOT / "docs/deploy/nginx.conf").read_text()
    for old, new in (
        ("server web:8000", f"server 127.0.0.1:{behind}"),
        ("listen 80", f"listen 127.0.0.1:{plain}"),
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("/etc/nginx/certificates", str(tmp_path)),
        ("_timeout 10s", "_timeout 2s"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    temporary = "".join(f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in ("client_body", "proxy"))
    whole = f"pid {tmp_path}/pid; error_log stderr; events {{}}\nhttp {{ access_log off;\n{temporary}{text}}}"
    (tmp_path / "nginx.conf").write_text(whole)
    gunicorn = f"-m gunicorn codeforge.wsgi --worker-class gthread --threads 1 --bind 127.0.0.1:{behind}"
    production = {"APP_ENV": "production", "SECRET_KEY": os.urandom(32).hex(), "ALLOWED_HOSTS": "127.0.0.1"}
    front = (nginx, "-e", "stderr", "-c", str(tmp_path / "nginx.conf"), "-g", "daemon off;")
    url = f"https://127.0.0.1:{port}"
    with (
        started(
            tmp_path / "web",
            f"http://127.0.0.1:{behind}/healthz",
            *(sys.executable, *gunicorn.split()),
            **production,
            BEHIND_PROXY="1",
        ),
        started(tmp_path / "proxy", f"{url}/healthz", *front),
    ):
        yield url, port


def half_sent(port: int, encrypted: bool) -> Iterator[socket.socket]:
    for start in [HALF_HEADERS] * EACH + [HALF_BODY] * EACH:
        client = socket.create_connection(("127.0.0.1", port), timeout=30)
        if encrypted:
            client = TRUSTING.wrap_socket(client)
        client.sendall(start)
        yield client


@pytest.mark.parametrize("front", ["development", "proxied"])
def test_a_request_is_answered_promptly_beside_half_sent_ones_which_are_closed(
    front: str, request: pytest.FixtureRequest
) -> None:
    url, port = request.getfixturevalue(front)
    with contextlib.ExitStack() as connections:
        clients = [connections.enter_context(client) for client in half_sent(port, url.startswith("https"))]
        for _ in range(3):
            began = time.monotonic()
            with urllib.request.urlopen(f"{url}/healthz", timeout=PROMPT_SECONDS, context=TRUSTING) as response:
                assert response.status == 200
            assert time.monotonic() - began < PROMPT_SECONDS
        for client in clients:
            with contextlib.suppress(ConnectionResetError, ssl.SSLError):
                while client.recv(4096):  # perhaps an answer that says why; a timeout is an error here
                    pass


@pytest.mark.parametrize("front", ["development", "proxied"])
def test_a_body_over_the_limit_is_refused_with_an_explanation(front: str, request: pytest.FixtureRequest) -> None:
    url, _ = request.getfixturevalue(front)
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    large = urllib.request.Request(f"{url}/login/", b"x" * (34 * 2**20), headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(large, timeout=30, context=TRUSTING)
    assert refused.value.code == 413
    assert re.search(rb'^{"detail": "The request .*33 MB', refused.value.read())


def test_a_stopped_web_server_lets_a_request_end(tmp_path: Path) -> None:
    port = free_port()
    slow = (
        "import time; from codeforge import web_server, wsgi\n"
        "def answer(environ, start):\n"
        "    start('200 OK', [('Content-Length', '8')]); yield b'half'\n"
        "    if environ['PATH_INFO'] != '/healthz': time.sleep(1)\n"
        "    yield b'half'\n"
        f"web_server.application = answer; web_server.main(['--listen', '127.0.0.1:{port}'])"
    )
    url = f"http://127.0.0.1:{port}"
    with started(tmp_path, f"{url}/healthz", sys.executable, "-c", slow, APP_ENV="development") as process:
        with urllib.request.urlopen(f"{url}/slow", timeout=10) as response:
            process.send_signal(signal.SIGTERM)
            assert response.read() == b"halfhalf"
        assert process.wait(timeout=10) == 0
