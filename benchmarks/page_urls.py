"""Addresses of pages, for terminals, reports and messages."""

from __future__ import annotations

import os

from django.conf import settings

from benchmarks.models import Run

DEV_PORT = "8080"


def page_address(run: Run) -> str:
    """The address of the run's page on the public site, or where ``make run`` serves it."""
    base = settings.CSRF_TRUSTED_ORIGINS[0] if settings.CSRF_TRUSTED_ORIGINS else ""
    return f"{base or 'http://localhost:' + os.environ.get('PORT', DEV_PORT)}/runs/{run.pk}/"
