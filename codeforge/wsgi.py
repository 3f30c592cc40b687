"""WSGI entry point."""

import gc
import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")

application = get_wsgi_application()

import_module(settings.ROOT_URLCONF)  # which the first request would wait for
# What is loaded by now stays. Left to the collector, a walk over it holds all requests for a tenth of a second.
gc.freeze()
