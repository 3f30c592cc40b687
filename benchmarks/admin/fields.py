"""Form fields for what a dataset holds: texts kept to the letter, JSON with its mistakes by line, lists row by row.

No field checks what ``dataset_format`` checks. They only bring what a browser sends into plain values: an empty
optional field becomes ``None``, which the forms leave out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.utils.datastructures import MultiValueDict

SCRIPT = forms.Media(js=("benchmarks/admin.js",), css={"all": ("benchmarks/admin.css",)})

MOST_ROWS = 28


def one_line_end(text: str) -> str:
    """The text with every line end as one newline, which is how a browser's are compared."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class FittingTextarea(forms.Textarea):
    """As high as its text, from the rows it was given to ``MOST_ROWS``."""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        lines = sum(1 + len(line) // 90 for line in str(value or "").split("\n"))
        rows = max(self.attrs["rows"], min(lines + 1, MOST_ROWS))
        return super().get_context(name, value, {**(attrs or {}), "rows": rows})


class TextField(forms.CharField):
    """Text as it was typed, blanks kept. A text that differs from the stored one in line ends alone stays as it was."""

    def __init__(self, *, rows: int | None = None, code: bool = False, optional: bool = False, **options: Any) -> None:
        attrs: dict[str, Any] = {"class": "vTextField"} if rows is None else {"class": "vLargeTextField", "rows": rows}
        if code:
            attrs |= {"class": f"{attrs['class']} code", "spellcheck": "false"}
        widget = forms.TextInput(attrs) if rows is None else FittingTextarea(attrs)
        super().__init__(required=False, strip=False, widget=widget, **options)
        self.optional = optional

    def clean(self, value: Any) -> Any:
        text = one_line_end(super().clean(value))
        stored = self.initial
        if isinstance(stored, str) and one_line_end(stored) == text:
            text = stored
        return None if self.optional and not text else text


def file_field(label: str, accept: Sequence[str], help_text: str) -> forms.FileField:
    """One file that has to be chosen, by the endings of its name."""
    told = {"required": "choose a file", "empty": "the file is empty", "missing": "choose a file"}
    widget = forms.FileInput({"accept": ",".join(accept)})
    return forms.FileField(label=label, help_text=help_text, widget=widget, error_messages=told)


class NumberText(forms.CharField):
    """A number; what is none stays text, about which the dataset's own check says what is meant."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            required=False, widget=forms.TextInput({"class": "vTextField", "inputmode": "decimal"}), **options
        )

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            return float(text) if text else None
        except ValueError:
            return text


class JsonField(forms.CharField):
    """JSON, shown with two spaces of indentation. Empty is ``None``. Mistakes are told with line and column."""

    def __init__(self, *, rows: int = 6, **options: Any) -> None:
        attrs = {"class": "vLargeTextField code", "rows": rows, "spellcheck": "false"}
        super().__init__(required=False, widget=FittingTextarea(attrs), **options)

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else pretty(value)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return read_json(text) if text else None


def pretty(value: Any) -> str:
    """JSON for people; empty for ``None`` and empty lists and mappings."""
    return json.dumps(value, indent=2, ensure_ascii=False) if value not in (None, [], {}) else ""


def read_json(text: str) -> Any:
    """Read JSON strictly. Raises ``ValidationError`` that says where it breaks off, or which key stands twice."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        message = f"is no JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise ValidationError(message + _hint(text)) from None
    except RecursionError:
        raise ValidationError("is nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise ValidationError(f"holds a number that cannot be read: {error}") from None


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValidationError("has the key %(key)s twice in one mapping", params={"key": json.dumps(twice)[:60]})
    return found


def _no_constant(name: str) -> Any:
    raise ValidationError(f"holds {name}, which is no JSON: quote it")


def _hint(text: str) -> str:
    return "; keys and texts stand in double quotes" if "'" in text and '"' not in text else ""


class Rows(forms.Widget):
    """A list, a row an item and an empty one for the next; a script adds and removes rows. Empty rows do not count."""

    template_name = "admin/benchmarks/widgets/rows.html"
    parts: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Suffix and label of each input of a row."""

    def __init__(self, item: str, rows: int = 3) -> None:
        super().__init__()
        self.item, self.rows = item, rows

    @property
    def media(self) -> forms.Media:
        return SCRIPT

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[tuple[str, ...]]:
        columns = [_all(data, name + suffix) for suffix, _ in self.parts]
        rows = zip(*columns, strict=False)
        return [row for row in (tuple(map(one_line_end, row)) for row in rows) if any(row)]

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return False

    def id_for_label(self, id_: str, index: str | None = None) -> str:
        return f"{id_}_1" if id_ else id_

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        empty = ("",) * len(self.parts)
        context = super().get_context(name, value, attrs)
        context["widget"] |= {
            "item": self.item,
            "lines": self.rows,
            "rows": [self._inputs(name, row) for row in (*(value or ()), empty)],
            "blank": self._inputs(name, empty),
        }
        return context

    def _inputs(self, name: str, row: tuple[str, ...]) -> list[dict[str, Any]]:
        return [
            {"name": name + suffix, "label": label, "value": text}
            for (suffix, label), text in zip(self.parts, row, strict=True)
        ]

    def format_value(self, value: Any) -> None:
        return None


def _all(data: Mapping[str, Any], name: str) -> list[str]:
    found = data.getlist(name) if isinstance(data, MultiValueDict) else data.get(name, [])
    return [str(value) for value in found]


class TextRows(Rows):
    parts = (("", ""),)


class CallRows(Rows):
    parts = (("-name", "name"), ("-args", "arguments, as a JSON mapping"))


class RowsField(forms.Field):
    """A list whose items a ``Rows`` widget edits; ``None`` where there are none."""

    def __init__(
        self,
        widget: Rows,
        to_row: Callable[[Any], tuple[str, ...]],
        from_row: Callable[[tuple[str, ...]], Any],
        **options: Any,
    ) -> None:
        super().__init__(required=False, widget=widget, **options)
        self.to_row, self.from_row = to_row, from_row

    def prepare_value(self, value: Any) -> list[tuple[str, ...]]:
        return [row if isinstance(row, tuple) else self.to_row(row) for row in value or ()]

    def clean(self, value: Any) -> Any:
        found, problems = [], []
        for index, row in enumerate(value or ()):
            try:
                found.append(self.from_row(row))
            except ValidationError as error:
                problems += [f"[{index}]: {message}" for message in error.messages]
        if problems:
            raise ValidationError(problems)
        return found or None


def text_list(item: str, **options: Any) -> RowsField:
    """A field for a list of texts."""
    return RowsField(TextRows(item), lambda text: (text,), lambda row: row[0], **options)


def call_list(**options: Any) -> RowsField:
    """A field for a list of ``{name, args}``, the arguments written as JSON."""
    return RowsField(CallRows("call"), _call_row, _call, **options)


def _call_row(call: Mapping[str, Any]) -> tuple[str, str]:
    return call["name"], pretty(call.get("args"))


def _call(row: tuple[str, ...]) -> dict[str, Any]:
    name, args = row
    return {"name": name} | ({"args": read_json(args)} if args.strip() else {})
