"""`make bench-answer-readers`: what the readers of answers make of replies that people have read.

Prints, for each reader and part of `tests/answers`, the number of replies, the false positives (the reader reads
something that the label does not say) and the false negatives (the label is an answer, the reader reads nothing).
Fails if the plain part has any. `--show` also prints the replies.

Two more tables have the errors on `formerly_unseen.yaml` and `unseen.yaml` by reader and by kind. The replies of the
latter are never shown: no rule is written from them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from benchmarks.statistics.intervals import mean_interval
from tests.answers.corpus import LABELED, PARTS, UNSEEN, corpus, labeled, labeled_reading, reading


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the replies that are read wrongly")
    arguments = parser.parse_args()
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in corpus():
        outcome = reading(row)
        for reader in (row.reader, "all"):
            counts[reader, row.part, outcome] += 1
        if arguments.show and outcome != "right":
            print(f"{outcome}: {row.part} {row.reader} {row.label!r}: {row.question} {row.reply!r}")
    print("| reader | " + " | ".join(f"{part}: n | false + | false −" for part in PARTS) + " |")
    print("|---" * (1 + 3 * len(PARTS)) + "|")
    for reader in (*dict.fromkeys(row.reader for row in corpus()), "all"):
        cells = [reader]
        for part in PARTS:
            wrong = [counts[reader, part, outcome] for outcome in ("false positive", "false negative")]
            cells += [f"{counts[reader, part, 'right'] + sum(wrong):,}", *map(str, wrong)]
        print(f"| {' | '.join(cells)} |")
    for part in LABELED:
        print_labeled(part, show=arguments.show and part != UNSEEN)
    return int(any(counts["all", "plain", outcome] for outcome in ("false positive", "false negative")))


def print_labeled(part: str, *, show: bool) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for row in labeled(part):
        outcome = labeled_reading(row)
        if show and outcome != "right":
            print(f"{outcome}: {part} {row.reader} {row.expected!r}: {row.question} {row.reply!r}")
        label = "n right" if row.right else "n wrong"
        counts.update(
            (group, column) for group in (row.reader, f"kind: {row.kind}", "all") for column in (label, outcome)
        )
    columns = ("n right", "n wrong", "wrongly right", "wrongly wrong", "unreadable")
    print(f"\n| {part.replace('_', ' ')} | " + " | ".join(columns) + " |")
    print("|---" * (1 + len(columns)) + "|")
    for group in dict.fromkeys(group for group, _ in counts if group != "all"):
        print(f"| {group} | " + " | ".join(str(counts[group, column]) for column in columns) + " |")
    print("| all | " + " | ".join(str(counts["all", column]) for column in columns) + " |")
    for outcome, total in (("wrongly right", "n wrong"), ("wrongly wrong", "n right"), ("unreadable", "n right")):
        k, n = counts["all", outcome], counts["all", total]
        rate = mean_interval([1] * k + [0] * (n - k))
        print(f"{outcome}: {k} of {n} ({k / n:.1%}, 95% interval {rate.low:.1%} to {rate.high:.1%})")


if __name__ == "__main__":
    sys.exit(main())
