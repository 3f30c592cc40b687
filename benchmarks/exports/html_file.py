"""A report in a single file: it needs no server and no network, runs no script, and escapes everything it quotes."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.exports.rows import ResultRow
from benchmarks.presentation.labels import metric_title, result_label
from benchmarks.presentation.numbers import MISSING
from benchmarks.presentation.sentences import score_with_status

TEXT_LENGTH = 2_000
"""Characters of a long text in the report. JSON Lines has the whole text."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2024; background: #fff }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; vertical-align: top; padding: 4px 8px; border-bottom: 1px solid #d9dde1 }
td.number, th.number { text-align: right; white-space: nowrap }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: 13px/1.4 ui-monospace, monospace }
figure { margin: 1rem 0 } figure img { max-width: 100%; height: auto }
@media (prefers-color-scheme: dark) {
  body { color: #e6e9ec; background: #16191c } th, td { border-color: #343a40 } figure { background: #fff }
}
"""


@dataclass(frozen=True, slots=True)
class Head:
    """The part above the results. ``means`` are (metric, mean with interval and n, as text); ``images`` are SVG
    documents, shown as images, in which no script can run."""

    title: str
    facts: Sequence[tuple[str, str]]
    means: Sequence[tuple[str, str]]
    images: Sequence[str] = ()


def html_pieces(head: Head, rows: Iterable[ResultRow], metrics: Sequence[str]) -> Iterator[str]:
    """The report from its first to its last line, one piece per result."""
    title = escape(head.title)
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    )
    yield f"{_table(head.facts)}<h2>Scores</h2>\n{_table(head.means)}"
    for image in head.images:
        data = base64.b64encode(image.encode()).decode()
        yield f'<figure><img alt="Chart" src="data:image/svg+xml;base64,{data}"></figure>\n'
    columns = ("#", "Task", "Outcome", *map(metric_title, metrics), "Input", "Expected", "Answer")
    yield "<h2>Results</h2>\n<table><thead><tr>" + "".join(f"<th>{escape(name)}</th>" for name in columns)
    yield "</tr></thead><tbody>\n"
    for row in rows:
        yield _row(row, metrics)
    yield "</tbody></table>\n</body></html>\n"


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = (f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows)
    return f"<table><tbody>{''.join(lines)}</tbody></table>\n"


def _row(row: ResultRow, metrics: Sequence[str]) -> str:
    answer = row.actual_output if row.actual_output is not None else row.error_message
    if row.texts_pruned_at and not answer:
        answer = f"(pruned on {row.texts_pruned_at:%Y-%m-%d})"
    names = f"<td>{escape(row.task_id)}</td><td>{escape(result_label(row.state, row.outcome))}</td>"
    scores = "".join(f'<td class="number">{escape(_score(row, metric))}</td>' for metric in metrics)
    texts = "".join(f"<td><pre>{escape(_cut(text))}</pre></td>" for text in (row.input, row.expected_output, answer))
    return f'<tr><td class="number">{row.position}</td>{names}{scores}{texts}</tr>\n'


def _score(row: ResultRow, metric: str) -> str:
    cell = row.scores.get(metric)
    if cell is None:
        return MISSING
    return score_with_status(cell.value, cell.status)


def _cut(text: str) -> str:
    more = len(text) - TEXT_LENGTH
    return text if more <= 0 else f"{text[:TEXT_LENGTH]}\n… {more:,} more characters"
