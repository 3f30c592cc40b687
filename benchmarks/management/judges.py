"""What ``judge`` and ``preference`` share: their runs, in which only a judge is asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, ClassVar

from django.db.models import QuerySet

from benchmarks.management.actions import INTERRUPTED, JSON, OK, RUN_FAILED, ActionCommand, action, argument, reader_of
from benchmarks.management.following import Progress, follow
from benchmarks.models import Run
from benchmarks.presentation.tables import Table
from benchmarks.queries.resources.base import Resource
from benchmarks.queries.resources.judges import JudgingResource
from benchmarks.services.errors import NotPossible
from benchmarks.services.runs.control import cancel_run, delete_run, resume_judging

EXIT_CODES = (
    "Exit codes: 0 success; 2 request refused or invalid usage; 3 the run failed or was stopped; 130 interrupted."
)
RUN = argument("pk", "ID", "number of the run", type=int)


class JudgingCommand(ActionCommand):
    """Lists, prints, follows, resumes, cancels and deletes runs of ``runs``; ``command`` is its own name."""

    epilog = EXIT_CODES
    command: ClassVar[str]
    noun: ClassVar[str]
    listed: ClassVar[type[JudgingResource]]
    shown: ClassVar[type[Resource]]
    table: ClassVar[Table[Run]]

    def runs(self) -> QuerySet[Run]:
        raise NotImplementedError

    def lines(self, run: Run) -> Iterator[str]:
        """The run as text."""
        raise NotImplementedError

    @action(
        "List the latest runs.",
        argument("--number", "N", "number of runs (default 20)", type=int, default=20),
        JSON,
        name="list",
    )
    def list_runs(self, *, number: int, as_json: bool, **options: Any) -> None:
        runs = self.runs()[: max(number, 1)]
        if as_json:
            self.print_json([self.listed.of(run, reader_of()) for run in runs])
        else:
            self.print_table(self.table, runs, f"No {self.noun.lower()}s yet.")

    @action("Print a run.", RUN, JSON)
    def show(self, *, pk: int, as_json: bool, **options: Any) -> int:
        run = self.run_of(pk)
        if as_json:
            self.print_json(self.shown.of(run, reader_of()))
        else:
            self.stdout.write("\n".join(self.lines(run)))
        return RUN_FAILED if run.status in ("failed", "cancelled") else OK

    @action("Resume a canceled or failed run with its existing verdicts.", RUN, JSON)
    def resume(self, *, pk: int, as_json: bool, **options: Any) -> int:
        run = self.run_of(pk)
        left = resume_judging(run)
        self.note(f"{self.noun} {pk}: {left} of {self.listed.of(run, reader_of()).total} verdicts left.")
        return self.follow(run, as_json)

    @action("Send nothing more to the judge. Its verdicts are kept.", RUN, JSON)
    def cancel(self, *, pk: int, as_json: bool, **options: Any) -> None:
        cancel_run(self.run_of(pk))
        text = f"{self.noun} {pk} canceled. To resume it: {self.command} resume {pk}"
        self.print_either(as_json, self.shown.of(self.run_of(pk), reader_of()), text)

    @action("Delete a run with its verdicts.", RUN, JSON)
    def delete(self, *, pk: int, as_json: bool, **options: Any) -> None:
        delete_run(self.run_of(pk))
        self.print_either(as_json, {"id": pk, "deleted": True}, f"{self.noun} {pk} deleted.")

    def run_of(self, pk: int) -> Run:
        try:
            return self.runs().get(pk=pk)
        except Run.DoesNotExist:
            raise NotPossible(f"{self.noun} {pk} does not exist.") from None

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
        return self.show(pk=run.pk, as_json=as_json)
