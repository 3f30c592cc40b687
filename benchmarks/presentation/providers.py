"""What providers are called and said to be, on pages, in commands and in warnings before a run."""

from __future__ import annotations

from benchmarks.presentation.ranks import listed

PROVIDER_STATUS = {
    "ready": "Ready",
    "no_key": "No key",
    "no_connection": "No connection",
    "refusing": "Refuses requests",
    "failing": "Endpoint error",
    "unchecked": "Not checked",
}
LOCAL_MODEL = {
    "off": ("pending", "Off"),
    "installing": ("preparing", "Installing 130 MB"),
    "starting": ("preparing", "Starting"),
    "running": ("running", "Running"),
    "stopping": ("preparing", "Stopping"),
    "failed": ("failed", "Failed"),
}
"""State of the local model → its mark and its label."""
REFUSED = {
    "authentication": "Key refused",
    "rate_limited": "Rate limited",
    "not_found": "Not found",
    "redirect": "Redirects",
}
"""Kind of the error that stopped the latest run of a model → its status; every other kind is ``RUN_FAILED``."""
RUN_FAILED = "Last run failed"
STATUSES = tuple(PROVIDER_STATUS)
PROBLEMS = ("no_connection", "failing", "refusing", "no_key")
"""Statuses with which a run would fail, in the order in which they are listed."""
CAPABILITY = {
    "tools": "Tools",
    "json_schema": "JSON schema",
    "streaming": "Streaming",
    "images": "Images",
    "temperature": "Temperature",
}
SUPPORT = {"yes": "Yes", "ignored": "Ignored", "refused": "Refused", "unknown": "Unknown"}


def key_sentence(variable: str | None, source: str) -> str:
    """Whether a provider's key is set, and where; never the key."""
    return {
        "not needed": "No key configured",
        "environment": f"{variable} is set",
        "stored": "Key entered on this page",
        "unreadable": "Stored key unreadable",
        "missing": f"{variable} is not set",
    }[source]


def missing_key(variable: str | None, source: str, *, on_page: bool) -> str:
    """What is wrong with a key and what to do; ``on_page`` says whether keys can be entered on the page."""
    if source == "unreadable":
        return "The stored key cannot be decrypted, because SECRET_KEY has changed. Enter the key again on Models."
    where = f"{variable} is not set. Set it in the environment of the web server and the workers, and restart them"
    return f"{where}, or enter the key on Models." if on_page else f"{where}."


def summary(names_by_status: dict[str, list[str]]) -> tuple[str, str]:
    """``5 of 7 providers are ready.`` and what is wrong with the others."""
    total = sum(map(len, names_by_status.values()))
    ready = len(names_by_status.get("ready", ()))
    first = f"{ready} of {total} providers {'is' if ready == 1 else 'are'} ready."
    words = {
        "no_connection": ("does not respond", "do not respond"),
        "failing": ("responds with an error", "respond with errors"),
        "refusing": ("refuses requests", "refuse requests"),
        "no_key": ("has no key", "have no key"),
        "unchecked": ("has not been checked", "have not been checked"),
    }
    parts = [
        f"{listed(names)} {words[status][len(names) > 1]}."
        for status in (*PROBLEMS, "unchecked")
        if (names := names_by_status.get(status, []))
    ]
    return first, " ".join(parts)
