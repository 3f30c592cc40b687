"""Earlier releases, built from their commits and installed in environments of their own, with what they pinned."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from tests.support.services import missing
from tests.support.stack import ROOT, Code

RELEASES = dict(re.findall(r"^(\d+\.\d+\.\d+) ([0-9a-f]{40})$", (ROOT / "releases.txt").read_text(), re.MULTILINE))
"""Version → commit."""


def install_release(version: str, folder: Path) -> Code:
    """The code of a release, in a new environment in ``folder``. Fetches what is not in uv's cache from the index.

    Skips the test where the commit or the index cannot be reached.
    """
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", RELEASES[version]], capture_output=True, check=False)
    if archive.returncode:
        missing(f"the commit of {version}, which a full clone has (git fetch --unshallow)")
    source, environment = folder / "source", folder / "environment"
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(source, filter="data")
    python = environment / "bin" / "python"
    into = ("pip", "install", "--quiet", "--python", str(python), "--no-deps")
    wheels = folder / "wheels"
    try:
        _uv("venv", "--quiet", "--python", sys.executable, str(environment))
        _uv("build", "--quiet", "--wheel", "--out-dir", str(wheels), str(source))
        _uv(*into, "--require-hashes", "--requirements", str(source / "requirements-slim.txt"))
    except subprocess.CalledProcessError as error:
        missing(f"the packages that {version} pins ({error.stderr.strip()[-300:]})")
    (wheel,) = wheels.glob("*.whl")
    _uv(*into, str(wheel))
    return Code(folder, str(python), (str(python.with_name("codeforge")),))


def _uv(*arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    command = [sys.executable, "-m", "uv", *arguments]
    subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
