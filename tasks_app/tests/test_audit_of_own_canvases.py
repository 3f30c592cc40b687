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
        # Where every kind is there at first, an added shape must have been taken away before.
        allowed = {Fault.NO_TRACKING_NEEDED} if n_shapes == 24 else set()
        assert [finding for finding in found if finding.fault not in allowed] == []
