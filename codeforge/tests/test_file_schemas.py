"""The stored JSON Schemas say what the loaders take: every key, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from benchmarks.services.experiments.file_schema import experiment_schema
from benchmarks.services.experiments.files import STARTER_FILE
from benchmarks.services.experiments.requests import SAMPLING, ExperimentRequest, VariantRequest
from codeforge.config import Config, ConfigError, parse_config
from codeforge.config_schema import _models, config_schema
from codeforge.management.commands.schema import SCHEMAS, written_to

ROOT = Path(__file__).resolve().parents[2]
CONFIG = Draft202012Validator(config_schema())
EXPERIMENT = Draft202012Validator(experiment_schema())
OWN = {"providers": {"ours": {"base_url": "http://127.0.0.1:9/v1"}}}


def messages(validator: Draft202012Validator, document: Any) -> list[str]:
    return [error.message for error in validator.iter_errors(document)]


def blocks(page: Path, key: str) -> list[dict[str, Any]]:
    """The YAML examples of a page with this key at the left margin."""
    texts = re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [yaml.safe_load(text) for text in texts if re.search(rf"^{key}:", text, re.MULTILINE)]


@pytest.mark.parametrize("of", SCHEMAS)
def test_the_stored_schema_is_up_to_date_and_a_schema(of: str) -> None:
    file, schema = SCHEMAS[of]
    path = ROOT / "datasets" / file
    assert path.read_text(encoding="utf-8") == written_to(ROOT / "datasets")[path], (
        "run `python manage.py schema write`"
    )
    Draft202012Validator.check_schema(schema())


def test_shipped_configurations_validate() -> None:
    text = (ROOT / "codeforge.yaml").read_text()
    everything = re.sub(r"^  # (\w+: \{.*)$", r"  \1", text, flags=re.MULTILINE)
    for document in (yaml.safe_load(text), yaml.safe_load(everything)):
        assert messages(CONFIG, document) == []
    examples = [block for page in (ROOT / "docs").rglob("*.md") for block in blocks(page, "providers")]
    assert len(examples) > 3
    for block in examples:
        assert messages(CONFIG, block) == [], block


def test_shipped_experiments_validate() -> None:
    examples = [yaml.safe_load(STARTER_FILE.read_text()), *blocks(ROOT / "docs/how-to/experiments.md", "models")]
    assert len(examples) > 1
    for example in examples:
        assert messages(EXPERIMENT, example) == []


def test_every_key_that_a_loader_knows_is_in_the_schema_with_a_description() -> None:
    schema = config_schema()
    for model in _models(Config):
        record = schema if model is Config else schema["$defs"][model.__name__]
        assert record["properties"].keys() == model.model_fields.keys(), model
        sections = {name for name, part in record["properties"].items() if "description" not in part}
        assert all("$ref" in str(record["properties"][name]) for name in sections), sections
    experiment = experiment_schema()
    assert experiment["properties"].keys() == ExperimentRequest().fields.keys()
    variant = experiment["properties"]["variants"]["items"]["properties"]
    assert variant.keys() == VariantRequest().fields.keys()
    assert variant["parameters"]["properties"].keys() == set(SAMPLING)


@pytest.mark.parametrize(
    "document",
    [
        {"provider": {}},
        {"providers": {"ours": {"base_url": "http://127.0.0.1:9/v1", "timeout": 3}}},
        {**OWN, "models": {"ours/m": {"input_per_millon": 1}}},
        {**OWN, "models": {"ours/m": {"input_per_million": -1}}},
        {"judge": {"structured_output": "xml"}},
        {"retention": {"texts_days": "seven"}},
    ],
)
def test_what_the_loader_refuses_the_schema_refuses(document: dict[str, Any]) -> None:
    assert messages(CONFIG, document)
    with pytest.raises(ConfigError):
        parse_config(document, environ={})


@pytest.mark.parametrize(
    "change",
    [
        {"model": ["baseline/random"]},
        {"variants": [{"name": "a", "prompt": "x"}]},
        {"variants": [{"name": "a", "parameters": {"temperatur": 0}}]},
        {"repeats": 0},
        {"datasets": []},
        {"few_shot": "perhaps"},
        {"temperature": 3},
    ],
)
def test_what_a_request_refuses_the_schema_refuses(change: dict[str, Any]) -> None:
    request = {"name": "one", "datasets": ["sums"], "models": ["baseline/random"], "temperature": 0, "seed": None}
    assert (messages(EXPERIMENT, request), ExperimentRequest(data=request).is_valid()) == ([], True)
    assert messages(EXPERIMENT, request | change)
    assert not ExperimentRequest(data=request | change).is_valid()
