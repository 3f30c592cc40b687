"""Saved views of the list of runs: what they keep, for whom, and what they refuse."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from benchmarks.models import RunStatus, SavedView
from benchmarks.services.errors import NotPossible
from benchmarks.services.saved_views import FILTERS, LONGEST_NAME, MOST_VIEWS, list_query, save_view, saved_views
from frontend.tests.test_pages import page
from frontend.tests.test_query_growth import queries
from frontend.views.run_list import _CHIPS
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
SAVE = "/runs/views/"
HOSTILE = '<script>alert(1)</script>"\u202e\x1b'


def member(name: str) -> tuple[User, Client]:
    account, client = User.objects.create_user(name), Client()
    client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    return account, client


def test_a_view_is_saved_from_the_filtered_list_opened_and_deleted(client: Client) -> None:
    make_scored_run(model="a/good")
    make_scored_run(model="a/bad", status=RunStatus.FAILED)
    assert "Save view" not in page(client, "/runs/single/"), "there is nothing to save"
    html = page(client, "/runs/single/?status=failed&page=1&next=//elsewhere.example")
    assert '<input type="hidden" name="query" value="status=failed">' in html
    assert '<input type="hidden" name="tab" value="single-runs">' in html
    saved = client.post(SAVE, {"name": "  Failed \n runs ", "tab": "single-runs", "query": "status=failed"})
    assert saved["Location"] == "/runs/single/?status=failed"
    shown = page(client, saved["Location"])
    assert '<a href="/runs/single/?status=failed" aria-current="page">Failed runs</a>' in shown
    assert "a/bad" in shown.partition("<tbody>")[2]
    assert "a/good" not in shown.partition("<tbody>")[2]
    assert "Save view" not in shown, "this one is saved"
    assert '<a href="/runs/single/?status=failed">Failed runs</a>' in page(client, "/runs/")
    view = SavedView.objects.get()
    delete = f"{SAVE}{view.pk}/delete/"
    assert f'action="{delete}"' in shown
    assert "Delete view Failed runs?" in client.post(delete).content.decode()
    assert client.post(delete, {"confirmed": "yes"})["Location"] == "/runs/single/?status=failed"
    assert not SavedView.objects.exists()


def test_every_filter_and_the_columns_are_kept_and_nothing_else() -> None:
    assert {*FILTERS} == {*_CHIPS, "sort"}
    query = "&".join(f"{name}=1" for name in FILTERS)
    assert list_query(f"page=2&{query}&columns=0&columns=cost&columns=cost") == f"{query}&columns=0&columns=cost"
    assert list_query("tag=b&next=%2F%2Felsewhere.example&status=failed&csrfmiddlewaretoken=x") == "status=failed&tag=b"
    assert list_query("status=failed&status=") == "", "pages read the last"
    assert list_query("tag=" + "x" * 300) == "tag=" + "x" * 200
    assert list_query("&".join(["tag=1"] * 500)) == ""


@pytest.mark.parametrize("query", ["", "page=2", "next=//elsewhere.example", "&&==", "%00=%00", "tag=%00"])
def test_a_list_without_filters_is_not_saved(client: Client, query: str) -> None:
    with pytest.raises(NotPossible, match="no filters to save"):
        save_view("All", "runs", query)
    response = client.post(SAVE, {"name": "All", "tab": "runs", "query": query}, follow=True)
    assert response.request["PATH_INFO"] == "/runs/"
    assert "The list has no filters to save. Choose some first." in response.content.decode()
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("tab", ["", "login", "//elsewhere.example", "../settings", "x" * 5_000, "\0"])
def test_a_view_leads_to_lists_of_runs_only(client: Client, tab: str) -> None:
    response = client.post(SAVE, {"name": "Elsewhere", "tab": tab, "query": "status=failed"})
    assert response["Location"] == "/runs/?status=failed"
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("name", ["", "  \n ", "\0", "x" * (LONGEST_NAME + 1)])
def test_a_name_has_1_to_60_characters(client: Client, name: str) -> None:
    response = client.post(SAVE, {"name": name, "tab": "runs", "query": "status=failed"}, follow=True)
    assert f"has 1 to {LONGEST_NAME} characters" in response.content.decode()
    assert not SavedView.objects.exists()


def test_hostile_names_and_values_are_quoted(client: Client) -> None:
    sent = {"name": HOSTILE, "tab": "runs", "query": urlencode({"tag": HOSTILE})}
    saved, again = (client.post(SAVE, sent, follow=True) for _ in range(2))
    assert saved.redirect_chain == again.redirect_chain == [(f"/runs/?{sent['query']}", 302)]
    assert "You have a view named &lt;script&gt;" in again.content.decode()
    for html in (saved.content.decode(), again.content.decode(), page(client, "/runs/")):
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;⟨RLO⟩⟨ESC⟩" in html
        assert "<script>alert" not in html
        # Fields of forms hold what they send.
        assert "\u202e" not in re.sub(r'value="[^"]*"', "", html)


def test_names_are_unique_for_each_owner_and_views_are_their_own(settings: Any) -> None:
    (ada, hers), (_, his) = member("ada"), member("bob")
    settings.DEV_MODE = False
    sent = {"name": "Mine", "tab": "runs", "query": "tag=ada"}
    assert hers.post(SAVE, sent)["Location"] == his.post(SAVE, sent | {"query": "tag=bob"})["Location"][:-3] + "ada"
    refused = hers.post(SAVE, sent | {"query": "tag=other"}, follow=True).content.decode()
    assert "You have a view named Mine." in refused
    assert "tag=bob" not in page(hers, "/runs/")
    view = SavedView.objects.get(created_by=ada)
    assert his.post(f"{SAVE}{view.pk}/delete/", {"confirmed": "yes"}).status_code == 404
    assert SavedView.objects.filter(created_by=ada).get().query == "tag=ada"
    ada.delete()
    assert SavedView.objects.count() == 1, "views go with their account"


@pytest.mark.parametrize("of", ["ada", None])
def test_two_requests_at_once_cannot_save_one_name_twice(of: str | None) -> None:
    owner = User.objects.create_user(of) if of else None
    save_view("Mine", "runs", "tag=a", owner)
    with pytest.raises(IntegrityError), transaction.atomic():
        SavedView.objects.create(name="Mine", query="tag=b", created_by=owner)


def test_readers_without_an_account_keep_no_views(client: Client, settings: Any) -> None:
    save_view("Local", "runs", "tag=a")
    settings.DEV_MODE, settings.PUBLIC_READING = False, True
    html = page(client, "/runs/?status=failed")
    assert "Save view" not in html
    assert "Local" not in html
    assert client.post(SAVE, {"name": "Mine", "tab": "runs", "query": "tag=a"}).status_code == 403
    assert [*saved_views(None)] == []


def test_an_owner_has_at_most_50_views_and_they_cost_one_query(client: Client) -> None:
    save_view("View 0", "runs", "tag=0")
    few = queries(client, "/runs/?tag=0")
    for place in range(1, MOST_VIEWS):
        save_view(f"View {place}", "runs", f"tag={place}")
    assert queries(client, "/runs/?tag=0") == few
    with pytest.raises(NotPossible, match="which is the limit"):
        save_view("One more", "runs", "tag=x")
