import pytest

from tasks_app.canvas.audit import audit
from tasks_app.canvas.faults import Fault
from tasks_app.canvas.original import OriginalCanvas
from tasks_app.loader import build_canvas


@pytest.mark.parametrize("n_shapes", range(1, 25))
def test_the_audit_of_the_published_canvases_finds_nothing_wrong_in_ours(n_shapes: int) -> None:
    for index in range(20):
        made = build_canvas(n_shapes, seed=9, index=index, count=20)
        found = audit(OriginalCanvas(made.shapes, made.descriptions, made.questions))
        # In some questions the changes do not matter: which ones, a model cannot know without following them.
        assert [finding for finding in found if finding.fault is not Fault.NO_TRACKING_NEEDED] == []
