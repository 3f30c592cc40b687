"""What cannot be undone asks on a page of its own, which needs no scripts, before it takes effect."""

from __future__ import annotations

import pytest
from django.test import Client

from benchmarks.models import Experiment, Run
from benchmarks.queries.access import share_links
from benchmarks.services.saved_views import save_view, saved_views
from benchmarks.services.share_links import share
from frontend.tests.calibrations import make_calibration
from tests.support.page_factories import make_scored_run

pytestmark = pytest.mark.django_db


def test_nothing_is_deleted_or_revoked_before_its_question_is_answered(client: Client) -> None:
    run, calibration = make_scored_run(values=(1.0, 0.0)), make_calibration()
    experiment = Experiment.objects.create(name="<b>Prompts</b>", request={})
    link = share("run", {"run": str(run.pk)})
    view = save_view("<b>Failed</b>", "runs", "status=failed")
    cases = (
        (f"/runs/views/{view.pk}/delete/", "Delete view &lt;b&gt;Failed&lt;/b&gt;?"),
        (f"/share/{link.pk}/revoke/", f"Revoke the share link of run {run.pk}?"),
        (f"/runs/{run.pk}/do/delete/", f"Delete run {run.pk} and its 2 results?"),
        (f"/judges/{calibration.pk}/do/delete/", f"Delete calibration {calibration.pk} and its "),
        (f"/experiments/{experiment.pk}/do/delete/", "Delete experiment &lt;b&gt;Prompts&lt;/b&gt;?"),
    )
    for address, question in cases:
        for sent in ({"note": '"><i>'}, {"confirmed": "no"}):
            html = client.post(address, sent).content.decode()
            assert f"<h1>{question}" in html, address
            assert f'<form method="post" action="{address}"' in html, address
            assert "<i>" not in html, address
            assert 'value="yes" class="danger">' in html, address
    assert [*share_links()] == [link]
    assert [*saved_views(None)] == [view]
    assert (Run.objects.count(), Experiment.objects.count()) == (2, 1)
    for address, question in cases:
        assert client.post(address, {"confirmed": "yes"}).status_code == 302, question
    assert not saved_views(None).exists()
    assert (Run.objects.count(), Experiment.objects.count()) == (0, 0)
