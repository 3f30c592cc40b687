"""``make bench-subsets``: estimates from a part of the tasks, on the stored results of runs.

The engine asks built-in baselines and scripted readers of canvases, which remember from 4 to 24 names, all questions of
a canvas set; ``--url`` adds a model behind any compatible endpoint, such as that of ``make local-llm``. Each model is
left out in turn. Its score on a tenth to a third of the tasks, drawn by the results of the other models as
``engine.execution.subsets`` does (of all but the baselines), is compared with its stored score on all of them.
"""

from __future__ import annotations

import argparse
from random import Random

import numpy as np

from benchmarks.providers.model_names import is_baseline
from tests.benches.bench_pages import prepared_settings
from tests.benches.bench_shortcuts import forgetful_answer
from tests.benches.statistics.report import share, table
from tests.benches.statistics.subsets import MEMORIES, Values, compared, subsets
from tests.loopback.hosting import serve
from tests.loopback.replies import Asked

SEED, SIMULATION_SEED = 20_261_124, [20_261_123, 1]
BASELINES = ("solver", "random", "majority", "blind")
PARTS = (0.1, 0.2, 1 / 3)
DRAWS = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--canvases", default="70", help="canvases of 5 to 12 shapes with six questions each")
    parser.add_argument("--url", help="base URL of one more model's endpoint, ending in /v1")
    parser.add_argument("--model", default="model", help="its name there")
    parser.add_argument("--simulate", type=int, help="draws a cell: also the simulation of bench-statistics, anew")
    arguments = parser.parse_args()
    with prepared_settings("sqlite"), serve(reader) as server:
        scores = stored_scores(server.url, arguments.canvases, arguments.url, arguments.model)
    print("\n".join(left_out(scores, np.random.default_rng(SEED))))
    if arguments.simulate:
        print("\n".join(subsets(np.random.default_rng(SIMULATION_SEED), arguments.simulate)))


def reader(asked: Asked) -> str:
    """The answer of a reader, which depends on the request alone."""
    name = str(asked.body["model"])
    answer = forgetful_answer(asked.prompt, Random(f"{name}: {asked.prompt}"), int(name.removeprefix("reader-")))
    return "I do not know." if answer is None else answer


def stored_scores(url: str, canvases: str, more: str | None, model: str) -> dict[str, Values]:
    """Model → its score on each question, from the rows of a run that the engine has finished."""
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from benchmarks.analysis.score_table import score_vector
    from benchmarks.services.runs.start import start_run
    from tests.support.canvas_sets import make_canvas_set
    from tests.support.factories import config_for
    from tests.support.running import worked

    call_command("migrate", verbosity=0)
    config = config_for(url)
    if more:
        other = config_for(more, first_byte=300.0).providers["loop"]
        config = config.model_copy(update={"providers": {**config.providers, "more": other}})
    settings.CODEFORGE = config
    dataset = make_canvas_set("5-12", canvases, seed=SEED % 1_000_000).slug
    models = [f"baseline/{name}" for name in BASELINES] + [f"loop/reader-{memory}" for memory in MEMORIES]
    scores = {}
    for name in [*models, *([f"more/{model}"] if more else [])]:
        # A model on this machine answers few at a time, and reads long prompts slowly.
        small = (
            {"concurrency": 2, "representation": "coordinates", "max_tokens": 16} if name.startswith("more/") else {}
        )
        run = worked(start_run({"dataset": dataset, "model": name, "max_tokens": 40, **small}))
        if run.status != "completed":
            error = run.error_message or run.results.exclude(error_message="").values_list("error_message").first()
            raise RuntimeError(f"{name}: the run is {run.status}, {run.errors} errors: {error}")
        scores[name] = score_vector(run, run.metrics[0])[1]
    return scores


def left_out(scores: dict[str, Values], random: np.random.Generator) -> list[str]:
    rows, coverages = [], []
    for name, own in scores.items():
        others = np.array([values for other, values in scores.items() if other != name and not is_baseline(other)])
        for part in PARTS:
            n = round(len(own) * part)
            found = [compared(random, others, own, n) for _ in range(DRAWS)]
            held, width, plain_held, plain_width = np.mean(found, axis=0)
            coverages.append(float(held))
            rows.append(
                [
                    *(name, f"{own.mean():.3f}", f"{n} of {len(own)}", share(held), share(plain_held)),
                    *(f"{100 * width:.1f}", f"{100 * plain_width:.1f}", f"{width / plain_width:.2f}"),
                ]
            )
    head = ["left-out model", "score", "tasks", "holds", "random part holds", "width", "random part", "ratio"]
    inside = sum(0.94 <= held <= 0.96 for held in coverages)
    return [
        table(head, rows),
        f"Mean {share(float(np.mean(coverages)))}, from {share(min(coverages))} to {share(max(coverages))}; "
        f"{inside} of {len(coverages)} from 94 to 96%.",
    ]


if __name__ == "__main__":
    main()
