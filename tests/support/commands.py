"""A command of ``manage.py`` as a terminal sees it."""

from __future__ import annotations

from io import StringIO

from django.core.management import CommandError, call_command


def run_command(name: str, *arguments: object) -> tuple[int, str]:
    """Exit code and output; a refusal is its code and message."""
    output = StringIO()
    try:
        call_command(name, *map(str, arguments), stdout=output, stderr=StringIO(), no_color=True)
    except SystemExit as stop:
        return int(stop.code or 0), output.getvalue()
    except CommandError as refusal:
        return refusal.returncode, str(refusal)
    return 0, output.getvalue()
