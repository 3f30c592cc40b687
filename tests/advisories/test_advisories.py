"""The audit finds what the snapshot knows of pinned versions, offline, and does not pass without a snapshot."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.utils import canonicalize_name

from tests.advisories.__main__ import DAYS, ROOT, SNAPSHOT, affects, audit, pinned, snapshot_of

HASH = "0" * 64


def advisory(name: str = "Pillow", **ranges: Any) -> dict[str, Any]:
    affected = {"package": {"ecosystem": "PyPI", "name": name}, **ranges}
    return {"id": f"PYSEC-{name}", "modified": "2026-03-04T05:06:07Z", "summary": "Bad", "affected": [affected]}


def between(*events: dict[str, str]) -> dict[str, Any]:
    return advisory(ranges=[{"type": "ECOSYSTEM", "events": list(events)}])


@pytest.mark.parametrize(
    ("version", "affected"),
    [("0.9", False), ("1.0", True), ("1.9.9", True), ("2.0", False), ("3.0", True), ("3.2", False)],
)
def test_ranges_say_which_versions_are_affected(version: str, affected: bool) -> None:
    events = between({"introduced": "1.0"}, {"fixed": "2.0"}, {"introduced": "3.0"}, {"last_affected": "3.1"})
    assert affects(events, "pillow", version) == affected


def test_versions_can_be_listed_and_other_packages_are_not_affected() -> None:
    listed = advisory(versions=["1.0"])
    assert affects(listed, "pillow", "1.0")
    assert not affects(listed, "pillow", "1.1")
    assert not affects(listed, "other", "1.0")


def test_a_snapshot_has_the_advisories_of_pinned_packages_and_the_day_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"pillow==1.0 \\\n    --hash=sha256:{HASH}\nceler-y[redis]==2 ; x\n")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as file:
        for name in ("Pillow", "unused"):
            file.writestr(f"{name}.json", json.dumps(advisory(name)))
        file.writestr("vulns/celer-y/A.yaml", yaml.safe_dump(advisory("Celer_y", versions=["2.10"])))
        file.writestr("README.md", "no advisory")
    names = pinned(tmp_path.glob("*.txt"))
    assert names == {"pillow", "celer-y"}
    snapshot = snapshot_of(tmp_path / "all.zip", names)
    assert (snapshot["date"], [each["id"] for each in snapshot["advisories"]]) == (
        "2026-03-04",
        ["PYSEC-Celer_y", "PYSEC-Pillow"],
    )
    assert affects(snapshot["advisories"][0], "celer-y", "2.10")
    assert "Bad" not in json.dumps(snapshot)
    with pytest.raises(SystemExit, match="no advisories of pinned packages"):
        snapshot_of(tmp_path / "all.zip", {"other"})


def test_pip_audit_reports_what_the_snapshot_knows(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"pillow==1.0 --hash=sha256:{HASH}\nother==1.0 --hash=sha256:{HASH}\n")
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(json.dumps({"date": "2026-03-04", "advisories": [advisory(versions=["1.0"])]}))
    assert audit(snapshot, [requirements]) == 1
    out = capfd.readouterr().out
    assert "PYSEC-Pillow" in out
    assert "as of 2026-03-04" in out
    snapshot.write_text(json.dumps({"date": "2026-03-04", "advisories": []}))
    assert audit(snapshot, [requirements]) == 0
    assert "No known vulnerabilities found" in capfd.readouterr().err


def test_an_old_snapshot_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"pillow==1.0 --hash=sha256:{HASH}\n")
    snapshot = tmp_path / "snapshot.json"
    today = datetime.now(UTC).date()
    for days in (DAYS, DAYS + 1):
        snapshot.write_text(json.dumps({"date": str(today - timedelta(days)), "advisories": []}))
        audit(snapshot, [requirements])
        assert ("days old" in capfd.readouterr().err) == (days > DAYS)


def test_the_shipped_snapshot_knows_affected_versions_of_pinned_packages() -> None:
    snapshot = json.loads(SNAPSHOT.read_text())
    assert date.fromisoformat(snapshot["date"])
    names = pinned(ROOT.glob("requirements*.txt"))
    for advisory in snapshot["advisories"]:
        assert {canonicalize_name(each["package"]["name"]) for each in advisory["affected"]} <= names, advisory["id"]
    assert any(affects(advisory, "django", "4.2.15") for advisory in snapshot["advisories"])
