"""Draws the tables that ``benchmarks.queries.tables`` declares: ``{% table runs %}``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString, mark_safe

from benchmarks.presentation import cells, numbers, texts
from benchmarks.presentation.tables import Column, Shown
from frontend.ruler import ruler, strip
from frontend.templatetags import show

register = template.Library()
MOST_ON_PHONES = 3
"""Columns that a phone has room for. The rows of a table with more of them are cards there."""
ALWAYS_CARDS = ("leads",)
"""Looks of tables whose few columns are wide."""


@register.inclusion_tag("frontend/components/table.html", takes_context=True)
def table(context: Context, shown: Shown[Any]) -> dict[str, object]:
    columns = shown.columns_of("page")
    heads = [_head(column, context) for column in columns]
    title = shown.table.title
    caption, label = _drawn(title, context), shown.table.label or cells.cell_text(title)
    on_phones = [column for column in columns if "wide-only" not in column.look]
    as_cards = len(on_phones) > MOST_ON_PHONES or shown.table.look in ALWAYS_CARDS
    look = f"{shown.table.look} cards".strip() if as_cards else shown.table.look
    groups = [
        (
            name,
            [SafeString("".join(_cell(each, each.cell(row), context, as_cards) for each in columns)) for row in rows],
        )
        for name, rows in groupby(shown.rows, shown.table.group or (lambda _: ""))
    ]
    return {"table": shown.table, "look": look, "caption": caption, "label": label, "heads": heads, "groups": groups}


def _head(column: Column[Any], context: Context) -> SafeString:
    looks = {*column.look.split(), *(("num",) if column.kind == "number" else ())}
    kinds = " ".join(sorted(looks & {"num", "wide-only"}))
    if column.sort:
        return show.sort_head(context, column.head, column.sort, kinds)
    title = format_html('<span class="visually-hidden">{}</span>' if column.hidden_head else "{}", column.head)
    info = show.info(column.info) if column.info else ""
    return format_html('<th scope="col"{}>{}{}</th>', _classes(kinds), title, info)


def _cell(column: Column[Any], cell: cells.Cell, context: Context, in_card: bool) -> str:
    look = "num " * (column.kind == "number") + column.look
    if in_card and cells.cell_text(cell) == numbers.MISSING:
        look = f"{look} wide-only"
    tag = 'th scope="row"' if column.kind == "name" else "td"
    label = _label(column, cell) if in_card else ""
    return f"<{tag}{_classes(look.strip())}{label}>{_drawn(cell, context)}</{tag[:2]}>"


def _label(column: Column[Any], cell: cells.Cell) -> str:
    """What a card writes before or behind a cell."""
    if column.unit is not None:
        return format_html(' data-unit="{}"', column.unit)
    return format_html(' data-label="{}"', column.head) if _needs_label(column, cell) else ""


def _needs_label(column: Column[Any], cell: cells.Cell) -> bool:
    """Whether a card says what the cell is: a name, a state and a control say it themselves."""
    if column.kind == "name" or column.hidden_head or column.bare or cells.cell_text(cell).startswith(column.head):
        return False
    return not any(isinstance(part, _SPEAKING) for part in cells.parts_of(cell))


def _drawn(cell: cells.Cell, context: Context, between: str = " ") -> SafeString:
    return mark_safe(between.join(_part(part, context) for part in cells.parts_of(cell)))


def _part(part: cells.Part, context: Context) -> str:
    draw = _DRAWINGS.get(type(part))
    return draw(part, context) if draw else format_html("{}", texts.visible(cells.text_of(part)))


def _classes(names: str) -> SafeString:
    return format_html(' class="{}"', names) if names else SafeString("")


def _link(part: cells.Link, context: Context) -> str:
    query = f"?{urlencode(part.query, doseq=True)}" if part.query else ""
    href = show.address(f"frontend:{part.page}", *part.of) + query + (f"#{part.anchor}" if part.anchor else "")
    name = format_html(' aria-label="{}"', texts.visible(part.name)) if part.name else ""
    title = format_html(' title="{}"', texts.visible(part.more)) if part.more else ""
    return format_html('<a{} href="{}"{}{}>{}</a>', _classes(part.look), href, name, title, texts.visible(part.label))


def _words(part: cells.Words, context: Context) -> str:
    title = format_html(' title="{}"', texts.visible(part.more)) if part.more else ""
    return format_html('<span class="{}"{}>{}</span>', part.look, title, texts.visible(part.text))


def _mean(part: cells.Mean, context: Context) -> str:
    return show.interval(part.mean, part.low, part.high)


def _progress(part: cells.Progress, context: Context) -> str:
    return format_html(
        '<progress class="cell-progress" max="{}" value="{}" aria-label="{}">{}</progress>',
        *(part.most, part.done, part.label, part.words),
    )


def _button(part: cells.Button, context: Context) -> str:
    sent = {"csrfmiddlewaretoken": context["csrf_token"], **part.sent}
    return format_html(
        '<form method="post" action="{}">{}<button type="submit"{} aria-label="{}">{}</button></form>',
        show.address(f"frontend:{part.page}", *part.of),
        format_html_join("", '<input type="hidden" name="{}" value="{}">', sent.items()),
        *(_classes(part.look), texts.visible(part.name), part.label),
    )


def _submit(part: cells.Submit, context: Context) -> str:
    return format_html(
        '<button type="submit" name="{}" value="{}" aria-label="{}">{}</button>',
        *(part.field, part.value, part.name, part.label),
    )


def _tick(part: cells.Tick, context: Context) -> str:
    return format_html(
        '<input type="checkbox" name="{}" value="{}" form="{}" aria-label="{}" data-actions="{}">',
        *(part.name, part.value, part.form, texts.visible(part.label), " ".join(part.actions)),
    )


def _copied(part: cells.Copied, context: Context) -> str:
    return render_to_string(
        "frontend/components/copied.html", {"id": part.name, "text": part.text, "label": part.label}
    )


def _canvas_picture(part: cells.CanvasPicture, context: Context) -> str:
    query = urlencode({"small": 1, **({"theme": theme} if (theme := context.get("theme")) else {})})
    return format_html(
        '<img class="thumb" loading="lazy" width="44" height="44" src="{}?{}" alt="">',
        *(show.address("frontend:picture", part.slug, part.index), query),
    )


def _group(part: cells.Group, context: Context) -> str:
    tag, drawn = SafeString("div" if part.block else "span"), _drawn(part.parts, context, part.between)
    return format_html("<{0}{1}>{2}</{0}>", tag, _classes(part.look), drawn)


_SPEAKING = (cells.State, cells.Tick, cells.Button, cells.Submit, cells.Copied, cells.Bar, cells.Strip)
_DRAWINGS: dict[type, Callable[[Any, Context], str]] = {
    cells.Link: _link,
    cells.Words: _words,
    cells.Strong: lambda part, _: format_html("<b>{}</b>", texts.visible(part.text)),
    cells.State: lambda part, _: show.state_badge(part.mark, part.text),
    cells.Moment: lambda part, _: show.exact(part.at) if part.exact else show.when(part.at),
    cells.Mean: _mean,
    cells.Bar: lambda part, _: ruler(part.mean.mean, part.mean.low, part.mean.high, part.guess),
    cells.Strip: lambda part, _: strip(part.others, part.best, part.guess, part.label, part.width),
    cells.Progress: _progress,
    cells.Button: _button,
    cells.Submit: _submit,
    cells.Tick: _tick,
    cells.Copied: _copied,
    cells.CanvasPicture: _canvas_picture,
    cells.Info: lambda part, _: show.info(part.key, texts.visible(part.text)),
    cells.Group: _group,
}
