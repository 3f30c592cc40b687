"""Secrets planted in a whole production installation, whose endpoint says them back, come out nowhere.

Web server and worker are processes on PostgreSQL and Redis. Runs are made to fail, with keys quoted in errors, answers,
tool calls and verdicts; then everything that comes out is searched: pages, admin, API, exports, figures, errors, logs,
backups, what commands print, every row of the database and every file of the state directory.
"""

from __future__ import annotations

import base64
import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.urls import NoReverseMatch, reverse

from benchmarks.services.runs.exports import CONTENT_TYPES
from codeforge.tests.routes import all_routes
from codeforge.tests.test_routes import RULES
from frontend.views.results import _TEXTS as TEXTS
from tests.loopback.hosting import serve
from tests.loopback.server import LoopbackServer
from tests.support import services
from tests.support.stack import Stack, installed

pytestmark = [pytest.mark.slow, pytest.mark.services]
PLANTED = {
    "SECRET_KEY": "planted-django-secret-5c1f0e9a7d3b48261f-b06d97e2a45c",
    "GATEWAY": "planted-gateway-9b04d7f6a1c25e83",  # a provider's key in a variable whose name does not say so
    "JUDGE_API_KEY": "planted-judge-key-77e2a90c4f1b",
    "OPENAI_API_KEY": "planted-openai-d81c6a3e5f90",
    "SIGNING": f"whsec_{base64.b64encode(b'planted-webhook-secret-3a8d90f1').decode()}",
    "database password": "planted-database-password-60c2",
    "Redis password": "planted-redis-password-f49e",
    "entered key": "planted-entered-key-0e7d51b8a36c",  # on the page of providers, and stored
    "webhook address": "planted-webhook-address-b7714ce0",
}
FRAGMENT = 12
"""So many characters of a secret in a row count as the secret: a cut one must not slip through."""
CONFIG = """
benchmark: {{datasets_dir: "{state}/datasets"}}
judge: {{model: judging/judge}}
providers:
  loop: {{base_url: "{url}", api_key_env: GATEWAY, retries: {{max_attempts: 2, base_seconds: 0}}}}
  judging: {{base_url: "{url}", api_key_env: JUDGE_API_KEY, retries: {{max_attempts: 2, base_seconds: 0}}}}
  entered: {{base_url: "{url}", api_key_env: NOT_SET, retries: {{max_attempts: 2, base_seconds: 0}}}}
webhooks:
  chat: {{url: "{hook}", secret_env: SIGNING, retries: {{max_attempts: 2, base_seconds: 1}}}}
models: {{}}
"""
FAULTS = ("key_in_answer", "key_in_call", "key_in_400", "server_500", "error_in_200", "truncated_json")
ACCOUNT = "root"


@dataclass
class Installation:
    stack: Stack
    endpoint: LoopbackServer
    database: str
    browser: urllib.request.OpenerDirector
    runs: dict[str, dict[str, Any]]

    def text(self, path: str, data: bytes | None = None, **headers: str) -> str:
        """Status, headers and body as text, whatever the status is."""
        request = urllib.request.Request(self.stack.address + path, data, headers)
        try:
            answer = self.browser.open(request, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return f"{answer.status}\n{answer.headers}\n{answer.read().decode('utf-8', 'replace')}"

    def send(self, page: str, path: str, **form: str) -> str:
        """Send a form of a page as its visitor would."""
        csrf = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', self.text(page))
        assert csrf
        return self.text(path, urllib.parse.urlencode({"csrfmiddlewaretoken": csrf[1], **form}).encode())

    def rows(self, query: str) -> list[Any]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(query).fetchall()


def with_password(address: str, user: str, password: str) -> str:
    """The address with a user and a password, which servers that trust loopback take, whatever it is."""
    parts = urlsplit(address)
    port = f":{parts.port}" if parts.port else ""
    return parts._replace(netloc=f"{user}:{password}@{parts.hostname}{port}").geturl()


def dataset(faults: tuple[str, ...]) -> str:
    tasks = "".join(
        f'- {{id: "{name}", name: "{name}", input: "[[fault:{name}]]", expected_output: "four"}}\n' for name in faults
    )
    return f"name: Faults\ndescription: Answers that quote keys\ntasks:\n{tasks}"


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    redis = with_password(services.redis_url(), "default", PLANTED["Redis password"])
    with services.postgres_database() as address, serve() as endpoint:
        database = with_password(address, urlsplit(address).username or "postgres", PLANTED["database password"])
        environment = {
            **{name: value for name, value in PLANTED.items() if " " not in name},
            "APP_ENV": "production",
            "ALLOWED_HOSTS": "127.0.0.1",
            "DATABASE_URL": database,
            "REDIS_URL": redis,
            "CODEFORGE_PUBLIC_READING": "1",
            "CODEFORGE_KEYS_ON_PAGE": "1",
            "SECURE_SSL_REDIRECT": "0",
            "SECURE_COOKIES": "0",
            "DJANGO_SUPERUSER_PASSWORD": "only-for-this-test",
        }
        with installed(endpoint.url, environment) as stack:
            stack.environment |= {
                "CODEFORGE_QUEUE": f"planted-{stack.state.name}",
                "STATIC_ROOT": str(stack.state / "static"),
            }
            hook = f"{endpoint.url}/{PLANTED['webhook address']}"
            config = CONFIG.format(url=endpoint.url, state=stack.state, hook=hook)
            (stack.state / "codeforge.yaml").write_text(config)
            (stack.state / "datasets" / "quoted.yaml").write_text(dataset(FAULTS))
            (stack.state / "datasets" / "refused.yaml").write_text(dataset(("unauthorized_401",)))
            yield started(stack, endpoint, database)


def started(stack: Stack, endpoint: LoopbackServer, database: str) -> Installation:
    """The installation at work: logged in, a key entered, and all runs ended."""
    stack.manage("collectstatic", "--noinput", "--verbosity", "0")
    stack.manage("datasets", "sync")
    stack.manage("createsuperuser", "--noinput", "--username", ACCOUNT, "--email", "root@example.com")
    stack.start_web()
    stack.start_worker()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    found = Installation(stack, endpoint, database, browser, {})
    found.send("/login/", "/login/", username=ACCOUNT, password="only-for-this-test")
    saved = found.send("/models/", "/providers/key/", provider="entered", key=PLANTED["entered key"])
    assert "Key of entered saved." in saved
    assert leaks(saved) == []
    assert "entered/model answered in" in found.send("/models/", "/providers/test/", model="entered/model")
    token = stack.manage("tokens", "create", ACCOUNT, "t", "--scope", "read", "--scope", "launch").strip()
    for name, slug, provider in (
        ("quoted", "quoted", "loop"),
        ("refused", "refused", "loop"),
        ("entered", "quoted", "entered"),
    ):
        body = {
            "dataset": slug,
            "model": f"{provider}/model",
            "metrics": ["exact_match", "correctness"],
            "use_cache": True,
        }
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"{stack.address}/api/v1/benchmarks/runs", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            path = f"/api/v1/benchmarks/runs/{json.load(response)['id']}"
        stack.wait_until(lambda path=path: stack.get(path)["completed_at"], f"the run at {path} has ended")
        found.runs[name] = stack.get(path)
    tried = "SELECT 1 FROM benchmarks_webhookdelivery WHERE last_error != ''"
    stack.wait_until(lambda: found.rows(tried), "the webhook was tried and refused")
    return found


def leaks(text: str) -> list[str]:
    """The names of the secrets of which ``text`` holds a part."""
    return [
        name
        for name, secret in PLANTED.items()
        if any(secret[at : at + FRAGMENT] in text for at in range(len("planted-"), len(secret) - FRAGMENT + 1))
    ]


def public_addresses(found: Installation) -> Iterator[str]:
    """Every route that is read, for every run and every result where it is about one."""
    results = found.rows("SELECT run_id, id FROM benchmarks_result")
    runs = [run["id"] for run in found.runs.values()]
    tasks = found.rows("SELECT id FROM benchmarks_task")
    for name, rule in RULES.items():
        if "GET" not in rule.who:
            continue
        given = {**rule.arguments, **({"slug": "quoted"} if "slug" in rule.arguments else {})}
        variants = [given]
        if "run_pk" in given:
            variants = [{**given, "run_pk": run, "pk": pk} for run, pk in results]
        elif name == "frontend:task":
            variants = [{**given, "pk": pk} for (pk,) in tasks]
        elif "pk" in given:
            variants = [{**given, "pk": run} for run in runs]
        for key, values in (("part", TEXTS), ("form", CONTENT_TYPES if "export" in name else ())):
            if key in given and values:
                variants = [{**variant, key: value} for variant in variants for value in values]
        for variant in variants:
            with suppress(NoReverseMatch):  # the API exports in fewer forms than the pages do
                yield reverse(name, kwargs=variant)
    yield from ("/healthz", "/readyz", "/nowhere/", "/runs/?text=gateway&outcome=x", f"/compare/?runs={runs[0]}")


def admin_addresses(found: Installation) -> Iterator[str]:
    """Every page of the admin that has a list, and that of every object."""
    for route in all_routes():
        if not route.name.startswith("admin:") or route.name in ("admin:logout", "admin:jsi18n"):
            continue
        try:
            yield reverse(route.name)
        except NoReverseMatch:
            table = re.fullmatch(r"admin:(\w+?_\w+)_(change|history|delete)", route.name)
            if table:
                yield from (reverse(route.name, args=[pk]) for pk in primary_keys(found, table[1]))


def primary_keys(found: Installation, table: str) -> list[Any]:
    known = found.rows(f"SELECT 1 FROM information_schema.columns WHERE table_name = '{table}' AND column_name = 'id'")
    return [pk for (pk,) in found.rows(f"SELECT id FROM {table}")] if known else []


def database_text(found: Installation) -> str:
    tables = found.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
    return "\n".join(str(row) for (table,) in tables for row in found.rows(f'SELECT t::text FROM "{table}" t'))


def test_the_endpoint_was_given_the_keys_and_quoted_them(installation: Installation) -> None:
    """Else nothing below would show anything."""
    sent = {headers["authorization"] for headers in installation.endpoint.stats.headers}
    assert sent == {f"Bearer {PLANTED[name]}" for name in ("GATEWAY", "JUDGE_API_KEY", "entered key")}
    assert {"key_in_answer", "key_in_call", "key_in_400", "unauthorized_401"} <= set(installation.endpoint.stats.faults)
    assert installation.runs["refused"]["status"] == "failed"
    assert "[key hidden]" in installation.runs["refused"]["error_message"]
    assert leaks(f"x{PLANTED['GATEWAY'][10:]}") == ["GATEWAY"]


def test_no_page_export_or_figure_holds_a_secret(installation: Installation) -> None:
    addresses = list(public_addresses(installation))
    answers = {path: installation.text(path) for path in addresses}
    assert {path: leaks(text) for path, text in answers.items() if leaks(text)} == {}
    assert [path for path, text in answers.items() if text.startswith("5")] == []
    shown = [path for path, text in answers.items() if "[key hidden]" in text]
    assert any("/export." in path for path in shown)
    assert any(path.endswith("/actual.txt") for path in shown)
    assert any("/api/v1/" in path for path in shown)


def test_no_page_of_the_admin_holds_a_secret(installation: Installation) -> None:
    answers = {path: installation.text(path) for path in admin_addresses(installation)}
    assert {path: leaks(text) for path, text in answers.items() if leaks(text)} == {}
    opened = [path for path, text in answers.items() if text.startswith("200")]
    assert len(opened) > 30


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/benchmarks/runs", b"{}"),
        ("/api/v1/benchmarks/runs", b"no json"),
        ("/api/v1/benchmarks/runs", json.dumps({"dataset": "quoted", "model": "nowhere/m"}).encode()),
        ("/api/v1/benchmarks/plan", b'{"to_see": "much"}'),
        ("/runs/new/", b"model=nowhere"),
        ("/login/", b"username=root&password=wrong"),
    ],
)
def test_no_refusal_holds_a_secret(installation: Installation, path: str, body: bytes) -> None:
    kind = "application/json" if path.startswith("/api") else "application/x-www-form-urlencoded"
    answer = installation.text(path, body, **{"Content-Type": kind})
    assert answer.startswith("4")
    assert leaks(answer) == []


def test_no_row_of_the_database_holds_a_secret(installation: Installation) -> None:
    text = database_text(installation)
    assert leaks(text) == []
    assert text.count("[key hidden]") >= 5
    query = "SELECT COUNT(*) FROM benchmarks_cachedresponse WHERE reply::text LIKE '%key hidden%'"
    assert installation.rows(query)[0][0]


def test_no_backup_holds_a_secret(installation: Installation, tmp_path: Path) -> None:
    installation.stack.manage("backup", str(tmp_path / "all.zip"))
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        text = "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
    assert leaks(text) == []
    assert "[key hidden]" in text


def test_no_command_prints_a_secret(installation: Installation) -> None:
    quoted = str(installation.runs["quoted"]["id"])
    printed = [
        installation.stack.manage(*command)
        for command in (
            ("benchmark", "list"),
            ("benchmark", "show", quoted, "--json", "--allow-errors", "99"),
            ("check", "--deploy"),
            ("tokens", "list"),
        )
    ]
    assert leaks("\n".join(printed)) == []


def test_no_log_line_or_file_of_the_state_holds_a_secret(installation: Installation) -> None:
    installation.text(f"/nowhere/?key={PLANTED['GATEWAY']}")
    given = ("static", "codeforge.yaml")
    files = [
        path for path in installation.stack.state.rglob("*") if path.is_file() and not set(given) & set(path.parts)
    ]
    texts = {str(path): path.read_text(errors="replace") for path in files}
    assert {name: leaks(text) for name, text in texts.items() if leaks(text)} == {}
    assert '"status": 404' in texts[str(installation.stack.state / "processes.log")]
