"""The development mode of the tested sites, with the static files that servers send."""

from __future__ import annotations

from codeforge.settings import *  # noqa: F403 - everything else is as it is
from codeforge.settings import STORAGES

STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "codeforge.static_files.SmallerFilesStorage"}}
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = False
