"""Form fields for the content of a dataset: exact texts, JSON with errors by line and column, lists row by row.

No field checks what ``dataset_format`` checks. Fields only turn what a browser sends into plain values: an empty
optional field becomes ``None``, which the forms leave out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.datastructures import MultiValueDict
from django.utils.html import format_html

MAX_ROWS = 28
"""Height of a text area in lines. Longer texts scroll."""


def one_line_end(text: str) -> str:
    """The text with every line end as one newline. Browsers send CR LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def described(value: str, meaning: str, name: str = "") -> tuple[str, str]:
    """A choice with its name, by default its value, and what it means."""
    return value, format_html("<b>{}</b> <small>{}</small>", name or value, meaning)


class FittingTextarea(forms.Textarea):
    """As high as its text, from its own number of rows to ``MAX_ROWS``."""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        lines = sum(1 + len(line) // 90 for line in str(value or "").split("\n"))
        rows = max(self.attrs["rows"], min(lines + 1, MAX_ROWS))
        return super().get_context(name, value, {**(attrs or {}), "rows": rows})


class TextField(forms.CharField):
    """Text as typed, with its spaces. If it differs from the stored text only in line ends, the stored text stays."""

    def __init__(
        self,
        *,
        rows: int | None = None,
        code: bool = False,
        prose: bool = False,
        optional: bool = False,
        **options: Any,
    ) -> None:
        attrs: dict[str, Any] = {"class": "vTextField"} if rows is None else {"class": "vLargeTextField", "rows": rows}
        if code:
            attrs |= {"class": f"{attrs['class']} code", "spellcheck": "false"}
        if prose:
            attrs |= {"class": f"{attrs['class']} prose"}
        widget = forms.TextInput(attrs) if rows is None else FittingTextarea(attrs)
        super().__init__(required=False, strip=False, widget=widget, **options)
        self.optional = optional

    def clean(self, value: Any) -> Any:
        text = one_line_end(super().clean(value))
        # Saving a form unchanged must not create a version, and a stored text may have other line ends than a browser.
        if isinstance(self.initial, str) and one_line_end(self.initial) == text:
            text = self.initial
        return None if self.optional and not text else text


class UploadField(forms.FileField):
    """A required file with one of these extensions, of at most ``limit`` bytes; ``too_large`` is said of others."""

    def __init__(
        self, label: str, extensions: Sequence[str], help_text: str, *, limit: int | None = None, too_large: str = ""
    ) -> None:
        messages = {"required": "Choose a file.", "empty": "The file is empty.", "missing": "Choose a file."}
        widget = forms.FileInput({"accept": ",".join(extensions)})
        super().__init__(label=label, help_text=help_text, widget=widget, error_messages=messages)
        self.limit, self.too_large = limit, too_large

    def clean(self, data: Any, initial: Any = None) -> Any:
        upload = super().clean(data, initial)
        if self.limit is not None and upload.size > self.limit:
            raise ValidationError(self.too_large)
        return upload


class UploadsField(UploadField):
    """One or more such files, of at most ``limit`` bytes together. Its value is a list."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.widget = ManyFilesInput(self.widget.attrs)

    def clean(self, data: Any, initial: Any = None) -> Any:
        uploads = [super(UploadsField, self).clean(each, initial) for each in data or [None]]
        if self.limit is not None and sum(upload.size for upload in uploads) > self.limit:
            raise ValidationError(self.too_large)
        return uploads


class ManyFilesInput(forms.FileInput):
    """A file input for several files, also under the name of one."""

    allow_multiple_selected = True

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        return files.getlist(name) if hasattr(files, "getlist") else files.get(name)


class NumberText(forms.CharField):
    """A number. Anything else stays text, so that the check of the dataset reports it."""

    def __init__(self, **options: Any) -> None:
        widget = forms.TextInput({"class": "vTextField", "inputmode": "decimal"})
        super().__init__(required=False, widget=widget, **options)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            return float(text) if text else None
        except ValueError:
            return text


class JsonField(forms.CharField):
    """JSON, indented by two spaces. Empty is ``None``. Errors name line and column."""

    def __init__(self, *, rows: int = 6, **options: Any) -> None:
        attrs = {"class": "vLargeTextField code", "rows": rows, "spellcheck": "false"}
        super().__init__(required=False, widget=FittingTextarea(attrs), **options)

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else pretty(value)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return read_json(text) if text else None


def pretty(value: Any) -> str:
    """JSON for people; empty for ``None`` and for empty lists and mappings."""
    return json.dumps(value, indent=2, ensure_ascii=False) if value not in (None, [], {}) else ""


def read_json(text: str) -> Any:
    """Read JSON strictly. Raises ``ValidationError`` with the place of the error, or the repeated key."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        hint = ". Put keys and strings in double quotes" if "'" in text and '"' not in text else ""
        message = f"is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}{hint}"
        raise ValidationError(message) from None
    except RecursionError:
        raise ValidationError("is nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise ValidationError(f"contains a number that cannot be read: {error}") from None


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValidationError("has the key %(key)s twice in one mapping", params={"key": json.dumps(repeated)[:60]})
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValidationError(f"contains {name}, which is not valid JSON: quote it")


class Rows(forms.Widget):
    """A list with one row per item and an empty row for the next one. A script adds and removes rows.

    ``parts`` are suffix and label of each input of a row. With ``choices``, values and titles, each row is one of them,
    or what it was.
    """

    template_name = "benchmarks/widgets/rows.html"

    class Media:
        js = ("benchmarks/rows.js",)

    def __init__(
        self, item: str, parts: Sequence[tuple[str, str]], choices: Callable[[], Sequence[tuple[str, str]]] = tuple
    ) -> None:
        super().__init__()
        self.item, self.parts, self.choices = item, parts, choices

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[tuple[str, ...]]:
        """Every row that is not empty."""
        columns = [
            data.getlist(name + suffix) if isinstance(data, MultiValueDict) else data.get(name + suffix, [])
            for suffix, _ in self.parts
        ]
        rows = (tuple(one_line_end(str(text)) for text in row) for row in zip_longest(*columns, fillvalue=""))
        return [row for row in rows if any(row)]

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return False

    def id_for_label(self, id_: str, index: str | None = None) -> str:
        return f"{id_}_1" if id_ else id_

    def format_value(self, value: Any) -> None:
        return None

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        choices = dict(self.choices())

        def inputs(row: tuple[str, ...]) -> list[dict[str, Any]]:
            cells = zip(self.parts, row, strict=True)
            return [
                {
                    **{"name": name + suffix, "label": label, "value": text},
                    "choices": [*({"": "", text: text} | choices).items()] if choices else (),
                }
                for (suffix, label), text in cells
            ]

        empty = inputs(("",) * len(self.parts))
        context = super().get_context(name, value, attrs)
        context["widget"] |= {"item": self.item, "rows": [*map(inputs, value or ()), empty], "blank": empty}
        return context


class TextListField(forms.Field):
    """A list of texts; ``None`` if empty."""

    parts: tuple[tuple[str, str], ...] = (("", ""),)

    def __init__(self, item: str, choices: Callable[[], Sequence[tuple[str, str]]] = tuple, **options: Any) -> None:
        super().__init__(required=False, widget=Rows(item, self.parts, choices), **options)

    def row_of(self, item: Any) -> tuple[str, ...]:
        return (item,)

    def item_of(self, row: tuple[str, ...]) -> Any:
        return row[0]

    def prepare_value(self, value: Any) -> list[tuple[str, ...]]:
        return [row if isinstance(row, tuple) else self.row_of(row) for row in value or ()]

    def clean(self, value: Any) -> Any:
        items, problems = [], []
        for index, row in enumerate(value or ()):
            try:
                items.append(self.item_of(row))
            except ValidationError as error:
                problems += [f"[{index}]: {message}" for message in error.messages]
        if problems:
            raise ValidationError(problems)
        return items or None


class CallListField(TextListField):
    """A list of ``{name, args, accept}``, with the arguments as JSON; ``None`` if empty."""

    parts = (
        ("-name", "tool"),
        ("-args", "arguments, as JSON"),
        ("-accept", "also accepted values, as JSON lists"),
    )

    def row_of(self, item: Any) -> tuple[str, ...]:
        return item["name"], pretty(item.get("args")), pretty(item.get("accept"))

    def item_of(self, row: tuple[str, ...]) -> dict[str, Any]:
        name, *others = row
        given = zip(("args", "accept"), others, strict=True)
        return {"name": name} | {key: read_json(text) for key, text in given if text.strip()}
