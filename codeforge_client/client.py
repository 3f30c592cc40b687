"""Requests to the REST API, runs and experiments, and what they return as rows and DataFrames.

The API's schema (`/api/schema`) is the source of truth: names and values of parameters are passed on as they are, and
the API refuses what it does not have.
"""

from __future__ import annotations

import functools
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import IO, Any

from codeforge_client.evaluating import Answering, counted, results_of

API = "/api/v1/benchmarks"
ENDED = ("completed", "completed_with_errors", "failed", "cancelled")
TEMPORARY = (502, 503, 504)
CONTENT = (400, 409, 413)
"""Statuses of a refusal that may be because of what was sent."""
ATTEMPTS = 4
BATCH = 500
"""Results that are pushed at once; the server takes up to 1,000, and 12 MB."""
BATCH_BYTES = 4 * 2**20
EVALUATED = 20
"""Answers of a function that are pushed at once: the most that an interrupted evaluation asks again."""


class ApiError(Exception):
    """The API refused a request. ``status`` is the HTTP status, ``problems`` the body: field → list of problems, or
    ``{"detail": …}``.
    """

    def __init__(self, status: int, problems: Any) -> None:
        self.status = status
        self.problems = problems
        if isinstance(problems, dict):
            lines = [f"{name}: {_words(value)}" for name, value in problems.items()]
            problems = "\n".join(lines)
        super().__init__(f"HTTP {status}\n{problems}")


class NotCompleted(Exception):
    """A run or experiment stopped without completing: it failed, was canceled, or paused."""


class System:
    """A function that answers tasks, called as before, and its evaluation."""

    def __init__(self, client: Client, function: Answering, model: str, options: Mapping[str, Any]) -> None:
        self._client, self._function = client, function
        self._options = {"model": model, **options}
        functools.update_wrapper(self, function)

    def __call__(self, task: dict[str, Any]) -> Any:
        return self._function(task)

    def evaluate(self, dataset: str, **options: Any) -> Run:
        """``Client.evaluate`` of this function; ``options`` come before those of the decorator."""
        return self._client.evaluate(self._function, dataset, **{**self._options, **options})


class Client:
    """An installation at ``url``, by default ``CODEFORGE_URL`` or the development server. ``token`` is an API token, by
    default ``CODEFORGE_TOKEN``. ``timeout`` is in seconds for one request.
    """

    def __init__(self, url: str | None = None, token: str | None = None, timeout: float = 60.0) -> None:
        self.url = (url or os.environ.get("CODEFORGE_URL") or "http://localhost:8080").rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"{self.url!r} is not a URL. It starts with http:// or https://.")
        self._token = token or os.environ.get("CODEFORGE_TOKEN", "")
        self._timeout = timeout

    def start_run(self, dataset: str, model: str, metrics: Sequence[str] | None = None, **parameters: Any) -> Run:
        """Start a run. ``parameters`` are the other fields of ``POST /runs``, such as ``limit`` or ``temperature``.

        Raises ``ApiError`` with the problem of each field.
        """
        request = {"dataset": dataset, "model": model, **parameters}
        if metrics is not None:
            request["metrics"] = list(metrics)
        # With a key, a repeated request starts no second run.
        started = self.request("POST", "/runs", request, {"Idempotency-Key": str(uuid.uuid4())})
        return Run(self, started["id"], started)

    def start_experiment(
        self, name: str, datasets: Sequence[str], models: Sequence[str], **parameters: Any
    ) -> Experiment:
        """Start a run for each dataset, model and variant. ``parameters`` are the other fields of
        ``POST /experiments``, such as ``variants``, ``metrics`` or ``budget_usd``.

        Raises ``ApiError`` with the problem of each field.
        """
        request = {"name": name, "datasets": list(datasets), "models": list(models), **parameters}
        started = self.request("POST", "/experiments", request)
        return Experiment(self, started["id"], started)

    def push(
        self,
        model: str,
        results: Iterable[Mapping[str, Any]],
        *,
        metrics: Sequence[str] = (),
        key: str | None = None,
        means: Mapping[str, float] | None = None,
        **fields: Any,
    ) -> Run:
        """Push a run that another tool made, and return it when it is complete.

        ``fields`` are the others of ``POST /imports/runs``, of which ``dataset`` or ``dataset_name`` is required. A
        result has the fields of ``POST /imports/runs/{id}/results``, such as ``input``, ``answer`` and ``scores``;
        without a ``key`` it gets its position. ``means`` are checked at the end.

        With a ``key``, such as the id of a CI job, a push that was interrupted continues when it is made again with
        the same arguments and results. Raises ``ApiError``; what was received stays until it is continued or deleted.
        """
        request = {"model": model, "metrics": list(metrics), **fields}
        pushed = self.request("POST", "/imports/runs", request, {"Idempotency-Key": key or str(uuid.uuid4())})
        if pushed["status"] == "closed":
            return self.run(pushed["run"])
        path, count = f"/imports/runs/{pushed['id']}", 0
        for batch in _batches(results):
            # Keys of results make a batch harmless if it is sent again.
            self.request("POST", f"{path}/results", {"results": batch}, repeatable=True)
            count += len(batch)
        end = {"count": count, "means": dict(means or {})}
        closed = self.request("POST", f"{path}/close", end, repeatable=True)
        return Run(self, closed["id"], closed)

    def evaluate(
        self,
        function: Answering,
        dataset: str,
        *,
        model: str,
        metrics: Sequence[str] = ("exact_match",),
        judged: Sequence[str] = (),
        repeats: int = 1,
        parallel: int = 8,
        key: str | None = None,
        **fields: Any,
    ) -> Run:
        """Ask ``function`` every task of a dataset, and return the run with its scores, which the server computes.

        The function takes a task (``id``, ``input``, ``messages``, ``context``, ``tools``, ``labels``; nothing of its
        reference) and returns a text, or a mapping with ``answer`` and what else it knows: ``retrieved``,
        ``tool_calls``, ``steps``, ``tokens_in``, ``tokens_out``, ``cost_usd``. It may be ``async``. ``parallel`` tasks
        are asked at the same time, in threads. An exception is the error of its task, and so is a part of the answer
        that the server refuses. ``metrics`` need no judge; with
        ``judged`` ones, the run is scored again by all of them, which costs the judge. ``fields`` are those of
        ``push``.

        With a ``key``, an evaluation that was interrupted goes on where it ended. Raises ``ApiError``.
        """
        tasks = list(self.pages(f"/datasets/{dataset}/tasks"))
        request = {"model": model, "dataset": dataset, "own_metrics": list(metrics), **fields}
        pushed = self.request("POST", "/imports/runs", request, {"Idempotency-Key": key or str(uuid.uuid4())})
        if pushed["status"] != "closed":
            path = f"/imports/runs/{pushed['id']}"
            received = set(self.request("GET", f"{path}/results")["keys"])
            answered = results_of(function, tasks, repeats, received, parallel)
            for batch in _batches(answered, EVALUATED):
                self._push_each(path, batch)
            end = {"count": len(tasks) * repeats}
            pushed = {"run": self.request("POST", f"{path}/close", end, repeatable=True)["id"]}
        run = self.run(pushed["run"])
        print(f"\r{run.counted}", file=sys.stderr)
        return run.scored_again([*metrics, *judged]) if judged else run

    def _push_each(self, path: str, batch: Sequence[Mapping[str, Any]]) -> None:
        """Push results. One that is refused is pushed as an error that says why. Raises ``ApiError``."""
        try:
            self.request("POST", f"{path}/results", {"results": batch}, repeatable=True)
        except ApiError as refusal:
            if refusal.status not in CONTENT or (len(batch) == 1 and "error" in batch[0]):
                raise
            if len(batch) > 1:
                for each in batch:
                    self._push_each(path, [each])
                return
            known = {name: batch[0][name] for name in ("key", "task_id", "repeat")}
            why = str(refusal).replace("results[0].", "").replace("\n", ": ", 1)
            self._push_each(path, [{**known, "error": f"The server refused the answer. {why}"[:2_000]}])

    def system(self, model: str, **options: Any) -> Callable[[Answering], System]:
        """Decorate the function of a system, named ``model``, which can then ``evaluate`` itself.

        ``options`` are those of ``evaluate``, for all evaluations.
        """
        return lambda function: System(self, function, model, options)

    def run(self, run_id: int) -> Run:
        return Run(self, run_id, self.request("GET", f"/runs/{run_id}"))

    def experiment(self, experiment_id: int) -> Experiment:
        return Experiment(self, experiment_id, self.request("GET", f"/experiments/{experiment_id}"))

    def runs(self, **filters: Any) -> Iterator[Run]:
        """Runs, newest first, one page after another. ``filters`` are those of ``GET /runs``."""
        return (Run(self, row["id"], row) for row in self.pages("/runs", **filters))

    def datasets(self) -> list[dict[str, Any]]:
        return list(self.pages("/datasets"))

    def pages(self, path: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """The rows of every page of a list, such as ``/datasets``."""
        query = {"page_size": 200, **parameters}
        address: str | None = f"{path}?{urllib.parse.urlencode(query, doseq=True)}"
        while address:
            page = self.request("GET", address)
            yield from page["results"]
            following = page.get("next")
            # The path of the next page: behind a proxy, the server may know itself by another name.
            address = following and "?".join((path, urllib.parse.urlsplit(following).query))

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        repeatable: bool = False,
    ) -> Any:
        """One request to ``path`` below ``/api/v1/benchmarks``, and the JSON that it answers.

        Requests that cannot do harm twice (``repeatable``, GET, with an Idempotency-Key) are repeated up to three times
        while the server is away. Raises ``ApiError`` when it refuses, ``OSError`` when it cannot be reached.
        """
        with self.open(method, path, body, headers, repeatable=repeatable) as response:
            text = response.read()
        return json.loads(text) if text else None

    def open(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        repeatable: bool = False,
    ) -> IO[bytes]:
        """As ``request``, but the open response, for bodies too large to hold."""
        sent = {"Accept": "*/*", **(headers or {})}
        if body is not None:
            sent["Content-Type"] = "application/json"
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + API + path, data, sent, method=method)
        harmless = repeatable or method == "GET" or "Idempotency-Key" in sent
        for attempt in range(1, ATTEMPTS + 1):
            last = attempt == ATTEMPTS or not harmless
            try:
                response: IO[bytes] = urllib.request.urlopen(request, timeout=self._timeout)
                return response
            except urllib.error.HTTPError as error:
                if last or error.code not in TEMPORARY:
                    raise ApiError(error.code, _problems(error)) from None
            except OSError:
                if last:
                    raise
            except http.client.HTTPException as error:
                if last:
                    raise ConnectionError(f"The connection was lost: {error!r}") from error
            time.sleep(0.5 * 2 ** (attempt - 1))
        raise AssertionError("unreachable")


class _Live:
    """What runs and experiments have in common. ``fields`` are the API's, as they were at the last request."""

    path: str

    def __init__(self, client: Client, number: int, fields: dict[str, Any]) -> None:
        self.client = client
        self.id = number
        self.fields = fields

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {self.fields['status']}>"

    @property
    def status(self) -> str:
        return str(self.fields["status"])

    @property
    def url(self) -> str:
        """Its page in the dashboard."""
        return str(self.fields["url"])

    @property
    def counted(self) -> str:
        """How many results are there, and how many of these are errors: ``20 of 20, 1 error``."""
        progress = self.fields["progress"]
        return counted(progress["done"], progress["total"], progress["errors"])

    def refresh(self) -> None:
        self.fields = self.client.request("GET", f"{self.path}/{self.id}")

    def cancel(self) -> None:
        """Stop sending requests; answers are kept."""
        self.client.request("POST", f"{self.path}/{self.id}/cancel", {})
        self.refresh()

    def wait(self, timeout: float | None = None, progress: bool = True) -> None:
        """Return when it has completed; show a progress bar on the standard error stream.

        ``timeout`` is in seconds. Raises ``TimeoutError`` after it, and ``NotCompleted`` when it failed, paused or was
        canceled.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = 0.2
        while True:
            self.refresh()
            if progress:
                self._show_progress()
            if self.status in ENDED or self.status == "paused":
                break
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"{self!r} has not ended after {timeout:g} s.")
            time.sleep(pause)
            pause = min(pause * 1.5, 5.0)
        if progress:
            print(file=sys.stderr)
        if self.status not in ("completed", "completed_with_errors"):
            reason = self.fields.get("error_message") or f"See {self.url}"
            raise NotCompleted(f"{type(self).__name__} {self.id} is {self.status}. {reason}")

    def _show_progress(self) -> None:
        progress = self.fields["progress"]
        total, width = progress["total"], 30
        filled = width * progress["done"] // total if total else 0
        bar = "█" * filled + "░" * (width - filled)
        print(f"\r{bar} {self.counted}  {self.status:<22}", end="", file=sys.stderr, flush=True)


class Run(_Live):
    """One version of a dataset against one model."""

    path = "/runs"

    @property
    def summary(self) -> dict[str, dict[str, Any]]:
        """Metric → strict mean, 95% interval (``low``, ``high``), ``n``, ``coverage`` and more."""
        summary: dict[str, dict[str, Any]] = self.fields["summary"]
        return summary

    def scored_again(self, metrics: Sequence[str], **parameters: Any) -> Run:
        """A run that scores the same answers by these metrics, once it is complete. Raises ``NotCompleted``."""
        started = self.client.request(
            "POST", f"{self.path}/{self.id}/rescore", {"metrics": list(metrics), **parameters}
        )
        again = Run(self.client, started["id"], started)
        again.wait(progress=False)
        return again

    def results(self) -> Iterator[dict[str, Any]]:
        """All results with scores, reasons and tool calls, as exported to JSON Lines; memory use is constant."""
        with self.client.open("GET", f"{self.path}/{self.id}/export/jsonl") as lines:
            for line in lines:
                yield json.loads(line)

    def frame(self, library: str | None = None) -> Any:
        """The results as a DataFrame: a column for each field, and ``score.METRIC`` for each metric."""
        return data_frame((_flat(row) for row in self.results()), library)


class Experiment(_Live):
    """Runs launched together: datasets × models × variants."""

    path = "/experiments"

    @property
    def verdict(self) -> str:
        """Who leads, by how much, and which differences are not significant."""
        return str(self.fields["verdict"])

    def runs(self) -> list[Run]:
        return [self.client.run(number) for number in self.fields["runs"]]

    def matrix(self) -> list[dict[str, Any]]:
        """A row for each run: model, variant, dataset, mean, interval, rank, group, cost, latency."""
        self.refresh()
        rows: list[dict[str, Any]] = self.fields["matrix"]
        return rows

    def frame(self, library: str | None = None) -> Any:
        """The matrix as a DataFrame."""
        return data_frame(self.matrix(), library)


def data_frame(rows: Iterable[Mapping[str, Any]], library: str | None = None) -> Any:
    """Rows as a DataFrame of ``library``: ``pandas`` or ``polars``; by default the first that is installed.

    Raises ``ImportError`` if there is none.
    """
    installed = [name for name in ("pandas", "polars") if find_spec(name)]
    chosen = library or (installed[0] if installed else "")
    listed = [dict(row) for row in rows]
    if chosen == "pandas":
        import pandas

        return pandas.DataFrame(listed)
    if chosen == "polars":
        import polars

        return polars.DataFrame(listed, infer_schema_length=None)
    if chosen:
        raise ValueError(f"{chosen!r} is not a library of DataFrames. Use 'pandas' or 'polars'.")
    raise ImportError("A DataFrame needs pandas or polars: pip install pandas. results() and matrix() need neither.")


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat = {name: value for name, value in row.items() if name not in ("scores", "tool_calls", "retrieved")}
    flat["tool_calls"] = len(row["tool_calls"])
    flat["retrieved"] = None if row.get("retrieved") is None else len(row["retrieved"])
    return flat


def _batches(results: Iterable[Mapping[str, Any]], most: int = BATCH) -> Iterator[list[dict[str, Any]]]:
    """Results with their keys, in batches of up to ``most`` that a request can hold."""
    batch: list[dict[str, Any]] = []
    size = 0
    for position, result in enumerate(results):
        keyed = {"key": str(position), **result}
        length = len(json.dumps(keyed))
        if batch and (len(batch) == most or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(keyed)
        size += length
    if batch:
        yield batch


def _problems(error: urllib.error.HTTPError) -> Any:
    text = error.read().decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return {"detail": text[:500] or error.reason}


def _words(value: Any) -> str:
    return "; ".join(map(_words, value)) if isinstance(value, list) else str(value)
