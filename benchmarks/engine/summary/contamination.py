"""A run on fresh canvases compared with the run on the published set that it checks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks.engine.summary.means import FETCHED
from benchmarks.models import Run
from benchmarks.statistics.contamination import Sample, published_against_fresh


def contamination_numbers(published: Run, fresh: Run) -> dict[str, Any]:
    """``Contamination`` as JSON, on the first metric of both runs.

    Strata are the numbers of shapes. Results on one canvas are one cluster, whatever the task class.
    """
    old, new = _samples(published), _samples(fresh)
    missing = Sample((), ())
    strata = {str(n): (old.get(n, missing), new.get(n, missing)) for n in sorted({*old, *new})}
    return asdict(published_against_fresh(strata))


def _samples(run: Run) -> dict[int, Sample]:
    """The scored values with their canvases, by number of shapes."""
    rows = run.scores.filter(metric=run.metrics[0], value__isnull=False).order_by()
    samples: dict[int, tuple[list[float], list[str]]] = {}
    for n_shapes, value, cluster in rows.values_list("result__n_shapes", "value", "result__cluster").iterator(FETCHED):
        if n_shapes is not None and value is not None:
            values, clusters = samples.setdefault(n_shapes, ([], []))
            values.append(value)
            clusters.append(cluster)
    return {n_shapes: Sample(values, clusters) for n_shapes, (values, clusters) in samples.items()}
