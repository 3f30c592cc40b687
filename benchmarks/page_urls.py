"""Addresses of pages, for terminals, reports and messages."""

from __future__ import annotations

from django.conf import settings

from benchmarks.models import Experiment, Run


def page_address(shown: Run | Experiment) -> str:
    """The address of a page on the public site, or where ``make run`` served it last."""
    section = "experiments" if isinstance(shown, Experiment) else "runs"
    return f"{site_address()}/{section}/{shown.pk}/"


def site_address() -> str:
    return settings.CSRF_TRUSTED_ORIGINS[0] if settings.CSRF_TRUSTED_ORIGINS else f"http://localhost:{_dev_port()}"


def _dev_port() -> str:
    try:
        started = settings.PORT_FILE.read_text()
    except OSError:  # never started here
        started = ""
    return str(started or settings.DEV_PORT)
