"""``codeforge.yaml``: what it may hold, and that every mistake is named with its key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from codeforge.config import ConfigError, load_config, parse_config

ROOT = Path(__file__).resolve().parents[2]


def test_nothing_configured_gives_the_defaults() -> None:
    config = parse_config({}, {})
    assert config.benchmark.datasets_dir == "datasets"
    assert config.judge.model is None
    assert config.providers["openai"].base_url == "https://api.openai.com/v1"


def test_the_shipped_file_is_valid_and_its_judge_is_not_the_model_of_the_tutorial() -> None:
    config = load_config(ROOT / "codeforge.yaml", {})
    assert config.judge.model not in (None, "openai/gpt-4o")


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({"benchmrk": {}}, "benchmrk"),
        ({"benchmark": {"datasets": "x"}}, "benchmark.datasets"),
        ({"judge": {"model": "gpt-4o"}}, "judge.model"),
        ({"benchmark": {"default_concurrency": 0}}, "benchmark.default_concurrency"),
        ({"benchmark": {"default_concurrency": "8"}}, "benchmark.default_concurrency"),
        ({"benchmark": {"code_tests": "yes"}}, "benchmark.code_tests"),
        ({"benchmark": []}, "benchmark"),
        ({"providers": {"mine": {}}}, "providers.mine"),
        ({"providers": {"mine": {"base_url": "ftp://x"}}}, "providers.mine.base_url"),
        ({"providers": {"mine": {"base_url": "http://user:secret@x/v1"}}}, "providers.mine.base_url"),
        ({"providers": {"mine": {"base_url": "http://x", "api_key": "sk-1"}}}, "providers.mine.api_key"),
        ({"providers": {"mine": {"base_url": "http://x", "limits": {"max_in_flight": 0}}}}, "max_in_flight"),
        ({"providers": {"mine": {"base_url": "http://x", "timeouts": {"connect": -1}}}}, "timeouts.connect"),
        ({"providers": {"mine": {"default_url": "http://x", "base_url": "http://y"}}}, "providers.mine"),
        ({"providers": {"mine": {"default_url": "http://x", "headers": {"A": "secret"}}}}, "providers.mine"),
        ({"providers": {"mine": {"base_url": "http://x:0/v1"}}}, "providers.mine.base_url"),
        ({"providers": {"baseline": {"base_url": "http://x"}}}, "providers.baseline"),
        ({"providers": {"My Own": {"base_url": "http://x"}}}, "providers.My Own"),
        ({"models": {"gpt-4o": {}}}, "models.gpt-4o"),
        ({"models": {"nowhere/gpt": {}}}, "models.nowhere/gpt"),
        ({"models": {"openai/gpt": {"input_per_million": -1}}}, "input_per_million"),
        ({"models": {"openai/gpt": {"params": {"n": 2}}}}, "models.openai/gpt.params"),
        ({"models": {"openai/gpt": {"params": {"stop": float("nan")}}}}, "models.openai/gpt.params"),
        ({"benchmark": {"judge_model": "openai/gpt"}}, "benchmark.judge_model"),
        ({"judge": {"temperature": 3.0}}, "judge.temperature"),
        ({"judge": {"structured_output": "xml"}}, "judge.structured_output"),
        ({"model_families": {"ours": {"models": "gpt-("}}}, "model_families.ours.models"),
        ({"model_families": {"ours": {"models": "gpt", "never_sent": ["stop"]}}}, "model_families.ours.never_sent"),
        ({"aliases": {"a": "b", "b": "c", "c": "b"}}, "aliases.a: a → b → c → b is circular."),
        ({"aliases": {"gpt-4o": "gpt-4o"}}, "aliases.gpt-4o: gpt-4o → gpt-4o is circular."),
        ({"aliases": {"gpt-4o": ""}}, "aliases.gpt-4o"),
        ({"webhooks": {"ops": {"url": "https://x"}}}, "webhooks.ops.secret_env"),
        ({"webhooks": {"ops": {"url": "https://x", "secret_env": ""}}}, "webhooks.ops.secret_env"),
        ({"webhooks": {"ops": {"url": "https://x", "secret": "sk-1"}}}, "webhooks.ops.secret"),
        ({"webhooks": {"ops": {"url": "file:///sk-1", "secret_env": "A"}}}, "webhooks.ops.url"),
        ({"webhooks": {"ops": {"url": "http://user:sk-1@x", "secret_env": "A"}}}, "webhooks.ops.url"),
        ({"webhooks": {"ops": {"url": "http://[sk-1", "secret_env": "A"}}}, "webhooks.ops.url"),
        ({"webhooks": {"ops": {"url": "http://x/\r\nsk-1", "secret_env": "A"}}}, "webhooks.ops.url"),
        ({"webhooks": {"ops": {"url": "http://x", "secret_env": "A", "events": ["run.begun"]}}}, "webhooks.ops.events"),
        ({"webhooks": {"ops": {"url": "http://x", "secret_env": "A", "timeout_seconds": 600}}}, "timeout_seconds"),
        ({"webhooks": {"Ops room": {"url": "http://x", "secret_env": "A"}}}, "webhooks.Ops room"),
    ],
)
def test_an_error_names_its_key(document: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(document, {})
    assert key in str(caught.value)
    assert "sk-1" not in str(caught.value)
    assert "user:secret" not in str(caught.value)


def test_all_errors_are_reported_together() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config({"benchmark": {"a": 1, "b": 2}}, {})
    assert len(str(caught.value).splitlines()) == 2


def test_the_environment_overrides_as_the_sdk_reads_it() -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "CODEFORGE_JUDGE_MODEL": "openai/judge"}
    config = parse_config({}, environ | {"OPENAI_API_KEY": "sk-test"})
    assert config.providers["openai"].base_url == "http://127.0.0.1:9/v1"
    assert config.judge.model == "openai/judge"
    assert config.providers["openai"].api_key({"OPENAI_API_KEY": "sk-test"}) == "sk-test"


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [", "a: 1\na: : 2"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "codeforge.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"codeforge\.yaml"):
        load_config(path, {})


def test_every_variable_the_code_reads_is_listed_in_the_example() -> None:
    listed = {line.split("=")[0] for line in (ROOT / ".env.example").read_text().splitlines() if "=" in line}
    settings = (ROOT / "codeforge" / "settings.py").read_text()
    read = set(re.findall(r'(?:environ\.get|_flag|_list)\(\s*"([A-Z_]+)"', settings))
    configured = yaml.safe_load((ROOT / "codeforge.yaml").read_text())
    keys = {provider["api_key_env"] for provider in configured["providers"].values() if "api_key_env" in provider}
    assert len(read) > 15
    assert read | keys <= listed


def test_every_commented_entry_of_the_shipped_file_is_valid() -> None:
    text = re.sub(r"^  # (\w+: \{.*)$", r"  \1", (ROOT / "codeforge.yaml").read_text(), flags=re.MULTILINE)
    providers = parse_config(yaml.safe_load(text), {}).providers
    assert {"mistral", "azure", "openai_responses", "sglang"} <= providers.keys()
    assert {"bot", "program", "function"} <= providers.keys()
    kinds = ("command", "python")
    assert all(each.base_url or each.default_url or each.kind in kinds for each in providers.values())
