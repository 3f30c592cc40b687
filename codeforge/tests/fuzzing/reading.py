"""What a browser can send from a page: its links, forms and htmx requests, found in the HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

PROBE = "xss-probe"
HANDLER = "onxssprobe"
"""The element and the attribute that hostile values try to create."""
ADDRESSES = ("href", "src", "action", "formaction", "hx-get", "hx-post", "hx-delete", "data", "xlink:href")
"""Attributes whose value a browser follows."""
METHODS_OF_HTMX = {"hx-get": "GET", "hx-post": "POST", "hx-delete": "DELETE"}


@dataclass
class Form:
    """One request that a page offers. ``fields`` has the value of each field, ``options`` those that can be chosen."""

    method: str
    path: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)

    def merge(self, other: Form) -> None:
        """Add the fields of another form for the same address."""
        for own, given in ((self.fields, other.fields), (self.options, other.options)):
            for name, values in given.items():
                own.setdefault(name, []).extend(values)


class Page(HTMLParser):
    """Collects the ``forms`` of a page, links included, and what hostile text has ``injected``."""

    def __init__(self, address: str, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.injected: list[str] = []
        self._address, self._form, self._choice = address, None, ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        scripted = [name for name in ADDRESSES if given.get(name, "").strip().lower().startswith("javascript:")]
        if tag == PROBE or HANDLER in given or scripted:
            self.injected.append(self.get_starttag_text() or tag)
        if tag == "form":
            self._form = self._request(given.get("method", "get").upper(), given.get("action") or self._address)
        if address := given.get({"a": "href", "img": "src", "script": "src"}.get(tag, "")):
            self._request("GET", address)
        for name, method in METHODS_OF_HTMX.items():
            if name in given:
                self._request(method, given[name] or self._address)
        if tag in ("input", "select", "textarea", "button") and self._form and given.get("name"):
            self._add_field(tag, given)
        if tag == "option" and self._form and self._choice:
            self._form.options.setdefault(self._choice, []).append(given.get("value", ""))
            if "selected" in given:
                self._form.fields[self._choice].append(given.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None

    def _request(self, method: str, address: str) -> Form | None:
        """The request to an address of this site, with the parameters that its query has."""
        parts = urlsplit(urljoin(self._address, address))
        if parts.scheme or parts.netloc or not parts.path.startswith("/"):
            return None
        form = Form(method, parts.path)
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            form.fields.setdefault(name, []).append(value)
        self.forms.append(form)
        return form

    def _add_field(self, tag: str, given: dict[str, str]) -> None:
        assert self._form is not None
        name, kind = given["name"], given.get("type", "")
        values = self._form.fields.setdefault(name, [])
        self._choice = name if tag == "select" else ""
        if kind == "file":
            self._form.files.add(name)
        elif tag == "button" or kind in ("submit", "checkbox", "radio"):
            self._form.options.setdefault(name, []).append(given.get("value", "on"))
            if "checked" in given:
                values.append(given.get("value", "on"))
        elif tag == "input":
            values.append(given.get("value", ""))


def pages_of(response: Any) -> Iterator[Page]:
    """The page of a response, if it is one."""
    if response.get("Content-Type", "").startswith("text/html") and not response.streaming:
        yield Page(response.request["PATH_INFO"], response.content.decode("utf-8", "replace"))
