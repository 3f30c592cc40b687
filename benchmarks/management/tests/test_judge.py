"""``manage.py judge`` in a terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from tests.support.factories import make_dataset
from tests.support.labeled_runs import label_answers, make_judged_run, make_review

pytestmark = pytest.mark.django_db


def test_the_agreement_says_which_runs_it_separates_and_whether_the_judge_favors_its_family() -> None:
    judge, dataset = "openai/gpt-4.1", make_dataset(120)
    runs = []
    for number, (model, rate) in enumerate((("openai/gpt-4o", 0.9), ("loop/worst", 0.3))):
        run, truth = make_judged_run(120, dataset, model=model, rate=rate, seed=number, judge_model=judge, lenient=0.2)
        label_answers(run, truth, make_review(run), n=60)
        runs.append(run)
    output = StringIO()
    call_command("judge", "agreement", "--judge", judge, stdout=output)
    text = output.getvalue()
    separated = next(line for line in text.splitlines() if line.startswith(f"openai/gpt-4o, Run {runs[0].pk}  "))
    assert separated.endswith("Enough labels: different")
    assert "Does it favor its own family? No sign that it favors OpenAI models. It passes answers of" in text
