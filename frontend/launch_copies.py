"""What the launch page would start, as a command line, a call of the API and a program."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from benchmarks.dataset_format.dumping import dump_values
from benchmarks.extras import command
from benchmarks.presentation.texts import visible
from benchmarks.providers.extra_parameters import typed
from benchmarks.run_parameters import RUN_PARAMETERS, Kind
from benchmarks.services.experiments.file_schema import EDITOR_LINE

_NUMBERS = {Kind.INTEGER: int, Kind.NUMBER: float}


def copies(request: Mapping[str, Any], site: str, *, is_run: bool) -> list[tuple[str, str, str]]:
    """Name, title and text of each; ``site`` is the address of this installation."""
    values = {name: value for name, value in _as_json(request).items() if not _is_default(name, value)}
    return [
        ("curl", "curl", _curl(values, f"{site}/api/v1/benchmarks/{'runs' if is_run else 'experiments'}")),
        ("command", "Command", _run_command(values) if is_run else _experiment_command(values)),
        ("python", "Python", _python(values, site, "start_run" if is_run else "start_experiment")),
    ]


def _as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """The request with the types that the API documents; a form sends texts."""
    return {name: _value(name, value) for name, value in values.items()}


def _is_default(name: str, value: Any) -> bool:
    return name in RUN_PARAMETERS and value == RUN_PARAMETERS[name].default


def _value(name: str, value: Any) -> Any:
    if name == "variants":
        return [_as_json(variant) for variant in value]
    if name == "parameters":
        return _as_json(value)
    convert = _NUMBERS.get(RUN_PARAMETERS[name].kind) if name in RUN_PARAMETERS else None
    try:
        return convert(value) if convert else value
    except (TypeError, ValueError):
        return value


def _curl(values: Mapping[str, Any], address: str) -> str:
    body = shlex.quote(_json(values))
    head = '-H "Authorization: Bearer $CODEFORGE_TOKEN" -H "Content-Type: application/json"'
    return f"curl -X POST {address} \\\n  {head} \\\n  -d {body}"


def _run_command(values: Mapping[str, Any]) -> str:
    words = [*command("benchmark run", python="python").split(), str(values.get("dataset", ""))]
    if "name" in values:
        words += ["--name", values["name"]]
    words += [word for tag in values.get("tags", ()) for word in ("--tag", tag)]
    for name, value in values.items():
        words += _option(name, value) if name in RUN_PARAMETERS and name != "dataset" else []
    return " ".join(map(_quoted, words))


def _json(values: Mapping[str, Any], indent: int | None = None) -> str:
    """Escaped are characters that a page does not show as they are, such as direction marks, and line ends of YAML."""
    text = json.dumps(values, ensure_ascii=False, indent=indent)
    hidden = {each for each in {*text} if visible(each) != each or each in "\u2028\u2029"}
    return text.translate({ord(each): f"\\u{ord(each):04x}" for each in hidden})


def _quoted(word: str) -> str:
    """A word for a shell; with characters that a page does not show as they are, for Bash and Zsh only."""
    if visible(word) == word:
        return shlex.quote(word)
    plain = word.replace("\\", "\\\\").replace("'", "\\'")
    hidden = {each for each in {*plain} if visible(each) != each}
    bytes_of = {ord(each): "".join(f"\\x{byte:02x}" for byte in each.encode()) for each in hidden}
    return f"$'{plain.translate(bytes_of)}'"


def _option(name: str, value: Any) -> list[str]:
    parameter = RUN_PARAMETERS[name]
    match parameter.kind:
        case Kind.SWITCH:
            return [parameter.option]
        case Kind.NAMES:
            return [parameter.option, *value]
        case Kind.PARAMETERS:
            return [word for pair in typed(value) for word in (parameter.option, "=".join(pair))]
    return [parameter.option, str(value)]


def _experiment_command(values: Mapping[str, Any]) -> str:
    content = dump_values(dict(values))
    if visible(content) != content:
        content = f"{_json(values, indent=2)}\n"  # YAML, too, and can escape what cannot be shown
    return (
        f"cat > experiment.yaml <<'END_OF_EXPERIMENT'\n{EDITOR_LINE}{content}END_OF_EXPERIMENT\n"
        f"{command('benchmark experiment run experiment.yaml', python='python')}"
    )


def _python(values: Mapping[str, Any], site: str, start: str) -> str:
    arguments = "".join(f"    {name}={value!r},\n" for name, value in values.items())
    return f"from codeforge_client import Client\n\nstarted = Client({site!r}).{start}(\n{arguments})\n"
