"""The search, the help, and the meaning of words on the pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.models import Dataset, Experiment, ReviewQueue, Run, Task
from benchmarks.presentation.glossary import GLOSSARY
from benchmarks.queries.runs import MOST_WORDS
from benchmarks.queries.search import MOST
from frontend.documents import BESIDE, TITLES
from frontend.tests.test_pages import page
from tests.support.factories import make_dataset, make_task
from tests.support.page_factories import make_scored_run

TEMPLATES = Path(__file__).parents[1] / "templates"
TABLES = Path(__file__).parents[2] / "benchmarks/queries/tables"


def matches(client: Client, words: str) -> str:
    response = client.get("/search/", {"q": words}, HTTP_HX_REQUEST="true")
    assert response.status_code == 200, words
    return response.content.decode()


@pytest.mark.django_db
def test_the_search_finds_whatever_has_a_name(client: Client) -> None:
    dataset = make_dataset(3)
    run = make_scored_run(dataset, [1.0, 0.0, 1.0], model="vendor/large")
    Run.objects.filter(pk=run.pk).update(name="Nightly check", tags=["regression"])
    experiment = Experiment.objects.create(name="Autumn prompts", tags=["regression"], request={})
    review = ReviewQueue.objects.create(name="Spring review", metric="exact_match", source={}, sampling={})
    task = Task.objects.filter(version__dataset=dataset).first()
    assert task
    run_page, task_page = f'"/runs/{run.pk}/"', f'"/datasets/{dataset.slug}/tasks/{task.pk}/"'
    found = (
        ("nightly", run_page),
        (str(run.pk), run_page),
        (f"Run {run.pk}", run_page),
        (f"#{run.pk}", run_page),
        ("regression", run_page),
        ("regression", f'"/experiments/{experiment.pk}/"'),
        ("autumn", f'"/experiments/{experiment.pk}/"'),
        ("LARGE", '"/models/vendor/large/"'),
        (dataset.slug, f'"/datasets/{dataset.slug}/"'),
        (task.task_id, task_page),
        (task.input[:20], task_page),
        ("spring", f'"/reviews/{review.pk}/"'),
        ("leaderb", '"/leaderboard/"'),
        ("preference", '"/preferences/"'),
        ("api tok", '"/settings/tokens/"'),
    )
    for words, link in found:
        assert link in matches(client, words), words
    for words in ("nowhere", "%%", "__", "\\x", "'; --", "run 99999999999"):
        assert "Nothing has every word of" in matches(client, words), words
    assert "two or more characters" in matches(client, "a")
    for words in ("", "\0"):
        assert "Compare runs" in matches(client, words), words


@pytest.mark.django_db
def test_every_word_must_match_in_any_order_and_place(client: Client) -> None:
    dataset = make_dataset(
        [
            make_task(1, id="water", input="A bakery sells rolls and bread. How much water?"),
            make_task(2, id="bread-rolls", input="How many trays?"),
        ],
        slug="thinking",
        name="Hard puzzles",
    )
    rolls = Task.objects.get(task_id="bread-rolls")
    run = make_scored_run(dataset, [1.0, 0.0], model="hub/smol-135m", variant="plain")
    other = make_scored_run(dataset, [1.0, 0.0], model="baseline/random")
    Experiment.objects.create(name="Prompts of autumn", tags=[], request={})
    ReviewQueue.objects.create(name="Review of spring", metric="exact_match", source={}, sampling={})
    for words in ("smol thinking", "PUZZLES  smol", "plain hard smol"):
        assert f'"/runs/{run.pk}/"' in matches(client, words), words
        assert f'"/runs/{other.pk}/"' not in matches(client, words), words
        assert f"/runs/{run.pk}/" in page(client, f"/runs/single/?text={words}"), words
    assert f'"/runs/{other.pk}/"' in matches(client, "random hard puzzles")
    assert re.findall(r"/tasks/(\d+)/", matches(client, "bread rolls"))[0] == str(rolls.pk), "by id"
    assert len(re.findall(r"/tasks/\d+/", matches(client, "rolls bread"))) == 2
    assert "“…much water…”" in matches(client, "much rolls")
    for words, title in (
        ("autumn prompts", "Prompts of autumn"),
        ("spring review", "Review of spring"),
        ("puzzles hard", "Hard puzzles"),
        ("135m hub", "hub/smol-135m"),
        ("runs compare", "Compare runs"),
        ("dark theme", "Theme: dark"),
    ):
        assert title in re.sub("</?b>", "", matches(client, words)), words
    for words in ("smol nowhere", "bread nowhere", "hub/random"):
        assert "Nothing has every word of" in matches(client, words), words


@pytest.mark.django_db
def test_the_number_of_a_run_comes_before_runs_with_its_words(client: Client) -> None:
    run = make_scored_run()
    for _ in range(MOST):
        later = make_scored_run(run.dataset)
        Run.objects.filter(pk=later.pk).update(name=f"Run of sums {run.pk}")
    found = matches(client, f"run {run.pk}")
    assert re.findall(r'"/runs/(\d+)/"', found)[0] == str(run.pk)


@pytest.mark.django_db
def test_the_words_of_a_search_are_bounded(client: Client) -> None:
    run = make_scored_run(model="vendor/abcdefghijklm")
    known, unknown = " ".join("abcdefghijklm"[:MOST_WORDS]), "zz " * 99
    assert f'"/runs/{run.pk}/"' in matches(client, f"{known} {unknown}"), "words after the bound are ignored"
    with CaptureQueriesContext(connection) as queries:
        matches(client, " ".join(map(chr, range(0x4E00, 0x4E00 + 100))))
    assert max(query["sql"].count(" LIKE ") for query in queries) <= MOST_WORDS * 6 + 12


@pytest.mark.django_db
def test_before_anything_is_typed_a_few_commands_and_what_is_newest_stand(client: Client) -> None:
    found = re.findall(r'class="title">([^<]+)<', matches(client, ""))
    assert found == ["New run", "Compare runs", "Keyboard shortcuts"]
    run = make_scored_run(make_dataset(2), model="a/new")
    found = re.findall(r'class="title">([^<]+)<', matches(client, ""))
    assert found[3:] == [run.dataset.title, f"Run {run.pk}: a/new on {run.dataset.title}"], "the newest"
    titles = re.findall(r'class="title">(.+?)</span>', matches(client, "runs"))
    assert len(titles) == len(set(titles)), "two pages have the same name"


@pytest.mark.django_db
def test_matches_say_what_is_known_of_them_and_offer_to_start_a_run(client: Client) -> None:
    dataset = make_dataset(3)
    experiment = Experiment.objects.create(name="Autumn prompts", tags=[], request={})
    run = make_scored_run(dataset, [1.0, 0.0, 1.0], model="vendor/large")
    Run.objects.filter(pk=run.pk).update(experiment=experiment)
    queued = make_scored_run(dataset, [1.0, 0.0, 1.0], model="vendor/large")
    Run.objects.filter(pk=queued.pk).update(status="running", done=1)
    found = matches(client, "large")
    assert re.search(r"Exact match 0\.667 \(.+\), 3 of 3", found)
    assert "Running, 33%" in found
    assert "2 runs" in found
    task = Task.objects.filter(version__dataset=dataset).earliest("position")
    assert "1 of 1 answers correct" in matches(client, task.task_id)
    assert 'class="finding">' in matches(client, "autumn")
    html = matches(client, dataset.slug)
    assert "3 tasks" in html
    assert f'"/runs/new/?dataset={dataset.slug}"' in html
    assert '"/runs/new/?model=vendor%2Flarge"' in matches(client, "vendor/la")


@pytest.mark.django_db
def test_matches_stand_by_kind_and_the_kind_is_said_once(client: Client) -> None:
    run = make_scored_run(make_dataset(2, name="Large sums"), [1.0, 0.0], model="vendor/large")
    make_scored_run(run.dataset, [1.0, 1.0], model="vendor/large")
    found = re.findall(r'class="kind( again)?">(\w+)<', matches(client, "large"))
    assert [kind for again, kind in found if not again] == ["Benchmark", "Model", "Run", "Action"]
    assert [kind for again, kind in found if again] == ["Run", "Action"]


@pytest.mark.django_db
def test_the_search_is_as_many_queries_for_many_matches_as_for_one(client: Client) -> None:
    def add() -> None:
        dataset = make_dataset(3)
        run = make_scored_run(dataset, [1.0, 0.0, 1.0], model=f"vendor/large-{dataset.pk}")
        experiment = Experiment.objects.create(name="Large prompts", tags=["a"], request={})
        Run.objects.filter(pk=run.pk).update(name="Large task", experiment=experiment)

    def count() -> int:
        matches(client, "a")
        with CaptureQueriesContext(connection) as queries:
            for words in ("large", "task"):
                matches(client, words)
        return len(queries)

    add()
    few = count()
    for _ in range(4):
        add()
    for words in ("large", "task"):  # the findings of new experiments are computed once
        matches(client, words)
    assert count() == few


@pytest.mark.django_db
def test_a_run_is_found_with_the_name_of_its_variant(client: Client) -> None:
    run = make_scored_run(model="vendor/large", variant="plain")
    assert f"Run {run.pk}: vendor/large (plain) on " in re.sub("</?b>", "", matches(client, str(run.pk)))


@pytest.mark.django_db
def test_the_commands_start_and_compare_runs(client: Client) -> None:
    html = page(client, "/search/")
    for title, path in (("New run", "/runs/new/"), ("Compare runs", "/compare/")):
        assert re.search(
            rf'href="{path}"><span class="kind[^"]*">Action</span>\s*<span class="title">{title}<', html
        ), title


@pytest.mark.django_db
def test_a_theme_is_a_command_that_leads_back(client: Client) -> None:
    address = {"HTTP_HX_REQUEST": "true", "HTTP_HX_CURRENT_URL": "http://testserver/runs/?status=failed"}
    html = client.get("/search/", {"q": "theme: dark"}, **address).content.decode()
    assert 'name="next" value="/runs/?status=failed"' in html
    response = client.post("/theme/", {"next": "/runs/?status=failed", "theme": "dark"})
    assert response["Location"] == "/runs/?status=failed"
    assert response.cookies["theme"].value == "dark"


@pytest.mark.django_db
def test_the_search_ends_at_a_number_of_each_kind_and_is_a_page_of_its_own(client: Client) -> None:
    make_dataset(MOST + 3)
    html = page(client, "/search/?q=task")
    assert len(re.findall(r"/tasks/\d+/", html)) == MOST
    for _ in range(MOST):
        run = make_scored_run(Dataset.objects.get(), [1.0], model="vendor/many")
    assert "/runs/?text" not in matches(client, "many"), "all are shown"
    make_scored_run(run.dataset, [1.0], model="vendor/many")
    shown = matches(client, "many")
    assert 'href="/runs/?text=many"' in shown
    assert f"All {MOST + 1} runs" in shown
    assert "<h1>Search</h1>" in html
    assert html.count('id="search-words"') == 1


@pytest.mark.django_db
def test_every_document_is_a_page_whose_links_lead_somewhere(client: Client) -> None:
    folder = settings.SHIPPED_DIR / "docs"
    files = {str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.md")}
    assert set(TITLES) - set(BESIDE) == files - {"README"}
    index = page(client, "/help/")
    shown = {name: page(client, f"/help/{name}/") for name in TITLES}
    for name, html in shown.items():
        assert f'href="/help/{name}/"' in index, name
        article = html.partition('<div class="document-page">')[2].partition("</article>")[0]
        assert article.count("<h1") == 1, name
        for other, anchor in re.findall(r'href="/help/([^"#]+)/(?:#([^"]+))?"', article):
            assert not anchor or f'id="{anchor}"' in shown[other], (name, other, anchor)
        assert not re.search(r'href="(?!/help/|https?://|#)', article), name
        for anchor in re.findall(r'href="#([^"]+)"', article):
            assert f'id="{anchor}"' in article, (name, anchor)
    assert '<li><a href="#task-analysis">Task analysis</a></li>' in shown["statistics"]
    assert re.search(r'<a href="/help/statistics/" aria-current="page">', shown["statistics"])
    assert '<th scope="row"><code>name</code></th>\n<td data-label="value">' in shown["datasets"]
    assert 'rel="next" href="/help/how-to/own-dataset/"' in shown["tutorial"]
    assert 'rel="prev"' not in shown["tutorial"]
    assert 'rel="prev" href="/help/tutorial/"' in shown["how-to/own-dataset"]
    assert 'rel="next"' not in shown["releasing"]
    for missing in ("none", "../README", "README", "tests/conftest"):
        assert client.get(f"/help/{missing}/").status_code == 404, missing


@pytest.mark.django_db
def test_the_help_is_searched_for_sections_and_words(client: Client) -> None:
    html = page(client, "/help/?q=Rubric+judge")
    assert (
        '<a href="/help/how-to/own-dataset/#rubrics">Add a dataset <span aria-hidden="true">›</span> Rubrics</a>'
        in html
    )
    assert "<mark>rubric</mark>" in html
    assert "All documents" not in html
    html = page(client, "/help/?q=Holm+pairs")
    assert re.findall(r'<dt id="(\w+)">', html) == ["holm", "standings"]
    html = page(client, "/help/?q=<b>nowhere</b>")
    assert "Nothing in the help matches &lt;b&gt;nowhere&lt;/b&gt;." in html
    assert 'href="/search/?q=%3Cb%3Enowhere' in html


@pytest.mark.django_db
def test_code_of_a_document_keeps_its_lines_and_is_copied_without_what_it_prints(client: Client) -> None:
    html = page(client, "/help/how-to/own-dataset/")
    blocks = re.findall(
        r'<div class="code-block">(<button.*?</button>)?<pre id="([\w-]+)"[^>]*><code>(?:<[bi]>)?(.)', html
    )
    assert {(bool(button), first) for button, _, first in blocks} == {
        (True, "#"),
        (True, "n"),
        (True, "t"),
        (True, "w"),
        (True, "m"),
        (True, "$"),
    }
    assert all(f'data-copy="{name}{"-command" if first == "$" else ""}"' in button for button, name, first in blocks)
    assert re.search(
        r'\$ <span id="code-\d+-command">python manage.py datasets check datasets/harbour-desk.yaml</span>', html
    )


@pytest.mark.django_db
def test_the_help_explains_every_word_that_the_pages_mark(client: Client) -> None:
    html = page(client, "/help/")
    for key in GLOSSARY:
        assert f'id="{key}"' in html, key
    pages = (path.read_text("utf-8") for path in TEMPLATES.rglob("*.html"))
    tables = (path.read_text("utf-8") for path in TABLES.glob("*.py"))
    marked = {key for text in pages for key in re.findall(r'{% info "(\w+)"[ %]', text)}
    marked |= {key for text in tables for key in re.findall(r'\binfo="(\w+)"', text)}
    assert marked == set(GLOSSARY), "A word without an entry, or an entry that no page marks."


def test_every_choice_of_a_filter_applies_at_once() -> None:
    forms = [
        form
        for path in TEMPLATES.rglob("*.html")
        for form in re.findall(
            r'<form (?:class="filters" )?method="get"(?! action="{%).*?</form>', path.read_text("utf-8"), re.DOTALL
        )
    ]
    choices = [choice for form in forms for choice in re.findall(r"{% select .*?%}", form)]
    assert len(choices) > 10
    assert [choice for choice in choices if "submit=True" not in choice] == []
