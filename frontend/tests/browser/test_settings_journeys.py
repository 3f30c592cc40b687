"""The settings, from start to end, in a browser with and without scripts."""

from __future__ import annotations

import re

import pytest

from frontend.tests.browser.conftest import NewTab
from frontend.tests.browser.site import API, Site
from frontend.tests.browser.tabs import Tab

pytestmark = pytest.mark.slow


def test_a_schedule_is_made_run_paused_and_deleted(tab: Tab, site: Site) -> None:
    page = tab.open("/settings/schedules/")
    page.get_by_role("link", name="New schedule").click()
    page.fill("#id_name", "Every morning")
    page.fill("#id_when", "at seven")
    page.get_by_label("Find or add models").fill("baseline/ref")
    page.check("input[name=model][value='baseline/reference']")
    page.check("input[name=dataset][value=capitals]")
    page.get_by_role("button", name="Save schedule").click()
    assert "Enter a time of day" in page.locator(".field", has=page.locator("#id_when")).inner_text()
    assert page.input_value("#id_name") == "Every morning"
    tab.problems.clear()  # Chromium itself reports the 400 on the console
    page.fill("#id_when", "30 7 * * 1-5")
    page.get_by_role("button", name="Save schedule").click()
    page.wait_for_url(re.compile(r"/schedules/\d+/$"))
    assert "Monday to Friday at 07:30" in page.locator("main").inner_text()
    page.get_by_role("button", name="Run now").click()
    site.wait_for_runs()
    page.reload()
    assert page.locator("tbody .is-completed:visible").is_visible()
    page.get_by_role("button", name="Pause schedule").click()
    page.get_by_role("button", name="Resume schedule").wait_for()
    page.get_by_label("More").click()
    page.get_by_role("button", name="Delete schedule").click()
    assert page.locator("h1").inner_text() == "Delete schedule Every morning?"
    assert tab.violations() == []
    page.get_by_role("button", name="Delete schedule").click()
    page.wait_for_url(re.compile("/schedules/$"))
    assert page.get_by_role("link", name="Every morning").count() == 0


def test_a_token_is_created_copied_used_and_revoked(new_tab: NewTab, site: Site) -> None:
    tab = new_tab(site, permissions=["clipboard-read", "clipboard-write"])
    page = tab.open("/settings/tokens/new/")
    page.fill("#id_name", "Pipeline")
    page.select_option("#id_account", label="ada")
    page.get_by_role("button", name="Create token").click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert tab.violations() == []
    text = page.evaluate("navigator.clipboard.readText()")
    assert text == page.input_value("#token")
    headers = {"Authorization": f"Bearer {text}"}
    assert page.request.get(site.url(f"{API}/runs"), headers=headers).status == 200
    page = tab.open("/settings/tokens/")
    assert text not in page.content()
    page.get_by_role("button", name="Revoke token Pipeline").click()
    page.get_by_role("button", name="Revoke token").click()
    page.locator("td", has_text="Revoked").wait_for()
    assert page.request.get(site.url(f"{API}/runs"), headers=headers).status == 401


def test_a_webhook_says_why_it_delivers_nothing_and_what_was_not_delivered(new_tab: NewTab, site: Site) -> None:
    tab = new_tab(site, java_script_enabled=False)
    page = tab.page
    page.goto(site.url("/settings/"))
    page.get_by_role("link", name="Webhooks", exact=True).click()
    page.get_by_role("link", name="nowhere").click()
    assert "SITE_WEBHOOK_SIGNING is not set" in page.locator("main").inner_text()
    assert "Then pending deliveries are sent, and you can send a test." in page.locator("main").inner_text()
    assert page.get_by_role("button", name="Send test").count() == 0, "it cannot be signed"
    assert page.locator("tbody tr").count() >= len(site.deliveries)
    page.goto(site.url("/settings/webhooks/nowhere/?state=delivered"))
    assert "No deliveries with this status." in page.locator("main").inner_text()
    page.select_option("#state", "")
    page.get_by_role("button", name="Apply filters").click()
    assert page.locator("tbody tr").count() >= len(site.deliveries)
    assert page.get_by_role("button", name="Copy").count() == 0


def test_a_member_is_added_and_sets_a_password_without_scripts(new_tab: NewTab, site: Site) -> None:
    page = new_tab(site, java_script_enabled=False).page
    page.goto(site.url("/settings/members/new/"))
    page.fill("#id_username", "vera")
    page.get_by_label("Runner").check()
    page.get_by_role("button", name="Add member").click()
    link = page.input_value("#link")
    assert page.get_by_role("button", name="Copy").is_hidden()
    tab = new_tab(site)
    page = tab.page
    page.goto(link)
    assert tab.violations() == []
    assert tab.overflow() == []
    page.fill("#id_new_password1", "a walk by the river")
    page.fill("#id_new_password2", "a walk by the river")
    page.get_by_role("button", name="Set password").click()
    page.wait_for_url(re.compile("/login/"))
    page.goto(link)
    assert page.locator("h1").inner_text() == "Link not valid"
