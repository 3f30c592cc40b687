"""A run on fresh tasks compared with the run on the published ones that it checks."""

from __future__ import annotations

import math
from collections.abc import Hashable

from benchmarks.analysis.score_table import LEFT_OUT, Column, read_scores
from benchmarks.models import Run
from benchmarks.statistics.contamination import Contamination, Sample, published_against_fresh

_CANVAS_COLUMNS: tuple[Column, Column] = ("n_shapes", "cluster")
_TASK_COLUMNS: tuple[Column, Column] = ("difficulty", "task")


def contamination_numbers(published: Run, fresh: Run) -> Contamination:
    """On the headline of both runs.

    Strata are the numbers of shapes, or the levels of a generated dataset. Results on one canvas are one cluster,
    whatever the task class, and so are the repeats of one task. Templates of a generated dataset are no clusters here:
    both sets have the same ones.
    """
    old, new = _samples(published), _samples(fresh)
    missing = Sample((), ())
    strata = {str(n): (old.get(n, missing), new.get(n, missing)) for n in sorted({*old, *new})}
    return published_against_fresh(strata)


def _samples(run: Run) -> dict[int | str, Sample]:
    """The scored values with their canvases or tasks, and those of what has no score, by number of shapes or level."""
    stratum, unit = _CANVAS_COLUMNS if run.representation else _TASK_COLUMNS
    samples: dict[int | str, tuple[list[float], list[Hashable], list[Hashable]]] = {}
    for level, cluster, status, value in read_scores(run, run.headline, stratum, unit, "status").rows():
        if level is None or status in LEFT_OUT:
            continue
        values, clusters, unscored = samples.setdefault(level, ([], [], []))
        if math.isnan(value):
            unscored.append(cluster)
        else:
            values.append(value)
            clusters.append(cluster)
    return {level: Sample(*lists) for level, lists in samples.items()}
