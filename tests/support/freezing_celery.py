"""A Celery worker that stops itself (SIGSTOP) in the middle of a transaction that writes answers.

It does so once, when the file ``freeze`` is in the state directory: all rows are written, nothing is committed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "codeforge.settings"
django.setup()

from benchmarks.engine.execution.result_store import ResultStore  # noqa: E402 - needs the settings
from codeforge.celery import app  # noqa: E402

ORDER = Path(os.environ["CODEFORGE_STATE_DIR"]) / "freeze"
count_answers = ResultStore._count_answers


def count_and_freeze(store: ResultStore, *arguments: Any) -> None:
    count_answers(store, *arguments)
    if ORDER.exists():
        ORDER.unlink()
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(1)  # the signal may reach another thread first


if __name__ == "__main__":
    ResultStore._count_answers = count_and_freeze  # type: ignore[method-assign]
    app.worker_main(sys.argv[1:])
