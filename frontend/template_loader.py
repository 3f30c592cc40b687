"""The loader of templates: those of the dashboard break lines like code, and its pages stay small."""

from __future__ import annotations

import re

from django.template import Origin
from django.template.loaders import app_directories


class Loader(app_directories.Loader):
    """Templates of the installed apps; those below ``frontend/`` without their indentation."""

    def get_contents(self, origin: Origin) -> str:
        contents: str = super().get_contents(origin)
        if not str(origin.template_name).startswith("frontend/"):
            return contents
        # Line breaks stay: they separate words, and keep the line numbers of template errors right.
        return re.sub(r"\n[ \t]+", "\n", contents)
