"""The benchmarks run by hand, so a test imports them."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from tests import benches


def test_every_benchmark_can_be_imported() -> None:
    names = [found.name for found in pkgutil.walk_packages(benches.__path__, f"{benches.__name__}.")]
    assert "tests.benches.page_times" in names
    for name in names:
        if not name.endswith("__main__"):
            import_module(name)
