import gc
import os
import sys
from importlib import import_module
from types import ModuleType

from axes.apps import AppConfig as AxesConfig
from django.apps import AppConfig

from codeforge.exporting import export_spans

UNUSED = ("django.contrib.postgres", "jinja2", "markdown", "pygments", "requests")
"""What Django REST framework and Django's test client load if it is installed, for features that are not used here. It
takes a sixth of the start of every process. What needs one of these loads it later."""


class LogInsConfig(AxesConfig):  # type: ignore[misc]  # django-axes has no types
    """Names in the admin what django-axes stores."""

    verbose_name = "Log-ins"


class CodeForgeConfig(AppConfig):
    name = "codeforge"

    def __init__(self, app_name: str, app_module: ModuleType) -> None:
        super().__init__(app_name, app_module)
        gc.disable()  # while apps are loaded, which leaves no garbage; looking for it takes a tenth of that time
        hidden = [name for name in UNUSED if name not in sys.modules]
        sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: as if it were not installed
        try:
            for name in ("rest_framework.compat", "django.test.utils"):
                import_module(name)
        finally:
            for name in hidden:
                del sys.modules[name]

    def ready(self) -> None:
        gc.freeze()
        gc.enable()
        export_spans(os.environ)
