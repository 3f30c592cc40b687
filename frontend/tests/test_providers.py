"""The page of providers and its forms, and what the launch form says of a provider before a run starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from benchmarks.models import FIRST_START, Dataset, DatasetFile, DatasetVersion, ModelTest, Run
from benchmarks.presentation.glossary import GLOSSARY
from benchmarks.providers.model_test import REQUESTS
from benchmarks.queries.models import models_used, served_models
from benchmarks.queries.providers import provider_rows
from benchmarks.services.access import assign_group
from benchmarks.services.providers import check_providers
from codeforge.config import parse_config
from tests.loopback import LoopbackServer
from tests.loopback.hosting import serve
from tests.support.factories import make_dataset, make_run
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def live(settings: Any) -> Iterator[LoopbackServer]:
    with serve(models=("large", *(f"extra-{number}" for number in range(12)))) as server:
        settings.CODEFORGE = parse_config(
            {
                "providers": {
                    "live": {"base_url": server.url + "?token=in-the-query", "headers": {"X-Key": "in-a-header"}},
                    "keyless": {"base_url": server.url, "api_key_env": "NO_SUCH_KEY"},
                },
                "models": {
                    "live/large": {
                        "input_per_million": 0.075,
                        "cached_input_per_million": 0.0125,
                        "context_length": 8000,
                    },
                    "live/gone": {},
                    "keyless/m": {},
                },
            },
            environ={},
        )
        yield server


def page(client: Client, address: str = "/models/", sent: dict[str, Any] | None = None) -> str:
    """The page, after following redirects, with its white space collapsed."""
    response = client.get(address) if sent is None else client.post(address, sent, follow=True)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_the_page_shows_status_models_and_prices(client: Client, live: LoopbackServer) -> None:
    check_providers()
    html = page(client)
    assert "<strong>1 of 3 providers is ready.</strong> keyless and openai have no key." in html
    assert "NO_SUCH_KEY is not set" in html
    cells = ('<td class="num wide-only"> 8,000 </td>', '<td class="num"> 0.075 <small', "cached 0.0125</small>")
    for cell in (*cells, "extra-0", "4 more models"):
        assert cell in html, cell
    assert "in-the-query" not in html
    assert "in-a-header" not in html


def test_a_check_and_a_test_are_plain_forms(client: Client, live: LoopbackServer) -> None:
    assert "live responds and lists 13 models." in page(client, "/providers/check/", {"provider": "live"})
    assert live.stats.requests == 0
    assert "live/large answered in" in page(client, "/providers/test/", {"model": "live/large"})
    assert live.stats.requests > 0
    for sent, said in (
        ({"model": "live/gone"}, "Test of live/gone failed."),
        ({"model": "keyless/m"}, "NO_SUCH_KEY is not set"),
        ({"model": ""}, "is not a valid model name"),
    ):
        assert said in page(client, "/providers/test/", sent), sent
    assert "is not configured" in page(client, "/providers/check/", {"provider": "nowhere"})


def test_all_configured_models_whose_key_is_set_are_tested_at_once(client: Client, live: LoopbackServer) -> None:
    assert f"up to {REQUESTS} short requests" in GLOSSARY["checks_and_tests"].meaning
    assert "Send up to 7 short requests to each of 2 configured models?" in page(
        client, "/providers/test/", {"do": "all"}
    )
    html = page(client, "/providers/test/", {"do": "all", "confirmed": "yes"})
    assert "2 models tested, 1 answered." in html
    assert "Test of live/gone failed." in html
    assert "keyless/m" not in {test.model for test in ModelTest.objects.all()}


def test_a_viewer_sees_the_status_and_no_button(client: Client, live: LoopbackServer, settings: Any) -> None:
    settings.DEV_MODE = False
    viewer = User.objects.create_user("vera", password="x")
    assign_group(viewer, "viewer")
    client.force_login(viewer, backend="django.contrib.auth.backends.ModelBackend")
    html = page(client)
    assert "NO_SUCH_KEY is not set" in html
    assert 'action="/providers/' not in html


def test_text_of_an_endpoint_cannot_become_markup(client: Client, live: LoopbackServer) -> None:
    live.models = ("<script>alert(1)</script>", "a\u202eb")
    check_providers(["live"])
    html = page(client)
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_the_launch_form_suggests_models_and_warns_before_a_run(client: Client, live: LoopbackServer) -> None:
    make_dataset(2, slug="sums")
    check_providers(["live"])
    assert '<option value="live/extra-3">' in page(client, "/runs/new/")
    request = {"dataset": "sums", "metrics": ["exact_match"]}
    for model, said in (
        ("keyless/m", "keyless: NO_SUCH_KEY is not set. Set it"),
        ("live/typo", "live does not list typo."),
        ("live/large", "The price of live/large is unknown. To see costs, set <code>output_per_million</code>"),
    ):
        assert said in page(client, "/runs/new/plan/", {**request, "model": model}), model
    unfinished = {"dataset": "sums", "model": "keyless/m"}
    assert "keyless: NO_SUCH_KEY is not set." in page(client, "/runs/new/plan/", unfinished), "without a metric yet"
    assert "message warn" not in page(client, "/runs/new/plan/", {**request, "model": "baseline/random"})


def answered_by(run: Run, *names: str) -> None:
    run.summary["response_models"] = dict.fromkeys(names, 3)
    run.save()


def test_models_that_have_run_are_listed_with_what_served_them(client: Client, live: LoopbackServer) -> None:
    dataset = make_dataset(3, slug="sums")
    answered_by(make_scored_run(dataset, (1.0, 1.0, 0.0), model="live/large"), "large-2024-08")
    for _ in range(2):
        answered_by(make_scored_run(dataset, (1.0, 0.0, 0.0), model="live/large"), "<b>large-2024-11</b>")
    make_scored_run(dataset, (1.0, 1.0, 1.0), model="baseline/reference")
    check_providers(["live"])
    day = f"{timezone.localtime():%b} {timezone.localtime().day}"
    table = page(client).partition("Models that have run")[2].partition("Connections")[0]
    assert f"served &lt;b&gt;large-2024-11&lt;/b&gt; since {day}" in table
    assert f"Changed {day}" in table
    assert "3 of 3</span>" in table
    assert "baseline/reference" not in table.partition("Baselines that have run:")[0], "it is no competitor"
    assert 'href="/models/baseline/reference/"' in table.partition("Baselines that have run:")[2]
    of_model = page(client, "/models/live/large/").partition("Served model")[2]
    assert of_model.index("&lt;b&gt;large-2024-11") < of_model.index("large-2024-08")
    runs = Run.objects.filter(model="live/large").order_by("pk")
    assert [each.run for each in served_models()["live/large"]] == [runs[1].pk, runs[0].pk]


def test_models_show_their_scores_on_the_same_benchmarks_in_the_same_order(
    client: Client, live: LoopbackServer
) -> None:
    for n_right in range(4):
        values = [1.0] * n_right + [0.0] * (3 - n_right)
        make_scored_run(make_dataset(3, slug=f"d{n_right}", name=f"Set {n_right}"), values, model="live/large")
    make_scored_run(Dataset.objects.get(slug="d3"), [1.0, 0.0, 0.0], model="live/small")
    table = page(client).partition("Models that have run")[2].partition("Connections")[0]
    line = r'<span class="cut" title="Set \d">(Set \d)</span> <svg .*?</svg> <b>([\d.]+)</b> <span[^>]*>([\d.]+) to'
    named = re.findall(line, table)
    assert [title for title, *_ in named] in (
        ["Set 3", "Set 0", "Set 1", "Set 3"],
        ["Set 3", "Set 3", "Set 0", "Set 1"],
    )
    assert {("Set 3", "1.000"), ("Set 3", "0.333"), ("Set 0", "0.000")} <= {each[:2] for each in named}
    assert table.count("3 of 3</span>") == 4
    assert "3 of 4 benchmarks" in table


def test_a_model_that_is_not_ready_leads_to_what_mends_it(client: Client, live: LoopbackServer) -> None:
    dataset = make_dataset(1, slug="sums")
    for model in ("live/large", "keyless/m", "gone/away"):
        make_scored_run(dataset, (1.0,), model=model)
    broken = make_run(model="live/broken")
    Run.objects.filter(pk=broken.pk).update(status="failed")
    check_providers(["live"])
    table = page(client).partition("Models that have run")[2].partition("Connections")[0]
    next_steps = dict(re.findall(r'<a class="button" href="([^"]+)" aria-label="[^"]+">([^<]+)</a>', table))
    assert next_steps["/models/#p-keyless"] == "Check key"
    assert next_steps["/runs/new/?model=live%2Flarge"] == "Run"
    assert next_steps[f"/runs/{broken.pk}/"] == "Show run"
    assert "gone%2Faway" not in "".join(next_steps), "no provider of that name can run it"


def test_of_models_that_are_ready_the_best_overall_rank_comes_first(client: Client, live: LoopbackServer) -> None:
    for number in range(2):
        dataset = make_dataset(20, slug=f"d{number}")
        make_scored_run(dataset, [1.0] * 20, model="live/large")
        make_scored_run(dataset, [0.0] * 20, model="live/new")
    assert [(use.name, use.rank) for use in models_used(provider_rows())] == [("live/large", "1"), ("live/new", "2")]


def test_models_are_found_by_name_and_by_chips(client: Client, live: LoopbackServer) -> None:
    dataset = make_dataset(2, slug="sums")
    for model in ("live/large", "keyless/m"):
        make_scored_run(dataset, (1.0, 0.0), model=model)
    check_providers(["live"])
    all_shown = page(client)
    assert 'href="/runs/single/?model=live%2Flarge"' in all_shown
    for query, shown, hidden in (
        ("?text=LARGE", "live/large", "keyless/m"),
        ("?only=ready", "live/large", "keyless/m"),
        ("?only=unpriced&text=m", "keyless/m", "live/large"),
        ("?only=nonsense", "keyless/m", ""),
        ("?only=changed", "No model matches.", "/models/live/large/"),
    ):
        table = page(client, f"/models/{query}").partition("Models that have run")[2].partition("Connections")[0]
        assert shown in table, query
        assert not hidden or hidden not in table, query
    assert 'id="p-keyless"' not in page(client, "/models/?text=live")
    assert 'href="?only=ready&amp;only=changed"' in page(client, "/models/?only=ready")


def test_new_fingerprints_are_a_change_of_what_answers(client: Client, live: LoopbackServer) -> None:
    dataset = make_dataset(3, slug="sums")
    for fingerprints in (None, ("fp_a", "fp_b"), ("fp_b", "fp_c"), ("<i>fp_new</i>",)):
        run = make_scored_run(dataset, (1.0, 1.0, 0.0), model="live/large")
        run.summary |= {"response_models": {"large": 3}, "fingerprints": dict.fromkeys(fingerprints or (), 1)}
        run.save()
    changes = served_models()["live/large"]
    assert [each.fingerprints for each in changes] == [("<i>fp_new</i>",), ("fp_a", "fp_b", "fp_c")]
    assert changes[0].run == run.pk
    assert "&lt;i&gt;fp_new" in page(client, "/models/live/large/")
    assert "Changed" in page(client), "though the name is that which was asked for"


def test_models_that_are_ready_come_first(client: Client, live: LoopbackServer) -> None:
    dataset = make_dataset(2, slug="sums")
    for model in ("live/large", "keyless/m", "gone/away"):
        make_scored_run(dataset, (1.0, 0.0), model=model)
    check_providers(["live"])
    assert [use.name for use in models_used(provider_rows())] == ["live/large", "gone/away", "keyless/m"]


def test_the_first_visit_ticks_what_is_done(client: Client, live: LoopbackServer) -> None:
    dataset = make_dataset(3, slug="sums")
    DatasetVersion.objects.update(origin=DatasetVersion.Origin.FILE)
    html = page(client, "/")
    assert "<h2>Providers</h2>" not in html
    assert "(done)" not in html
    assert "No provider has answered yet" in html
    first = make_scored_run(dataset, (1.0, 0.0, 0.0), model="baseline/random")
    Run.objects.filter(pk=first.pk).update(tags=[FIRST_START])
    assert "(done)" not in page(client, "/"), "nobody started that run"
    make_scored_run(dataset, (1.0, 0.0, 0.0), model="baseline/random")
    check_providers(["live"])
    file = DatasetFile.objects.create(
        path="reasoning.yaml", dataset=dataset, state=DatasetFile.State.GOOD, checked_at=timezone.now()
    )
    own_done = 'Add your own dataset <span class="visually-hidden">(done)'
    assert own_done not in page(client, "/"), "that file is shipped"
    DatasetFile.objects.filter(pk=file.pk).update(path="mine.yaml")
    assert own_done in page(client, "/")
    file.delete()
    assert own_done not in page(client, "/")
    make_dataset(1, slug="mine")
    html = page(client, "/")
    assert 'Connect a model <span class="visually-hidden">(done)' in html
    assert 'Run the starter experiment <span class="visually-hidden">(done)' in html
    assert 'Add your own dataset <span class="visually-hidden">(done)' in html


def test_connecting_a_model_stays_on_the_overview_until_a_provider_works(client: Client, live: LoopbackServer) -> None:
    run = make_scored_run(make_dataset(3, slug="sums"), (0.0, 0.0, 0.0), model="live/large")
    Run.objects.filter(pk=run.pk).update(errors=run.done)
    assert "Connect a model" in page(client, "/")
    Run.objects.filter(pk=run.pk).update(errors=0)
    assert "Connect a model" not in page(client, "/")


def test_columns_of_what_models_support_come_with_the_first_test(client: Client, live: LoopbackServer) -> None:
    check_providers(["live"])
    html = page(client)
    assert "Not tested" not in html
    assert "Tested</th>" not in html
    assert "JSON schema</th>" not in html
    assert client.post("/providers/test/", {"model": "live/large"}).status_code == 302
    assert "JSON schema</th>" in page(client)
