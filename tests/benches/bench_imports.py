"""``make bench-imports``: time and memory of reading the densest files that the importers accept.

Writes files of the tools with as many small results as the limits on bytes, objects and lists allow, and reads each
in a process of its own. Prints the results, the seconds and the most memory that the process had (on Linux).
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.imports.reading import MAX_CONTAINERS, containers_in, zipfile
from benchmarks.imports.tests.logs import inspect_log, inspect_sample, promptfoo_row, read_runs

UPLOAD_BYTES = 31 * 2**20
ARCHIVE_BYTES = 256 * 2**20
SPARE = 100
"""Objects and lists for what surrounds the rows."""


def main() -> None:
    spawned = multiprocessing.get_context("spawn")
    print("| file | MB | results | s | peak MB |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, spawned, max_tasks_per_child=1) as processes:
        for title, write in FILES.items():
            path = write(Path(folder))
            results, seconds, peak = processes.submit(_read, path).result()
            print(
                f"| {title} | {path.stat().st_size / 2**20:.0f} | {results:,} | {seconds:.0f} | {peak:.0f} |",
                flush=True,
            )


def _read(path: Path) -> tuple[int, float, float]:
    began = time.perf_counter()
    results = sum(len(run.results) for run in read_runs(path, max_bytes=ARCHIVE_BYTES))
    return results, time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _rows(make: Callable[[int], dict[str, Any]], size: int, containers: int) -> Iterator[str]:
    """Rows as JSON until one of the limits is reached."""
    for number in count(1):
        row = json.dumps(make(number))
        size -= len(row) + 1
        containers -= containers_in(row.encode())
        if size < 0 or containers < SPARE:
            return
        yield row


def _promptfoo(make: Callable[[int], dict[str, Any]]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "results.json"
        path.write_text(f'{{"results": [{",".join(_rows(make, UPLOAD_BYTES, MAX_CONTAINERS))}]}}')
        return path

    return write


def _inspect_json(folder: Path) -> Path:
    head = json.dumps(inspect_log(samples=[]))
    path = folder / "log.json"
    rows = ",".join(_rows(inspect_sample, UPLOAD_BYTES, MAX_CONTAINERS))
    path.write_text(head.replace('"samples": []', f'"samples": [{rows}]'))
    return path


def _inspect_archive(folder: Path) -> Path:
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(inspect_log(samples=[])))
        for number, row in enumerate(_rows(inspect_sample, ARCHIVE_BYTES, ARCHIVE_BYTES // 128), 1):
            archive.writestr(f"samples/{number}_epoch_1.json", row)
    return path


FILES = {
    "promptfoo, usual rows": _promptfoo(lambda number: promptfoo_row(number, prompt={"raw": f"Question {number}"})),
    "promptfoo, smallest rows": _promptfoo(lambda number: {"provider": "p", "vars": {"q": str(number)}, "output": 1}),
    "Inspect, JSON": _inspect_json,
    "Inspect, .eval": _inspect_archive,
}

if __name__ == "__main__":
    main()
