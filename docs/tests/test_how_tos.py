"""The how-tos are followed to the letter, in a copy of the project."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from textwrap import dedent, indent
from types import ModuleType
from typing import Any, get_args
from xml.etree import ElementTree

import pytest
import yaml
from aiohttp import web
from consoles import Command, commands, copy_of_project, environment, run
from django.utils import timezone
from pages import ROOT, blocks, page, table_rows

from benchmarks.engine.webhooks.delivery import signature
from benchmarks.engine.webhooks.outbox import body_of
from benchmarks.management.commands.datasets import Command as DatasetsCommand
from benchmarks.models import ScheduledRun, ScoreDrop, WebhookDelivery
from benchmarks.providers.base import ChatRequest, ProviderError, ProviderSpec
from benchmarks.queries.schedules import LEVEL
from benchmarks.services.schedules import save_schedule
from codeforge.config import WebhookConfig, WebhookEvent
from tests.loopback.hosting import serve
from tests.loopback.replies import Asked
from tests.structure import modules, places
from tests.support import services
from tests.support.factories import make_dataset, make_run


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with an empty, migrated database and the shipped datasets taken over."""
    folder = copy_of_project(tmp_path_factory.mktemp("project"))
    for line in ("python manage.py migrate --verbosity 0", "python manage.py datasets sync"):
        run(Command(line, 0, []), folder, environment(folder / "var"))
    return folder


def follow(text: str, folder: Path) -> None:
    for command in commands(text):
        run(command, folder, environment(folder / "var"))


def touched(folder: Path) -> set[str]:
    """The files of the application that differ from those of the project, without tests."""
    copied = {str(path.relative_to(folder)): path.read_text() for path in modules(folder).values()}
    own = {str(path.relative_to(ROOT)): path.read_text() for path in modules(ROOT).values()}
    return {name for name, text in copied.items() if own.get(name) != text}


def run_test(folder: Path, name: str, *, passed: int) -> None:
    """Run a test that a page has in the copy, without the settings of the project's own tests."""
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:django", "-p", "no:deepeval", "-c", "/dev/null")
    line = shlex.join(["python", "-m", "pytest", *options, "--rootdir", ".", name])
    run(Command(line, 0, [f"{passed} passed…"]), folder, environment(folder / "var"))


def look(folder: Path, code: str, says: str, **variables: str) -> None:
    """Run code in the shell of the copy, which ends by printing what it has found."""
    line = shlex.join(["python", "manage.py", "shell", "--verbosity", "0", "--command", code])
    run(Command(line, 0, [says]), folder, environment(folder / "var", **variables))


@pytest.mark.slow
def test_a_dataset_is_added_as_the_page_says(project: Path) -> None:
    text = page("docs/how-to/own-dataset.md")
    (project / "datasets/harbour-desk.yaml").write_text(blocks(text, "yaml")[0].text)
    follow(text, project)


@pytest.mark.slow
def test_a_run_is_brought_from_elsewhere_as_the_page_says(project: Path) -> None:
    text = page("docs/how-to/import.md")
    (project / "capitals.json").write_text(blocks(text, "json")[0].text)
    (project / "planets.jsonl").write_text(blocks(text, "jsonl")[0].text)
    follow(text, project)


@pytest.mark.slow
def test_a_public_benchmark_is_imported_as_the_page_says(project: Path) -> None:
    text = page("docs/how-to/public-benchmarks.md")
    follow(text, project)
    parser = DatasetsCommand().create_parser("manage.py", "datasets")
    for line in (line for block in blocks(text, "sh") for line in block.text.splitlines()):
        parser.parse_args(shlex.split(line)[3:])


@pytest.mark.parametrize(("place", "schema"), [(0, "vendor.github-workflows"), (1, "vendor.gitlab-ci")])
def test_the_schemas_of_the_services_accept_the_pipelines(place: int, schema: str, tmp_path: Path) -> None:
    (tmp_path / "pipeline.yml").write_text(blocks(page("docs/how-to/ci.md"), "yaml")[place].text)
    _check(tmp_path / "pipeline.yml", schema)


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("workflows/test.yml", "workflows"),
        ("workflows/nightly.yml", "workflows"),
        ("dependabot.yml", "dependabot"),
        ("ISSUE_TEMPLATE/bug.yml", "issue-forms"),
        ("ISSUE_TEMPLATE/feature.yml", "issue-forms"),
        ("ISSUE_TEMPLATE/config.yml", "issue-config"),
    ],
)
def test_the_schemas_of_github_accept_the_files_for_it(name: str, schema: str) -> None:
    _check(ROOT / ".github" / name, "vendor." + (schema if schema == "dependabot" else f"github-{schema}"))


def _check(file: Path, schema: str) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        services.missing("the package check-jsonschema")
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_an_experiment_is_run_from_the_file_of_the_page(project: Path) -> None:
    text = page("docs/how-to/experiments.md")
    (project / "prompts.yaml").write_text(blocks(text, "yaml")[0].text)
    follow(text, project)


@pytest.mark.slow
def test_a_pipeline_gets_its_exit_codes_and_reports(project: Path) -> None:
    follow(page("docs/how-to/ci.md"), project)
    assert ElementTree.parse(project / "report.xml").getroot().tag == "testsuites"
    assert "exact_match" in (project / "summary.md").read_text()


@pytest.mark.slow
def test_the_tour_is_walked_as_the_page_says(project: Path) -> None:
    follow(page("docs/tour.md"), project)


@pytest.mark.slow
def test_a_task_class_is_looked_at_as_the_page_says(project: Path) -> None:
    follow(page("tasks_app/tasks/README.md"), project)


@pytest.mark.slow
def test_a_metric_is_added_as_the_page_says(tmp_path: Path) -> None:
    text = page("docs/how-to/own-metric.md")
    folder = copy_of_project(tmp_path)
    code, import_line, test = (block.text for block in blocks(text, "python"))
    entry = re.search(r"add `(.+?)` to `_METRICS`", text)
    assert entry
    metrics = folder / "benchmarks/metrics"
    (metrics / "brevity.py").write_text(code)
    (metrics / "tests/test_brevity.py").write_text(test)
    registry = (metrics / "registered_metrics.py").read_text()
    registry = registry.replace(
        "from benchmarks.metrics.code_tests", f"{import_line}from benchmarks.metrics.code_tests"
    )
    (metrics / "registered_metrics.py").write_text(registry.replace("    Length(),", f"    Length(),\n    {entry[1]}"))
    assert touched(folder) == set(places(text))
    follow(text, folder)
    assert "| `brevity` |" in (folder / "datasets/README.md").read_text()
    run_test(folder, "benchmarks/metrics/tests/test_brevity.py", passed=5)


@pytest.mark.slow
def test_an_importer_is_added_as_the_page_says(tmp_path: Path) -> None:
    text = page("docs/how-to/own-importer.md")
    folder = copy_of_project(tmp_path)
    code, import_line, test = (block.text for block in blocks(text, "python"))
    entry = re.search(r"add `(.+?)` to `_IMPORTERS`", text)
    assert entry
    imports = folder / "benchmarks/imports"
    (imports / "acme_bench.py").write_text(code)
    (imports / "tests/test_acme_bench.py").write_text(test)
    _insert(imports / "registered_importers.py", import_line, "from benchmarks.imports.assembly")
    _insert(imports / "registered_importers.py", f"    {entry[1]}\n", "    DeepEvalImporter(),")
    assert touched(folder) == set(places(text))
    (folder / "report.json").write_text(blocks(text, "json")[0].text)
    run(Command("python manage.py migrate --verbosity 0", 0, []), folder, environment(folder / "var"))
    follow(text, folder)
    run_test(folder, "benchmarks/imports/tests/test_acme_bench.py", passed=1)


@pytest.mark.slow
def test_systems_are_tested_as_the_page_says(tmp_path: Path, judge: str) -> None:
    text = page("docs/how-to/systems.md")
    folder = copy_of_project(tmp_path)
    bot, rooms, harbor, _ = (block.text for block in blocks(text, "python"))
    route, dataset, board, program, function = (yaml.safe_load(block.text) for block in blocks(text, "yaml"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "bot.py").write_text(bot.replace("9000", str(port)))
    (folder / "rooms.py").write_text(rooms)
    (folder / "harbor.py").write_text(harbor)
    route["providers"]["bot"]["base_url"] = f"http://127.0.0.1:{port}"
    providers = route["providers"] | program["providers"] | function["providers"]
    (folder / "codeforge.yaml").write_text(yaml.safe_dump({"providers": providers | {"local": {"base_url": judge}}}))
    (folder / "datasets/sule.yaml").write_text(yaml.safe_dump(dataset))
    (folder / "board.yaml").write_text(yaml.safe_dump(board | {"url": f"http://127.0.0.1:{port}/ask"}))
    run(Command("python manage.py migrate --verbosity 0", 0, []), folder, environment(folder / "var"))
    with subprocess.Popen([sys.executable, "bot.py"], cwd=folder) as process:
        try:
            _wait_for(port)
            curl = blocks(text, "sh")[0].text.replace("9000", str(port))
            look(folder, _PASTE, "the runs ask desk", CURL=curl)
            follow(text, folder)
        finally:
            process.terminate()


_PASTE = """
import os
from django.test import Client
from django.test.utils import setup_test_environment
from benchmarks.engine.configured import provider_named
setup_test_environment()  # without it, pages have no context
client = Client()

def sent(fields, **pressed):
    page = client.post("/systems/add/", {**fields, **pressed})
    form = page.context["form"]
    assert not form.errors, form.errors
    return {name: form[name].value() or "" for name in form.fields}

fields = sent({}, curl=os.environ["CURL"], do="take")
fields = sent(fields, ask='["question"]')
fields = sent(fields, do="try")
fields = sent(fields, part="answer", place='["reply", "text"]')
fields = sent(fields, part="retrieved", place='["reply", "sources", 0, "text"]')
assert client.post("/systems/add/", {**fields, "name": "desk", "do": "save"}).status_code == 302
desk, bot = provider_named("desk"), provider_named("bot")
assert (desk.answer, desk.retrieved, desk.body) == (bot.answer, bot.retrieved, bot.body), desk
print("the runs ask desk")
"""


@pytest.fixture
def judge() -> Iterator[str]:
    """The address of a judge that finds the answers in the passages if they are there."""

    def verdict(asked: Asked) -> str:
        wanted = asked.body["response_format"]["json_schema"]["schema"]["properties"]
        said = {"verdict": "yes", "reason": ""}
        replies = {"truths": ["The passages."], "claims": ["The answer."], "verdicts": [said]}
        return json.dumps({name: replies[name] for name in wanted})

    with serve(script=verdict) as server:
        yield server.url


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return


@pytest.mark.slow
def test_an_option_of_providers_is_added_as_the_page_says(tmp_path: Path) -> None:
    text = page("docs/how-to/own-provider.md")
    folder = copy_of_project(tmp_path)
    in_config, in_spec, use = (block.text for block in blocks(text.partition("## An option of providers")[2], "python"))
    _insert(folder / "codeforge/config.py", in_config, "    headers: dict[str, str]")
    _insert(folder / "benchmarks/providers/base.py", in_spec, "    headers: Mapping[str, str]")
    _insert(folder / "benchmarks/providers/http_provider.py", use, "        self._headers.update(spec.headers)")
    assert touched(folder) == set(places(text, 1))
    configured = folder / "own.yaml"
    configured.write_text("providers: {ours: {base_url: 'http://127.0.0.1:1/v1', project: benchmarks}}")
    look(folder, _LOOK_AT_THE_OPTION, "requests have it", CODEFORGE_CONFIG=str(configured))


@pytest.mark.slow
def test_a_key_of_a_task_is_added_as_the_page_says(tmp_path: Path) -> None:
    text = page("docs/how-to/own-task-field.md")
    folder = copy_of_project(tmp_path)
    key, in_item, metric = (block.text for block in blocks(text, "python"))
    _insert(folder / "benchmarks/dataset_format/spec.py", key, "    constraints: Constraints")
    _insert(folder / "benchmarks/metrics/base.py", in_item, "    constraints: Mapping")
    (folder / "benchmarks/metrics/opening.py").write_text(metric)
    registry = folder / "benchmarks/metrics/registered_metrics.py"
    _insert(registry, "from benchmarks.metrics.opening import Opening\n", "from benchmarks.metrics.preference")
    _insert(registry, "    Opening(),\n", "    Length(),\n")
    assert touched(folder) == set(places(text))
    (folder / "datasets/letters.yaml").write_text(blocks(text, "yaml")[0].text)
    run(Command("python manage.py migrate --verbosity 0", 0, []), folder, environment(folder / "var"))
    follow(text, folder)
    assert "| `opening` |" in (folder / "datasets/README.md").read_text()
    schema = json.loads((folder / "datasets/dataset.schema.json").read_text())
    assert "opening" in schema["$defs"]["TaskSpec"]["properties"]
    look(folder, _LOOK_AT_THE_KEY, "API, page and form have it")


@pytest.mark.slow
def test_a_parameter_of_the_question_is_added_as_the_page_says(tmp_path: Path) -> None:
    text = page("docs/how-to/own-parameter.md")
    folder = copy_of_project(tmp_path)
    row, use = (block.text for block in blocks(text, "python"))
    row = indent(row.rstrip(), "    ") + ",\n"
    use = indent(dedent(use), "    ")
    _insert(folder / "benchmarks/run_parameters.py", row, '    RunParameter(\n        "prompt_template",')
    _insert(
        folder / "benchmarks/engine/execution/prompts.py", use, '    template = run.parameters.get("prompt_template")'
    )
    assert touched(folder) == set(places(text))
    for line in ("python manage.py migrate --verbosity 0", "python manage.py datasets sync"):
        run(Command(line, 0, []), folder, environment(folder / "var"))
    follow(text, folder)
    look(folder, _LOOK_AT_THE_PARAMETER, "two tables, and all ways in have it")


@pytest.mark.slow
def test_a_page_with_a_table_is_added_as_the_page_says(tmp_path: Path) -> None:
    text = page("docs/how-to/own-page.md")
    folder = copy_of_project(tmp_path)
    read, view_set, register, command, view, address = (block.text for block in blocks(text, "python"))
    (folder / "benchmarks/queries/versions.py").write_text(read)
    (folder / "benchmarks/api/versions.py").write_text(view_set)
    (folder / "benchmarks/management/commands/versions.py").write_text(command)
    (folder / "frontend/views/versions.py").write_text(view)
    _insert(folder / "benchmarks/api/urls.py", "    versions,\n", "    views,\n)")
    _insert(folder / "benchmarks/api/urls.py", register, 'router.register("canvas-sets", ')
    urls, address = folder / "frontend/urls.py", indent(address.rstrip(), "    ") + ",\n"
    _insert(urls, "    versions,\n", ")\nfrom frontend.views.settings import hub")
    _insert(urls, address, '    path("settings/", hub.hub')
    assert touched(folder) == set(places(text))
    for line in ("python manage.py migrate --verbosity 0", "python manage.py datasets sync"):
        run(Command(line, 0, []), folder, environment(folder / "var"))
    follow(text, folder)
    look(folder, _LOOK_AT_THE_PAGE, "page, API and command agree")


_LOOK_AT_THE_PAGE = """
import json
from io import StringIO
from django.core.management import call_command
from django.test import Client
from benchmarks.models import DatasetVersion
out = StringIO()
call_command("versions", "list", "--json", stdout=out)
client = Client(headers={"host": "localhost"})
served = client.get("/api/v1/benchmarks/versions").json()["results"]
assert served == json.loads(out.getvalue())[: len(served)], served
assert served[0]["dataset"] == DatasetVersion.objects.latest("pk").dataset.slug
page = client.get("/versions/").content.decode()
assert "<h1>Versions</h1>" in page
assert '<a href="/datasets/reasoning/">reasoning</a>' in page
assert '/api/v1/benchmarks/versions' in client.get("/api/schema?format=json").content.decode()
print("page, API and command agree")
"""


_LOOK_AT_THE_PARAMETER = """
from django.test import Client
from benchmarks.models import Run, Transcript
from benchmarks.queries.leaderboard import latest_runs
from django.db.models import Q
first, second = Run.objects.order_by("pk")
assert first.question_key != second.question_key
assert len(latest_runs(Q())) == 2
sent = Transcript.objects.filter(result__run=second).first().messages
assert sent[-1]["content"].endswith("Answer in French."), sent
client = Client(headers={"host": "localhost"})
assert "French" in client.get("/runs/2/").content.decode()
assert 'name="answer_language"' in client.get("/runs/new/").content.decode()
assert "answer_language" in client.get("/api/schema?format=json").content.decode()
print("two tables, and all ways in have it")
"""


_LOOK_AT_THE_OPTION = """
from benchmarks.engine.execution.model_clients import provider_spec
from benchmarks.providers.registered_providers import make_provider
from benchmarks.engine.addresses import address_of
assert make_provider(provider_spec("ours", None, address_of("ours")))._headers["X-Project"] == "benchmarks"
print("requests have it")
"""


_LOOK_AT_THE_KEY = """
from django.test import Client
from benchmarks.forms.datasets import TaskForm
from benchmarks.models import Task
task = Task.objects.get(task_id="complaint")
client = Client(headers={"host": "localhost"})
served = client.get("/api/v1/benchmarks/datasets/letters/tasks").json()["results"][0]
assert served["opening"] == "Dear", served
page = client.get(f"/datasets/letters/tasks/{task.pk}/").content.decode()
assert "<h2>Opening</h2>" in page
form = TaskForm(version=task.version, stored=task)
assert form["opening"].value() == "Dear"
print("API, page and form have it")
"""


def _insert(file: Path, text: str, before: str) -> None:
    written = file.read_text()
    assert written.count(before) == 1, (file, before)
    file.write_text(written.replace(before, text + before))


@pytest.fixture
async def plain_text_service() -> AsyncIterator[str]:
    """Answers with the prompt turned round, and to an empty one with 503."""

    async def turn_round(request: web.Request) -> web.Response:
        prompt = await request.text()
        return web.Response(text=prompt[::-1], status=200 if prompt else 503)

    application = web.Application()
    application.router.add_post("/", turn_round)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


async def test_the_provider_of_the_page_answers_and_tells_errors(plain_text_service: str) -> None:
    code = blocks(page("docs/how-to/own-provider.md"), "python")[0].text
    module: Any = ModuleType("plain_text")
    exec(compile(code, "plain_text.py", "exec"), module.__dict__)
    provider = module.PlainTextProvider(ProviderSpec("plain", "plain_text", plain_text_service))
    try:
        reply = await provider.complete(ChatRequest("m", ({"role": "user", "content": "abc\x00"},)))
        assert reply.text == "␀cba"
        assert reply.notes
        with pytest.raises(ProviderError) as caught:
            await provider.complete(ChatRequest("m", ({"role": "user", "content": ""},)))
        assert caught.value.retryable
    finally:
        await provider.close()


def test_a_receiver_verifies_messages_as_the_page_says() -> None:
    text = page("docs/how-to/webhooks.md")
    secret = run(commands(text)[0], Path.cwd(), environment(Path.cwd())).strip()
    webhook = WebhookConfig(url="https://hooks.example.com/", secret_env="OPS_WEBHOOK_SECRET")
    body = b'{"type": "run.completed"}'
    now = int(time.time())
    headers = {
        "webhook-id": "b7c1",
        "webhook-timestamp": str(now),
        "webhook-signature": signature(webhook.signing_key({"OPS_WEBHOOK_SECRET": secret}), "b7c1", now, body),
    }
    receiver: dict[str, Any] = {}
    exec(compile(blocks(text, "python")[0].text, "receiver.py", "exec"), receiver)
    is_genuine = receiver["is_genuine"]
    assert is_genuine(headers, body, secret)
    assert not is_genuine(headers, body + b" ", secret)
    assert not is_genuine(headers | {"webhook-id": "b7c2"}, body, secret)
    assert not is_genuine({}, body, secret)
    old = str(now - 301)
    late = signature(webhook.signing_key({"OPS_WEBHOOK_SECRET": secret}), "b7c1", now - 301, body)
    assert not is_genuine(headers | {"webhook-timestamp": old, "webhook-signature": late}, body, secret)


def test_the_events_of_the_page_are_those_that_there_are() -> None:
    told = {row[0] for row in table_rows(page("docs/how-to/webhooks.md"))}
    assert told == set(get_args(WebhookEvent))


def shape(value: Any) -> Any:
    """What a JSON document is made of, whatever its values; the metrics of a summary are not told apart."""
    if isinstance(value, dict):
        return {key: "…" if key in ("summary", "completed_at") else shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "…"


@pytest.mark.django_db
def test_messages_have_the_fields_of_the_pages() -> None:
    asked = {"dataset": "sums", "model": "baseline/reference", "metrics": ["exact_match"]}
    run = make_run(make_dataset(1), model="baseline/reference")
    delivery = WebhookDelivery(event="run.cancelled", run=run, created_at=timezone.now())
    [message] = blocks(page("docs/how-to/webhooks.md"), "json")
    assert shape(json.loads(body_of(delivery))) == shape(json.loads(message.text))
    turn = ScheduledRun.objects.create(
        schedule=save_schedule("nightly", "03:00", asked), run=run, due_at=timezone.now(), compared_with=run
    )
    numbers = {"difference": -0.2, "low": -0.3, "high": -0.1, "p_adjusted": 0.001, "n_shared": 50}
    ScoreDrop.objects.create(scheduled_run=turn, compared_with=run, metric="exact_match", sentence="Worse.", **numbers)
    delivery.event = "score.dropped"
    told = json.loads(body_of(delivery))["data"]
    [more] = blocks(page("docs/how-to/schedules.md"), "json")
    assert shape({key: told[key] for key in told if key != "run"}) == shape(json.loads(more.text))


def test_the_level_of_the_page_is_that_of_the_notices() -> None:
    assert f"at a level of {100 * LEVEL:g}%" in page("docs/how-to/schedules.md")
