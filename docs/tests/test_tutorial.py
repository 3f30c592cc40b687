"""``docs/tutorial.md`` is followed: its commands beside a running application, and the pages that it points to."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from consoles import commands, environment, run
from pages import ROOT, page

pytestmark = pytest.mark.slow
PAGE = page("docs/tutorial.md")
ADDRESS = "http://localhost:8080"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """What ``make run`` starts, on a free port and with the dataset of its first runs only; yields its address."""
    (tmp_path / "datasets").mkdir()
    shutil.copy(ROOT / "datasets/basic-coding.yaml", tmp_path / "datasets")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp_path / "output.log").open("wb")
    launched = subprocess.Popen(
        [sys.executable, "manage.py", "dev", "--port", str(port)],
        cwd=ROOT,
        env=environment(tmp_path / "state", CODEFORGE_DATASETS_DIR=str(tmp_path / "datasets")),
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    address = f"http://localhost:{port}"
    try:
        deadline = time.monotonic() + 60
        while not answers(address):
            assert launched.poll() is None, (tmp_path / "output.log").read_text()
            assert time.monotonic() < deadline, "the application does not answer"
            time.sleep(0.1)
        yield address
    finally:
        launched.send_signal(signal.SIGINT)
        launched.wait(timeout=30)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=10) as response:
            return bool(response.status == 200)
    except urllib.error.HTTPError:
        raise
    except OSError:
        return False


def test_the_tutorial_works_as_written(site: str, tmp_path: Path) -> None:
    for command in commands(PAGE):
        run(command, ROOT, environment(tmp_path / "state"))
    addresses = re.findall(rf"<{ADDRESS}(.*?)>", PAGE)
    assert len(addresses) >= 4
    for path in addresses:
        assert answers(site + path), path
