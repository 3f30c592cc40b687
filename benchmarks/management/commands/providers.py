"""``manage.py providers ACTION``: look at providers before a run does. ``--help`` lists the actions.

Exit codes: 0 success; 1 a provider or model has a problem; 2 request refused or invalid usage.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.management.actions import JSON, MISSED, OK, action, argument, reader_of, switch
from benchmarks.management.resources import ResourceCommand
from benchmarks.models import ModelTest
from benchmarks.presentation.numbers import milliseconds
from benchmarks.presentation.providers import CAPABILITY, PROBLEMS, SUPPORT
from benchmarks.presentation.tables import aligned
from benchmarks.queries.providers import ProviderRow, provider_row, provider_rows
from benchmarks.queries.resources.base import json_of
from benchmarks.queries.resources.providers import ModelTest as TestResponse
from benchmarks.queries.resources.providers import ProviderDetail, ProviderResource
from benchmarks.queries.tables.providers import MODELS, PROVIDERS
from benchmarks.services.errors import NotPossible
from benchmarks.services.providers import (
    check_providers,
    remove_address,
    remove_price,
    run_tests,
    set_address,
    set_price,
)
from benchmarks.services.systems import delete_system, save_system

EXIT_CODES = "Exit codes: 0 success; 1 a provider or model has a problem; 2 request refused or invalid usage."


class Command(ResourceCommand):
    epilog = EXIT_CODES
    noun, empty, one = "provider", "No providers yet.", argument("key", "PROVIDER", "name in codeforge.yaml")
    listed, shown, table = ProviderResource, ProviderDetail, PROVIDERS
    help = f"List, check and test the providers of codeforge.yaml. {EXIT_CODES}"

    def rows(self, **options: Any) -> list[ProviderRow]:
        return provider_rows()

    def row(self, key: str) -> ProviderRow:
        row = provider_row(key)
        if row is None:
            raise NotPossible(f"Provider {key} does not exist. To list them: providers list")
        return row

    def lines(self, row: ProviderRow) -> Iterator[str]:
        """The provider, and its models below."""
        yield from super().lines(row)
        if models := [*row.models, *row.others]:
            yield "\n" + MODELS.text(models)

    @action(
        "Have providers list their models, which costs no tokens. Without names: all providers.",
        argument("names", "PROVIDER", "name in codeforge.yaml", nargs="*"),
        JSON,
        name="check",
    )
    def check_providers(self, *, names: list[str], as_json: bool, **options: Any) -> int:
        check_providers(names or None)
        rows = [row for row in provider_rows() if not names or row.name in names]
        text = "\n".join([PROVIDERS.text(rows), *(f"\n{row.name}: {row.problem}" for row in rows if row.problem)])
        if names:
            listed = ([*row.models, *row.others] for row in rows)
            text += "".join(f"\n\n{MODELS.text(models)}" for models in listed if models)
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
        if as_json:
            test = {"model": done.model, **json_of(TestResponse.of(done, reader_of()))}
            self.print_row(self.row(model.partition("/")[0]), as_json, test=test)
        else:
            self.stdout.write(_tested(done))
        return MISSED if done.error_kind else OK

    @action(
        "Enter the price of a model, in US dollars per million tokens; 0 is free. Prices in codeforge.yaml win.",
        argument("model", "PROVIDER/MODEL", "name of the model, such as openai/gpt-4o"),
        argument("--input", "USD", "per million prompt tokens", type=float, dest="input_usd"),
        argument("--output", "USD", "per million answer tokens", type=float, dest="output_usd"),
        argument("--cached", "USD", "per million cached prompt tokens", type=float, dest="cached_usd"),
        switch("--remove", "delete the price that was entered"),
        JSON,
    )
    def price(
        self,
        *,
        model: str,
        input_usd: float | None,
        output_usd: float | None,
        cached_usd: float | None,
        remove: bool,
        as_json: bool,
        **options: Any,
    ) -> int:
        if remove:
            remove_price(model)
        else:
            set_price(model, input_usd, output_usd, cached_usd)
        if as_json:
            self.print_row(self.row(model.partition("/")[0]), as_json)
        else:
            self.stdout.write(f"Price of {model} {'removed' if remove else 'saved'}.")
        return OK

    @action(
        "Enter the address of a provider with `default_url` in codeforge.yaml. A key entered for another is deleted.",
        argument("provider", "PROVIDER", "name of the provider, such as vllm"),
        argument("url", "URL", "of its endpoint", nargs="?", default=""),
        switch("--remove", "return to default_url"),
        JSON,
    )
    def address(self, *, provider: str, url: str, remove: bool, as_json: bool, **options: Any) -> int:
        if remove:
            remove_address(provider)
        else:
            set_address(provider, url)
        if as_json:
            self.print_row(self.row(provider), as_json)
        else:
            self.stdout.write(f"Address of {provider} {'removed' if remove else 'saved'}.")
        return OK

    @action(
        "Enter a system under test behind a route, or change one that was entered; its headers are stored encrypted.",
        argument("name", "NAME", "of the system, such as bot"),
        argument("file", "FILE", "YAML or JSON with url, method, headers, body, answer and other places", nargs="?"),
        switch("--replace", "change the system of that name"),
        switch("--remove", "delete the system; its runs stay"),
        JSON,
    )
    def system(self, *, name: str, file: str | None, replace: bool, remove: bool, as_json: bool, **options: Any) -> int:
        if remove:
            delete_system(name)
        else:
            save_system(name, _document(file), replacing=replace)
        if as_json and remove:
            self.print_json({"name": name, "deleted": True})
        elif as_json:
            self.print_row(self.row(name), as_json)
        else:
            self.stdout.write(f"System {name} {'deleted' if remove else 'saved'}.")
        return OK


def _document(file: str | None) -> Any:
    if file is None:
        raise NotPossible("No FILE. Name one with url, headers, body and answer.")
    try:
        return yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise NotPossible(f"{file} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        raise NotPossible(f"{file} is not YAML. Write keys such as url and body in it.") from None


def _tested(test: ModelTest) -> str:
    if test.error_kind:
        return f"{test.model} did not answer. {test.error}"
    rows = [(CAPABILITY[name], SUPPORT[each["support"]], each["message"]) for name, each in test.capabilities.items()]
    return f"{test.model} answered in {milliseconds(test.duration_ms)}.\n{aligned(('', 'supported', ''), rows)}"
