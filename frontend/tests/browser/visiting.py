"""A page in the browser that remembers everything that went wrong on it, and what is asked of it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page

# Chromium of a distribution, without its talking to anybody but the site.
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# The rules of axe-core whose verdict hangs on colours or on the room there is.
COLOURS = ("color-contrast", "link-in-text-block")
ROOM = ("scrollable-region-focusable", "target-size")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}

_NOTE_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP: ${event.violatedDirective} refused ${event.blockedURI} ${event.sample}`));
"""
# Whether a sign is on the page that hides or turns text: a bidi mark or an escape.
UNSEEN = r"/[\u202a-\u202e\u2066-\u2069\u001b]/.test(document.body.innerText + document.title)"

# A function: an expression would be evaluated anew at each look, which the site's policy forbids.
_CHARTS_DRAWN = """
() => [...document.querySelectorAll("[data-chart]")].every((chart) => chart.querySelector(".chart-canvas svg"))
"""
_REACHING_OUT = """
[...document.querySelectorAll("body *")]
  .filter((part) => part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".scroll, .chart-canvas"))
  .slice(0, 5).map((part) => `${part.tagName}.${part.className}`)
"""


@dataclass
class Visit:
    """One tab. ``problems`` grows by every error on the console, refused load, uncaught exception and dialog."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)
    loads: int = 0
    """Documents loaded, which tells a page that moves by itself from one that was loaded anew."""

    def open(self, path: str, status: int = 200) -> Page:
        """Go to a page of the site; its charts are drawn when this returns. ``status`` is what it must answer."""
        response = self.page.goto(self.address + path)
        assert response is not None
        assert response.status == status, f"{path} answered {response.status}"
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until charts are drawn and colours have stopped changing."""
        self.page.wait_for_function(_CHARTS_DRAWN)
        self.page.evaluate("Promise.all(document.getAnimations().map((move) => move.finished.catch(() => null)))")

    def faults(self, rules: Sequence[str] = ()) -> list[str]:
        """What axe-core calls a serious or critical fault of accessibility on the page as it stands.

        All of its rules are tried, or those of ``rules``.
        """
        from axe_playwright_python.sync_playwright import Axe  # missing where only the site's own tests are installed

        if not self.page.evaluate("Boolean(window.axe)"):
            self.page.evaluate(Axe().axe_script)
        options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
        found = self.page.evaluate("async (options) => (await axe.run(options)).violations", options)
        return [
            f"{fault['id']}: {node['html'][:160]} {_why(node)}"
            for fault in found
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"][:3]
        ]

    def overflow(self) -> list[str]:
        """The parts that make the page wider than its window; none where it fits."""
        if self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            return []
        return self.page.evaluate(_REACHING_OUT) or ["something unseen"]


def visit(context: BrowserContext, address: str) -> Visit:
    page = context.new_page()
    found = Visit(page, address)
    page.on("console", lambda message: _note(found, message))
    page.on("pageerror", lambda error: found.problems.append(f"uncaught: {error}"))
    page.on("dialog", lambda dialog: _refuse(found, dialog))
    page.on("domcontentloaded", lambda _: _count(found))
    return found


def new_context(browser: Any, **options: Any) -> BrowserContext:
    """A browser profile of its own, wide and light where ``options`` do not say otherwise."""
    context = browser.new_context(**{"viewport": WIDE, "color_scheme": "light", "reduced_motion": "reduce"} | options)
    context.add_init_script(_NOTE_VIOLATIONS)
    context.set_default_timeout(15_000)
    return context


def _count(found: Visit) -> None:
    found.loads += 1


def _note(found: Visit, message: ConsoleMessage) -> None:
    if message.type in ("error", "warning"):
        found.problems.append(f"{found.page.url}: {message.type}: {message.text[:300]}")


def _refuse(found: Visit, dialog: Dialog) -> None:
    found.problems.append(f"a dialog: {dialog.message}")
    dialog.dismiss()


def _why(node: dict[str, Any]) -> str:
    return "; ".join(check["message"] for check in (node["any"] or node["all"] or node["none"])[:1])
