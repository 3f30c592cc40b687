"""A tab of the browser that records everything that goes wrong in it, and the checks that every page must pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page

# A distribution's Chromium that contacts nothing but the site.
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# The rules of axe-core whose verdict depends on colors or on the available space.
COLOR_RULES = ("color-contrast", "link-in-text-block")
SPACE_RULES = ("scrollable-region-focusable", "target-size")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}

_LOG_POLICY_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP: ${event.violatedDirective} refused ${event.blockedURI} ${event.sample}`));
"""
# Whether the page contains a character that hides or reverses text: a direction mark or an escape.
INVISIBLE = r"/[\u202a-\u202e\u2066-\u2069\u001b]/.test(document.body.innerText + document.title)"

# The window's new size and color scheme reach the page with a frame.
_TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_TRANSITIONS_END = """
Promise.all(
  document.getAnimations().filter((move) => move.timeline === document.timeline)
    .map((move) => move.finished.catch(() => null)))
"""
_BEYOND_WINDOW = """
[...document.querySelectorAll("body *")]
  .filter((part) => part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".scroll"))
  .slice(0, 5).map((part) => `${part.tagName}.${part.className}`)
"""


@dataclass
class Tab:
    """``problems`` collects errors on the console, refused loads, uncaught exceptions and dialogs."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)
    loads: int = 0
    """Number of documents loaded: a page that updates itself loads none."""

    def open(self, path: str, status: int = 200) -> Page:
        """Go to a page of the site, which must respond with ``status``."""
        response = self.page.goto(self.address + path)
        assert response is not None
        assert response.status == status, f"{path} responded with {response.status}"
        self.settle()
        if status != 200:
            # Chromium itself reports a failed request on the console.
            self.problems = [problem for problem in self.problems if "Failed to load resource" not in problem]
        return self.page

    def settle(self) -> None:
        """Wait until transitions have ended; what follows the scrolling of a part never does."""
        self.page.evaluate(_TWO_FRAMES)
        self.page.evaluate(_TRANSITIONS_END)

    def violations(self, rules: Sequence[str] = ()) -> list[str]:
        """Accessibility violations that axe-core finds, by all of its rules or by ``rules``."""
        from axe_playwright_python.sync_playwright import Axe  # not installed where browser tests are skipped

        if not self.page.evaluate("Boolean(window.axe)"):
            self.page.evaluate(Axe().axe_script)
        # Preloading, which only rules on media and orientation need, requests imported style sheets at wrong addresses.
        options = {"resultTypes": ["violations"], "preload": False} | ({"runOnly": list(rules)} if rules else {})
        violations = self.page.evaluate("async (options) => (await axe.run(options)).violations", options)
        return [
            f"{violation['id']}: {node['html'][:160]} {_reason(node)}"
            for violation in violations
            for node in violation["nodes"][:3]
        ]

    def overflow(self) -> list[str]:
        """The parts that make the page wider than its window; empty if it fits."""
        if self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            return []
        return self.page.evaluate(_BEYOND_WINDOW) or ["an unknown part"]

    def take_problems(self) -> list[str]:
        """The problems recorded since the last call."""
        problems, self.problems = self.problems, []
        return problems


def open_tab(context: BrowserContext, address: str) -> Tab:
    tab = Tab(context.new_page(), address)
    tab.page.on("console", lambda message: _record_message(tab, message))
    tab.page.on("pageerror", lambda error: tab.problems.append(f"uncaught: {error}"))
    tab.page.on("dialog", lambda dialog: _refuse(tab, dialog))
    tab.page.on("domcontentloaded", lambda _: _count_load(tab))
    return tab


def new_context(browser: Any, **options: Any) -> BrowserContext:
    """A browser profile of its own, wide and light unless ``options`` say otherwise."""
    context = browser.new_context(**{"viewport": WIDE, "color_scheme": "light", "reduced_motion": "reduce"} | options)
    context.add_init_script(_LOG_POLICY_VIOLATIONS)
    context.set_default_timeout(15_000)
    return context


def _count_load(tab: Tab) -> None:
    tab.loads += 1


def _record_message(tab: Tab, message: ConsoleMessage) -> None:
    # Of a request under way when its page is left, htmx logs these two; of one that fails it logs another, too.
    was_left = message.text.startswith(("htmx:sendAbort", "htmx:afterRequest"))
    if message.type in ("error", "warning") and not was_left:
        tab.problems.append(f"{tab.page.url}: {message.type}: {message.text[:300]}")


def _refuse(tab: Tab, dialog: Dialog) -> None:
    tab.problems.append(f"a dialog: {dialog.message}")
    dialog.dismiss()


def _reason(node: dict[str, Any]) -> str:
    return "; ".join(check["message"] for check in (node["any"] or node["all"] or node["none"])[:1])
