"""The agreement of a judge with people as its page shows it: view models and the chart of more labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from benchmarks.analysis.judge_agreement import JudgeAgreement
from benchmarks.analysis.judge_comparisons import Separation, separation
from benchmarks.presentation.labels import metric_title
from benchmarks.presentation.numbers import n_of, number, plural, points
from benchmarks.presentation.tables import Shown
from benchmarks.queries.judge_agreement import DisputedAnswer, disputed_answers
from benchmarks.queries.tables.judges import (
    AGREEMENT_WITH,
    DISPUTED_ANSWERS,
    ESTIMATES,
    Estimate,
    Share,
    estimates,
)
from benchmarks.statistics.intervals import Interval
from benchmarks.statistics.prediction_powered import FEWEST, CorrectedMean
from frontend.chart_parts import Chart, sentence
from frontend.judges import CalibrationRow, calibration_row
from frontend.plots import Plot, round_axis

SHOWN = 20
"""Disagreements that the page lists."""
_STEPS = 24


@dataclass(frozen=True, slots=True)
class AgreementPage:
    """``JudgeAgreement`` in words."""

    agreement: JudgeAgreement
    pair: tuple[int, ...] = ()
    """Ids of the two runs that the reader compares, if any were chosen."""

    @property
    def title(self) -> str:
        return f"{self.agreement.judge_model} as judge of {metric_title(self.agreement.metric)}"

    @property
    def lead(self) -> str:
        agreement = self.agreement
        labels = f"{plural(len(agreement.answers), 'labeled answer')} of {plural(agreement.n_reviewers, 'reviewer')}"
        other = (
            f" {plural(agreement.n_other_labels, 'label')} from outside random reviews are not used."
            if agreement.n_other_labels
            else ""
        )
        n_open = agreement.n_open_reviews
        waiting = f" {plural(n_open, 'open review')} not counted until closed." if n_open else ""
        return f"{labels}, drawn at random from {plural(len(agreement.runs), 'run')}.{other}{waiting}"

    @property
    def more_labels(self) -> str:
        """The query of a form that draws as many answers to label next as the verdict advises; empty for none."""
        if not self.agreement.verdict.more:
            return ""
        runs = ",".join(str(each.run.pk) for each in self.agreement.runs)
        given = {"metric": self.agreement.metric, "method": "rest", "size": self.agreement.verdict.more, "runs": runs}
        return urlencode(given)

    @property
    def shares(self) -> Shown[Share]:
        """How often the judge agrees with people, and with known answers if it is calibrated."""
        people, n = self.agreement.agreement, len(self.agreement.answers)
        agreed = n_of(n - len(self.agreement.disagreements), n)
        rows = [Share("People", people.mean, people.low, people.high, agreed)]
        if (row := self.calibration) and row.numbers:
            rows.append(replace(row.shares[0], title="Known answers"))
        return AGREEMENT_WITH.of(rows)

    @property
    def confusion(self) -> list[tuple[str, list[tuple[int, str]], int]]:
        """For people's verdicts: the counts by the judge's verdict with what they mean, and the total."""
        rows = []
        for title, people in (("People: right", True), ("People: wrong", False)):
            cells = [
                (self.agreement.count(people, judge), "agrees" if people == judge else error)
                for judge, error in ((True, "too lenient"), (False, "too strict"))
            ]
            rows.append((title, cells, sum(count for count, _ in cells)))
        return rows

    @property
    def steps(self) -> list[tuple[str, Interval]]:
        """How often the judge names the step that people name; empty if nobody can tell."""
        found = self.agreement.steps
        if found is None:
            return []
        titles = ("Same step", "At most one step away", "Same step, where people name one")
        return list(zip(titles, (found.same, found.near, found.where_wrong), strict=True))

    @property
    def columns(self) -> list[int]:
        """How many answers the judge passes, how many it does not, and all."""
        passed = sum(answer.judge_passes for answer in self.agreement.answers)
        return [passed, len(self.agreement.answers) - passed, len(self.agreement.answers)]

    @property
    def disagreements(self) -> Shown[DisputedAnswer]:
        """The first ``SHOWN``."""
        return DISPUTED_ANSWERS.of(disputed_answers(self.agreement.disagreements[:SHOWN], self.agreement.metric))

    @property
    def estimates(self) -> Shown[Estimate]:
        """Empty without a corrected mean."""
        return ESTIMATES.of(estimates(self.agreement.corrected) if self.agreement.corrected else ())

    @property
    def no_estimate(self) -> str:
        """Why there is no mean of all runs together."""
        if len(self.agreement.answers) < FEWEST:
            return f"A corrected mean requires {FEWEST} labeled answers."
        return "The runs were drawn in different reviews, so only each run has a corrected mean."

    @property
    def separations(self) -> Sequence[Separation]:
        """The chosen pair, or neighbors by corrected mean."""
        if self.pair:
            chosen = [each for each in self.agreement.runs if each.run.pk in self.pair]
            agreement = separation(chosen[0], chosen[1]) if len(chosen) == 2 else None
            return [agreement] if agreement else []
        return self.agreement.separations

    @property
    def pair_options(self) -> list[tuple[int, str]]:
        return [(each.run.pk, f"Run {each.run.pk}, {each.run.model_label}") for each in self.agreement.runs]

    @property
    def pair_fields(self) -> list[tuple[str, str, int]]:
        """Name, label and chosen run of the two fields; at first those that the table begins with."""
        shown = self.separations[0] if self.separations else None
        ids = self.pair or ((shown.higher.pk, shown.lower.pk) if shown else ())
        return [("first", "Run", ids[0] if ids else 0), ("second", "Compared with", ids[-1] if ids else 0)]

    @property
    def calibration(self) -> CalibrationRow | None:
        return calibration_row(self.agreement.calibration) if self.agreement.calibration else None


def labels_chart(means: CorrectedMean | None) -> Chart | None:
    """The half width of the corrected interval by number of labels; ``None`` if all answers are labeled."""
    if means is None or means.n_labels >= means.n_judged:
        return None
    last = min(means.n_judged, 4 * means.n_labels)
    counts = sorted(
        {FEWEST, means.n_labels, *(round(FEWEST + step * (last - FEWEST) / _STEPS) for step in range(_STEPS + 1))}
    )
    widths = [100 * (means.half_width if n == means.n_labels else means.half_width_with(n)) for n in counts]
    floor = 100 * means.half_width_with(means.n_judged)
    title = "Effect of more labels"
    note = (
        f"Half width of the corrected interval in points. Dashed: labels of all {number(means.n_judged)} answers, "
        f"±{floor:.1f}."
    )
    plot = Plot(round_axis(counts, most=6, whole=True, inside=True), round_axis([0.0, *widths]))
    now = f"now: ±{points(means.half_width)}"
    here = (means.n_labels, 100 * means.half_width)
    parts = (
        *plot.joined("curve", list(zip(counts, widths, strict=True))),
        plot.line("joined", (counts[0], floor), (counts[-1], floor)),
        plot.dot(*here, now),
        plot.words(*here, now),
    )
    drawn = plot.drawn(parts, sentence(title, note), height=180)
    table = tuple((n, round(width, 1)) for n, width in zip(counts, widths, strict=True))
    return Chart("more-labels", title, note, (drawn,), ("Labels", "Half width"), table)
