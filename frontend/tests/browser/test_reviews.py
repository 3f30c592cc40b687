"""Two people label 180 answers, 20 of them twice, in their browsers by keyboard alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from frontend.tests.browser.conftest import NewTab
from frontend.tests.browser.site import PASSWORD, Site, closed_site
from frontend.tests.browser.test_keyboard import tab_to
from tests.support.oidc_provider import oidc_provider

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

ANSWERS, OVERLAP = 180, 20
PREPARE = f"""
from django.contrib.auth.models import User
from django.core.management import call_command
from benchmarks.models import Run
from benchmarks.services.access import assign_group
from benchmarks.services.reviews.queues import create_review

for name in ("emmy", "sophie"):
    assign_group(User.objects.create_user(name, password={PASSWORD!r}), "reviewer")
call_command("benchmark", "run", "basic-coding", "--model", "baseline/random", "--metrics", "exact_match",
             "--repeats", "20")
run = Run.objects.latest("pk")
request = {{"name": "Snippets", "metric": "exact_match", "runs": [run.pk], "size": {ANSWERS}, "overlap": {OVERLAP}}}
queue = create_review(request)
print("REVIEW", queue.pk, queue.items.count())
"""
STORED = """
import json
from collections import Counter
from benchmarks.models import Label
labels = Label.objects.filter(replaced_at=None, queue__isnull=False)
by_answer = Counter(labels.values_list("result", flat=True))
print(json.dumps({
    "authors": Counter(labels.values_list("author_name", flat=True)),
    "answers": Counter(by_answer.values()),
    "values": Counter(str(value) for value in labels.values_list("value", flat=True)),
    "notes": list(labels.exclude(reason="").values_list("reason", flat=True)),
    "flags": [flags for flags in labels.values_list("flags", flat=True) if flags],
}))
"""


@pytest.fixture
def closed(browser: Browser) -> Iterator[Site]:
    """Requests the browser first: without one, no site is started."""
    with oidc_provider() as provider, closed_site(provider) as site:
        yield site


def signed_in(new_tab: NewTab, site: Site, name: str, path: str) -> Page:
    page = new_tab(site).open(path)
    tab_to(page, "id_username")
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    return page


def press(page: Page, key: str) -> None:
    """Press a key that leads to another page."""
    with page.expect_navigation():
        page.keyboard.press(key)


def is_labeling(page: Page) -> bool:
    return page.url.endswith("/label/")


def test_two_people_label_by_keyboard_alone(new_tab: NewTab, closed: Site) -> None:
    review, count = closed.shell(PREPARE).partition("REVIEW ")[2].split()
    assert int(count) == ANSWERS
    pages = [signed_in(new_tab, closed, name, f"/reviews/{review}/") for name in ("emmy", "sophie")]
    for page in pages:
        tab_to(page, "Start labeling")
        press(page, "Enter")
    first = pages[0]
    shown = first.locator("[name=item]").input_value()
    press(first, "s")
    assert first.locator("[name=item]").input_value() != shown
    press(first, "z")
    assert first.locator("[name=item]").input_value() == shown
    first.keyboard.press("n")
    first.keyboard.type("no 123 sux")
    first.keyboard.press("Escape")
    first.keyboard.press("d")
    pressed: Counter[str] = Counter()
    while any(map(is_labeling, pages)):
        for reviewer, page in enumerate(pages):
            if is_labeling(page):
                key = "123"[(pressed.total() + reviewer) % 3]
                page.keyboard.press(key)
                press(page, "Enter")
                pressed[key] += 1
        assert pressed.total() <= ANSWERS + OVERLAP
    stored = json.loads(closed.shell(STORED).strip().splitlines()[-1])
    assert pressed.total() == sum(stored["authors"].values()) == ANSWERS + OVERLAP
    assert set(stored["authors"]) == {"emmy", "sophie"}
    assert stored["answers"] == {"1": ANSWERS - OVERLAP, "2": OVERLAP}
    assert stored["values"] == {"0.0": pressed["1"], "0.5": pressed["2"], "1.0": pressed["3"]}
    assert (stored["notes"], stored["flags"]) == (["no 123 sux"], [["reference_doubtful"]])
    first.reload()
    assert "200 of 200" in first.locator("dl.figures").first.inner_text()


PREPARE_PAIRS = f"""
from django.contrib.auth.models import User
from django.core.management import call_command
from benchmarks.models import Run
from benchmarks.services.access import assign_group
from benchmarks.services.reviews.queues import create_review

for name in ("lise", "otto"):
    assign_group(User.objects.create_user(name, password={PASSWORD!r}), "reviewer")
for model in ("random", "reference"):
    call_command("benchmark", "run", "basic-coding", "--model", f"baseline/{{model}}", "--metrics", "exact_match")
runs = list(Run.objects.order_by("pk").values_list("pk", flat=True))
queue = create_review({{"name": "Pairs", "metric": "preference", "runs": runs[-2:], "overlap": 2}})
print("REVIEW", queue.pk, queue.items.count())
"""
STORED_PAIRS = """
import json
from collections import Counter
from benchmarks.models import Label
labels = Label.objects.filter(replaced_at=None, metric="preference")
print(json.dumps({
    "authors": sorted(set(labels.values_list("author_name", flat=True))),
    "pairs": Counter(Counter(labels.values_list("result", flat=True)).values()),
    "values": Counter(str(value) for value in labels.values_list("value", flat=True)),
    "notes": list(labels.exclude(reason="").values_list("reason", flat=True)),
}))
"""


def test_two_people_choose_between_answers_by_keyboard_alone(new_tab: NewTab, closed: Site) -> None:
    review, count = closed.shell(PREPARE_PAIRS).partition("REVIEW ")[2].split()
    pages = [signed_in(new_tab, closed, name, f"/reviews/{review}/") for name in ("lise", "otto")]
    for page in pages:
        tab_to(page, "Start labeling")
        press(page, "Enter")
    first = pages[0]
    shown = first.locator("[name=item]").input_value()
    press(first, "s")
    assert first.locator("[name=item]").input_value() != shown
    press(first, "z")
    press(first, "ArrowRight")
    press(first, "z")
    assert first.locator("[name=item]").input_value() == shown
    assert "Your earlier choice: Second answer" in first.locator("[data-review]").inner_text()
    assert "baseline/" not in first.locator("main").inner_text()
    first.keyboard.press("n")
    first.keyboard.type("t and s are text here")
    first.keyboard.press("Escape")
    pressed: Counter[str] = Counter()
    while any(map(is_labeling, pages)):
        for page in pages:
            if is_labeling(page):
                key = ("ArrowLeft", "ArrowRight", "t")[pressed.total() % 3]
                press(page, key)
                pressed[key] += 1
        assert pressed.total() <= int(count) + 2
    stored = json.loads(closed.shell(STORED_PAIRS).strip().splitlines()[-1])
    assert pressed.total() == int(count) + 2
    assert stored["authors"] == ["lise", "otto"]
    assert stored["pairs"] == {"1": int(count) - 2, "2": 2}
    assert stored["values"] == {"0.0": pressed["ArrowRight"], "0.5": pressed["t"], "1.0": pressed["ArrowLeft"]}
    assert stored["notes"] == ["t and s are text here"]
