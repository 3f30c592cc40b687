"""Filters and small components of the templates, on top of ``benchmarks.presentation``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, wraps
from secrets import token_hex
from typing import Any, Literal

from django import template
from django.conf import settings
from django.template import Context, defaulttags
from django.template.base import Parser, Token
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, get_script_prefix, reverse
from django.utils import timezone
from django.utils.html import conditional_escape, escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from benchmarks.extras import command
from benchmarks.models import Dataset, Run
from benchmarks.presentation import labels, numbers, texts
from benchmarks.presentation.cells import state_of
from benchmarks.presentation.glossary import GLOSSARY
from benchmarks.presentation.judges import kappa_words
from benchmarks.presentation.providers import LOCAL_MODEL, PROVIDER_STATUS, SUPPORT
from benchmarks.queries.tables import providers, runs
from frontend import bars, ruler
from frontend.chart_parts import Chart
from frontend.code_blocks import code_block
from frontend.texts import Excerpt, excerpt, has_layout, wrapped_lines
from frontend.view_models import MetricRow

register = template.Library()


def _none_if_empty(write: Callable[..., str]) -> Callable[..., str]:
    """Django passes "" for a variable that does not exist, which is unknown."""

    @wraps(write)
    def written(value: Any, *arguments: Any) -> str:
        return write(None if value == "" else value, *arguments)

    return written


for _write in (
    *(numbers.number, numbers.score, numbers.money, numbers.duration, numbers.milliseconds, numbers.p_value),
    numbers.p_words,
    *(numbers.chance, numbers.percent, numbers.size, numbers.plural, numbers.whole_points),
):
    register.filter(_write.__name__, _none_if_empty(_write))
for _label in (labels.words, labels.sentence_case, labels.metric_title, labels.event_title):
    register.filter(_label.__name__, _label)
register.filter("points", numbers.signed_points)
for _drawing in (
    ruler.ruler,
    ruler.difference_ruler,
    ruler.difference_scale,
    bars.spark,
    bars.split_bar,
    bars.stacked_outcomes,
):
    register.simple_tag(_drawing)
register.simple_tag(code_block)
register.simple_tag(numbers.money_range)
register.simple_tag(numbers.rank_range, name="ranks")

# One outline for each state, so that color is never the only difference. Drawn in a 12 × 12 box.
_DISC = "M6 1a5 5 0 1 0 0 10A5 5 0 1 0 6 1z"
_HALF_DISC = "M6 1a5 5 0 0 0 0 10z"
_CROSS = "M2 2l8 8M10 2l-8 8"
_SOLID = {
    "correct": _DISC,
    "partial": _HALF_DISC,
    "provider_error": "M6 1 11.5 11H.5z",
    "internal_error": "M2 1h8v10H2z",
    "judge_error": "M6 1 11 6 6 11 1 6z",
    "metric_error": "M1 1h10L6 11z",
    "cancelled": "M1 5h10v2H1z",
    "answered": "M1 3h10v6H1z",
    "completed": _DISC,
    "completed_with_errors": _HALF_DISC,
    "paused": "M2 1h3v10H2zM7 1h3v10H7z",
    "running": "M2 1 11 6 2 11z",
    "truncated": "M1 1h6v2H1zM1 5h10v2H1zM1 9h3v2H1z",
}
_STROKED = {
    "wrong": _CROSS,
    "failed": _CROSS,
    "unparsable": "M3.5 4a2.5 2.5 0 1 1 3.2 2.4c-.5.2-.7.5-.7 1.4M6 10.2v.6",
    "refused": "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 1 0 0-9zM3 9l6-6",
    "silent": "M6 .8 11.3 11H.7zM6 4.5v3M6 9.2v.3",
    "queued": "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 1 0 0-9zM6 3.5V6l2 1.5",
    "preparing": "M6 1.5a4.5 4.5 0 1 0 4.5 4.5",
    "pending": "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 1 0 0-9z",
}


@register.simple_tag
@lru_cache(1_000)  # a table has hundreds of a few
def state_badge(state: str, label: str) -> SafeString:
    """A state: its outline, its color and its label."""
    style = 'stroke="none"' if state in _SOLID else 'fill="none" stroke-width="2"'
    return format_html(
        '<span class="mark is-{}"><svg viewBox="0 0 12 12" aria-hidden="true"><path {} d="{}"/></svg>'
        "<span>{}</span></span>",
        state,
        mark_safe(style),
        _SOLID.get(state) or _STROKED.get(state, _STROKED["pending"]),
        label,
    )


@lru_cache(10_000)
def _address(urls: str, prefix: str, name: str, arguments: tuple[Any, ...]) -> str:
    """An address; kept, because a page with hundreds of links would reverse them for 3 ms."""
    return reverse(name, args=arguments)


def address(name: str, *arguments: object) -> str:
    """The address of a route. Raises ``NoReverseMatch``."""
    return _address(settings.ROOT_URLCONF, get_script_prefix(), name, arguments)


class _AddressNode(defaulttags.URLNode):
    """Django's ``url`` with kept addresses."""

    def render(self, context: Context) -> str:
        if self.kwargs:
            return super().render(context)
        try:
            url = address(self.view_name.resolve(context), *(each.resolve(context) for each in self.args))
        except NoReverseMatch:
            if self.asvar is None:
                raise
            url = ""
        if self.asvar:
            context[self.asvar] = url
            return ""
        return conditional_escape(url)


@register.tag
def url(parser: Parser, token: Token) -> _AddressNode:
    node = defaulttags.url(parser, token)
    return _AddressNode(node.view_name, node.args, node.kwargs, node.asvar)


@register.simple_tag
def run_badge(status: str) -> SafeString:
    """The status of a run."""
    return state_badge(status, labels.run_status(status))


@register.simple_tag
def run_state(run: Run) -> SafeString:
    """The status of a run, as lists of runs say it."""
    state = state_of(run)
    return state_badge(state.mark, state.text)


@register.simple_tag
def mark(state: str, label: str) -> SafeString:
    """The outline of a state alone, where the text beside it says what it means; ``label`` is for screen readers."""
    return format_html('{}<span class="visually-hidden">{}</span>', state_badge(state, ""), label)


@register.simple_tag
def badge(outcome: str, state: str = "pending") -> SafeString:
    """The outcome of a result; its state while it has none."""
    return state_badge(outcome or "pending", labels.result_label(state, outcome))


_SUPPORT_MARK = {"yes": "correct", "ignored": "pending", "refused": "refused", "unknown": "provider_error"}


@register.simple_tag
def provider_badge(status: str, name: str = "") -> SafeString:
    """The status of a provider; with its name: "ollama: No connection", or the name alone if it is ready."""
    label = PROVIDER_STATUS[status]
    named = name if status == "ready" else f"{name}: {label}"
    return state_badge(providers.MARK[status], named if name else label)


@register.simple_tag
def local_model_badge(state: str) -> SafeString:
    return state_badge(*LOCAL_MODEL[state])


@register.simple_tag
def support_badge(support: str, message: str) -> SafeString:
    """Whether a model supports something, with what the endpoint said in the title."""
    mark = state_badge(_SUPPORT_MARK[support], SUPPORT[support])
    return format_html('<span title="{}">{}</span>', texts.visible(message), mark) if message else mark


@register.filter
def status_label(status: str) -> str:
    return labels.run_status(status)


@register.simple_tag
def info(key: str, first: str = "") -> SafeString:
    """A button after a word of the statistics that opens its meaning. ``key`` is one of the glossary; what the page
    says of this number in particular comes ``first``."""
    entry = GLOSSARY[key]
    # Parts of a page are replaced by others that have the same words, so a counter would repeat itself.
    name = f"{key}-{token_hex(4)}"
    return format_html(
        '<button type="button" class="info" popovertarget="{0}" aria-label="{1}: what it means">i</button>'
        '<span popover id="{0}" class="meaning"><b>{1}</b>. {5} {2} <a href="{3}#{4}">All words</a></span>',
        name,
        entry.title,
        entry.meaning,
        address("frontend:help"),
        key,
        first,
    )


@register.simple_tag
def interval(mean: float | Literal[""] | None, low: float | None, high: float | None) -> SafeString:
    """A mean, followed by its 95% interval. An empty text, as Django gives for attributes of ``None``, is no mean."""
    if mean is None or mean == "" or low is None or high is None:
        return format_html("{}", numbers.score(None if mean == "" else mean))
    return format_html(
        '{} <span class="interval" title="95% interval">{}</span>', numbers.score(mean), numbers.interval(low, high)
    )


@register.simple_tag
def bounds(low: float | Literal[""] | None, high: float | Literal[""] | None) -> SafeString:
    """A 95% interval without its mean."""
    if low is None or high is None or low == "" or high == "":
        return SafeString(numbers.MISSING)
    return format_html('<span class="interval" title="95% interval">{}</span>', numbers.interval(low, high))


@register.simple_tag
def tags(names: Iterable[str]) -> SafeString:
    return format_html_join(" ", '<span class="tag">{}</span>', ((texts.visible(name),) for name in names))


@register.simple_tag
def run_tags(run: Run) -> SafeString:
    return tags(runs.marks(run))


@register.simple_tag
def origin(run: Run) -> SafeString:
    return tags(runs.origin(run))


@register.simple_tag
def doubtful(run: Run) -> SafeString:
    return tags(runs.left_out(run))


@register.simple_tag
def model_link(model: str) -> SafeString:
    """The name of a model that runs have asked, with a link to its page."""
    return format_html('<a href="{}">{}</a>', address("frontend:model", model), texts.visible(model))


@register.simple_tag
def dataset_link(dataset: Dataset) -> SafeString:
    """The title of a dataset, whole in the tooltip, with a link to its page."""
    url = address("frontend:dataset", dataset.slug)
    return format_html('<a href="{}" title="{}">{}</a>', url, texts.visible(dataset.name), dataset.title)


@register.filter
def title_in(slug: str, datasets: Mapping[str, Dataset]) -> str:
    """The title of the dataset with this slug, if it is among ``datasets``."""
    return datasets[slug].title if slug in datasets else slug


@register.filter
def run_ids(rows: Iterable[Any]) -> str:
    """The runs of the rows as Compare takes them: ``12,15``."""
    return ",".join(str(row.run.pk) for row in rows)


@register.simple_tag
def chart_rows(chart: Chart) -> SafeString:
    """The rows of a chart's table; the first cell of a row links to what is behind it."""
    html = []
    for row, link in chart.linked_rows:
        first, *others = map(_cell, row)
        shown = f'<a href="{escape(link)}">{first}</a>' if link else first
        cells = "".join(f'<td class="num">{other}</td>' for other in others)
        html.append(f"<tr><td>{shown}</td>{cells}</tr>")
    return mark_safe("\n".join(html))


def _cell(value: object) -> str:
    if isinstance(value, int):
        return numbers.number(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return numbers.MISSING if value is None else escape(texts.visible(str(value)))


@register.simple_tag
def when(moment: datetime | None) -> SafeString:
    """A relative time, with the exact one in the title and for machines."""
    if moment is None:
        return SafeString(numbers.MISSING)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(timespec="seconds"),
        timezone.localtime(moment).strftime("%Y-%m-%d %H:%M:%S %Z"),
        numbers.ago(moment, timezone.now()),
    )


@register.filter
def exact(moment: datetime) -> SafeString:
    """A moment to the minute: in the time zone of the server, in that of the reader where scripts run."""
    text = timezone.localtime(moment).strftime("%Y-%m-%d %H:%M %Z")
    return format_html('<time datetime="{}" data-exact>{}</time>', moment.isoformat(timespec="seconds"), text)


@register.simple_tag(name="command")
def typed_command(words: str) -> str:
    """A command as it is typed in this installation."""
    return command(words)


@register.filter
def price(usd_per_million: float) -> str:
    """A price in US dollars per million tokens, without the currency: ``2.50``, ``0.075``."""
    return f"{usd_per_million:,.2f}" if round(usd_per_million, 2) == usd_per_million else f"{usd_per_million:,.4g}"


@register.filter
def visible(text: object) -> str:
    """Untrusted text with its invisible characters made visible; the template still escapes it."""
    return texts.visible(str(text))


@register.filter
def with_code(text: object) -> SafeString:
    """Untrusted text of ours and of others, with what stands between backticks as code."""
    parts = texts.visible(str(text)).split("`")
    if len(parts) % 2 == 0:  # a backtick without its other half
        return conditional_escape("`".join(parts))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", each) if at % 2 else each,) for at, each in enumerate(parts))
    )


@register.filter
def as_json(value: Any) -> str:
    """Readable JSON of an untrusted value; the template still escapes it."""
    return texts.visible(json.dumps(value, ensure_ascii=False, indent=2, default=str))


@register.inclusion_tag("frontend/components/text.html")
def long_text(
    text: str | Excerpt | None, whole_url: str = "", name: str = "", *, prose: bool = False
) -> dict[str, object]:
    """An untrusted text: escaped, whitespace kept, cut if long, with a link to the full text; ``name`` is its id. Of
    ``prose``, breaks that only wrap lines are drawn as spaces."""
    shown = text if isinstance(text, Excerpt) else excerpt(text or "")
    return {"excerpt": shown, "whole_url": whole_url, "name": name, "prose": prose and not has_layout(shown.text)}


@register.filter
def reflowed(text: str) -> SafeString:
    """An untrusted text with all of its characters, in which breaks that only wrap prose show as spaces."""
    lines = wrapped_lines(texts.visible(text))
    marked = ((line, mark_safe('<span class="wrap">\n</span>' if soft else "\n")) for line, soft in lines[:-1])
    return format_html("{}{}", format_html_join("", "{}{}", marked), lines[-1][0])


@register.filter
def wrapped(text: str) -> SafeString:
    """An untrusted text that may wrap between the members of compact JSON, which has no spaces there."""
    return mark_safe(escape(texts.visible(text)).replace(",&quot;", ",<wbr>&quot;"))


@register.inclusion_tag("frontend/components/select.html")
def select(
    name: str,
    label: str,
    options: Iterable[Any],
    chosen: object,
    apart: Iterable[tuple[str, Iterable[Any]]] = (),
    **layout: object,
) -> dict[str, object]:
    """A labeled select. Options are values, (value, title) pairs, or metrics; those ``apart`` follow under titles.

    ``layout``: ``empty``, the title of the choice of nothing; ``usual``, the value of an address without one;
    ``width``, small or wide; ``submit``, to send the form on change.
    """
    groups = [(title, [_option(each) for each in members]) for title, members in [("", options), *apart]]
    return {"name": name, "label": label, "groups": groups, "chosen": chosen, **layout}


def _option(option: Any) -> tuple[Any, str]:
    if isinstance(option, tuple):
        return option
    if isinstance(option, MetricRow):
        return option.name, option.title
    return (option if isinstance(option, int) else str(option)), str(option)


register.filter(kappa_words)


@register.filter
def beside(heads: Sequence[Any], cells: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Each cell of a row after its head, which names it where the row is a card."""
    return list(zip(heads, cells, strict=True))


@register.filter
def titled(values: Iterable[str]) -> list[tuple[str, str]]:
    """Identifiers as (value, label) pairs for a select."""
    return [(value, labels.sentence_case(value)) for value in values]


@register.simple_block_tag(takes_context=True)
def filters(context: Context, content: str, to: str = "") -> SafeString:
    """The filters in force as chips, and the fields that set them behind one more; ``to`` is where on the page a chip
    leads."""
    shown = {"chips": context["chips"], "fields": content, "to": to}
    return render_to_string("frontend/components/filters.html", shown)


@register.simple_tag(takes_context=True)
def sort_head(context: Context, title: str, key: str, kind: str = "") -> SafeString:
    """The head of a column; a link that sorts by it where the page has a ``sort``, ascending first."""
    sort = context.get("sort")
    marked = format_html(' class="{}"', kind) if kind else ""
    if sort is None:
        return format_html('<th scope="col"{}>{}</th>', marked, title)
    query = context["request"].GET.copy()
    query.pop("page", None)
    query["sort"] = f"-{key}" if sort == key else key
    words = {key: "ascending", f"-{key}": "descending"}
    order = format_html(' aria-sort="{}"', words[sort]) if sort in words else ""
    link = format_html('<a class="plain-link" href="?{}">{}</a>', query.urlencode(), title)
    return format_html('<th scope="col"{}{}>{}</th>', marked, order, link)


@register.simple_tag
def diff_marks(segments: Sequence[tuple[str, str]]) -> SafeString:
    """Segments of a difference, ``(kind, text)`` with kind same, added or removed, as ``ins`` and ``del``."""
    marks = {"added": "<ins>{}</ins>", "removed": "<del>{}</del>", "same": "{}"}
    return mark_safe("".join(marks[kind].format(escape(texts.visible(text))) for kind, text in segments))
