"""Exports of stored runs: every result once and in order, with few queries and constant memory."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from benchmarks.models import Result, Run
from benchmarks.services.runs import exports
from codeforge_client.client import _flat
from tests.support.canvas_sets import canvas_run, make_canvas_set
from tests.support.factories import make_dataset
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return make_scored_run(values=(1.0, 0.0, None, 0.5), answer="=1+1")


def lines(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in b"".join(exports.export_pieces(run, "jsonl")).splitlines()]


def test_every_result_is_exported_once_and_in_order(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(Result.objects.filter(run=run).order_by("position").values_list("pk", flat=True))
    for portion in (1, 2, 3, 4, 500):
        monkeypatch.setattr(exports, "PORTION", portion)
        assert [line["result"] for line in lines(run)] == expected, portion


def test_results_that_share_a_position_are_exported_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "PORTION", 2)
    Result.objects.filter(run=run).update(position=7)
    assert len({line["result"] for line in lines(run)}) == len(lines(run)) == 4


def test_scores_are_those_that_are_stored(run: Run) -> None:
    stored = {score.result_id: score.value for score in run.scores.all()}
    exported = {line["result"]: line["scores"]["exact_match"]["value"] for line in lines(run) if line["scores"]}
    assert exported == stored


def test_a_portion_takes_two_queries(run: Run, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(3):  # results with tasks and texts, their scores, and that nothing follows
        lines(run)


def test_a_file_is_streamed_under_its_own_name(client: Client, run: Run) -> None:
    for address, content_type in (
        ("/runs/{}/export.csv", "text/csv"),
        ("/runs/{}/export.jsonl", "application/jsonl"),
        ("/runs/{}/export.html", "text/html"),
        ("/api/v1/benchmarks/runs/{}/export/csv", "text/csv"),
        ("/api/v1/benchmarks/runs/{}/export/jsonl", "application/jsonl"),
    ):
        response = client.get(address.format(run.pk))
        assert (response.status_code, response.streaming) == (200, True), address
        assert response["Content-Type"] == f"{content_type}; charset=utf-8", address
        assert f"run-{run.pk}-{run.dataset.slug}." in response["Content-Disposition"], address
        assert b"1+1" in response.getvalue(), address


def test_a_csv_export_contains_no_formula(client: Client, run: Run) -> None:
    text = client.get(f"/runs/{run.pk}/export.csv").getvalue().decode("utf-8-sig")
    answers = [row["actual_output"] for row in csv.DictReader(io.StringIO(text, newline=""))]
    assert set(answers) <= {"'=1+1", ""}
    assert "'=1+1" in answers


def test_an_unknown_format_does_not_exist(client: Client, run: Run) -> None:
    for form in ("exe", "pdf", "CSV"):
        assert client.get(f"/runs/{run.pk}/export.{form}").status_code == 404, form


def test_the_report_has_the_charts_of_the_page_inside_it(client: Client) -> None:
    run = make_scored_run(make_dataset(8), values=(1.0, 0.0, 0.5, 0.25, 0.75, 0.1, 0.9, 0.3))
    text = client.get(f"/runs/{run.pk}/export.html").getvalue().decode()
    assert 'src="data:image/svg+xml;base64,' in text
    assert "8 of 8" in text


def test_parquet_has_every_result_with_its_types(client: Client, run: Run) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    response = client.get(f"/api/v1/benchmarks/runs/{run.pk}/export/parquet")
    assert (response["Content-Type"], response.streaming) == ("application/vnd.apache.parquet", True)
    content = response.getvalue()
    assert content == client.get(f"/runs/{run.pk}/export.parquet").getvalue()
    rows = parquet.read_table(io.BytesIO(content)).to_pylist()
    assert [row["result"] for row in rows] == [line["result"] for line in lines(run)]
    assert [row["score.exact_match"] for row in rows] == [1.0, 0.0, None, 0.5]


def test_without_pyarrow_the_refusal_says_what_to_install(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "has_parquet", lambda: False)
    refused = client.get(f"/api/v1/benchmarks/runs/{run.pk}/export/parquet")
    assert refused.status_code == 409
    assert "requirements-parquet.txt" in refused.content.decode()
    assert client.get(f"/runs/{run.pk}/export.parquet").status_code == 404
    assert "export.parquet" not in client.get(f"/runs/{run.pk}/").content.decode()


def test_four_times_the_results_take_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "PORTION", 50)
    dataset = make_dataset(800)
    short, long = (make_scored_run(dataset, values=[1.0] * count) for count in (200, 800))
    assert peak(long) < 1.3 * peak(short)


def peak(run: Run) -> int:
    tracemalloc.start()
    for _ in exports.export_pieces(run, "jsonl"):
        pass
    _, highest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return highest


def test_every_mean_is_exported_with_its_n_and_bounds() -> None:
    run = canvas_run(make_canvas_set("3-5", 12), "baseline/random", repeats=2)
    text = b"".join(exports.export_pieces(run, "scores.csv")).decode()
    exported = {(row["part"], row["level"]): row for row in csv.DictReader(io.StringIO(text.lstrip("\ufeff")))}
    expected = {
        ("run", ""): run.summary["metrics"]["task_score"],
        ("group", "count"): run.breakdown["group"]["count"]["task_score"],
        ("n_shapes", "4"): run.breakdown["n_shapes"]["4"]["task_score"],
        ("above guessing", "average"): run.summary["chance"]["task_score"]["average"],
        ("pass@2", ""): run.summary["reliability"]["task_score"]["pass_at"]["2"],
        ("tasks with differing repeats", ""): run.summary["reliability"]["task_score"]["flipped"],
    }
    for key, numbers in expected.items():
        row = exported[key]
        assert [float(row[name]) for name in ("value", "low", "high")] == [numbers[n] for n in ("mean", "low", "high")]
        assert int(row["n"]) == numbers["n"]
    assert ("surface", "count/4") in exported
    assert ("threshold in n_shapes", "count") in exported


@pytest.fixture
def runs() -> list[Run]:
    """Of two models and prompts, with metrics of which one is theirs alone."""
    dataset = make_dataset(3)
    asked = {"seed": 7, "system_prompt": "Be brief."}
    first = make_scored_run(dataset, (1.0, 0.0, 0.5), model="acme/a", variant="brief", parameters=asked)
    second = make_scored_run(dataset, (0.0, 0.0, 1.0), model="acme/b")
    second.scores.update(metric="contains")
    Run.objects.filter(pk=second.pk).update(metrics=["contains"])
    return [first, second]


def test_one_file_has_the_results_of_several_runs_and_each_row_names_its_run(
    runs: list[Run], admin_client: Client, tmp_path: Path
) -> None:
    first, second = runs
    address = f"?runs={first.pk},{second.pk}"
    call_command("benchmark", "export", str(first.pk), str(second.pk), "--output", str(tmp_path / "a.csv"), "--json")
    selected = {"do": "export-csv", "runs": [first.pk, second.pk]}
    by_page = admin_client.post("/runs/selected/", selected, follow=True)
    files = [
        (tmp_path / "a.csv").read_bytes(),
        admin_client.get(f"/api/v1/benchmarks/runs/export/csv{address}").getvalue(),
        admin_client.get(f"/runs/export.csv{address}").getvalue(),
    ]
    assert files[0] == files[1] == files[2]
    assert by_page.getvalue() == files[0]
    rows = list(csv.DictReader(io.StringIO(files[0].decode("utf-8-sig"))))
    assert [(row["run"], row["model"], row["variant"], row["system_prompt"], row["seed"]) for row in rows] == [
        *[(str(first.pk), "acme/a", "brief", "Be brief.", "7")] * 3,
        *[(str(second.pk), "acme/b", "", "", "")] * 3,
    ]
    assert {(row["dataset"], row["dataset_version"]) for row in rows} == {(first.dataset.slug, "1")}
    assert [(row["score.exact_match"], row["score.contains"]) for row in rows] == [
        *[("1.0", ""), ("0.0", ""), ("0.5", "")],
        *[("", "0.0"), ("", "0.0"), ("", "1.0")],
    ]


def test_columns_of_scores_have_one_name_in_every_file_and_data_frame(runs: list[Run], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frames = {}
    for form, read in (("csv", pandas.read_csv), ("jsonl", pandas.read_json), ("parquet", pandas.read_parquet)):
        (path := tmp_path / f"a.{form}").write_bytes(b"".join(exports.export_results(runs, form)))
        frames[form] = read(path, lines=True) if form == "jsonl" else read(path)
        assert frames[form]["score.exact_match"].dropna().tolist() == [1.0, 0.0, 0.5], form
        assert frames[form]["seed"].dropna().tolist() == [7, 7, 7], form
    assert str(pandas.read_parquet(tmp_path / "a.parquet", dtype_backend="pyarrow")["seed"].dtype) == "int64[pyarrow]"
    flat = pandas.DataFrame([_flat(line) for line in map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())])
    assert flat["score.contains"].dropna().tolist() == [0.0, 0.0, 1.0]


def test_an_export_of_runs_that_are_missing_says_which(runs: list[Run], admin_client: Client, tmp_path: Path) -> None:
    answer = admin_client.get(f"/api/v1/benchmarks/runs/export/csv?runs={runs[0].pk},999")
    assert (answer.status_code, answer.json()["runs"]) == (400, ["Run 999 does not exist."])
    for query in ("", "?runs=", "?runs=a,b"):
        assert admin_client.get(f"/api/v1/benchmarks/runs/export/csv{query}").status_code == 400, query
    assert admin_client.get("/runs/export.csv?runs=999").status_code == 404
    assert admin_client.get(f"/runs/export.exe?runs={runs[0].pk}").status_code == 404
    for arguments, message in (
        (["999", "--output", str(tmp_path / "a.csv")], "Run 999 does not exist. To list runs"),
        ([str(runs[0].pk), "--output", str(tmp_path / "a.exe")], r"ends in \.csv, \.jsonl, \.parquet"),
    ):
        with pytest.raises(CommandError, match=message):
            call_command("benchmark", "export", *arguments)
