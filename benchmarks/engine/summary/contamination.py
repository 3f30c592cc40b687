"""A run on fresh tasks compared with the run on the published ones that it checks."""

from __future__ import annotations

from benchmarks.analysis.score_table import Column, read_scores
from benchmarks.models import Run
from benchmarks.statistics.contamination import Contamination, Sample, published_against_fresh


def contamination_numbers(published: Run, fresh: Run) -> Contamination:
    """On the headline of both runs.

    Strata are the numbers of shapes, or the levels of a generated dataset. Results on one canvas are one cluster,
    whatever the task class, and so are the repeats of one task.
    """
    old, new = _samples(published), _samples(fresh)
    missing = Sample((), ())
    strata = {str(n): (old.get(n, missing), new.get(n, missing)) for n in sorted({*old, *new})}
    return published_against_fresh(strata)


def _samples(run: Run) -> dict[int | str, Sample]:
    """The scored values with their canvases or tasks, by number of shapes or level."""
    stratum: Column = "n_shapes" if run.representation else "difficulty"
    samples: dict[int | str, tuple[list[float], list[str]]] = {}
    for level, cluster, value in read_scores(run, run.headline, stratum, "cluster").scored.rows():
        if level is not None:
            values, clusters = samples.setdefault(level, ([], []))
            values.append(value)
            clusters.append(cluster)
    return {level: Sample(values, clusters) for level, (values, clusters) in samples.items()}
