"""The boundary between the tests and the code of the answer: two processes that call each other over a socket.

Each process has a ``Peer``. Plain values (numbers, texts, containers, dates) cross as copies; everything else
(functions, classes, instances of the answer's classes, iterators) crosses as a number, for which the other side makes a
``Proxy``.
Calls go both ways, so tests can pass callbacks. A container that is passed to a call is updated after it.

The tests trust nothing that the process of the answer sends. What arrives is a value that the answer claims, decoded
without running any of its code. The answer does not see what its values are compared with: a proxy never equals a plain
value. In return, the tests offer to the answer only what they pass to it: calls, iteration and public attributes of
instances of their own classes, never attributes such as ``__globals__`` or ``gi_frame``.

This file uses only the standard library: its text runs inside the sandbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import operator
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.sandbox.encoding import Decoder, Encoder, contents_of, refill
from benchmarks.sandbox.proxies import (
    ARITHMETIC,
    COMPARING,
    COMPUTING,
    OF_OBJECT,
    REFLECTED,
    AnswerEndedError,
    Proxy,
    apply,
)

MAX_FRAME = 32_000_000
"""Bytes of one message."""
TESTS = "tests"
"""``__module__`` of the classes and functions that the tests define."""


class Peer:
    """One side of the boundary. ``strict`` is the side of the tests."""

    def __init__(self, stream: io.BufferedRWPair, *, strict: bool) -> None:
        self.stream = stream
        self.strict = strict
        self.own: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.theirs: dict[int, Any] = {}
        """Proxies, and local copies of the other side's exceptions and their classes, by number."""
        self.mirrors: dict[int, int] = {}
        """Numbers of these exceptions and classes, by ``id``."""
        self.passes_stop = False
        """Whether the tests expect ``StopIteration`` from calls. To ``map`` it would say that all is done."""
        self.operations: dict[str, Callable[..., Any]] = {
            "special": lambda target, name, args, kwargs: apply(name, target, args, kwargs),
            "method": lambda target, name, args, kwargs: getattr(target, self._public(target, name))(*args, **kwargs),
            "getattr": lambda target, name: getattr(target, self._public(target, name)),
            "setattr": lambda target, name, value: setattr(target, self._public(target, name), value),
            "delattr": lambda target, name: delattr(target, self._public(target, name)),
            "isinstance": isinstance,
            "await": _run_to_end,
        }

    def _public(self, target: Any, name: str) -> str:
        """``name``. On the side of the tests, raises ``AttributeError`` unless it is a public name of their own class.

        Attributes of functions, generators and modules lead to frames and globals, through which the answer could
        change the tests.
        """
        if self.strict and (name.startswith("_") or type(target).__module__ != TESTS):
            raise AttributeError(f"{name} is not available to the answer")
        return name

    def call(self, target: Proxy, name: str, /, *args: Any, **kwargs: Any) -> Any:
        return self.request("method", target, name, args, kwargs)

    def operate(self, target: Proxy, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Apply a special method to a proxy. Raises what the other side raises.

        Raises ``TypeError`` for tests that compute or compare a plain value with an object of the answer that they did
        not make themselves: it would see the expected value and could agree with anything.
        """
        if self.strict and target._plain and name not in OF_OBJECT:
            return apply(name, target._plain[0], args, kwargs)
        guarded = name in ARITHMETIC or name in REFLECTED or name in COMPARING
        if self.strict and guarded and not target._made and not isinstance(args[0], Proxy):
            raise TypeError(f"the answer gave an object of its class {target._shape!r} instead of a plain value")
        result = self.request("special", target, name, args, kwargs)
        if isinstance(result, Proxy) and (target._makes if name == "__call__" else target._made and name in COMPUTING):
            object.__setattr__(result, "_made", True)
        return result

    def request(self, operation: str, *args: Any) -> Any:
        """Let the other side do something, and serve its requests until it replies. Raises what it raises."""
        encoder = Encoder(self)
        # A test that redirects standard output wants to see what the answer prints.
        capture = self.strict and sys.stdout is not sys.__stdout__
        self._send({"do": operation, "args": [encoder.encode(arg) for arg in args], "capture": capture})
        while "do" in (frame := self._receive()):
            self._serve(frame)
        try:
            decoder = Decoder(self, encoder.containers)
            is_error, result = frame["error"], decoder.decode(frame["value"])
            changes = [(encoder.containers[place], list(decoder.items(items))) for place, items in frame["changed"]]
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            raise AnswerEndedError(f"an invalid message: {type(error).__name__}") from None
        for container, items in changes:
            refill(container, items)
        if capture:
            sys.stdout.write(str(frame.get("printed", "")))
        if not is_error:
            return result
        if self.strict and isinstance(result, StopIteration) and "__next__" not in args[1:2] and not self.passes_stop:
            raise RuntimeError("the answer raised StopIteration")
        raise result if isinstance(result, BaseException) else AnswerEndedError("an invalid message: no exception")

    def serve_forever(self) -> None:
        """Serve requests until the other side closes the socket."""
        with contextlib.suppress(AnswerEndedError):
            while True:
                self._serve(self._receive())

    def _serve(self, frame: dict[str, Any]) -> None:
        decoder = Decoder(self, [])
        printed = io.StringIO()
        before: list[list[Any]] = []
        result: Any
        try:
            operation = self.operations[frame["do"]]
            # A decoded value is no target: calling a built-in type would let the answer make classes in the tests.
            if self.strict and frame["args"][0][:1] != ["yours"]:
                raise TypeError("only what the tests passed to the answer can be used")
            args = [decoder.decode(arg) for arg in frame["args"]]
            before = [list(contents_of(container)) for container in decoder.containers]
            with contextlib.redirect_stdout(printed) if frame.get("capture") else contextlib.nullcontext():
                result, is_error = operation(*args), False
        except AnswerEndedError:
            raise
        except BaseException as error:
            result, is_error = error, True
        try:
            reply = self._reply(decoder.containers, before, result, is_error)
        except Exception as error:
            reply = self._reply([], [], TypeError(f"the result cannot be passed on: {type(error).__name__}"), True)
        self._send({**reply, "printed": printed.getvalue()})

    def _reply(self, containers: list[Any], before: list[list[Any]], result: Any, is_error: bool) -> dict[str, Any]:
        encoder = Encoder(self, containers)
        value = encoder.encode(result)
        changed = [
            [place, encoder.items(contents_of(container))]
            for place, (container, old) in enumerate(zip(containers[: len(before)], before, strict=True))
            if len(container) != len(old) or not all(map(operator.is_, contents_of(container), old))
        ]
        return {"value": value, "error": is_error, "changed": changed}

    def _send(self, frame: dict[str, Any]) -> None:
        try:
            self.stream.write(json.dumps(frame).encode() + b"\n")
            self.stream.flush()
        except OSError:
            raise AnswerEndedError("the process of the answer ended") from None

    def _receive(self) -> dict[str, Any]:
        try:
            line = self.stream.readline(MAX_FRAME)
            frame = json.loads(line) if line.endswith(b"\n") else None
        except OSError:
            frame = None
        except (ValueError, RecursionError, MemoryError):
            raise AnswerEndedError("an invalid message") from None
        if not isinstance(frame, dict):
            raise AnswerEndedError("the process of the answer ended")
        return frame

    def number_of(self, thing: Any) -> int:
        """The number of an object of this side; it stays alive from here on."""
        if id(thing) not in self.numbers:
            self.numbers[id(thing)] = len(self.own)
            self.own.append(thing)
        return self.numbers[id(thing)]


def _run_to_end(coroutine: Any) -> Any:
    return asyncio.run(coroutine)
