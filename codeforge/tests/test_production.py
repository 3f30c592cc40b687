"""Outside dev mode the site refuses to start unsafe, and passes Django's own deployment check."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = {"APP_ENV": "production"}
SAFE = {**PRODUCTION, "SECRET_KEY": "a-long-random-text-" * 4, "ALLOWED_HOSTS": "bench.example.com"}


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
        (PRODUCTION, "SECRET_KEY is not set"),
        ({"APP_ENV": "Development"}, "SECRET_KEY is not set"),
        (
            {**SAFE, "SECRET_KEY": "# random text of 50 characters or more that signs sessions"},
            "SECRET_KEY is a comment",
        ),
        (
            {**SAFE, "SECRET_KEY": "a long random text, such as openssl rand -hex 32 prints"},
            "is the description of a key",
        ),
        ({**SAFE, "POSTGRES_PASSWORD": "# Docker compose: password"}, "POSTGRES_PASSWORD is a comment"),
        ({**SAFE, "DATABASE_URL": "postgresql://codeforge:# password@database:5432/codeforge"}, "DATABASE_URL is a"),
        ({**SAFE, "REDIS_URL": "redis://:# password@redis:6379/0"}, "REDIS_URL is a comment"),
        ({**SAFE, "SECRET_KEY": "x"}, "SECRET_KEY has 1 characters, but needs at least 50"),
        ({**SAFE, "SECRET_KEY": "ab" * 40}, "SECRET_KEY repeats fewer than 5 different characters"),
        ({**SAFE, "SECRET_KEY": "django-insecure-" + "abcdefgh" * 8}, "openssl rand -hex 32"),
        ({**SAFE, "DEBUG": "1"}, "DEBUG is on in production"),
        ({**SAFE, "DEBUG": "perhaps"}, "Set it to 1 or 0"),
        ({**SAFE, "CODEFORGE_DATASETS_DIR": "x", "CODEFORGE_JUDGE_MODEL": "nonsense"}, "judge.model"),
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


MODE = "from django.conf import settings; print(settings.DEV_MODE)"


def test_a_command_is_in_development_mode_unless_app_env_says_otherwise(tmp_path: Path) -> None:
    assert manage(tmp_path, "shell", "--verbosity", "0", "-c", MODE).stdout.strip() == "True"
    assert manage(tmp_path, "shell", "--verbosity", "0", "-c", MODE, **SAFE).stdout.strip() == "False"


HSTS = "from django.conf import settings; print(settings.SECURE_HSTS_SECONDS, settings.SECURE_HSTS_PRELOAD)"


def test_the_preload_list_of_browsers_is_a_choice(tmp_path: Path) -> None:
    assert manage(tmp_path, "shell", "--verbosity", "0", "-c", HSTS, **SAFE).stdout.split() == ["31536000", "False"]
    chosen = manage(tmp_path, "shell", "--verbosity", "0", "-c", HSTS, **SAFE, SECURE_HSTS_PRELOAD="1")
    assert chosen.stdout.split() == ["31536000", "True"]


def test_testserver_is_no_host_in_development(tmp_path: Path) -> None:
    hosts = "from django.conf import settings; print(settings.ALLOWED_HOSTS)"
    done = manage(tmp_path, "shell", "--verbosity", "0", "-c", hosts, APP_ENV="development")
    assert done.stdout.strip() == "['localhost', '127.0.0.1', '[::1]']"


def test_only_the_owner_can_read_the_embedded_database(tmp_path: Path) -> None:
    (tmp_path / "codeforge.sqlite3").touch(mode=0o644)
    write = (
        "from django.db import connection; connection.cursor().execute('CREATE TABLE t (n)'); import os; "
        "from django.conf import settings; folder = settings.STATE_DIR; "
        "print(sorted((n, oct((folder / n).stat().st_mode)) for n in os.listdir(folder) if 'sqlite3' in n))"
    )
    done = manage(tmp_path, "shell", "--verbosity", "0", "-c", write, APP_ENV="development")
    names = ("codeforge.sqlite3", "codeforge.sqlite3-shm", "codeforge.sqlite3-wal")
    assert done.stdout.strip() == str([(name, "0o100600") for name in names]), done.stderr
