"""Where the browser's packages are missing, its tests skip and say what to install; they never fail to be collected."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.stack import ROOT

WITHOUT = """
import sys
sys.modules[{name!r}] = None  # as if it were not installed
import pytest
sys.exit(pytest.main(["-q", "-rs", "-p", "no:cacheprovider", "frontend/tests/browser/test_keyboard.py"]))
"""


@pytest.mark.parametrize("name", ["playwright", "axe_playwright_python"])
def test_browser_tests_skip_with_the_reason(name: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "CODEFORGE_REQUIRE_SERVICES"}
    command = [sys.executable, "-c", WITHOUT.format(name=name)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "needs Playwright for Python and axe-playwright-python" in done.stdout
    assert "passed" not in done.stdout
    assert "error" not in done.stdout.splitlines()[-1]
