"""How much each page of a seeded site sends, with its styles and scripts, compressed as in production.

Run as `python -m tests.benches.bench_weights`; needs Chromium. Pictures are not counted, nor the font, which browsers
fetch once.
It measures and does not judge: the exit code is 0 whatever the numbers.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median

from playwright.sync_api import sync_playwright

from frontend.tests.browser.addresses import pages
from frontend.tests.browser.conftest import chromium
from frontend.tests.browser.site import fresh_site, seed
from frontend.tests.browser.tabs import OPTIONS, new_context, open_tab

PARTS = """
() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .filter(({ initiatorType }) => ["navigation", "link", "script"].includes(initiatorType))
  .filter(({ name }) => !name.endsWith(".woff2"))
  .map(({ name, initiatorType, encodedBodySize }) =>
    [initiatorType === "navigation" ? "document" : new URL(name).pathname, encodedBodySize])
"""


def main() -> None:
    sent: dict[str, int] = {}
    parts: dict[str, list[int]] = defaultdict(list)
    with sync_playwright() as playwright, fresh_site() as site:
        seed(site)
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(OPTIONS))
        tab = open_tab(new_context(browser), site.url(""))
        for name, address in pages():
            found = tab.open(address(site)).evaluate(PARTS)
            sent[name] = sum(size for _, size in found)
            for part, size in found:
                parts[part].append(size)
        browser.close()
    sizes = sorted(sent.values())
    print(f"{len(sent)} pages: {fmean(sizes):,.0f} bytes on average, {median(sizes):,.0f} median, {sizes[0]:,} least")
    for name, size in sorted(sent.items(), key=lambda item: -item[1])[:10]:
        print(f"{size:>8,} {name}")
    print("\nPart, pages that send it, bytes")
    for part, of_part in sorted(parts.items(), key=lambda item: -sum(item[1])):
        print(f"{len(of_part):>4} {fmean(of_part):>8,.0f} {part}")


if __name__ == "__main__":
    main()
