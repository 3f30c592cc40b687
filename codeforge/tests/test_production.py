"""Outside dev mode the site refuses to start unsafe, and passes Django's own deployment check."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAFE = {"SECRET_KEY": "a-long-random-text-" * 4, "ALLOWED_HOSTS": "bench.example.com"}


def manage(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    keep = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**keep, "CODEFORGE_STATE_DIR": str(tmp_path), "CODEFORGE_ENV_FILE": os.devnull, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({}, "SECRET_KEY is not set"),
        ({**SAFE, "DEBUG": "1"}, "DEBUG is on in production"),
        ({**SAFE, "DEBUG": "perhaps"}, "Set it to 1 or 0"),
        ({**SAFE, "CODEFORGE_DATASETS_DIR": "x", "CODEFORGE_JUDGE_MODEL": "nonsense"}, "benchmark.judge_model"),
    ],
)
def test_production_refuses_to_start_unsafe(tmp_path: Path, environment: dict[str, str], says: str) -> None:
    done = manage(tmp_path, "check", **environment)
    assert done.returncode != 0
    assert says in done.stderr


def test_production_passes_the_deployment_check(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", **SAFE)
    assert done.returncode == 0, done.stderr


def test_the_dev_command_refuses_to_run_in_production(tmp_path: Path) -> None:
    done = manage(tmp_path, "dev", **SAFE)
    assert done.returncode != 0
    assert "APP_ENV=development" in done.stderr
