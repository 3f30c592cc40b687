"""``codeforge.yaml``: read once, typed, every error reported with its key.

The file never contains API keys: ``api_key_env`` names the environment variable that holds one.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, Field, ValidationError, model_validator

from benchmarks.engine.webhooks.receiver_settings import Redelivery, receiver_address
from benchmarks.outbound import Outbound, network_of
from benchmarks.providers.base import JudgeSettings, Limits, RetryPolicy, Section, Timeouts
from benchmarks.providers.extra_parameters import problems_of
from benchmarks.providers.http_provider import HTTPProvider, http_address
from benchmarks.providers.model_families import ModelFamily
from benchmarks.providers.model_names import BASELINE, is_baseline, split_model
from benchmarks.providers.registered_providers import PROVIDER_KINDS
from benchmarks.providers.systems.options import KINDS_OF, SystemOptions, misplaced


class ConfigError(Exception):
    """The configuration is invalid. The message lists every error as ``file: key: problem``."""


def _model_name(value: str) -> str:
    split_model(value)
    return value


def _judge_name(value: str) -> str:
    if not split_model(value)[1]:
        raise ValueError(f"{value!r} is not a valid model name. Use provider/model, for example, openai/gpt-4o.")
    return value


def _provider_kind(value: str) -> str:
    kinds = [kind for kind in PROVIDER_KINDS.names() if kind != BASELINE]
    if value not in kinds:
        raise ValueError(f"{value!r} does not exist. Use one of: {', '.join(kinds)}.")
    return value


def _host_or_network(value: str) -> str:
    network = network_of(value)
    if network is not None and network.is_link_local:
        raise ValueError(f"{value} is link-local, which is never reached. Remove it.")
    if network is None and not re.fullmatch(r"(?=.{1,253}\Z)[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?", value):
        raise ValueError(f"{value!r} is no host or network. Use a name such as hooks.internal or 10.1.0.0/16, no URL.")
    return value


def _sendable(parameters: dict[str, Any]) -> dict[str, Any]:
    if problems := problems_of(parameters):
        raise ValueError(" ".join(problems))
    return parameters


def _rubrics(rubrics: list[Any]) -> list[Any]:
    """The rubrics as datasets hold them."""
    # Imported here, because it takes a while and few configurations have rubrics.
    from benchmarks.dataset_format.validation import validate_rubrics

    checked, problems = validate_rubrics(rubrics)
    if problems:
        raise ValueError("; ".join(f"{path} {text}" for path, texts in problems.items() for text in texts))
    return checked


Address = Annotated[str, AfterValidator(http_address)]
ModelName = Annotated[str, AfterValidator(_model_name)]
JudgeName = Annotated[str, AfterValidator(_judge_name)]
ReceiverAddress = Annotated[str, AfterValidator(receiver_address)]
WebhookEvent = Literal[
    "run.completed", "run.completed_with_errors", "run.failed", "run.cancelled", "run.paused", "score.dropped"
]


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class ProviderConfig(SystemOptions):
    kind: Annotated[str, AfterValidator(_provider_kind)] = "openai_compatible"
    """Protocol of the endpoint"""
    base_url: Address | None = None
    """URL of the endpoint, which usually ends in `/v1`; required except for `litellm`, `command` and `python`"""
    default_url: Address | None = None
    """Instead of `base_url`: URL until administrators enter another one on the page Models"""
    api_key_env: str | None = None
    """Environment variable with the API key; it takes precedence over a key entered on the page"""
    key_required: bool = True
    """Whether runs are refused without that key; `false` by default for `openai` if `OPENAI_BASE_URL` is set"""
    limits: Limits = Limits()
    timeouts: Timeouts = Timeouts()
    retries: RetryPolicy = RetryPolicy()
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers of every request; `${NAME}` is an environment variable; never shown"""
    stream: bool = False
    """Stream answers, which measures the time to the first token and tokens per second; not for `litellm`"""

    @model_validator(mode="after")
    def _address_is_known(self) -> ProviderConfig:
        kind = PROVIDER_KINDS.ours.get(self.kind)
        is_http = kind is not None and issubclass(kind, HTTPProvider)
        if self.default_url is None and is_http and self.base_url is None:
            raise ValueError("`base_url` is missing. Set it to the endpoint's URL.")
        if self.default_url is not None and self.base_url is not None:
            raise ValueError("`base_url` fixes the URL, `default_url` lets administrators change it. Remove one.")
        if self.default_url is not None and not is_http:
            raise ValueError(f"`default_url` does not apply to the kind {self.kind}. Use `base_url`.")
        if self.default_url is not None and self.headers:
            raise ValueError("`headers` would be sent to any URL that is entered. Use `base_url` with them.")
        if self.stream and (self.kind == "litellm" or self.is_system):
            raise ValueError(f"`stream` does not apply to the kind {self.kind}. Remove it.")
        if self.kind in ("command", "python") and (self.base_url or self.api_key_env or self.headers):
            raise ValueError(f"`base_url`, `api_key_env` and `headers` do not apply to the kind {self.kind}.")
        if problem := misplaced(self.kind, self):
            raise ValueError(problem)
        return self

    @property
    def is_system(self) -> bool:
        """Whether it leads to a system under test, which may be named without a model."""
        kind = PROVIDER_KINDS.ours.get(self.kind)
        return kind is not None and kind.is_system

    @property
    def system(self) -> SystemOptions | None:
        """The options of a system under test."""
        if not self.is_system:
            return None
        return SystemOptions(**{name: getattr(self, name) for name in KINDS_OF})

    @property
    def header_variables(self) -> frozenset[str]:
        """The environment variables that headers name."""
        return frozenset(name for value in self.headers.values() for name in _VARIABLE.findall(value))

    def headers_with(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The headers with the values of their variables. Raises ``ValueError`` if one is not set."""
        if missing := sorted(name for name in self.header_variables if not environ.get(name)):
            raise ValueError(f"The environment variable {missing[0]}, which a header names, is not set.")
        return {name: _VARIABLE.sub(lambda found: environ[found[1]], value) for name, value in self.headers.items()}

    @property
    def retrieves(self) -> bool:
        """Whether it may report passages that it looks up, which only systems under test do."""
        return self.is_system and (self.kind != "http" or bool(self.retrieved))

    @property
    def entered(self) -> bool:
        """Whether it was entered on the page, not in the file."""
        return False

    @property
    def address_can_be_entered(self) -> bool:
        """Whether the file leaves the URL to the page."""
        return self.default_url is not None

    def api_key(self, environ: Mapping[str, str]) -> str | None:
        """The key from the environment, or ``None`` if none is named or set."""
        return (environ.get(self.api_key_env) or None) if self.api_key_env else None


class EnteredSystem(ProviderConfig):
    """A system that was entered on the page: only of the kind `http`, and nothing in it names a variable of the
    environment, which it would send to any URL."""

    kind: Literal["http"] = "http"
    base_url: Address
    unreadable: bool = False
    """Whether its headers were stored under another ``SECRET_KEY``"""

    @property
    def entered(self) -> bool:
        return True

    @property
    def header_variables(self) -> frozenset[str]:
        return frozenset()

    def headers_with(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The headers as they were entered. Raises ``ValueError`` if they cannot be decrypted."""
        if self.unreadable:
            raise ValueError("The headers cannot be decrypted, because SECRET_KEY has changed. Enter them again.")
        return dict(self.headers)


class ModelConfig(Section):
    """Prices in US dollars per million tokens; ``None`` is unknown and never counted as free.

    ``params`` are sent with every request to the model, also when it judges.
    """

    input_per_million: Annotated[float, Field(ge=0)] | None = None
    """US dollars for a million prompt tokens; none is unknown, 0 is free"""
    output_per_million: Annotated[float, Field(ge=0)] | None = None
    """US dollars for a million answer tokens"""
    cached_input_per_million: Annotated[float, Field(ge=0)] | None = None
    """US dollars for a million prompt tokens read from the vendor's cache; none: as other prompt tokens"""
    context_length: Annotated[int, Field(ge=1)] | None = None
    """Context window in tokens, by default as the endpoint lists it; longer prompts are warned of"""
    sees_pictures: bool = False
    """Whether the model accepts images"""
    limits: Limits = Limits()
    params: Annotated[dict[str, Any], AfterValidator(_sendable)] = Field(default_factory=dict)
    """Further parameters of every request to the model"""


class WebhookConfig(Section):
    """A URL that receives the events of runs, signed with the secret in the variable ``secret_env``."""

    url: ReceiverAddress
    """URL of the receiver"""
    secret_env: Annotated[str, Field(min_length=1)]
    """Environment variable with the signing secret"""
    events: list[WebhookEvent] | None = None
    """Events to deliver; none: all"""
    timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 10.0
    """Seconds for the receiver's response"""
    retries: Redelivery = Redelivery()

    def wants(self, event: str) -> bool:
        return self.events is None or event in self.events

    def signing_key(self, environ: Mapping[str, str]) -> bytes:
        """The bytes behind ``whsec_``. Raises ``ValueError`` that names the variable and never shows its value."""
        prefix, text = "whsec_", environ.get(self.secret_env, "")
        try:
            key = base64.b64decode(text.removeprefix(prefix), validate=True) if text.startswith(prefix) else b""
        except (binascii.Error, ValueError):
            key = b""
        if len(key) < 24:
            what = "must be whsec_ followed by at least 24 bytes in base64" if text else "is not set"
            raise ValueError(
                f"The environment variable {self.secret_env} {what}. Set it where the workers and the web server run."
            )
        return key


class BenchmarkConfig(Section):
    datasets_dir: str = "datasets"
    """Directory of YAML datasets, relative to the project"""
    default_concurrency: Annotated[int, Field(ge=1, le=1024)] = 32
    """Concurrent requests of runs that set none"""
    code_tests: bool = True
    """Let `code_tests` run the code of answers in the sandbox, on machines that can isolate it"""


class JudgeConfig(JudgeSettings):
    """How all judges are asked; ``model`` judges the runs that name none, ``second_model`` what a judge of any run left
    without a readable verdict."""

    model: JudgeName | None = None
    """Judge of runs that name none"""
    second_model: JudgeName | None = None
    """Judge of answers on which a judge's replies cannot be read"""

    @property
    def settings(self) -> JudgeSettings:
        return JudgeSettings.model_validate(self.model_dump(exclude={"model", "second_model"}))


class RetentionConfig(Section):
    """How long the texts of results are kept, in days after the end of their run; ``None`` is forever."""

    texts_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """Days after a run's end until its texts are deleted"""


class BackupsConfig(Section):
    """Backups that workers write; without a folder they write none."""

    folder: str = ""
    """Directory into which workers write backups, relative to the project like `benchmark.datasets_dir`; empty: none"""
    every_hours: Annotated[float, Field(gt=0, le=8_760)] = 24.0
    """Hours from one backup to the next"""
    keep: Annotated[int, Field(ge=1, le=10_000)] = 7
    """How many backups stay; older ones are deleted"""
    encrypt: bool = False
    """Whether they are encrypted, with the key of `CODEFORGE_BACKUP_KEY` or `CODEFORGE_BACKUP_KEY_FILE`"""


class OutboundConfig(Section):
    """Where requests may go to addresses that were entered on a page; those of this file are not checked."""

    allow: list[Annotated[str, AfterValidator(_host_or_network)]] = Field(default_factory=list)
    """Hosts and networks that are not public and may be reached, such as `hooks.internal` and `10.1.0.0/16`"""

    def rules(self, *, loopback: bool) -> Outbound:
        return Outbound.of(self.allow, loopback=loopback)


class Config(Section):
    benchmark: BenchmarkConfig = BenchmarkConfig()
    judge: JudgeConfig = JudgeConfig()
    retention: RetentionConfig = RetentionConfig()
    backups: BackupsConfig = BackupsConfig()
    providers: dict[str, ProviderConfig] = Field(default_factory=dict)
    models: dict[ModelName, ModelConfig] = Field(default_factory=dict)
    model_families: dict[str, ModelFamily] = Field(default_factory=dict)
    aliases: dict[str, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)
    """Name of a model in files of other tools → its name here, such as `gpt-4o: openai/gpt-4o`"""
    webhooks: dict[str, WebhookConfig] = Field(default_factory=dict)
    outbound: OutboundConfig = OutboundConfig()
    rubrics: Annotated[list[Any], AfterValidator(_rubrics)] = Field(default_factory=list)
    """Criteria for judges; each is the metric `rubric:NAME` on every dataset"""

    @model_validator(mode="after")
    def _names_can_be_used(self) -> Config:
        for name in self.providers:
            if name == BASELINE:
                raise ValueError("providers.baseline is built in. Choose another name.")
            if not name or "/" in name or name != name.strip().lower():
                raise ValueError(f"providers.{name}: A provider's name must be lowercase, without spaces and slashes.")
        for name in self.models:
            provider = name.partition("/")[0]
            if provider not in {*self.providers, BASELINE}:
                known = ", ".join(sorted(self.providers)) or "none"
                raise ValueError(f"models.{name}: Provider {provider!r} is not configured. Configured: {known}.")
            if "/" not in name and not self.is_system(name):
                raise ValueError(f"models.{name}: This is not the name of a model. Use {name}/MODEL.")
        for key in ("model", "second_model"):
            judge = getattr(self.judge, key)
            if judge and self.is_system(judge):
                raise ValueError(f"judge.{key}: {judge} is a system under test. Name a model.")
        for name in self.aliases:
            self.name_here(name)
        for name in self.webhooks:
            if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,59}", name):
                raise ValueError(f"webhooks.{name}: A webhook's name has up to 60 of the characters a-z, 0-9, - and _.")
        return self

    def name_here(self, model: str) -> str:
        """The name of a model that other tools name so; the same without an alias. Raises ``ValueError`` if aliases are
        circular."""
        followed = [model]
        while (further := self.aliases.get(followed[-1])) is not None:
            if further in followed:
                circle = " → ".join([*followed, further])
                raise ValueError(f"aliases.{model}: {circle} is circular. End with the name of the model here.")
            followed.append(further)
        return followed[-1]

    def is_system(self, model: str) -> bool:
        """Whether the name of a model is that of a system under test: ``bot``, or ``bot/NAME``."""
        provider = self.providers.get(model.partition("/")[0])
        return provider is not None and provider.is_system

    @staticmethod
    def entered_system(values: dict[str, Any]) -> EnteredSystem:
        """A system as it was entered on the page. Raises pydantic's ``ValidationError``."""
        return EnteredSystem.model_validate(values)

    def model(self, name: str) -> ModelConfig:
        """The configuration of a model, with everything unknown if there is none. Baselines cost nothing."""
        if is_baseline(name):
            return ModelConfig(input_per_million=0.0, output_per_million=0.0)
        return self.models.get(name, ModelConfig())

    @property
    def secret_variables(self) -> frozenset[str]:
        """The names of all environment variables that hold a key or a signing secret."""
        keys = {provider.api_key_env for provider in self.providers.values() if provider.api_key_env}
        named = {name for provider in self.providers.values() for name in provider.header_variables}
        return frozenset(keys | named | {webhook.secret_env for webhook in self.webhooks.values()})

    def datasets_path(self, base: Path) -> Path:
        """The datasets directory; a relative ``datasets_dir`` is relative to ``base``."""
        return (base / self.benchmark.datasets_dir).resolve()


def load_config(path: Path, environ: Mapping[str, str] | None = None) -> Config:
    """Read the file, apply environment overrides and validate. Raises ``ConfigError`` with all errors."""
    environ = os.environ if environ is None else environ
    return parse_config(_read(path), environ, path.name)


def parse_config(document: dict[str, Any], environ: Mapping[str, str], file: str = "codeforge.yaml") -> Config:
    """Validate an already loaded document. ``document`` is not changed. Raises ``ConfigError``."""
    try:
        return Config.model_validate(_with_overrides(document, environ, file))
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(file, mistake) for mistake in error.errors())) from None


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name} is not valid YAML: {error}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(
            f"{path.name}: The top level must be a mapping with keys such as benchmark, providers and models."
        )
    return document


def _with_overrides(document: dict[str, Any], environ: Mapping[str, str], file: str) -> dict[str, Any]:
    """``OPENAI_BASE_URL`` moves the openai provider as it moves the OpenAI SDK; ``CODEFORGE_JUDGE_MODEL`` the judge."""
    overridden = dict(document)
    for variable, section, key in (
        ("CODEFORGE_JUDGE_MODEL", "judge", "model"),
        ("CODEFORGE_DATASETS_DIR", "benchmark", "datasets_dir"),
    ):
        if environ.get(variable):
            overridden[section] = {**_section(overridden, section, file), key: environ[variable]}
    providers = dict(_section(overridden, "providers", file))
    openai: dict[str, Any] = {"api_key_env": "OPENAI_API_KEY"}
    configured = providers.get("openai", {})
    if isinstance(configured, dict):
        openai |= configured
        if not openai.get("default_url"):
            openai.setdefault("base_url", "https://api.openai.com/v1")
        if environ.get("OPENAI_BASE_URL"):
            openai["base_url"] = environ["OPENAI_BASE_URL"]
            openai.pop("default_url", None)
            openai.setdefault("key_required", False)  # it may be a server on this machine
        providers["openai"] = openai
    overridden["providers"] = providers
    return overridden


def _section(document: dict[str, Any], name: str, file: str) -> dict[str, Any]:
    section = document.get(name) or {}
    if not isinstance(section, dict):
        raise ConfigError(f"{file}: {name}: Must be a mapping, not {type(section).__name__}.")
    return section


def _explain(file: str, mistake: Any) -> str:
    key = ".".join(str(part) for part in mistake["loc"] if part != "function-after[_model_name(), str]")
    message = mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "extra_forbidden":
        message = "This key does not exist. For the keys, see docs/configuration.md."
    return f"{file}: {key}: {message}" if key else f"{file}: {message}"
