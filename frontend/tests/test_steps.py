"""The page of a result's steps: the verdict with the step at fault, pages, search, failed steps, another run beside."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.dataset_format.parsing import parse_dataset
from benchmarks.models import DatasetVersion, Result, Run, Score, StoredStep, Transcript
from benchmarks.providers.steps import Step
from benchmarks.queries.steps import Steps
from benchmarks.services.datasets.versions import import_dataset
from benchmarks.services.pushes.closing import close_push
from benchmarks.services.pushes.receiving import add_results, open_push
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db

FIND = {"kind": "tool_call", "name": "find_order", "arguments": {"order_id": 1042}, "result": {"status": "paid"}}
REFUND = {"kind": "tool_call", "name": "refund", "arguments": {"order_id": 1042, "to": "card"}, "result": "refunded"}
TASK: dict[str, Any] = {
    "input": "Cancel order 1042, with store credit.",
    "expected_tools": [
        {"name": "find_order", "args": {"order_id": 1042}},
        {"name": "refund", "args": {"order_id": 1042, "to": "credit"}},
    ],
}


def pushed(model: str, steps: list[Any], **fields: Any) -> Result:
    run = open_push({"model": model, "dataset_name": "Shop", "expected": 1})
    given = {"key": "a", "answer": "Done.", "steps": steps, **TASK, **fields}
    add_results(run.pk, {"results": [given]})
    return close_push(run.pk, {}).results.get()


def address(result: Result) -> str:
    return f"/runs/{result.run_id}/results/{result.pk}/steps/"


def text_of(client: Client, url: str) -> str:
    html = client.get(url).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", html[html.index("<main") :]).split())


def test_the_verdict_names_the_first_call_that_is_not_as_expected(client: Client) -> None:
    result = pushed("acme/agent", [{"kind": "reasoning", "text": "Paid."}, FIND, REFUND])
    shown = text_of(client, address(result))
    assert "The first call that is not as expected is step 3 . Expected: refund({" in shown
    assert '"to": "credit"' in shown.replace("&quot;", '"')
    assert "find_order 2 · Tool call order_id: 1042 Returned status: paid" in shown
    assert "3 steps, 2 tool calls" in shown
    assert address(result) in client.get(f"/runs/{result.run_id}/results/{result.pk}/").content.decode()


def test_without_expected_calls_it_names_the_first_step_that_failed(client: Client) -> None:
    steps = [FIND, {**REFUND, "error": "too late"}, {"kind": "error", "text": "gave up"}]
    result = pushed("acme/agent", steps, expected_tools=[])
    assert "The first step that failed is step 2 ." in text_of(client, address(result))
    following = [client.get(address(result) + query).context["next_failed"] for query in ("", "?from=2", "?from=3")]
    assert following == [2, 3, None]
    assert 'data-key="n" href="?from=2"' in client.get(address(result)).content.decode()
    failed = text_of(client, address(result) + "?only=failed")
    assert "too late" in failed
    assert "status: paid" not in failed


def test_a_judge_names_the_first_wrong_step_and_the_page_of_the_result_links_to_it(client: Client) -> None:
    result = pushed("acme/agent", [FIND, {**REFUND, "error": "too late"}], expected_tools=[])
    page = f"/runs/{result.run_id}/results/{result.pk}/"
    link = f'The first step that failed is <a href="{address(result)}?from=2">step 2</a>.'
    assert link in " ".join(client.get(page).content.decode().split())
    score = Score.objects.create(
        result=result, run_id=result.run_id, metric="rubric:care", status="scored", value=0.5, detail={}
    )
    for named, shown in ((1, f'is <a href="{address(result)}?from=1">step 1</a>.'), (3, link)):
        score.detail = {"first_wrong_step": named}
        score.save()
        html = " ".join(client.get(page).content.decode().split())
        assert shown in html
        assert ("According to the judge of care" in html) == (named == 1)


def test_refused_calls_of_a_conversation_with_tools_are_failed_steps() -> None:
    asked = {"id": "c", "function": {"name": "refund", "arguments": '{"to": "card"}'}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c", "content": "error: too late"},
    ]
    result = make_scored_run(values=[0.0]).results.get()
    Transcript.objects.filter(result=result).update(messages=messages)
    steps = Steps(Result.objects.select_related("run", "transcript").get(pk=result.pk))
    assert [row.step.error for row in steps.rows] == ["error: too late"]
    assert (steps.counts().failed, steps.next_failed(0), steps.next_failed(1)) == (1, 1, None)


def test_calls_stand_beside_those_of_another_run_of_the_same_task(client: Client) -> None:
    ours = pushed("acme/agent", [FIND, REFUND])
    theirs = pushed("acme/other", [FIND, {**FIND, "name": "cancel_order"}, REFUND])
    page = client.get(f"{address(ours)}?beside={theirs.pk}").context["beside"]
    names = [tuple(call and call.name for call in pair) for pair in page["pairs"]]
    assert names == [("find_order", "find_order"), (None, "cancel_order"), ("refund", "refund")]
    assert client.get(f"{address(ours)}?beside={ours.pk}").context["beside"] is None


def test_a_long_text_is_cut_on_the_page_found_whole_and_opened_alone(client: Client) -> None:
    result = pushed("acme/agent", [FIND, {"kind": "message", "name": "user", "text": "x" * 5_000 + "Needle"}])
    page = client.get(address(result)).content.decode()
    assert "Needle" not in page
    assert f"{address(result)}2.txt" in page
    assert [row.step.position for row in client.get(f"{address(result)}?text=needle").context["rows"]] == [2]
    assert [row.step.position for row in client.get(f"{address(result)}?text=PAID").context["rows"]] == [1]
    whole = client.get(f"{address(result)}2.txt")
    assert "Needle" in whole.content.decode()
    assert whole["Content-Type"] == "text/plain; charset=utf-8"
    assert client.get(f"{address(result)}3.txt").status_code == 404


@pytest.mark.parametrize("query", ["from=0", "from=-1", "from=99999999999", "only=x", "text=%00", "beside=x", "from=x"])
def test_nonsense_in_the_address_is_no_error(client: Client, query: str) -> None:
    assert client.get(f"{address(pushed('acme/agent', [FIND]))}?{query}").status_code == 200


def test_a_run_without_stored_steps_has_those_of_its_messages(client: Client) -> None:
    result = pushed("acme/agent", [FIND])
    StoredStep.objects.all().delete()
    call = {"id": "c", "function": {"name": "lookup", "arguments": '{"key": "rate"}'}}
    messages = [
        {"role": "user", "content": "What is the rate?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "7%"},
        {"role": "assistant", "content": "7 percent"},
    ]
    result.transcript.messages = messages
    result.transcript.save()
    shown = text_of(client, address(result))
    assert "lookup 2 · Tool call key: rate Returned 7%" in shown
    assert "3 steps, 1 tool call" in shown
    assert "percent" in client.get(f"{address(result)}3.txt").content.decode()


def test_300_000_steps_open_at_any_place_in_a_few_queries(client: Client) -> None:
    result = pushed("acme/agent", [FIND], expected_tools=[])
    StoredStep.objects.all().delete()
    template = StoredStep.of(result.pk, 1, Step(kind="tool_call", name="shell", arguments={"cmd": "ls"}, result="a"))
    values = [field.attname for field in StoredStep._meta.concrete_fields if field.name != "id"]
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
    columns = ", ".join(f'"{name}"' for name in values)
    given = ", ".join("i" if name == "position" else "%s" for name in values)
    parameters = [getattr(template, name) for name in values if name != "position"]
    with connection.cursor() as cursor:
        insert = f"INSERT INTO benchmarks_step ({columns}) {numbers} SELECT {given} FROM n"
        cursor.execute(insert, parameters)
    StoredStep.objects.filter(position__in=(7, 250_000)).update(failed=True)
    for query in ("", "?from=299950", "?from=8", "?only=failed", "?text=nothing", "?from=280001&text=shell"):
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address(result) + query).status_code == 200
        assert len(queries) < 30, query
    assert 'href="?from=250000"' in client.get(address(result) + "?from=8").content.decode()


WORLD = """
name: Desk
description: Loans
tools:
  - type: function
    function: {name: renew, description: Renew a loan, parameters: {type: object, properties: {loan: {type: integer}}}}
world:
  tables:
    loans: [{id: 7, due: "2026-05-01", member: Ann}, {id: 8, due: "2026-05-02", member: Bo}]
  rules:
    - {tool: renew, table: loans, action: update, where: {id: $loan}, set: {due: "2026-06-01"}}
tasks:
  - {id: renewal, name: Renewal, input: Renew both loans., expected_output: "",
     expected_tools: [{name: renew, args: {loan: 7}}, {name: renew, args: {loan: 8}}],
     final_state: {rows: [{table: loans, where: {id: 7, due: "2026-06-01"}},
                          {table: loans, where: {id: 8, due: "2026-06-01"}}]}}
"""


def test_the_world_before_and_after_the_calls_is_shown_beside_what_is_expected(client: Client) -> None:
    parsed = parse_dataset(WORLD.encode(), "desk.yaml")
    assert parsed.spec is not None, parsed.problems
    dataset = import_dataset(parsed.spec, "desk", DatasetVersion.Origin.UPLOAD).dataset
    run = make_scored_run(dataset, [0.5])
    result = run.results.get()
    call = {"name": "renew", "arguments": {"loan": 7}, "raw": '{"loan": 7}'}
    Transcript.objects.filter(result=result).update(tool_calls=[call])
    assert ">State before and after</a>" in client.get(address(result)).content.decode()
    shown = text_of(client, address(result) + "?view=state")
    assert "Holds: loans: id: 7, due: 2026-06-01" in shown
    assert "Does not hold: loans: id: 8, due: 2026-06-01" in shown
    assert "Row changed in loans" in shown
    assert "due 2026-05-01 2026-06-01" in shown
    assert "member Ann Ann" in shown
    assert "Bo" not in shown
    Transcript.objects.filter(result=result).update(tool_calls=[])
    assert "The calls changed nothing." in text_of(client, address(result) + "?view=state")


def test_scores_beside_the_steps_stand_apart_from_facts_and_name_their_judge(client: Client) -> None:
    result = make_scored_run(values=(1.0,), answer="2").results.get()
    assert "Scores Exact match 1.000 Facts Time" in text_of(client, address(result))
    Score.objects.filter(result=result).update(judge={"prompt": "Is it?", "raw_reply": "1"})
    Run.objects.filter(pk=result.run_id).update(judge_model="acme/judge")
    assert "Scores Exact match 1.000 judged by acme/judge Facts Time" in text_of(client, address(result))


def test_a_task_without_a_world_has_no_state(client: Client) -> None:
    result = pushed("acme/agent", [FIND])
    assert "State before and after" not in text_of(client, address(result))
    assert "find_order" in text_of(client, address(result) + "?view=state")


def test_what_a_result_cost_and_its_final_answer_stand_beside_its_steps(client: Client) -> None:
    result = pushed("acme/agent", [FIND])
    other = pushed("acme/other", [FIND, REFUND])
    Result.objects.filter(pk=result.pk).update(duration_ms=1500, tokens_in=12, tokens_out=3)
    shown = text_of(client, address(result))
    assert "Final answer after step 1 Done." in shown
    assert "Facts Time 1.5 s Tokens 12 in, 3 out Cost" in shown
    assert f"Other runs {int(other.outcome == 'correct')} of 1 correct" in shown
    assert "Clear" not in shown
    assert "No step contains “nowhere”." in text_of(client, address(result) + "?text=nowhere")
    empty = client.get(address(result) + "?text=nowhere").content.decode()
    assert f'href="{address(result)}">Show all steps</a>' in empty
    assert 'name="text" value="nowhere"' in empty, "what was searched for can be changed"
