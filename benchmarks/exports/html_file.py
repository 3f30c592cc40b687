"""A report that is one file: it needs no server and no network, runs no script, and whatever it quotes is text."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.exports.rows import ResultRow

TEXT_LENGTH = 2_000
"""Characters of a long text in the report; JSON Lines has the whole."""

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
    """What stands above the results. ``means`` are (metric, mean with its interval and n, in words); ``pictures`` are
    SVG documents, shown as pictures, in which nothing can run."""

    title: str
    facts: Sequence[tuple[str, str]]
    means: Sequence[tuple[str, str]]
    pictures: Sequence[str] = ()


def html_pieces(head: Head, rows: Iterable[ResultRow], metrics: Sequence[str]) -> Iterator[str]:
    """The report from its first line to its last, a piece for each result."""
    yield _beginning(head)
    columns = ("#", "task", "outcome", *metrics, "asked", "expected", "answered")
    yield "<h2>Results</h2>\n<table><thead><tr>" + "".join(f"<th>{escape(name)}</th>" for name in columns)
    yield "</tr></thead><tbody>\n"
    for row in rows:
        yield _row(row, metrics)
    yield "</tbody></table>\n</body></html>\n"


def _beginning(head: Head) -> str:
    title = escape(head.title)
    return "".join(
        (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n",
            _table(head.facts),
            "<h2>Scores</h2>\n",
            _table(head.means),
            *(f'<figure><img alt="chart" src="{_as_data(picture)}"></figure>\n' for picture in head.pictures),
        )
    )


def _as_data(picture: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()}"


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = (f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows)
    return f"<table><tbody>{''.join(lines)}</tbody></table>\n"


def _row(row: ResultRow, metrics: Sequence[str]) -> str:
    answer = row.actual_output if row.actual_output is not None else row.error_message
    if row.texts_pruned_at and not answer:
        answer = f"(pruned on {row.texts_pruned_at:%Y-%m-%d})"
    scores = "".join(f'<td class="number">{escape(_score(row, metric))}</td>' for metric in metrics)
    texts = "".join(
        f"<td><pre>{escape(_shortened(text))}</pre></td>" for text in (row.input, row.expected_output, answer)
    )
    names = f"<td>{escape(row.task_id)}</td><td>{escape(row.outcome or row.state)}</td>"
    return f'<tr><td class="number">{row.position}</td>{names}{scores}{texts}</tr>\n'


def _score(row: ResultRow, metric: str) -> str:
    score = row.scores.get(metric)
    if score is None:
        return "–"
    return score.status.replace("_", " ") if score.value is None else f"{score.value:.3f}"


def _shortened(text: str) -> str:
    if len(text) <= TEXT_LENGTH:
        return text
    return f"{text[:TEXT_LENGTH]}\n… {len(text) - TEXT_LENGTH:,} more characters"
