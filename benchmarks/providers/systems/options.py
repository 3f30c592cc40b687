"""The configuration of systems under test: how each kind is asked, and where in a reply things stand."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import AfterValidator, Field

from benchmarks.providers.base import Section
from benchmarks.providers.systems.templates import problem_of

SYSTEM_KINDS = ("http", "command", "python")
MOST_PROCESSES = 256


@cache
def compiled(path: str) -> Any:
    """The JMESPath expression. Raises ``ValueError`` for one that cannot be read."""
    try:
        return jmespath.compile(path)
    except JMESPathError as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path!r} is not a JMESPath expression: {reason} Use one such as reply.text.") from None


def _json_path(path: str) -> str:
    compiled(path)
    return path


def _template(template: Any) -> Any:
    if problem := problem_of(template):
        raise ValueError(problem)
    return template


JsonPath = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_json_path)]
Template = Annotated[Any, AfterValidator(_template)]


class SystemOptions(Section):
    """Options of the kinds `http`, `command` and `python`; ``KINDS_OF`` says which has which."""

    path: Annotated[str, AfterValidator(_template)] = ""
    """`http`: path after `base_url`, a template such as `/ask?user={metadata.user}`"""
    method: Literal["POST", "PUT", "PATCH", "GET"] = "POST"
    """`http`: method of the request"""
    body: Template = None
    """`http`: JSON body, a template such as `{question: "{input}"}`; required unless `method` is `GET`"""
    answer: JsonPath | None = None
    """`http`: where the answer stands in the reply, as JMESPath; none: the whole reply is the answer"""
    retrieved: JsonPath | None = None
    """`http`: where the retrieved passages stand, a list of texts"""
    tool_calls: JsonPath | None = None
    """`http`: where the tool calls stand, a list of `{name, arguments}`"""
    steps: JsonPath | None = None
    """`http`: where the steps stand, a list or an ATIF trajectory"""
    tokens_in: JsonPath | None = None
    """`http`: where the number of prompt tokens stands"""
    tokens_out: JsonPath | None = None
    """`http`: where the number of answer tokens stands"""
    cost_usd: JsonPath | None = None
    """`http`: where the cost of the answer in US dollars stands"""
    error: JsonPath | None = None
    """`http`: where an error stands; anything but null, false and empty there is one"""
    command: Annotated[list[str], Field(min_length=1, max_length=100)] | None = None
    """`command`: program with its arguments; reads a JSON line for each task and writes one"""
    reuse: bool = True
    """`command`: whether a process answers many tasks; `false` starts one for each"""
    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")] | None = None
    """`python`: `module:function`, which takes a task and returns a text or a mapping"""
    interpreter: str | None = None
    """`python`: the interpreter that has the function's packages; none: that of the worker"""
    folder: str | None = None
    """`command`, `python`: where the processes run, relative to the project"""
    processes: Annotated[int, Field(ge=1, le=MOST_PROCESSES)] = 4
    """`command`, `python`: processes of each worker"""
    parallel: Annotated[int, Field(ge=1, le=1024)] = 1
    """`command`, `python`: tasks that a process answers at the same time"""


KINDS_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("path", "method", "body", "answer", "retrieved", "tool_calls", "steps"), ("http",)),
    **dict.fromkeys(("tokens_in", "tokens_out", "cost_usd", "error"), ("http",)),
    **dict.fromkeys(("command", "reuse"), ("command",)),
    **dict.fromkeys(("function", "interpreter"), ("python",)),
    **dict.fromkeys(("folder", "processes", "parallel"), ("command", "python")),
}
"""Option → the kinds that have it."""
OF_REPLY = ("answer", "retrieved", "tool_calls", "steps", "tokens_in", "tokens_out", "cost_usd", "error")


def misplaced(kind: str, options: SystemOptions) -> str | None:
    """What is wrong with the options of a provider of this kind, and what to do; ``None`` if they fit."""
    for name in sorted(KINDS_OF):
        is_set = getattr(options, name) != SystemOptions.model_fields[name].default
        if is_set and kind not in KINDS_OF[name]:
            return f"`{name}` applies to the kind {' or '.join(KINDS_OF[name])}, not to {kind}. Remove it."
    needs = {
        'Set `body` to what the system takes, such as `{question: "{input}"}`.': (
            kind == "http" and options.body is None and options.method != "GET"
        ),
        "A GET has no `body`. Put the task into `path`, such as `/ask?q={input}`, or set `method: POST`.": (
            kind == "http" and options.body is not None and options.method == "GET"
        ),
        "Set `command` to the program, such as `[python3, bot.py]`.": kind == "command" and options.command is None,
        "`parallel` does not apply with `reuse: false`. Raise `processes` instead.": (
            not options.reuse and options.parallel > 1
        ),
        "Set `function` to `module:function`, such as `my_bot:answer`.": kind == "python" and options.function is None,
    }
    return next((problem for problem, applies in needs.items() if applies), None)
