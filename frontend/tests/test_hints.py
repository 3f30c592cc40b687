"""Every hint at a field is read at a glance: 15 words at most."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

from django.forms import BaseForm, ModelForm
from django.utils.html import strip_tags

import benchmarks.forms
from benchmarks.forms.imports import RunImportForm
from benchmarks.run_parameters import RUN_PARAMETERS
from frontend import forms as dashboard_forms

MOST_WORDS = 15
TEMPLATES = (Path(dashboard_forms.__file__).parent / "templates", Path(benchmarks.__path__[0]) / "templates")
_HELP = re.compile(r'<(p|span) class="help"[^>]*>(.*?)</\1>', re.DOTALL)
_CODE = re.compile(r"{%.*?%}|{#.*?#}")


def test_hints_of_form_fields_have_at_most_15_words() -> None:
    hints = {
        f"{form.__name__}.{name}": strip_tags(str(field.help_text))
        for form in _forms()
        for name, field in form.base_fields.items()
    }
    hints |= {f"run parameter {name}": parameter.hint for name, parameter in RUN_PARAMETERS.items()}
    assert len(hints) > 100
    assert _long(hints) == {}


def test_hints_written_into_templates_have_at_most_15_words() -> None:
    hints = {
        f"{path.name}, hint {place}": strip_tags(_CODE.sub(" ", found[2]))
        for folder in TEMPLATES
        for path in sorted(folder.rglob("*.html"))
        for place, found in enumerate(_HELP.finditer(path.read_text()), 1)
    }
    assert len(hints) > 5
    assert _long(hints) == {}


def test_the_hint_of_imported_files_has_at_most_15_words(db: None) -> None:
    assert _long({"file": str(RunImportForm().fields["file"].help_text)}) == {}


def _forms() -> Iterator[type[BaseForm]]:
    for module in pkgutil.iter_modules(benchmarks.forms.__path__, "benchmarks.forms."):
        importlib.import_module(module.name)
    waiting: list[type[BaseForm]] = [BaseForm]
    while waiting:
        form = waiting.pop()
        waiting += form.__subclasses__()
        own = form.__module__.startswith(("benchmarks.", "frontend."))
        if own and hasattr(form, "base_fields") and form is not ModelForm:
            yield form


def _long(hints: dict[str, str]) -> dict[str, str]:
    """The hints with too many words. A placeholder such as ``{{ time_zone }}`` counts as its words."""
    return {place: hint for place, hint in hints.items() if len(hint.split()) > MOST_WORDS}
