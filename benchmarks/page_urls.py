"""Addresses of pages, for terminals, reports and messages."""

from __future__ import annotations

import os

from django.conf import settings

from benchmarks.models import Experiment, Run

DEV_PORT = "8080"


def page_address(shown: Run | Experiment) -> str:
    """The address of a page on the public site, or where ``make run`` serves it."""
    section = "experiments" if isinstance(shown, Experiment) else "runs"
    base = settings.CSRF_TRUSTED_ORIGINS[0] if settings.CSRF_TRUSTED_ORIGINS else ""
    return f"{base or 'http://localhost:' + os.environ.get('PORT', DEV_PORT)}/{section}/{shown.pk}/"
