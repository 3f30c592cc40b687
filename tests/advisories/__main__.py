"""``make audit``: pip-audit of the pinned requirements, offline, against the snapshot of advisories beside this file.

``python -m tests.advisories --update ZIP`` makes the snapshot anew. The file, which you download before, is one of

- https://osv-vulnerabilities.storage.googleapis.com/PyPI/all.zip
- https://github.com/pypa/advisory-database/archive/refs/heads/main.zip

The snapshot keeps which versions of pinned packages are affected, not the texts.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = Path(__file__).with_name("snapshot.json")
DAYS = 90
"""An older snapshot is called old."""
SOURCE = "Affected versions from the PyPA advisory database and OSV, CC BY 4.0; the addresses have the texts"
_ID_PAGE = "https://osv.dev/vulnerability/{}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", type=Path, metavar="ZIP", help="make the snapshot from this file")
    if archive := parser.parse_args().update:
        snapshot = snapshot_of(archive, pinned(ROOT.glob("requirements*.txt")))
        SNAPSHOT.write_text(
            json.dumps(snapshot, separators=(",", ":")).replace('{"id"', '\n{"id"') + "\n", encoding="utf-8"
        )
        print(f"{SNAPSHOT.name}: {len(snapshot['advisories'])} advisories, as of {snapshot['date']}")
        return 0
    files = sorted(ROOT.glob("requirements*.txt"))
    return audit(SNAPSHOT, [each for each in files if pinned([each])])


def audit(path: Path, requirements: list[Path]) -> int:
    """Audit requirement files against a snapshot; 0 if nothing is known, 1 for findings."""
    snapshot = json.loads(path.read_text(encoding="utf-8"))
    print(f"Against {len(snapshot['advisories'])} advisories of pinned packages, as of {snapshot['date']}", flush=True)
    if (days := (datetime.now(UTC).date() - date.fromisoformat(snapshot["date"])).days) > DAYS:
        print(f"The snapshot is {days:,} days old and knows nothing newer. To renew it: --help", file=sys.stderr)
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--strict",
        "--disable-pip",
        "--require-hashes",
        "--progress-spinner=off",
    ]
    files = [word for file in requirements for word in ("--requirement", str(file))]
    with served(snapshot["advisories"]) as url:
        return subprocess.run([*command, "-s", "osv", "--osv-url", url, *files], check=False).returncode


@contextmanager
def served(advisories: list[dict[str, Any]]) -> Iterator[str]:
    """The address of a server on loopback that answers OSV's queries from the advisories."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = [each for each in advisories if affects(each, asked["package"]["name"], asked["version"])]
            body = json.dumps({"vulns": found} if found else {}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
    finally:
        server.shutdown()
        server.server_close()


def affects(advisory: dict[str, Any], name: str, version: str) -> bool:
    """Whether a version of a package is affected, by OSV's rules: listed, or within a range of versions."""
    for affected in advisory.get("affected", ()):
        package = affected.get("package", {})
        if package.get("ecosystem") != "PyPI" or canonicalize_name(package.get("name", "")) != canonicalize_name(name):
            continue
        if version in affected.get("versions", ()):
            return True
        if any(
            _within(each["events"], Version(version))
            for each in affected.get("ranges", ())
            if each["type"] == "ECOSYSTEM"
        ):
            return True
    return False


def _within(events: list[dict[str, str]], version: Version) -> bool:
    inside = False
    for kind, at in sorted(
        ((kind, at) for event in events for kind, at in event.items()), key=lambda pair: _order(pair[1])
    ):
        if kind == "introduced" and _order(at) <= version:
            inside = True
        elif (kind == "fixed" and version >= _order(at)) or (kind == "last_affected" and version > _order(at)):
            inside = False
    return inside


def _order(at: str) -> Version:
    try:
        return Version(at)
    except InvalidVersion:
        return Version("0")


def pinned(files: Any) -> set[str]:
    """The names of all packages that requirement files pin."""
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    return {canonicalize_name(found[1]) for line in lines if (found := re.match(r"([\w.-]+)(?:\[[^]]*])?==", line))}


def snapshot_of(archive: Path, names: set[str]) -> dict[str, Any]:
    """Which versions of these packages the advisories in a file name, with the day of the newest change in the file."""
    kept, newest = [], ""
    with zipfile.ZipFile(archive) as file:
        for member in file.namelist():
            if not member.endswith((".json", ".yaml")):
                continue
            # JSON is YAML, but is read much faster; and with BaseLoader a version such as 2.10 stays text.
            text = file.read(member)
            advisory = json.loads(text) if member.endswith(".json") else yaml.load(text, yaml.CBaseLoader)
            newest = max(newest, advisory.get("modified", ""))
            affected = [
                {key: each[key] for key in ("package", "ranges", "versions") if key in each}
                for each in advisory.get("affected", ())
                if canonicalize_name(each.get("package", {}).get("name", "")) in names
            ]
            if affected and "withdrawn" not in advisory:
                page = _ID_PAGE.format(advisory["id"])
                kept.append(
                    {
                        "id": advisory["id"],
                        "summary": page,
                        "aliases": advisory.get("aliases", []),
                        "affected": affected,
                    }
                )
    if not kept:
        raise SystemExit(f"{archive} has no advisories of pinned packages.")
    return {"date": newest[:10], "source": SOURCE, "advisories": sorted(kept, key=lambda each: each["id"])}


if __name__ == "__main__":
    sys.exit(main())
