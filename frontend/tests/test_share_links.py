"""Share links: who creates them, what they show to people without an account, and when they end."""

from __future__ import annotations

import re
from base64 import b64decode
from datetime import timedelta
from typing import Any
from unittest import mock
from urllib.parse import urlencode

import pytest
from django.core import signing
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from benchmarks.models import AuditEntry, Dataset, Experiment, Run, ShareLink
from benchmarks.queries.overall_leaderboard import MOST_DATASETS
from benchmarks.queries.task_grid import MOST_RUNS
from benchmarks.services import share_links
from benchmarks.services.errors import NotPossible
from benchmarks.services.share_links import link_key, share
from frontend.tests.test_pages import page
from frontend.views.leaderboard import board
from frontend.views.share_links import GONE
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
HOSTILE = '<img src=x onerror=alert(1)>"\u202e'


def of_each_kind(secret: str = "") -> dict[str, dict[str, str]]:
    dataset = make_dataset(3)
    experiment = Experiment.objects.create(name=f"Prompts {secret}", request={})
    a, b = (
        make_scored_run(dataset, model=f"loop/{name}{secret}", experiment=experiment, answer="the answer itself")
        for name in ("one", "two")
    )
    return {
        "run": {"run": str(a.pk)},
        "experiment": {"experiment": str(experiment.pk)},
        "comparison": {"runs": f"{a.pk},{b.pk}", "metric": "exact_match"},
        "leaderboard": {
            "dataset": dataset.slug,
            "version": "1",
            "metric": "exact_match",
            "choose": "latest",
            "rank": "mean",
        },
        "overall": {"datasets": dataset.slug},
    }


def address(link: ShareLink) -> str:
    return f"/shared/{link_key(link)}/"


def shown(link: ShareLink) -> str:
    response = Client().get(address(link))
    assert response.status_code == 200
    return (response.getvalue() if response.streaming else response.content).decode()


@pytest.mark.parametrize("kind", list(ShareLink.Kind.values))
def test_every_kind_is_created_copied_opened_and_revoked(client: Client, kind: str, settings: Any) -> None:
    asked = of_each_kind()[kind]
    link = share(kind, asked)
    created = client.post("/share/", {"kind": kind, "query": link.query, "days": "7"})
    here = created.headers["Location"]
    html = page(client, here)
    assert f'value="http://testserver{address(link)}"' in html
    assert "to anyone with the link." in html
    assert "Until " in html
    settings.DEV_MODE = settings.PUBLIC_READING = False
    response = Client().get(address(link))
    assert (response["Cache-Control"], response["Referrer-Policy"]) == ("private, no-store", "no-referrer")
    assert (response["X-Robots-Tag"], response["Content-Security-Policy"][:18]) == ("noindex", "default-src 'none'")
    assert "loop/one" in shown(link)
    settings.DEV_MODE = True
    assert client.post(f"/share/{link.pk}/revoke/", {"confirmed": "yes"}).headers["Location"] == here
    assert Client().get(address(link)).status_code == 404
    assert 'id="share-link"' not in page(client, here)
    actions = AuditEntry.objects.filter(subject=str(link)).order_by("pk").values_list("action", flat=True)
    assert [*actions] == [f"{kind}.share", f"{kind}.share", f"{kind}.unshare"]


@pytest.mark.parametrize("days", ["1", "7", "30", "90"])
def test_a_link_is_valid_for_as_long_as_was_chosen(client: Client, days: str) -> None:
    asked, before = of_each_kind()["run"], timezone.now()
    client.post("/share/", {"kind": "run", "query": urlencode(asked)})
    assert f'<option value="{days}">{days} day' in page(client, f"/runs/{asked['run']}/")
    client.post("/share/", {"kind": "run", "query": urlencode(asked), "days": days})
    [link] = ShareLink.objects.all()
    assert before + timedelta(days=int(days)) <= link.expires_at <= timezone.now() + timedelta(days=int(days))


@pytest.mark.parametrize("days", ["", "0", "8", "7.0", "-1", "9" * 30, "forever"])
def test_a_link_is_not_made_for_other_days(client: Client, days: str) -> None:
    response = client.post("/share/", {"kind": "run", "query": urlencode(of_each_kind()["run"]), "days": days})
    assert (response.status_code, ShareLink.objects.count()) == (404, 0)
    assert "valid for 1, 7, 30, 90 days" in response.content.decode()


@pytest.mark.parametrize("kind", ["experiment", "comparison", "leaderboard", "overall"])
def test_a_shared_page_leads_nowhere_and_quotes_no_answers_or_markup(kind: str) -> None:
    html = shown(share(kind, of_each_kind(HOSTILE)[kind]))
    for part in ("<a ", "<form", "<button", "<script", "<img src=x", "\u202e", "the answer itself"):
        assert part not in html, part
    assert "3 of 3" in html


def everything_of(link: ShareLink) -> str:
    """What a link sends: its head, the page, and its charts as text."""
    response = Client().get(address(link))
    html = response.content.decode()
    charts = [b64decode(data).decode() for data in re.findall(r"svg\+xml;base64,([^\"]+)", html)]
    assert charts
    return "\n".join((str(response.headers), html, *charts))


def runs_that_prompt_apart(secret: str, experiment: Experiment | None = None) -> list[Run]:
    """Of two models with two prompts each, and of each with extra parameters that hold a prompt."""
    dataset = make_dataset(3)

    def run(model: str, name: str, **parameters: Any) -> Run:
        of = {"experiment": experiment, "variant": name} if experiment else {}
        return make_scored_run(dataset, model=model, parameters=parameters, **of)

    return [
        run(model, name, **parameters)
        for model in ("loop/one", "loop/two")
        for name, parameters in (
            ("brief", {"system_prompt": f"{secret} system brief"}),
            ("long", {"system_prompt": f"{secret} system long"}),
            ("framed", {"prompt_template": f"{secret} template {{input}}"}),
            ("instructed", {"extra": {"instructions": f"{secret} extra"}, "temperature": 0}),
        )
    ]


def test_a_shared_experiment_quotes_no_prompt(client: Client) -> None:
    experiment = Experiment.objects.create(name="Prompts", request={})
    runs_that_prompt_apart("heron", experiment)
    assert "heron" in page(client, f"/experiments/{experiment.pk}/")
    sent = everything_of(share("experiment", {"experiment": str(experiment.pk)}))
    assert "heron" not in sent
    assert all(name in sent for name in ("brief", "long", "framed", "instructed")), "variants go by their names"


def test_a_shared_comparison_quotes_no_prompt(client: Client) -> None:
    runs = ",".join(str(run.pk) for run in runs_that_prompt_apart("heron"))
    assert "heron" in page(client, f"/compare/?runs={runs}")
    sent = everything_of(share("comparison", {"runs": runs}))
    assert "heron" not in sent
    assert "The runs differ in system prompt" in sent


@pytest.mark.parametrize("names", [("loop/one", "loop/two"), ("baseline/random", "baseline/majority")])
def test_a_shared_comparison_of_two_says_what_its_page_says(client: Client, names: tuple[str, str]) -> None:
    dataset = make_dataset(3)
    asked = {"runs": ",".join(str(make_scored_run(dataset, model=name).pk) for name in names)}
    statement = page(client, f"/compare/?{urlencode(asked)}").partition('class="statement')[2]
    verdict = re.search("<strong>(.+?)</strong>", statement)
    assert verdict is not None
    html = shown(share("comparison", asked))
    assert f"<ul><li>{verdict[1]}</li>" in html
    assert "are the same within" in html or "to be the same within" in html
    assert "<li></li>" not in html


def test_a_shared_comparison_keeps_the_margin_of_its_page(client: Client) -> None:
    dataset = make_dataset(3)
    runs = ",".join(str(make_scored_run(dataset, model=f"loop/{name}").pk) for name in ("one", "two"))
    link = share("comparison", {"runs": runs, "margin": "7"})
    assert "within 7.0 points" in shown(link)
    assert f"runs={runs.replace(',', '%2C')}&amp;metric=exact_match&amp;margin=7" in page(
        client, f"/compare/?runs={runs}&margin=7"
    )


def heads_of(html: str) -> list[str]:
    """Of its first table."""
    return re.findall('<th scope="col">(.+?)</th>', html.partition("</thead>")[0])


def test_a_shared_table_names_datasets_and_has_no_column_without_content() -> None:
    asked = of_each_kind()
    Dataset.objects.update(name="Column sums")
    for kind in ("experiment", "comparison"):
        html = shown(share(kind, asked[kind]))
        assert heads_of(html) == ["Rank", "Model", "Column sums v1", "Group", "Best", "Median latency"], (
            "costs are unknown"
        )
        assert "sums v1" not in html.replace("Column sums v1", "")
    first = Run.objects.earliest("pk")
    assert f"<h2>Difference from loop/one, run {first.pk}</h2>" in html
    assert "2 runs on shared tasks by Exact match." in html
    assert f"loop/one on Column sums, run {first.pk}" in shown(share("run", asked["run"]))
    make_scored_run(make_dataset(3, slug="other"), model="loop/one", experiment=first.experiment)
    assert "Overall" in heads_of(shown(share("experiment", asked["experiment"])))


def test_a_shared_page_of_baselines_alone_has_no_empty_line() -> None:
    dataset, experiment = make_dataset(3), Experiment.objects.create(name="Baselines", request={})
    names = ("baseline/random", "baseline/majority", "baseline/empty")
    runs = [make_scored_run(dataset, model=name, experiment=experiment) for name in names]
    asked = {"runs": ",".join(str(run.pk) for run in runs)}
    for link in (share("comparison", asked), share("experiment", {"experiment": str(experiment.pk)})):
        html = shown(link)
        assert "<ul><li>Only baselines have run" in html
        assert "<li></li>" not in html


@pytest.mark.parametrize("setting", range(4))
def test_a_shared_leaderboard_quotes_no_prompt(client: Client, setting: int) -> None:
    runs = runs_that_prompt_apart("heron")
    for run in runs[3::4]:
        make_scored_run(run.dataset, model=run.model, parameters={"temperature": 1})
    settings = board(QueryDict())["settings"]
    assert len(settings) == 4
    asked = {"dataset": "sums", "setting": settings[setting]}
    assert "heron" in page(client, f"/leaderboard/?{urlencode(asked)}")
    sent = everything_of(share("leaderboard", asked))
    assert "heron" not in sent
    named = "own system prompt" if "system prompt “" in settings[setting] else "no system prompt"
    assert f"setting: {named}" in sent, "what distinguishes the setting is told without its text"
    if "no system prompt, no prompt template" in settings[setting]:
        told = (f"loop/one, temperature 0, run {runs[3].pk}<", "loop/one, temperature 1<")
        assert all(name in sent for name in told), "rows of one model are told apart"


def test_a_shared_leaderboard_over_several_datasets_quotes_no_prompt(client: Client) -> None:
    for run in runs_that_prompt_apart("heron"):
        if run.parameters.keys() != {"system_prompt"}:
            run.delete()
    html = page(client, "/leaderboard/overall/")
    assert "heron" in html
    assert 'name="query" value="datasets=sums"' in html
    sent = shown(share("overall", {"datasets": "sums"}))
    assert "heron" not in sent
    assert "own system prompt" in sent


def test_a_shared_leaderboard_and_experiment_show_later_runs() -> None:
    asked = of_each_kind()
    links = [share(kind, asked[kind]) for kind in ("experiment", "leaderboard")]
    first = Run.objects.earliest("pk")
    make_scored_run(first.dataset, model="loop/later", experiment=first.experiment)
    assert all("loop/later" in shown(link) for link in links)


def test_forged_expired_and_revoked_links_and_those_to_deleted_pages_look_the_same(client: Client) -> None:
    asked = of_each_kind()
    links = {kind: share(kind, asked[kind]) for kind in asked}
    ShareLink.objects.filter(pk=links["run"].pk).update(expires_at=timezone.now())
    ShareLink.objects.filter(pk=links["comparison"].pk).update(revoked_at=timezone.now())
    Experiment.objects.all().delete()
    key = link_key(links["leaderboard"])
    bad = [address(links[kind]) for kind in ("run", "comparison", "experiment")]
    bad += [f"/shared/{forged}/" for forged in (key[:-2], f"x{key}", "a:b", "a:b:c", "é", "%00", ":", key + "é")]
    pages = set()
    for where in bad:
        response = Client().get(where)
        assert response.status_code == 404, where
        assert GONE in response.content.decode(), where
        pages.add(response.content.decode().partition("<main")[2].partition("</main")[0])
    assert len(pages) == 1


def test_a_renewed_link_keeps_its_address_and_a_new_one_does_not_revive_a_revoked_one(client: Client) -> None:
    asked = of_each_kind()["run"]
    first = share("run", asked)
    ShareLink.objects.update(expires_at=timezone.now() + timedelta(hours=1))
    second = share("run", asked)
    assert address(first) == address(second)
    assert second.expires_at > timezone.now() + timedelta(days=6)
    client.post(f"/share/{first.pk}/revoke/", {"confirmed": "yes"})
    third = share("run", asked)
    assert [Client().get(address(link)).status_code for link in (first, third)] == [404, 200]


def test_as_many_runs_and_datasets_are_shared_as_are_shown() -> None:
    assert (share_links.MOST_RUNS, share_links.MOST_DATASETS) == (MOST_RUNS, MOST_DATASETS)


def test_more_runs_than_are_compared_are_refused_with_the_limit(client: Client) -> None:
    dataset = make_dataset(1)
    runs = ",".join(str(make_scored_run(dataset, (1.0,)).pk) for _ in range(MOST_RUNS + 1))
    html = page(client, f"/compare/?runs={runs}")
    assert f"runs={runs.replace(',', '%2C')}" in html, "the form names all"
    response = client.post("/share/", {"kind": "comparison", "query": f"runs={runs}"}, follow=True)
    assert f"at most {MOST_RUNS} runs, and this one has {MOST_RUNS + 1}" in response.content.decode()
    assert not ShareLink.objects.exists()


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("page", {"run": "1"}),
        ("run", {}),
        ("run", {"run": "9" * 40}),
        ("run", {"run": "\u0665"}),
        ("experiment", {"experiment": "x"}),
        ("comparison", {"runs": "1"}),
        ("comparison", {"runs": "1,2"}),
        ("leaderboard", {"dataset": "../other"}),
        ("leaderboard", {"dataset": "sums", "setting": "x" * 300}),
        ("overall", {"datasets": ""}),
        ("overall", {"datasets": "sums,../other"}),
        ("overall", {"datasets": ",".join(f"sums-{number}" for number in range(20))}),
    ],
)
def test_what_does_not_exist_is_not_shared(client: Client, kind: str, asked: dict[str, str]) -> None:
    make_scored_run()
    with pytest.raises(NotPossible):
        share(kind, asked)
    sent = {"kind": kind, "query": "&".join(f"{name}={value}" for name, value in asked.items())}
    assert client.post("/share/", sent).status_code in (302, 404)
    assert client.post("/share/", {"kind": kind, "query": "&".join("a=1" for _ in range(500))}).status_code in (
        302,
        404,
    )
    assert not ShareLink.objects.exists()


def test_unknown_fields_are_not_stored() -> None:
    link = share("run", of_each_kind()["run"] | {"next": "https://elsewhere.example", "metric": "x"})
    assert link.query == f"run={link.asked['run']}"


def test_links_of_runs_from_before_share_links_still_open() -> None:
    run = make_scored_run()
    since = timezone.now() - timedelta(days=3)
    link = ShareLink.objects.create(
        kind="run", query=f"run={run.pk}", created_at=since, expires_at=since + timedelta(days=7)
    )

    def key(at: Any, of: int = run.pk) -> str:
        with mock.patch("time.time", return_value=at.timestamp()):
            return signing.TimestampSigner(salt="shared run").sign_object({"run": of, "since": at.timestamp()})

    def status(of: str) -> int:
        return Client().get(f"/shared/{of}/").status_code

    assert status(key(since)) == status(key(since + timedelta(hours=1))) == 200
    assert status(key(since - timedelta(hours=1))) == 404, "revoked before the run was shared again"
    assert status(key(since, run.pk + 1)) == 404
    assert status(key(timezone.now() - timedelta(days=8))) == 404
    link.revoked_at = timezone.now()
    link.save()
    assert status(key(since)) == 404


@pytest.mark.django_db(transaction=True)
def test_the_migration_moves_the_links_of_runs() -> None:
    executor = MigrationExecutor(connection)
    latest = executor.loader.graph.leaf_nodes()
    try:
        executor.migrate([("benchmarks", "0011_addresses_and_fingerprints")])
        old = executor.loader.project_state([("benchmarks", "0011_addresses_and_fingerprints")]).apps
        now = timezone.now()
        dataset = old.get_model("benchmarks", "Dataset").objects.create(slug="sums", name="Sums")
        version = old.get_model("benchmarks", "DatasetVersion").objects.create(
            dataset=dataset, number=1, content_hash="a" * 64
        )
        runs = old.get_model("benchmarks", "Run").objects
        given = {"dataset": dataset, "dataset_version": version, "model": "loop/model", "metrics": []}
        shared = runs.create(**given, shared_since=now, shared_until=now + timedelta(days=7))
        runs.create(**given)
        account = old.get_model("auth", "User").objects.create(username="ada")
        entries = old.get_model("benchmarks", "AuditEntry").objects
        entries.create(account=account, account_name="ada", action="run.share", subject=f"run {shared.pk}")
        executor = MigrationExecutor(connection)
        executor.migrate(latest)
        link = ShareLink.objects.get()
        assert (link.kind, link.query, link.created_by_id) == ("run", f"run={shared.pk}", account.pk)
        assert (link.created_at, link.expires_at, link.revoked_at) == (now, now + timedelta(days=7), None)
    finally:
        MigrationExecutor(connection).migrate(latest)
