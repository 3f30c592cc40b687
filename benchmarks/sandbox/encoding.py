"""How values cross the boundary: plain ones (numbers, texts, containers, dates) as copies, everything else as a number.

What arrives is a value that the other side claims, decoded without running any of its code. This file uses only the
standard library: its text runs inside the sandbox.
"""

from __future__ import annotations

import builtins
import contextlib
import datetime
import importlib
import sys
import types
from base64 import b64decode, b64encode
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, Protocol

from benchmarks.sandbox.proxies import SPECIAL, AnswerEndedError, Asks, Proxy, proxy_class

SAFE_INTEGER = 1 << 53
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


class Knows(Asks, Protocol):
    """What values that cross the boundary are known by, on this side of it."""

    own: list[Any]
    theirs: dict[int, Any]
    mirrors: dict[int, int]

    def number_of(self, thing: Any) -> int: ...


class Encoder:
    """Turns values into JSON. ``containers`` are those that both sides know by their place in the list."""

    def __init__(self, peer: Knows, containers: Iterable[Any] = ()) -> None:
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
            return [kind.__name__, self.items(contents_of(value))]
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

    def __init__(self, peer: Knows, containers: list[Any]) -> None:
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
            refill(container, self.items(rest[0]))
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


def contents_of(container: Any) -> Iterable[Any]:
    """What a container holds; of a mapping its pairs, which are ``tuple``s made anew each time."""
    return [part for pair in container.items() for part in pair] if isinstance(container, dict) else container


def refill(container: Any, contents: Iterable[Any]) -> None:
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
