"""WSGI entry point."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from codeforge.databases import use_limits
from codeforge.garbage import collect_after_requests

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")

application = get_wsgi_application()
use_limits("web")

import_module(settings.ROOT_URLCONF)  # otherwise the first request waits for it
collect_after_requests()
