"""A bot behind an API of its own is connected by its curl, and scored for faithfulness on what it retrieved."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from frontend.tests.browser.conftest import NewTab
from frontend.tests.browser.site import Site, fresh_site
from frontend.tests.browser.tabs import NARROW, WIDE, Tab
from tests.loopback.replies import Asked
from tests.support.routes import JsonRoute

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

PASSAGES = (
    "The lighthouse on Sule Rock is 41 m high.",
    "The lighthouse on Sule Rock has been automatic since 1982.",
    "The ferry to Sule leaves at 7:15 and at 18:40.",
)
INVENTED = "A keeper named Ann lives in the lighthouse."
ISLAND = """name: Island
description: Questions about an island
tasks:
- {id: height, name: Height, input: "How high is the lighthouse on Sule Rock?", expected_output: 41 m}
- {id: ferry, name: Ferry, input: "When does the first ferry to Sule go?", expected_output: "7:15"}
- {id: keeper, name: Keeper, input: "Who lives in the lighthouse on Sule Rock?", expected_output: Nobody}
"""


class _Bot(JsonRoute):
    """Answers with the passage that shares most words with the question, and invents who lives in the lighthouse."""

    def answer(self, asked: Any) -> Any:
        question = asked["question"]
        words = set(question.lower().strip("?").split())
        found = sorted(PASSAGES, key=lambda text: -len(words & set(text.lower().strip(".").split())))[:2]
        text = INVENTED if question.startswith("Who") else found[0]
        return {"reply": {"text": text, "sources": [{"text": each} for each in found]}}


def verdict(asked: Asked) -> str:
    """What the judge returns: a claim agrees with the passages if its sentence is among them."""
    wanted = asked.body["response_format"]["json_schema"]["schema"]["properties"]
    said = [sentence for sentence in (*PASSAGES, INVENTED) if sentence in asked.prompt]
    claims = [sentence for sentence in said if sentence == INVENTED or asked.prompt.count(sentence) > 1]
    verdicts = [{"verdict": "no" if each == INVENTED else "yes", "reason": "By the passages."} for each in claims]
    replies = {"truths": said, "claims": said, "verdicts": verdicts}
    return json.dumps({name: replies[name] for name in wanted})


@pytest.fixture(scope="module")
def island(browser: Browser) -> Iterator[Site]:
    """Requests the browser first: without one, no site is started."""
    with fresh_site(verdict) as site:
        (site.stack.state / "datasets" / "island.yaml").write_text(ISLAND)
        site.stack.manage("datasets", "sync")
        yield site


@pytest.fixture(scope="module")
def bot() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Bot) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/ask"
        server.shutdown()


def fits(tab: Tab, name: str) -> None:
    """The page is accessible and no wider than its window."""
    tab.settle()
    assert tab.violations() == [], name
    assert tab.overflow() == [], name


@pytest.mark.parametrize(
    ("name", "options"),
    [("desk", {"viewport": WIDE}), ("phone", {"viewport": NARROW, "color_scheme": "dark"})],
)
def test_a_bot_is_connected_by_its_curl_and_scored_on_what_it_retrieved(
    new_tab: NewTab, island: Site, bot: str, name: str, options: dict[str, Any]
) -> None:
    tab = new_tab(island, **options)
    connect(tab, bot, name)
    run(tab, name)
    assert tab.page.locator("main").get_by_text("0.667").first.is_visible()
    read(tab)


def connect(tab: Tab, bot: str, name: str) -> None:
    page = tab.open("/providers/")
    page.get_by_role("link", name="Add a system").click()
    question = "How high is the lighthouse on Sule Rock?"
    page.get_by_text("Fill in from a curl command").click()
    page.get_by_label("curl command").fill(f"curl {bot} --json '{json.dumps({'question': question})}'")
    fits(tab, "pasted")
    page.get_by_role("button", name="Fill in the request").click()
    fits(tab, "taken apart")
    page.get_by_role("button", name=question).click()
    assert json.loads(page.get_by_label("JSON body").input_value()) == {"question": "{input}"}
    page.locator("main").get_by_role("button", name="Send one task").locator("visible=true").last.click()
    page.get_by_text("A run reads").wait_for()
    fits(tab, "sent")
    page.get_by_role("button", name=f'text "{PASSAGES[0]}"').first.click()
    page.get_by_label("Click below the value that is the").select_option("Retrieved passages")
    page.get_by_role("button", name=f'text "{PASSAGES[1]}"').click()
    assert page.get_by_label("Answer", exact=True).input_value() == "reply.text"
    assert page.get_by_label("Retrieved passages", exact=True).input_value() == "reply.sources[].text"
    page.get_by_label("Name required", exact=True).fill(name)
    fits(tab, "clicked")
    page.get_by_role("button", name="Save system").click()
    page.get_by_text(f"System {name} saved.").wait_for()
    fits(tab, "saved")


def run(tab: Tab, name: str) -> None:
    page = tab.page
    page.locator("section.provider", has=page.locator(f"#p-{name}")).get_by_role("link", name="Run on…").click()
    page.check("input[name=dataset][value=island]")
    page.get_by_role("button", name="Change the metrics of island").click()
    page.check("#metric-island-faithfulness")
    page.locator("#plan dt", has_text="Requests").wait_for(state="attached")  # a phone says it beside the button
    fits(tab, "launch")
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    page.locator("#status .mark.is-completed").wait_for(timeout=60_000)
    fits(tab, "run")


def read(tab: Tab) -> None:
    """The invented answer, with the passages that were retrieved for it."""
    page = tab.page
    page.locator("#results").get_by_role("link", name="Keeper").first.click()
    page.get_by_text(INVENTED).first.wait_for()
    assert page.get_by_text(PASSAGES[0]).first.is_visible()
    fits(tab, "result")
