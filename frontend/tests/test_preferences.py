"""Preference runs on pages: started from a comparison or an experiment, followed, and read pair by pair."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from benchmarks.models import Run
from benchmarks.queries.preferences import preferences
from benchmarks.services.access import assign_group
from benchmarks.services.experiments.start import start_experiment
from benchmarks.services.preferences import start_preference
from benchmarks.services.reviews.queues import close_review, create_review, save_and_next, start_labeling
from tests.loopback.replies import Asked
from tests.support.factories import JUDGE, make_dataset, make_run
from tests.support.running import Endpoint, worked

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<script>alert(1)</script>"


def longer(asked: Asked) -> str:
    """Models that answer with their names, and a judge that prefers the longer answer."""
    if asked.body["model"] != "judge":
        return f"{HOSTILE} {asked.body['model']}"
    first, second = re.findall(r"<<ANSWER [0-9a-f]+>>\n(.*?)\n<</ANSWER", asked.prompt, re.DOTALL)
    return json.dumps({"reason": HOSTILE, "verdict": "A" if len(first) > len(second) else "B"})


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return re.sub(r"\s+", " ", response.content.decode())


def verdicts_in(page: str) -> list[str]:
    """What the pairs of a page were decided by."""
    return re.findall(r"</h3> <p><b>(.*?)</b></p>", page)


def primary_in(main: str) -> list[str]:
    return [words.strip() for words in re.findall(r'class="(?:button )?primary"[^>]*>([^<]+)<', main)]


def sources(*models: str, tasks: int = 30) -> list[Run]:
    dataset = make_dataset(tasks)
    return [worked(make_run(dataset, model=f"loop/{model}")) for model in models]


def test_a_comparison_leads_to_an_estimate_a_run_and_its_page(endpoint: Endpoint, client: Client) -> None:
    endpoint(longer)
    ids = [run.pk for run in sources("a", "bbb")]
    assert "/preferences/new/?runs=" in text_of(client, f"/compare/?runs={ids[0]},{ids[1]}")
    assert "loop/bbb" in text_of(client, f"/preferences/new/?runs={ids[0]},{ids[1]}")
    given: dict[str, Any] = {"runs": ids, "judge_model": JUDGE}
    estimate = client.post("/preferences/new/", {**given, "do": "plan"}).content.decode()
    assert "60" in estimate
    assert not preferences().exists()
    assert client.post("/preferences/new/", {**given, "tasks": "none", "do": "start"}).status_code == 400
    response = client.post("/preferences/new/", {**given, "do": "start"})
    run = preferences().get()
    assert response["Location"] == f"/preferences/{run.pk}/"
    assert "0 of 60" in text_of(client, f"/preferences/{run.pk}/")
    worked(run)
    page = text_of(client, f"/preferences/{run.pk}/")
    assert "loop/bbb is preferred: it wins 100% of its comparisons" in page
    assert "No significant position bias" in page
    assert "Too few" not in page
    assert "30 of 30 pairs of answers differ: loop/bbb wins 30." in page
    assert "Each order is a verdict, a tie half a win: 0 won, 0 tied, 60 lost" in page
    assert f"preference run {run.pk}" in text_of(client, "/preferences/")
    pairs = text_of(client, f"/preferences/{run.pk}/pairs/?a=0&b=1")
    assert "loop/judge saw different answers in both orders; one wins if it is chosen in both." in pairs
    assert "1 to 10 of 30" in pairs
    assert HOSTILE not in pairs
    assert text_of(client, f"/runs/{run.pk}/")
    result = run.results.order_by("position")[0]
    assert text_of(client, f"/runs/{run.pk}/results/{result.pk}/")


def test_each_pair_is_shown_once_and_filtered_by_verdict(endpoint: Endpoint, client: Client) -> None:
    def choice(asked: Asked) -> str:
        number = re.search(r"What is (\d) \+ \1", asked.prompt)
        verdicts = {"1": "tie", "2": "A", "3": "A"}
        if asked.body["model"] != "judge" or number is None or number[1] not in verdicts:
            return longer(asked)
        return json.dumps({"reason": "because", "verdict": verdicts[number[1]]})

    endpoint(choice)
    ids = [run.pk for run in sources("a", "bbb", "ccccc", tasks=5)]
    run = worked(start_preference({"runs": ids, "judge_model": JUDGE}))
    address = f"/preferences/{run.pk}/pairs/"

    def verdicts(query: str) -> list[str]:
        return verdicts_in(text_of(client, address + query))

    shown = verdicts("") + verdicts("?page=2")
    assert shown[6:] == ["No winner: choice changed with the order"] * 6 + ["Tie"] * 3, "decided ones first"
    assert len(shown) == 15
    wins = {"loop/ccccc wins": 4, "loop/bbb wins": 2}
    assert {name: shown.count(name) for name in wins} == wins
    assert verdicts("?verdict=disagree") == ["No winner: choice changed with the order"] * 6
    assert verdicts("?verdict=tie") == ["Tie"] * 3
    assert verdicts(f"?verdict={ids[2]}") == ["loop/ccccc wins"] * 4
    assert verdicts(f"?a=0&b=1&verdict={ids[1]}") == ["loop/bbb wins"] * 2
    assert len(verdicts("?a=0&b=1&verdict=nonsense")) == 5
    assert f'value="{ids[2]}"' not in text_of(client, f"{address}?a=0&b=1")
    assert "No pairs have this verdict." in text_of(client, f"{address}?verdict={ids[0]}")


@pytest.mark.parametrize(("tasks", "suggests"), [(5, True), (6, False)])
def test_too_few_pairs_for_a_significant_preference_suggest_other_runs(
    endpoint: Endpoint, client: Client, tasks: int, suggests: bool
) -> None:
    endpoint(longer)
    ids = [run.pk for run in sources("a", "bbb", tasks=tasks)]
    page = client.post("/preferences/new/", {"runs": ids, "judge_model": JUDGE, "criteria": "Better", "do": "plan"})
    main = page.content.decode().partition("<main")[2]
    assert ('<div class="message warn">' in main) is suggests
    assert primary_in(main) == ["Choose other runs" if suggests else "Start judging"]


def test_too_few_pairs_suggest_the_models_whose_answers_differ_most(endpoint: Endpoint, client: Client) -> None:
    def answers(asked: Asked) -> str:
        alike = asked.body["model"] in ("a", "bbb") and re.search(r"What is [3-9]", asked.prompt)
        return "the same" if alike else longer(asked)

    endpoint(answers)
    runs = sources("a", "bbb", "ccccc", tasks=8)
    ids = [run.pk for run in runs]
    given: dict[str, Any] = {"judge_model": JUDGE, "criteria": "Better", "do": "plan"}
    page = client.post("/preferences/new/", {"runs": ids[:2], **given}).content.decode()
    link = re.search(r'href="/preferences/new/\?runs=(\d+),(\d+)">\s*Choose these two<', page)
    assert link
    assert "8 of 8 answers differ." in page
    assert ids[2] in {int(link[1]), int(link[2])}
    assert "Choose other runs" in page
    assert primary_in(page.partition("<main")[2]) == ["Choose these two"]
    client.post("/preferences/new/", {"runs": ids[1:], **given, "do": "start"})
    assert "Choose these two" not in client.post("/preferences/new/", {"runs": ids[1:], **given}).content.decode()


def test_a_pair_whose_orders_disagree_is_nobodys_win(endpoint: Endpoint, client: Client) -> None:
    endpoint(lambda asked: longer(asked) if asked.body["model"] != "judge" else '{"reason": "", "verdict": "A"}')
    ids = [run.pk for run in sources("a", "bbb", tasks=5)]
    run = worked(start_preference({"runs": ids, "judge_model": JUDGE}))
    page = text_of(client, f"/preferences/{run.pk}/")
    assert 'class="legend"' not in page, "a legend of one thing repeats the finding"
    assert verdicts_in(page) == ["No winner: choice changed with the order"] * 5, "the pairs themselves"
    assert "Ties of identical answers" not in page, "all differ"
    assert "Each order is a verdict, a tie half a win: 5 won, 0 tied, 5 lost" in page


def test_the_next_pairs_start_a_run_that_joins_this_one(endpoint: Endpoint, client: Client) -> None:
    endpoint(longer)
    ids = [run.pk for run in sources("a", "bbb", tasks=30)]
    given: dict[str, Any] = {"runs": ids, "judge_model": JUDGE, "criteria": "The longer one.", "tasks": 20}
    run = worked(start_preference(given))
    address = f"/preferences/{run.pk}/"
    link = re.search(r'<a href="([^"]+)">Judge more tasks', text_of(client, address))
    assert link
    form = text_of(client, html.unescape(link[1]))
    assert "The longer one." in form
    assert re.search(r'name="only_new"[^>]* checked', form)
    sent = {"runs": ids, "judge_model": JUDGE, "criteria": "The longer one.", "only_new": "on", "do": "start"}
    started = client.post("/preferences/new/", sent)
    other = preferences().exclude(pk=run.pk).get()
    assert (started["Location"], other.dataset_version.task_count) == (f"/preferences/{other.pk}/", 20)
    worked(other)
    page = text_of(client, address)
    assert f"Pooled over 2 runs with the same judge and criteria ({run.pk} and {other.pk}):" in page
    assert page.count("Judge more tasks") == 1
    assert "Win rate over 2 runs" in page
    detail = client.get(f"/api/v1/benchmarks/preferences/{run.pk}").json()
    assert (detail["numbers"]["n"], detail["pooled"]["n"]) == (40, 60)
    assert client.post("/preferences/new/", sent).status_code == 400


def test_an_experiment_shows_strengths_by_the_judge_and_by_people_as_columns(
    endpoint: Endpoint, client: Client
) -> None:
    endpoint(longer)
    make_dataset(30)
    asked = {"name": "Two", "datasets": ["sums"], "models": ["loop/a", "loop/bbb"], "metrics": ["exact_match"]}
    experiment = start_experiment(asked)
    runs = [worked(run) for run in experiment.runs.order_by("pk")]
    address = f"/experiments/{experiment.pk}/"
    page = text_of(client, address)
    assert f"/preferences/new/?runs={runs[0].pk},{runs[1].pk}&amp;experiment={experiment.pk}" in page
    asked_judge = {"runs": [each.pk for each in runs], "judge_model": JUDGE, "criteria": "The longer one."}
    first = start_preference({**asked_judge, "tasks": 20})
    assert "Preference</a>" not in text_of(client, address)
    worked(first)
    assert "Preference on Sums: 40 choices of loop/judge on 20 tasks. " in text_of(client, address)
    second = worked(start_preference({**asked_judge, "only_new": True}))
    page = text_of(client, address)
    assert "Preference on Sums: 60 choices of loop/judge on 30 tasks, pooled over 2 preference runs. " in page
    assert page.count(">Preference</a>") == 1
    assert f'<a href="/preferences/{second.pk}/">Preference</a>' in page
    assert '<small class="soft">loop/judge, Sums; rank</small>' in page
    drawn = {"name": "Pairs", "metric": "preference", "overlap": 0, "blind": False}
    queues = [create_review({**drawn, "preference": first.pk, "size": 4})]
    queues.append(create_review({**drawn, "runs": [each.pk for each in runs], "size": 30, "seed": 3}))
    for queue in queues:
        item = start_labeling(queue)
        while item is not None:
            known = item.result.task.known_answer or {}
            item = save_and_next(queue, item.pk, {"value": float("bbb" in known["text"])})
    page = text_of(client, address)
    assert "Preference on Sums: 34 choices of 1 reviewer on 30 tasks." in page
    assert page.count(">Preference</a>") == 2
    assert page.index("People, Sums; rank") < page.index("loop/judge, Sums; rank")
    row = re.search(r'<th scope="row">(?:(?!</tr>).)*loop/bbb.*?</tr>', page)
    assert row
    assert len(re.findall(r"<small>1</small>", row[0])) == 2


def test_it_is_canceled_resumed_and_deleted_on_its_page(endpoint: Endpoint, client: Client) -> None:
    endpoint(longer)
    ids = [run.pk for run in sources("a", "bbb", tasks=2)]
    run = start_preference({"runs": ids, "judge_model": JUDGE})
    for action, status in (("cancel", "cancelled"), ("resume", "queued")):
        assert client.post(f"/preferences/{run.pk}/do/{action}/").status_code == 302
        run.refresh_from_db()
        assert run.status == status
    worked(run)
    assert "Delete preference run" in client.post(f"/preferences/{run.pk}/do/delete/").content.decode()
    client.post(f"/preferences/{run.pk}/do/delete/", {"confirmed": "yes"})
    assert not preferences().exists()
    assert client.get(f"/preferences/{run.pk}/").status_code == 404


def test_the_pairs_of_an_open_blind_review_are_hidden_from_those_who_may_choose(
    endpoint: Endpoint, settings: Any
) -> None:
    endpoint(longer)
    runs = sources("a", "bbb", tasks=4)
    drawn = {"name": "Pairs", "metric": "preference", "runs": [run.pk for run in runs], "size": 4, "overlap": 0}
    queue = create_review({**drawn, "blind": True})
    address = f"/preferences/{preferences().get().pk}/"
    settings.DEV_MODE = settings.PUBLIC_READING = False
    clients = {}
    for group in ("viewer", "reviewer", "runner", "editor"):
        account = User.objects.create_user(group)
        assign_group(account, group)
        clients[group] = Client()
        clients[group].force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    for group in ("viewer", "reviewer", "runner"):
        refused = clients[group].get(f"{address}pairs/")
        assert refused.status_code == 403
        assert f"Review {queue.pk} of these pairs is open and blind." in refused.content.decode()
        assert f"{address}pairs/" not in text_of(clients[group], address)
    assert "loop/bbb" in text_of(clients["editor"], f"{address}pairs/")
    assert f"{address}pairs/" in text_of(clients["editor"], address)
    close_review(queue)
    assert "loop/bbb" in text_of(clients["reviewer"], f"{address}pairs/")


def test_who_may_choose_in_a_blind_review_sees_neither_runs_nor_what_the_judge_chose(
    endpoint: Endpoint, settings: Any
) -> None:
    def choice(asked: Asked) -> str:
        return longer(asked) if asked.body["model"] != "judge" else '{"reason": "because of it", "verdict": "A"}'

    endpoint(choice)
    ids = [run.pk for run in sources("a", "bbb", tasks=4)]
    run = worked(start_preference({"runs": ids, "judge_model": JUDGE}))
    drawn = {"name": "Pairs", "metric": "preference", "preference": run.pk, "size": 4, "overlap": 0, "blind": True}
    queue = create_review(drawn)
    settings.DEV_MODE = settings.PUBLIC_READING = False
    account = User.objects.create_user("reviewer")
    assign_group(account, "reviewer")
    client = Client()
    client.force_login(account, backend="django.contrib.auth.backends.ModelBackend")
    page = text_of(client, f"/preferences/{run.pk}/")
    assert 'class="pair"' not in page
    assert "because of it" not in page
    page = client.post(f"/reviews/{queue.pk}/label/", {"do": "start"}, follow=True).content.decode()
    assert "Which answer is better?" in page
    for secret in ("because of it", "loop/judge", ": loop/a<", ": loop/bbb<", "choice changed", "chose loop"):
        assert secret not in page, secret
    close_review(queue)
    assert text_of(client, f"/preferences/{run.pk}/").count(">chose loop/") == 8, "each of 4 pairs in both orders"


def test_people_choose_between_hostile_answers_without_a_judge(endpoint: Endpoint, client: Client) -> None:
    endpoint(longer)
    runs = sources("a", "bbb", tasks=4)
    form = text_of(client, f"/reviews/new/?metric=preference&runs={runs[0].pk},{runs[1].pk}")
    assert '<option value="preference" selected>' in form
    given = {"name": "Pairs", "metric": "preference", "method": "random", "by": "model", "size": 4, "overlap": 0}
    given |= {"runs": [run.pk for run in runs], "seed": 0, "blind": "on"}
    created = client.post("/reviews/new/", given, follow=True)
    assert "Review Pairs created with 4 pairs." in created.content.decode()
    run = preferences().get()
    review = created.request["PATH_INFO"]
    page = client.post(f"{review}label/", {"do": "start"}, follow=True).content.decode()
    assert "Which answer is better?" in page
    assert HOSTILE not in page
    assert "loop/bbb" not in re.sub(r"&lt;/script&gt; loop/\w+", "", page)
    for _ in range(4):
        item = re.search(r'name="item" value="(\d+)"', page)
        assert item
        page = client.post(f"{review}label/", {"item": item[1], "value": "1.0"}, follow=True).content.decode()
    assert "You have labeled every pair that is left for you." in page
    client.post(f"{review}do/close/")
    shown = text_of(client, f"/preferences/{run.pk}/pairs/")
    assert len(re.findall(r'class="nowrap">loop/(?:a|bbb) 1<', shown)) == 4
    shown = text_of(client, f"/preferences/{run.pk}/")
    assert "No significant preference by people" in shown
    assert "Win rate by people" in shown
    concluded = text_of(client, review).partition("Conclusion")[2]
    assert "No significant preference by people" in concluded
    assert f'<a href="/preferences/{run.pk}/">Strengths and pairs' in concluded
    assert "by people" in text_of(client, "/preferences/")
    assert HOSTILE not in text_of(client, f"/preferences/{run.pk}/pairs/")
    assert text_of(client, f"/runs/{run.pk}/")
    assert "Second answer" in text_of(client, f"/runs/{run.pk}/results/{run.results.all()[0].pk}/")
    detail = client.get(f"/api/v1/benchmarks/preferences/{run.pk}").json()
    assert (detail["people"]["n"], detail["people"]["position"]["mean"], detail["numbers"]) == (4, 1.0, {})
    question = client.post(f"/preferences/{run.pk}/do/delete/").content.decode()
    assert f"Delete preference run {run.pk}, its " in question
    assert "and 4 choices of people?" in question


def test_identical_answers_are_counted_apart_and_folded(endpoint: Endpoint, client: Client) -> None:
    def answers(asked: Asked) -> str:
        same = asked.body["model"] != "judge" and re.search(r"What is [2-9]", asked.prompt)
        return "the same" if same else longer(asked)

    endpoint(answers)
    runs = sources("a", "bbb", tasks=5)
    run = worked(start_preference({"runs": [each.pk for each in runs], "judge_model": JUDGE}))
    said = "<b>Too few answers differ: 1 of 5; at least 6 are needed.</b> loop/bbb wins 1. The other 4 are identical."
    page = text_of(client, f"/preferences/{run.pk}/")
    assert said in page
    win_rate = page.partition("Win rate</h2>")[2].partition("</section>")[0]
    assert "10 verdicts; identical answers tie" in win_rate
    assert "No interval: ties of identical answers would make it look precise." in win_rate
    assert not re.search('ruler|interval"', win_rate), "ties of identical answers make it too precise"
    listed = text_of(client, "/preferences/")
    assert "Too few answers differ: 1 of 5" in listed
    assert "Win rate" not in listed, "it says nothing, and its own page says why"
    pairs = text_of(client, f"/preferences/{run.pk}/pairs/")
    assert verdicts_in(pairs) == ["loop/bbb wins"]
    assert "Identical (4)" in pairs
    assert "4 more pairs have identical answers." in pairs
    pairs = text_of(client, f"/preferences/{run.pk}/pairs/?verdict=identical")
    assert verdicts_in(pairs) == ["Identical"] * 4


def test_the_list_starts_a_preference_of_two_runs_that_are_proposed(endpoint: Endpoint, client: Client) -> None:
    endpoint(longer)
    runs = sources("a", "bbb", tasks=2)
    assert "Choose two runs" in text_of(client, "/preferences/")
    form = html.unescape(text_of(client, "/preferences/new/"))
    assert re.search(rf'href="/preferences/new/\?runs=({runs[0].pk}%2C{runs[1].pk}|{runs[1].pk}%2C{runs[0].pk})"', form)
    worked(start_preference({"runs": [each.pk for each in runs], "judge_model": JUDGE}))
    assert "New preference" in text_of(client, "/preferences/")
    assert "Choose two runs" not in text_of(client, "/preferences/new/"), "they are compared"
    assert "Compare next" not in text_of(client, "/preferences/")
    worked(make_run(runs[0].dataset, model="loop/ccccc"))
    assert "Compare next" in text_of(client, "/preferences/")
    assert re.search(r"runs \d+ and \d+ scored [01][.]\d{3} and [01][.]\d{3}<", text_of(client, "/preferences/"))
