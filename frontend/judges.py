"""Judge calibrations as pages show them: view models and charts, made from the numbers stored with the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.metrics.judge_calibration import PHRASINGS, TRUTHS, VERDICTS
from benchmarks.models import Run
from benchmarks.presentation.actions import allowed_actions
from benchmarks.presentation.labels import metric_title, run_status
from benchmarks.presentation.numbers import MISSING, n_of, percent
from benchmarks.presentation.sentences import n_of_expected, unknown_cost
from benchmarks.queries.judges import agreement_of, answers_to_judge, latest_calibrations
from benchmarks.services.judges import calibratable_metrics
from frontend.chart_parts import Chart, Measure, Spec, spec_of
from frontend.charts import by_level
from frontend.view_models import MetricRow, metric_rows

Numbers = Mapping[str, Any]

ACCURACY = Measure("accuracy", "Accuracy")
ROOM_FOR_A_NUMBER, ROOM_FOR_WORDS = 0.1, 0.35
"""The share of a bar above which the number of answers, and the verdict with it, fit over it on a phone."""

_COLORS = {"correct": "var(--correct)", "partial": "var(--partial)", "wrong": "var(--wrong)"}


@dataclass(frozen=True, slots=True)
class Share:
    """A share of answers and its interval; ``mean`` is ``None`` if there are no such answers."""

    title: str
    mean: float | None
    low: float | None
    high: float | None
    n_of: str


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """One calibration. ``numbers`` is ``Agreement`` as JSON, and empty until the calibration has completed."""

    run: Run
    numbers: Numbers

    @property
    def metric(self) -> str:
        return metric_title(self.run.metrics[0])

    @property
    def canvas_set(self) -> str:
        canvas_set = self.run.dataset.known_answers_of
        return canvas_set.slug if canvas_set else ""

    @property
    def total(self) -> int:
        return answers_to_judge(self.run)

    @property
    def percent(self) -> int:
        return 100 * self.run.done // self.total if self.total else 0

    @property
    def announcement(self) -> str:
        """The status for screen readers."""
        status = run_status(self.run.status, self.run.errors)
        return f"Calibration {self.run.pk}: {status}" + (f", {self.percent} percent done" if self.run.is_live else "")

    @property
    def cost_note(self) -> str:
        """Why the cost is unknown; empty if it is known, or before the calibration is prepared."""
        run = self.run
        return unknown_cost(run.judge_model, run.judge_cost_usd, run.judge_tokens_in) if run.total else ""

    @property
    def actions(self) -> list[str]:
        """Names of the possible actions. Resuming also retries answers without a verdict."""
        allowed = allowed_actions(self.run)
        possible = {"resume": {"resume", "retry"}, "cancel": {"cancel"}, "delete": {"delete"}}
        return [name for name, any_of in possible.items() if any_of & allowed.keys()]

    @property
    def shares(self) -> list[Share]:
        titles = {
            "accuracy": "Accuracy",
            "false_accepts": "Wrong answers accepted",
            "false_rejects": "Correct answers rejected",
        }
        return [_share(title, self.numbers[name]) for name, title in titles.items()]

    @property
    def by_phrasing(self) -> list[Share]:
        """In the order of ``PHRASINGS``, because PostgreSQL keeps no order of keys."""
        shares: Numbers = self.numbers["by_phrasing"]
        ordered = sorted(shares, key=lambda name: list(PHRASINGS).index(name) if name in PHRASINGS else len(PHRASINGS))
        return [_share(name, shares[name]) for name in ordered]

    @property
    def verdicts(self) -> list[tuple[str, list[tuple[str, int]], int]]:
        """For correct and for wrong answers: ``(verdict, answers)`` in the order of ``VERDICTS``, and the total."""
        confusion = self.numbers["confusion"]
        rows = [(truth, [(verdict, confusion[f"{truth}_as_{verdict}"]) for verdict in VERDICTS]) for truth in TRUTHS]
        return [(truth, counts, sum(answers for _, answers in counts)) for truth, counts in rows]

    @property
    def n_of(self) -> str:
        """How many answers have a verdict, of how many."""
        return n_of_expected(self.numbers["accuracy"])

    @property
    def length_bias(self) -> list[tuple[str, Numbers, str]]:
        """For correct and for wrong answers: the difference, and the n of N of the questions behind it."""
        rows = [(truth, self.numbers["length_bias"][truth]) for truth in TRUTHS]
        return [
            (truth, bias, n_of_expected({"n": (n := bias["n_shared"]), "n_expected": n + bias["n_missing"]}))
            for truth, bias in rows
        ]

    @property
    def sentence(self) -> str:
        """The result in words, for readers who do not know κ."""
        shares = [self.numbers[name] for name in ("accuracy", "false_accepts", "false_rejects")]
        means = ["" if share["mean"] is None else percent(share["mean"]) for share in shares]
        counts = [n_of(share["n"], share["n_expected"]) for share in shares]
        if not means[0]:
            return ""
        words = f"The judge is correct on {means[0]} of the answers ({counts[0]} have a verdict)."
        if not all(means):
            return words
        return (
            f"{words} It accepts {means[1]} of the wrong answers ({counts[1]}) and rejects {means[2]} of the correct "
            f"ones ({counts[2]})."
        )

    @property
    def request(self) -> dict[str, object]:
        """The request for the same calibration again."""
        requested = self.run.calibration or {}
        return {
            "judge_model": self.run.judge_model,
            "canvas_set": self.canvas_set,
            "metric": self.run.metrics[0],
            "questions": requested["questions"],
            "repeats": self.run.repeats,
            "concurrency": self.run.concurrency,
            "seed": requested["seed"],
        }

    @property
    def settings(self) -> list[tuple[str, object]]:
        """Every parameter, for the end of the page."""
        labels = {
            "judge_model": "Judge",
            "metric": "Metric",
            "canvas_set": "Canvas set",
            "questions": "Max questions",
            "repeats": "Repeats per answer",
            "concurrency": "Max concurrent requests",
            "seed": "Seed",
        }
        return [
            *((label, self.request[name]) for name, label in labels.items()),
            ("Phrasings", ", ".join((self.run.calibration or {})["phrasings"])),
            ("Code version", self.run.code_version or MISSING),
        ]


@dataclass(frozen=True, slots=True)
class Reliability:
    """What is known of a run's judge for one metric: its latest calibration, and whether one is possible."""

    metric: MetricRow
    latest: CalibrationRow | None
    calibratable: bool


def calibration_row(run: Run) -> CalibrationRow:
    return CalibrationRow(run, agreement_of(run))


def calibration_rows(runs: Iterable[Run]) -> list[CalibrationRow]:
    return [calibration_row(run) for run in runs]


def judge_reliability(run: Run) -> list[Reliability]:
    """One entry for each judged metric of the run."""
    judged = [row for row in metric_rows(run) if row.judged]
    latest = latest_calibrations(run.judge_model) if judged else {}
    possible = calibratable_metrics()
    return [
        Reliability(row, calibration_row(latest[row.name]) if row.name in latest else None, row.name in possible)
        for row in judged
    ]


def calibration_charts(row: CalibrationRow) -> list[Chart | None]:
    """Verdicts by truth, and accuracy by phrasing. Empty until the calibration has completed."""
    if not row.numbers:
        return []
    phrasings = {share.title: row.numbers["by_phrasing"][share.title] for share in row.by_phrasing}
    return [
        verdicts_by_truth(row.verdicts),
        by_level("phrasings", "Accuracy by phrasing", "Phrasing", phrasings, ACCURACY),
    ]


def verdicts_by_truth(rows: Sequence[tuple[str, Sequence[tuple[str, int]], int]]) -> Chart | None:
    """One bar for correct and one for wrong answers, divided by verdict; ``None`` without answers."""
    values = [part for truth, counts, total in rows for part in _parts(truth, counts, total)]
    if not values:
        return None
    x = {"type": "quantitative", "title": "Share of answers", "scale": {"domain": [0, 1]}, "axis": {"format": "%"}}
    color = {
        "field": "verdict",
        "type": "nominal",
        "title": "Verdict",
        "scale": {"domain": list(VERDICTS), "range": [_COLORS[verdict] for verdict in VERDICTS]},
    }
    bars = {
        "mark": {"type": "bar", "height": {"band": 0.4}, "stroke": "var(--surface)"},
        "encoding": {
            "x": {"field": "from", **x},
            "x2": {"field": "to"},
            "color": color,
            "tooltip": [{"field": name} for name in ("truth", "verdict", "answers")],
        },
    }
    labels = {
        "mark": {"type": "text", "dy": -20},
        "encoding": {"x": {"field": "middle", **x}, "text": {"field": "label"}},
    }
    return Chart(
        "verdicts",
        "Verdicts on correct and wrong answers",
        "Share of answers by truth; number of answers above each bar",
        spec_of(
            values,
            height=56 * len({part["truth"] for part in values}),
            encoding={"y": {"field": "truth", "type": "nominal", "sort": None, "title": None}},
            layer=[bars, labels],
        ),
        ("Truth", "Verdict", "Answers", "Share"),
        tuple((part["truth"], part["verdict"], part["answers"], part["to"] - part["from"]) for part in values),
    )


def _share(title: str, numbers: Numbers) -> Share:
    return Share(title, numbers["mean"], numbers["low"], numbers["high"], n_of_expected(numbers))


def _parts(truth: str, counts: Sequence[tuple[str, int]], total: int) -> Iterator[Spec]:
    """The parts of a bar from left to right, without empty ones."""
    before = 0
    for verdict, answers in counts:
        if answers:
            start, end = before / total, (before + answers) / total
            words = f"{answers} {verdict}" if end - start >= ROOM_FOR_WORDS else str(answers)
            yield {
                "truth": f"{truth} answers".capitalize(),
                "verdict": verdict,
                "answers": answers,
                "from": start,
                "to": end,
                "middle": (start + end) / 2,
                "label": words if end - start >= ROOM_FOR_A_NUMBER else "",
            }
        before += answers
