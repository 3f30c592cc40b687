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
import builtins
import contextlib
import datetime
import importlib
import io
import json
import operator
import sys
import types
from base64 import b64decode, b64encode
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Any

MAX_FRAME = 32_000_000
"""Bytes of one message."""
SAFE_INTEGER = 1 << 53
TESTS = "tests"
"""``__module__`` of the classes and functions that the tests define."""
IMPORTABLE = frozenset(
    {"collections", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "itertools"}
)
IMPORTABLE |= {
    "asyncio",
    "bisect",
    "copy",
    "heapq",
    "io",
    "json",
    "math",
    "operator",
    "random",
    "re",
    "statistics",
    "time",
}
"""Modules that tests may use because the answer imported them: the tests get their own copy."""
MAPPINGS: dict[str, Callable[[], dict[Any, Any]]] = {
    "dict": dict,
    "Counter": Counter,
    "OrderedDict": OrderedDict,
    "defaultdict": lambda: defaultdict(None),
}
SEQUENCES: dict[str, Callable[[], Any]] = {"list": list, "set": set, "deque": deque, "bytearray": bytearray}
MUTABLE = {list, set, deque, bytearray, dict, Counter, OrderedDict, defaultdict}
BUILTIN_TYPES = {kind for kind in vars(builtins).values() if isinstance(kind, type)}
DATES = {"date": datetime.date, "datetime": datetime.datetime, "time": datetime.time}
PLAIN_BASES = (int, float, complex, str, bytes, list, tuple, dict, set, frozenset, deque)

ARITHMETIC: dict[str, Callable[..., Any]] = {
    "__divmod__": divmod,
    **{
        name: getattr(operator, name)
        for name in ("__add__", "__sub__", "__mul__", "__matmul__", "__truediv__", "__floordiv__", "__mod__", "__pow__")
    },
    **{name: getattr(operator, name) for name in ("__lshift__", "__rshift__", "__and__", "__xor__", "__or__")},
}
REFLECTED = {name.replace("__", "__r", 1): function for name, function in ARITHMETIC.items()}
COMPARING: dict[str, Callable[..., Any]] = {
    "__lt__": operator.lt,
    "__le__": operator.le,
    "__gt__": operator.gt,
    "__ge__": operator.ge,
    "__contains__": operator.contains,
}
OF_VALUE: dict[str, Callable[..., Any]] = {
    "__len__": len,
    "__bool__": bool,
    "__hash__": hash,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": operator.index,
    "__neg__": operator.neg,
    "__pos__": operator.pos,
    "__abs__": abs,
    "__invert__": operator.invert,
    "__round__": round,
    "__iter__": iter,
    "__reversed__": reversed,
    "__getitem__": operator.getitem,
}
OF_OBJECT: dict[str, Callable[..., Any]] = {
    "__call__": lambda target, *args, **kwargs: target(*args, **kwargs),
    "__repr__": repr,
    "__str__": str,
    "__format__": format,
    "__next__": next,
    "__setitem__": operator.setitem,
    "__delitem__": operator.delitem,
    "__enter__": lambda target: target.__enter__(),
    "__exit__": lambda target, *args: target.__exit__(*args),
}
COMPUTING = {*ARITHMETIC, *REFLECTED, "__neg__", "__pos__", "__invert__"}
"""Operators whose result is of the same class."""
SPECIAL = {**ARITHMETIC, **REFLECTED, **COMPARING, **OF_VALUE, **OF_OBJECT, "__eq__": operator.eq}


class AnswerEndedError(BaseException):
    """The other process closed the socket or sent an invalid message. Tests cannot catch it as an ``Exception``."""


class Proxy:
    """An object of the other process, for one peer that knows it by ``number``.

    ``plain`` is its value if its class derives from a built-in type (an enumeration, a named tuple). ``makes`` says that
    the tests know it as a class; ``made`` that they made it by calling one, or computed it from such an object, so they
    mean to use the operators of that class. What a method returns may have to be a plain value.
    """

    __slots__ = ("_made", "_makes", "_methods", "_number", "_peer", "_plain", "_shape")

    def __init__(self, peer: Peer, number: int, shape: str, methods: Iterable[str], plain: tuple[Any, ...]) -> None:
        values = {"_peer": peer, "_number": number, "_shape": shape, "_methods": frozenset(methods)}
        for name, value in {**values, "_plain": plain, "_made": False, "_makes": False}.items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in self._methods:
            return partial(self._peer.call, self, name)
        return self._peer.request("getattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._peer.request("setattr", self, name, value)

    def __delattr__(self, name: str) -> None:
        self._peer.request("delattr", self, name)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Proxy) and self._peer.request("isinstance", instance, self) is True

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if isinstance(other, Proxy) or not self._peer.strict:
            return self._peer.request("special", self, "__eq__", (other,), {})
        return self._plain[0] == other if self._plain else NotImplemented

    def __hash__(self) -> int:
        return hash(self._plain[0]) if self._plain else int(self._peer.request("special", self, "__hash__", (), {}))


@cache
def proxy_class(specials: frozenset[str]) -> type[Proxy]:
    """Proxies with these special methods, so that an object without ``__len__`` has no length here either."""
    methods = {
        name: _special_method(name) for name in specials if name in SPECIAL and name not in ("__eq__", "__hash__")
    }
    return type("Proxy", (Proxy,), {"__slots__": (), **methods})


def _special_method(name: str) -> Callable[..., Any]:
    def method(self: Proxy, *args: Any, **kwargs: Any) -> Any:
        return self._peer.operate(self, name, args, kwargs)

    return method


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
            "special": lambda target, name, args, kwargs: _apply(name, target, args, kwargs),
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
            return _apply(name, target._plain[0], args, kwargs)
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
            _refill(container, items)
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
            before = [list(_contents(container)) for container in decoder.containers]
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
            [place, encoder.items(_contents(container))]
            for place, (container, old) in enumerate(zip(containers[: len(before)], before, strict=True))
            if len(container) != len(old) or not all(map(operator.is_, _contents(container), old))
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


class Encoder:
    """Turns values into JSON. ``containers`` are those that both sides know by their place in the list."""

    def __init__(self, peer: Peer, containers: Iterable[Any] = ()) -> None:
        self.peer = peer
        self.containers = list(containers)
        self.places = {id(container): place for place, container in enumerate(self.containers)}

    def encode(self, value: Any) -> Any:  # noqa: PLR0911 - one for each kind of value
        kind = type(value)
        if value is None or kind in (bool, str, float):
            return value
        if kind is int:
            return value if -SAFE_INTEGER < value < SAFE_INTEGER else ["int", hex(value)]
        if kind in MUTABLE:
            if id(value) in self.places:
                return ["container", self.places[id(value)]]
            self.places[id(value)] = len(self.containers)
            self.containers.append(value)
            return [kind.__name__, self.items(_contents(value))]
        if kind in (tuple, frozenset):
            return [kind.__name__, self.items(value)]
        if kind is bytes:
            return ["bytes", b64encode(value).decode()]
        if kind is complex:
            return ["complex", value.real, value.imag]
        if kind in (range, slice):
            return [kind.__name__, self.items((value.start, value.stop, value.step))]
        if kind is Decimal:
            return ["Decimal", str(value)]
        if kind is Fraction:
            return ["Fraction", self.items((value.numerator, value.denominator))]
        if kind is datetime.timedelta:
            return ["timedelta", value.days, value.seconds, value.microseconds]
        if DATES.get(kind.__name__) is kind:
            return [kind.__name__, value.isoformat()]
        return self._reference(value)

    def items(self, values: Iterable[Any]) -> list[Any]:
        return [self.encode(value) for value in values]

    def _reference(self, value: Any) -> list[Any]:  # noqa: PLR0911 - one for each kind of object
        if isinstance(value, Proxy):
            return ["yours", value._number]
        if id(value) in self.peer.mirrors:
            return ["yours", self.peer.mirrors[id(value)]]
        is_class = isinstance(value, type)
        if is_class and value in BUILTIN_TYPES:
            return ["builtin", value.__name__]
        if is_class and issubclass(value, BaseException):
            # The base comes along, because the other side may know only that one.
            return [
                "error class",
                self.peer.number_of(value),
                value.__module__,
                value.__name__,
                self.encode(value.__base__),
            ]
        if isinstance(value, BaseException):
            attributes = [[name, self.encode(item)] for name, item in vars(value).items() if name[:1] != "_"]
            number = self.peer.number_of(value)
            return ["error", number, self.encode(type(value)), self.items(value.args), attributes]
        if isinstance(value, types.ModuleType):
            return ["module", self.peer.number_of(value), value.__name__]
        if isinstance(value, types.CoroutineType):
            return ["coroutine", self.peer.number_of(value)]
        base = next((base for base in PLAIN_BASES if isinstance(value, base)), None)
        # Of a text, ``str`` would ask the class, which for an enumeration gives the name of the member.
        plain = (
            [self.encode(str.__str__(value) if base is str else base(value))] if base and not self.peer.strict else []
        )
        kind: Any = type(value)
        specials, methods = _interface(kind)
        return ["object", self.peer.number_of(value), "class" if is_class else kind.__name__, specials, methods, plain]


class Decoder:
    """Turns JSON into values again. Raises ``LookupError``, ``TypeError`` or ``ValueError`` for anything invalid."""

    def __init__(self, peer: Peer, containers: list[Any]) -> None:
        self.peer = peer
        self.containers = containers

    def decode(self, data: Any) -> Any:
        if not isinstance(data, list):
            if isinstance(data, dict):
                raise ValueError("not a value")
            return data
        tag, *rest = data
        if tag in SEQUENCES or tag in MAPPINGS:
            container = (SEQUENCES.get(tag) or MAPPINGS[tag])()
            # Registered before its contents are decoded, because it may contain itself.
            self.containers.append(container)
            _refill(container, self.items(rest[0]))
            return container
        return DECODED[tag](self, *rest)

    def items(self, data: list[Any]) -> Iterator[Any]:
        return map(self.decode, data)

    def builtin(self, name: str) -> type:
        kind = getattr(builtins, name)
        if not isinstance(kind, type):
            raise TypeError("not a type")
        return kind

    def error_class(self, number: int, module: str, name: str, base: Any) -> Any:
        if number in self.peer.theirs:
            return self.peer.theirs[number]
        parent = self.decode(base)
        in_library = module.split(".", maxsplit=1)[0] in sys.stdlib_module_names
        known = getattr(sys.modules.get(module), name, None) if in_library else None
        for kind in (known, parent):
            if isinstance(kind, type) and issubclass(kind, BaseException):
                # Made here rather than used directly, a class keeps its identity when it is sent back.
                local = kind if kind is known else type(str(name), (kind,), {})
                self._mirror(number, local)
                return local
        raise TypeError("not a class of exceptions")

    def error(self, number: int, kind: Any, args: list[Any], attributes: list[Any]) -> Any:
        if number in self.peer.theirs:
            return self.peer.theirs[number]
        error_class, values = self.decode(kind), tuple(self.items(args))
        if not issubclass(error_class, BaseException) or issubclass(error_class, AnswerEndedError):
            raise TypeError("not an exception")
        try:
            error = error_class(*values)
        except Exception:
            error = error_class.__new__(error_class)
        error.args = values
        for name, value in attributes:
            if name[:1] == "_":
                continue
            with contextlib.suppress(AttributeError, TypeError):
                setattr(error, str(name), self.decode(value))
        self._mirror(number, error)
        return error

    def _mirror(self, number: int, local: Any) -> None:
        self.peer.theirs[number] = local
        self.peer.mirrors[id(local)] = number

    def module(self, number: int, name: str) -> Any:
        return importlib.import_module(name) if name in IMPORTABLE else self.object(number, "module", [], [], [])

    def coroutine(self, number: int) -> Any:
        target = self.object(number, "coroutine", [], [], [])

        async def run() -> Any:
            return self.peer.request("await", target)

        return run()

    def object(self, number: int, shape: str, specials: list[str], methods: list[str], plain: list[Any]) -> Any:
        if number not in self.peer.theirs:
            values = tuple(self.items(plain))
            # What is plain was sent by the answer, so it may claim any value, but only a plain one.
            if any(isinstance(value, Proxy) for value in values):
                raise TypeError("not a plain value")
            self.peer.theirs[number] = proxy_class(frozenset(specials))(self.peer, number, str(shape), methods, values)
        return self.peer.theirs[number]


DECODED: dict[str, Callable[..., Any]] = {
    "container": lambda decoder, place: decoder.containers[place],
    "tuple": lambda decoder, items: tuple(decoder.items(items)),
    "frozenset": lambda decoder, items: frozenset(decoder.items(items)),
    "int": lambda decoder, digits: int(digits, 16),
    "bytes": lambda decoder, text: b64decode(text),
    "complex": lambda decoder, real, imaginary: complex(real, imaginary),
    "range": lambda decoder, items: range(*decoder.items(items)),
    "slice": lambda decoder, items: slice(*decoder.items(items)),
    "Decimal": lambda decoder, text: Decimal(text),
    "Fraction": lambda decoder, items: Fraction(*decoder.items(items)),
    "timedelta": lambda decoder, *parts: datetime.timedelta(*parts),
    "date": lambda decoder, text: datetime.date.fromisoformat(text),
    "datetime": lambda decoder, text: datetime.datetime.fromisoformat(text),
    "time": lambda decoder, text: datetime.time.fromisoformat(text),
    "yours": lambda decoder, number: decoder.peer.own[number],
    "builtin": Decoder.builtin,
    "error class": Decoder.error_class,
    "error": Decoder.error,
    "module": Decoder.module,
    "coroutine": Decoder.coroutine,
    "object": Decoder.object,
}
"""How each tag of a value is decoded."""


@cache
def _interface(kind: type) -> tuple[list[str], list[str]]:
    """Special methods and public methods of a class. Of its base ``object``, only those that every object needs."""
    names = [name for name in dir(kind) if name in SPECIAL and getattr(kind, name) is not None]
    specials = {name for name in names if getattr(kind, name, None) is not getattr(object, name, None)}
    if "__getitem__" in specials:
        specials.add("__iter__")
    methods = [
        name for name in dir(kind) if name[:1] != "_" and isinstance(getattr(kind, name, None), types.FunctionType)
    ]
    return sorted(specials | {"__repr__", "__str__", "__format__", "__bool__"}), methods


def _apply(name: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name in REFLECTED:
        return REFLECTED[name](args[0], target)
    return SPECIAL[name](target, *args, **kwargs)


def _run_to_end(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def _contents(container: Any) -> Iterable[Any]:
    """What a container holds; of a mapping its pairs, which are ``tuple``s made anew each time."""
    return [part for pair in container.items() for part in pair] if isinstance(container, dict) else container


def _refill(container: Any, contents: Iterable[Any]) -> None:
    items = list(contents)
    container.clear()
    if isinstance(container, dict):
        # Of a ``Counter``, ``update`` would add up.
        for key, value in zip(items[::2], items[1::2], strict=True):
            container[key] = value
    elif isinstance(container, set):
        container.update(items)
    else:
        container.extend(items)
