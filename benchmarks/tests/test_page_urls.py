from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.models import Run
from benchmarks.page_urls import page_address


def test_a_page_is_where_the_application_was_last_started(settings: Any, tmp_path: Path) -> None:
    settings.PORT_FILE, settings.DEV_PORT = tmp_path / "port", "8080"
    assert page_address(Run(pk=3)) == "http://localhost:8080/runs/3/"
    settings.PORT_FILE.write_text("9000")
    assert page_address(Run(pk=3)) == "http://localhost:9000/runs/3/"
    settings.CSRF_TRUSTED_ORIGINS = ["https://bench.example.com"]
    assert page_address(Run(pk=3)) == "https://bench.example.com/runs/3/"
