"""What ``judge`` and ``preference`` share: their runs, in which only a judge is asked."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from django.db.models import QuerySet

from benchmarks.management.actions import INTERRUPTED, JSON, OK, RUN_FAILED, action, argument, reader_of
from benchmarks.management.following import Progress, follow
from benchmarks.management.resources import NUMBER, DeletingCommand
from benchmarks.models import Run
from benchmarks.queries.resources.judges import JudgingResource
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.control import cancel_run, delete_run, resume_judging

EXIT_CODES = (
    "Exit codes: 0 success; 2 request refused or invalid usage; 3 the run failed or was stopped; 130 interrupted."
)
RUN = argument("key", "ID", "number of the run", type=int)


class JudgingCommand(DeletingCommand):
    """Lists, prints, follows, resumes, cancels and deletes runs of ``runs``; ``command`` is its own name."""

    epilog = EXIT_CODES
    command: ClassVar[str]
    listed: ClassVar[type[JudgingResource]]
    one, filters = RUN, (NUMBER,)
    loss = "Its verdicts are deleted with it."

    def runs(self) -> QuerySet[Run]:
        raise NotImplementedError

    def rows(self, *, number: int = 0, **options: Any) -> QuerySet[Run]:
        return self.runs()[: max(number, 1)]

    def row(self, key: int) -> Run:
        try:
            return self.runs().get(pk=key)
        except Run.DoesNotExist:
            raise NotPossible(f"{self.noun.capitalize()} {key} does not exist.") from None

    def remove(self, row: Run) -> None:
        delete_run(row)

    def exit_code(self, row: Run) -> int:
        return RUN_FAILED if row.status in ("failed", "cancelled") else OK

    @action("Resume a canceled or failed run with its existing verdicts.", RUN, JSON)
    def resume(self, *, key: int, as_json: bool, **options: Any) -> int:
        run = self.row(key)
        left = resume_judging(run)
        self.note(f"{self.noun.capitalize()} {key}: {left} of {self.listed.of(run, reader_of()).total} verdicts left.")
        return self.follow(run, as_json)

    @action("Send nothing more to the judge. Its verdicts are kept.", RUN, JSON)
    def cancel(self, *, key: int, as_json: bool, **options: Any) -> None:
        cancel_run(self.row(key))
        text = f"{self.noun.capitalize()} {key} canceled. To resume it: {self.command} resume {key}"
        self.print_either(as_json, self.shown.of(self.row(key), reader_of()), text)

    def note(self, text: str) -> None:
        self.stderr.write(text, self.style.NOTICE)

    def follow(self, run: Run, as_json: bool) -> int:
        """Wait for the end, working on the run here if no worker does, and print it."""
        try:
            follow(run.pk, Progress(sys.stderr), self.note)
        except KeyboardInterrupt:
            try:
                cancel_run(run)
            except NotPossible:  # it ended in the same moment
                self.stderr.write(f"Interrupted, but the run had ended: {self.command} show {run.pk}")
            else:
                self.stderr.write(f"Interrupted. The verdicts are kept. To resume: {self.command} resume {run.pk}")
            return INTERRUPTED
        return self.show(key=run.pk, as_json=as_json) or OK
