"""Verifying a run: are the prompts that its dataset version gives today still those that were sent?"""

from __future__ import annotations

from benchmarks.engine.summary.verification import Difference, Verification, verify_prompts
from benchmarks.models import Run
from benchmarks.services.errors import NotPossible
from benchmarks.services.imports import refuse_imported

__all__ = ["Difference", "Verification", "verify_run"]


def verify_run(run: Run) -> Verification:
    """Build every prompt of the run anew and compare. Raises ``NotPossible`` where nothing was asked from here."""
    refuse_imported(run, "verified")
    found = verify_prompts(run)
    if not found.checked:
        raise NotPossible(f"Run {run.pk} has asked nothing yet, so there are no prompts to verify.")
    return found
