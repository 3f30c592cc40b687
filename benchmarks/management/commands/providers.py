"""``manage.py providers ACTION``: look at providers before a run does. ``--help`` lists the actions.

Exit codes: 0 success; 1 a provider or model has a problem; 2 request refused or invalid usage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from benchmarks.management.actions import JSON, MISSED, OK, ActionCommand, action, argument, reader_of
from benchmarks.models import ModelTest
from benchmarks.presentation.numbers import MISSING, UNKNOWN, ago, milliseconds, number
from benchmarks.presentation.providers import CAPABILITY, PROBLEMS, PROVIDER_STATUS, SUPPORT
from benchmarks.presentation.tables import aligned
from benchmarks.queries.providers import ProviderRow, provider_rows
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.providers import ModelTest as TestResponse
from benchmarks.queries.resources.providers import ProviderDetail, ProviderResource
from benchmarks.services.providers import check_providers, run_tests

EXIT_CODES = "Exit codes: 0 success; 1 a provider or model has a problem; 2 request refused or invalid usage."


class Command(ActionCommand):
    epilog = EXIT_CODES
    help = f"List, check and test the providers of codeforge.yaml. {EXIT_CODES}"

    @action("List the providers as last checked. Nothing is sent.", JSON, name="list")
    def list_providers(self, *, as_json: bool, **options: Any) -> None:
        rows = provider_rows()
        self.print_either(as_json, [ProviderResource.of(row, reader_of()) for row in rows], _overview(rows))

    @action(
        "Have providers list their models, which costs no tokens. Without names: all providers.",
        argument("names", "PROVIDER", "name in codeforge.yaml", nargs="*"),
        JSON,
        name="check",
    )
    def check_providers(self, *, names: list[str], as_json: bool, **options: Any) -> int:
        check_providers(names or None)
        rows = [row for row in provider_rows() if not names or row.name in names]
        text = "\n".join([_overview(rows), *(f"\n{row.name}: {row.problem}" for row in rows if row.problem)])
        if names:
            text += "".join(f"\n\n{_models(row)}" for row in rows if row.models or row.others)
        response = ProviderDetail if names else ProviderResource
        self.print_either(as_json, [response.of(row, reader_of()) for row in rows], text)
        return MISSED if any(row.status in PROBLEMS for row in rows) else OK

    @action(
        "Send up to seven short requests to a model, which cost a few hundred tokens: whether it answers, and what it "
        "supports.",
        argument("model", "PROVIDER/MODEL", "name of the model, such as openai/gpt-4o"),
        JSON,
    )
    def test(self, *, model: str, as_json: bool, **options: Any) -> int:
        (done,) = run_tests([model])
        report = {"model": done.model, **json_of(TestResponse.of(done, reader_of()))}
        self.print_either(as_json, report, _tested(done))
        return MISSED if done.error_kind else OK


def _overview(rows: Sequence[ProviderRow]) -> str:
    cells = [
        (
            row.name,
            PROVIDER_STATUS[row.status],
            row.key_words,
            ago(row.looked_at, timezone.now()) if row.looked_at else "never",
            number(sum(model.listed for model in (*row.models, *row.others))) if row.listed_at else MISSING,
            row.address or row.kind,
        )
        for row in rows
    ]
    return aligned(("provider", "status", "key", "checked", "models", "address"), cells, right=(4,))


def _models(row: ProviderRow) -> str:
    return aligned(
        ("model", "context", "$ in / M", "$ cached / M", "$ out / M", "configured"),
        [
            (
                model.name,
                UNKNOWN if model.context_length is None else number(model.context_length),
                _price(model.input_per_million),
                MISSING if model.cached_input_per_million is None else _price(model.cached_input_per_million),
                _price(model.output_per_million),
                "yes" if model.configured else "no",
            )
            for model in (*row.models, *row.others)
        ],
        right=(1, 2, 3, 4),
    )


def _price(usd: float | None) -> str:
    return UNKNOWN if usd is None else f"{usd:g}"


def _tested(test: ModelTest) -> str:
    if test.error_kind:
        return f"{test.model} did not answer. {test.error}"
    rows = [(CAPABILITY[name], SUPPORT[each["support"]], each["message"]) for name, each in test.capabilities.items()]
    return f"{test.model} answered in {milliseconds(test.duration_ms)}.\n{aligned(('', 'supported', ''), rows)}"
