"""A report in a single file: it needs no server and no network, runs no script, and escapes everything it quotes."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.exports.rows import ResultRow
from benchmarks.presentation.labels import metric_title, result_label
from benchmarks.presentation.numbers import MISSING, UNKNOWN
from benchmarks.presentation.sentences import score_with_status
from benchmarks.presentation.texts import visible

TEXT_LENGTH = 2_000
"""Characters of a long text in the report. JSON Lines has the whole text."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
:root { color-scheme: light dark; --paper: light-dark(#fafaf9, #131619); --surface: light-dark(#fff, #1a1e22);
  --line: light-dark(#e3e3df, #2b3137); --ink: light-dark(#17191b, #e9ebed); --soft: light-dark(#55595e, #a6aeb6);
  --correct: light-dark(#00805f, #2fbf95); --partial: light-dark(#b07a00, #e6b33c);
  --wrong: light-dark(#c24a00, #f0803c); --error: light-dark(#5f646a, #98a0a8) }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1200px; padding: 0 32px 40px; background: var(--paper); color: var(--ink);
  font: 14px/20px system-ui, sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: break-word }
.brand { margin: 0; padding: 12px 0; border-bottom: 1px solid var(--line); color: var(--soft) }
.brand strong { color: var(--ink) }
h1 { margin: 24px 0 4px; font-size: 24px; line-height: 30px }
.lead { margin: 0 0 16px; color: var(--soft) }
h2 { margin: 40px 0 12px; font-size: 18px }
.verdict { display: grid; grid-template-columns: repeat(auto-fit, minmax(220px, 1fr)); gap: 16px 32px;
  padding: 20px 24px; border: 1px solid var(--line); border-radius: 6px; background: var(--surface) }
.verdict p { margin: 0; color: var(--soft) } .verdict strong { display: block; color: var(--ink); font-size: 24px;
  line-height: 30px } .verdict p:first-child strong { font-size: 48px; line-height: 54px; letter-spacing: -0.02em }
.outcomes { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 16px 0 0; padding: 0; list-style: none }
.mark { white-space: nowrap }
.mark::before { content: "✕ "; color: var(--wrong); font-weight: 700 }
.mark.correct::before { content: "● "; color: var(--correct) }
.mark.partial::before { content: "◐ "; color: var(--partial) }
.mark:is(.answered, .pending)::before { content: "○ "; color: var(--soft) }
.mark:is(.provider_error, .internal_error, .judge_error, .metric_error, .cancelled)::before
{ content: "□ "; color: var(--error) }
.scroll { overflow-x: auto; margin-bottom: 12px } .scroll td { min-width: 88px }
table { width: 100%; border-collapse: collapse }
th, td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { color: var(--soft); font-size: 13px; font-weight: 500 }
.number { text-align: right; white-space: nowrap }
.facts th { width: 176px }
pre { margin: 0; font: 13px/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
figure { margin: 0 0 16px; padding: 8px; border: 1px solid var(--line); border-radius: 6px;
  overflow-x: auto; background: #fff }
figure img { display: block }
@media (max-width: 720px) {
  body { padding: 0 16px 32px }
  .verdict { padding: 16px }
  .facts th { width: 112px }
  .results thead { display: none } .results, .results tbody { display: block }
  .results tr { display: grid; grid-template-columns: auto 1fr; gap: 2px 12px; padding: 12px 0;
    border-bottom: 1px solid var(--line) }
  .results td { display: contents }
  .results td::before { content: attr(data-label); color: var(--soft); font-size: 13px }
  .results td > * { min-width: 0 }
}
@media print {
  :root { color-scheme: light } body { max-width: none; padding: 0; background: #fff }
  tr, figure, .verdict { break-inside: avoid }
}
"""

_NOTHING = {"", MISSING, UNKNOWN}
"""Cells without a value."""


@dataclass(frozen=True, slots=True)
class Head:
    """The part above the results. ``means`` are (metric, mean, interval and n in words); ``outcomes`` are (outcome,
    label with count and share); ``failures`` (outcome, its label, reason, count and share); ``images`` (title, SVG
    document), shown as images, in which no script can run. ``lead`` is a line below the title.
    """

    title: str
    lead: str
    means: Sequence[tuple[str, str, str]]
    outcomes: Sequence[tuple[str, str]]
    failures: Sequence[tuple[str, str, str, str]]
    facts: Sequence[tuple[str, str]]
    images: Sequence[tuple[str, str]] = ()


def html_pieces(head: Head, rows: Iterable[ResultRow], metrics: Sequence[str]) -> Iterator[str]:
    """The report from its first to its last line, one piece per result: as the page of a run, the verdict first."""
    yield _opening(head.title, head.lead)
    means = (f"<p>{escape(name)}<strong>{escape(mean)}</strong>{escape(words)}</p>" for name, mean, words in head.means)
    outcomes = (f'<li class="mark {escape(name)}">{escape(label)}</li>' for name, label in head.outcomes)
    yield f'<section class="verdict">{"".join(means)}</section>\n<ul class="outcomes">{"".join(outcomes)}</ul>\n'
    if head.failures:
        lines = (
            f'<tr><td><span class="mark {escape(outcome)}">{escape(label)}</span></td>'
            f'<td>{escape(reason)}</td><td class="number">{escape(count)}</td></tr>'
            for outcome, label, reason, count in head.failures
        )
        yield "<h2>What failed</h2>\n<table><thead><tr><th>Outcome</th><th>Reason</th>"
        yield f'<th class="number">Results</th></tr></thead><tbody>{"".join(lines)}</tbody></table>\n'
    if head.images:
        yield "<h2>Scores by group</h2>\n"
    yield from _figures(head.images)
    columns = ("Task", "Outcome", *map(metric_title, metrics), "Input", "Expected", "Answer")
    yield '<h2>Results</h2>\n<table class="results"><thead><tr>'
    yield "".join(f"<th>{escape(name)}</th>" for name in columns) + "</tr></thead><tbody>\n"
    for row in rows:
        yield _row(row, columns, metrics)
    facts = (f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in head.facts)
    yield f'</tbody></table>\n<h2>Run details</h2>\n<table class="facts"><tbody>{"".join(facts)}</tbody></table>\n'
    yield "</main></body></html>\n"


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table in words: ``heads`` of its columns, and for each row as many cells."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables_html(
    title: str,
    lead: str,
    sentences: Sequence[str],
    tables: Sequence[TextTable],
    *,
    notes: Sequence[str] = (),
    images: Sequence[tuple[str, str]] = (),
) -> str:
    """A page of statements, tables and charts: what can be said first. Empty ``sentences``, tables without rows, and
    columns that say nothing in any row are left out, ``images`` are as in ``Head``."""
    said = "".join(f"<li>{escape(visible(sentence))}</li>" for sentence in sentences if sentence)
    parts = [_opening(visible(title), visible(lead)), f"<ul>{said}</ul>\n" if said else ""]
    for table in (each for each in tables if each.rows):
        columns = [
            column for column in zip(table.heads, *table.rows, strict=True) if not _NOTHING.issuperset(column[1:])
        ]
        heads, *lines = zip(*columns, strict=True)
        head = "".join(f'<th scope="col">{escape(visible(name))}</th>' for name in heads)
        rows = ("".join(f"<td>{escape(visible(cell))}</td>" for cell in line) for line in lines)
        body = "".join(f"<tr>{row}</tr>\n" for row in rows)
        parts.append(
            f'<h2>{escape(visible(table.title))}</h2>\n<div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>\n{body}</tbody></table></div>\n"
        )
    parts += (f'<p class="lead">{escape(visible(note))}</p>\n' for note in notes)
    return "".join((*parts, *_figures(images), "</main></body></html>\n"))


def _opening(title: str, lead: str) -> str:
    title = escape(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} – CodeForge Benchmarks</title><style>{STYLE}</style></head><body>\n"
        '<header class="brand"><strong>CodeForge</strong> Benchmarks</header>\n'
        f'<main><h1>{title}</h1>\n<p class="lead">{escape(lead)}</p>\n'
    )


def _figures(images: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, image in images:
        data = base64.b64encode(image.encode()).decode()
        yield f'<figure><img alt="{escape(name)}" src="data:image/svg+xml;base64,{data}"></figure>\n'


def _row(row: ResultRow, columns: Sequence[str], metrics: Sequence[str]) -> str:
    answer = row.actual_output if row.actual_output is not None else row.error_message
    if row.texts_pruned_at and not answer:
        answer = f"(pruned on {row.texts_pruned_at:%Y-%m-%d})"
    outcome = (
        f'<span class="mark {escape(row.outcome or "pending")}">{escape(result_label(row.state, row.outcome))}</span>'
    )
    cells = [
        f"<span>{escape(row.task_id)}</span>",
        outcome,
        *(f"<span>{escape(_score(row, metric))}</span>" for metric in metrics),
        *(f"<pre>{escape(_cut(text))}</pre>" for text in (row.input, row.expected_output, answer)),
    ]
    labeled = zip(columns, cells, strict=True)
    return "".join(("<tr>", *(f'<td data-label="{escape(name)}">{cell}</td>' for name, cell in labeled), "</tr>\n"))


def _score(row: ResultRow, metric: str) -> str:
    cell = row.scores.get(metric)
    if cell is None:
        return MISSING
    return score_with_status(cell.value, cell.status)


def _cut(text: str) -> str:
    more = len(text) - TEXT_LENGTH
    return text if more <= 0 else f"{text[:TEXT_LENGTH]}\n… {more:,} more characters"
