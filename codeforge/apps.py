import os

from django.apps import AppConfig

from codeforge.exporting import export_spans


class CodeForgeConfig(AppConfig):
    name = "codeforge"

    def ready(self) -> None:
        export_spans(os.environ)
