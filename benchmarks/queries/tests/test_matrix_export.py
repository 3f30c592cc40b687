"""The matrix of an experiment or of runs as a file: every form, its numbers, and what its texts cannot do."""

from __future__ import annotations

import csv
import io
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from benchmarks.analysis.same_rows import pair_edges
from benchmarks.models import Dataset, Experiment, Run
from benchmarks.queries.experiments import experiment_runs
from benchmarks.queries.matrix import matrix, matrix_rows
from benchmarks.queries.matrix_export import MATRIX_TYPES, matrix_file
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db
N = 20
ODD = "=SUM(1)|a\\b_{c}%$#&~^<b>\u202e\x1b\x00"


@pytest.fixture
def experiment() -> Experiment:
    found = Experiment.objects.create(name="Prompts", request={})
    for slug in ("first", "second"):
        dataset = make_dataset(N, slug=slug, name=f"The {slug}")
        for model, right in (("a/large", 20), ("a/small", 4)):
            values = [1.0] * right + [0.0] * (N - right)
            alike = {"experiment": found, "variant": "plain", "summarized_at": timezone.now()}
            make_scored_run(dataset, values, model=model, cost_usd=None if model == "a/small" else 0.5, **alike)
    return found


def exported(experiment: Experiment, form: str) -> str:
    return matrix_file(form, experiment=experiment.pk, runs=[])[0].decode("utf-8-sig")


def test_the_spreadsheet_has_every_number_of_the_api(experiment: Experiment) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(experiment, "csv"))))
    told = matrix_rows(matrix(experiment_runs(experiment)))
    assert [(row["model"], row["dataset"], int(row["run"]), int(row["n"])) for row in rows] == [
        (row["model"], row["dataset"], row["run"], row["n"]) for row in told
    ]
    assert [float(row["low"]) for row in rows] == [row["low"] for row in told]
    assert {row["rank"] for row in rows} == {"1–1", "2–2"}
    assert {row["cost_usd"] for row in rows if row["model"] == "a/small"} == {""}
    assert [float(row["cost_usd"] or -1) for row in rows] == [
        -1 if row["cost_usd"] is None else row["cost_usd"] for row in told
    ]


def test_markdown_and_latex_have_the_table_of_the_page(experiment: Experiment) -> None:
    markdown = exported(experiment, "md")
    assert "| Rank | Model | Variant | Overall | Group | Best | The first v1 | The second v1 |" in markdown
    (large,) = (line for line in markdown.splitlines() if "a/large" in line)
    assert large.startswith("| 1 | a/large | plain | 1.000 (")
    assert large.count("20 of 20") == 2
    latex = exported(experiment, "tex")
    assert "\\begin{tabular}{llllllll}" in latex
    assert latex.count("\\\\\n") == 3
    assert "a/small & plain & 0.200 (" in latex


def test_every_text_says_which_rows_are_the_same_within_the_margin(experiment: Experiment, client: Client) -> None:
    grid = matrix(experiment_runs(experiment))
    assert grid.same_sentence == "None are shown to be the same within 2.0 points (two one-sided tests of 1 pair)."
    for dataset in Dataset.objects.all():
        twin = {"experiment": experiment, "variant": "twin", "summarized_at": timezone.now()}
        make_scored_run(dataset, [1.0] * N, model="a/large", **twin)
    said = "The same within 30.0 points: large and large (twin) (two one-sided tests of 3 pairs)."
    assert matrix(experiment_runs(experiment), margin=0.3).same_sentence == said
    assert said in matrix_file("md", experiment=experiment.pk, runs=[], margin=0.3)[0].decode()
    assert said in client.get(f"/experiments/{experiment.pk}/?margin=30").content.decode()
    assert said in client.get(f"/matrix.md?experiment={experiment.pk}&margin=30").content.decode()
    address = f"/api/v1/benchmarks/experiments/{experiment.pk}"
    assert client.get(f"{address}?margin=30").json()["same_sentence"] == said
    assert client.get(f"{address}?margin=-1").status_code == 400
    api = client.get(f"/api/v1/benchmarks/matrix/md?experiment={experiment.pk}&margin=30")
    assert said in api.content.decode()


def test_a_missing_score_is_counted_against_that_rows_are_the_same(experiment: Experiment) -> None:
    for dataset in Dataset.objects.all():
        twin = {"experiment": experiment, "variant": "twin", "summarized_at": timezone.now()}
        make_scored_run(dataset, [1.0] * (N - 1) + [None], model="a/large", **twin)
    rows = [row for row in matrix(experiment_runs(experiment)).rows if row.model == "a/large"]
    [found] = pair_edges(rows, "")
    assert (found.n, found.n_missing, found.difference) == (2 * N - 2, 2, 0)
    assert found.low is not None
    assert found.low_missing is not None
    assert found.low_missing < found.low - 0.04, "one of twenty may be wrong"
    assert found.high == found.high_missing, "and none can be better than right"
    assert found.is_same(0.3)
    assert not found.is_same(-found.low_missing)


def test_the_picture_is_a_png(experiment: Experiment) -> None:
    content, name = matrix_file("png", experiment=experiment.pk, runs=[])
    assert content.startswith(b"\x89PNG")
    assert name == f"experiment-{experiment.pk}.png"


def test_odd_texts_stay_text_in_every_form(experiment: Experiment) -> None:
    Experiment.objects.update(name=ODD)
    Run.objects.filter(model="a/large").update(model=ODD, variant=ODD)
    files = {form: matrix_file(form, experiment=experiment.pk, runs=[])[0] for form in MATRIX_TYPES}
    rows = list(csv.DictReader(io.StringIO(files["csv"].decode("utf-8-sig"))))
    assert "'" + ODD in {row["model"] for row in rows}
    for form in ("md", "tex"):
        assert not set("\u202e\x1b\x00") & set(files[form].decode())
    assert "\\|a\\\\b\\_{c}%$\\#&amp;~^&lt;b>" in files["md"].decode()
    assert "a\\textbackslash{}b\\_\\{c\\}\\%\\$\\#\\&\\textasciitilde{}\\textasciicircum{}" in files["tex"].decode()
    assert files["png"].startswith(b"\x89PNG")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_sets_the_table(experiment: Experiment, tmp_path: Path) -> None:
    import subprocess

    Experiment.objects.update(name=ODD.replace("\x00", ""))
    head, foot = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}", "\\end{document}"
    (tmp_path / "a.tex").write_text(f"{head}{exported(experiment, 'tex')}{foot}")
    subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"], cwd=tmp_path, check=True)


def test_pages_api_and_command_write_the_same_file(experiment: Experiment, client: Client, tmp_path: Path) -> None:
    ids = ",".join(str(run.pk) for run in experiment_runs(experiment))
    for form, kind in MATRIX_TYPES.items():
        content, name = matrix_file(form, experiment=experiment.pk, runs=[])
        for address in (f"/matrix.{form}?experiment={experiment.pk}", f"/api/v1/benchmarks/matrix/{form}?runs={ids}"):
            answer = client.get(address)
            assert answer.status_code == 200, address
            assert answer.headers["Content-Type"] == kind
            assert answer.headers["Content-Disposition"].startswith("attachment;")
        assert client.get(f"/matrix.{form}?experiment={experiment.pk}").content == content
        call_command("benchmark", "experiment", "export", str(experiment.pk), "--output", str(tmp_path / name))
        assert (tmp_path / name).read_bytes() == content
    html = client.get(f"/experiments/{experiment.pk}/").content.decode()
    assert 'formaction="/matrix.tex"' in html


def test_what_cannot_be_exported_is_refused(experiment: Experiment, client: Client, tmp_path: Path) -> None:
    for address in ("/matrix.csv", "/matrix.csv?experiment=99", "/matrix.csv?runs=99", "/matrix.exe?experiment=1"):
        assert client.get(address).status_code == 404, address
    api = "/api/v1/benchmarks/matrix/csv"
    assert client.get(f"{api}?experiment=99").status_code == 404
    assert client.get(f"{api}?runs=one").status_code == 400
    assert client.get(api).status_code == 404
    for output in ([], ["--output", str(tmp_path / "matrix.exe")]):
        with pytest.raises(Exception, match="--output"):
            call_command("benchmark", "experiment", "export", str(experiment.pk), *output, stdout=StringIO())
    with pytest.raises(Run.DoesNotExist):
        matrix_file("csv", experiment=None, runs=[])
