"""Objects of the other process: proxies that pass on operators, calls and attributes to its side of the boundary.

This file uses only the standard library: its text runs inside the sandbox.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, Protocol

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


class Asks(Protocol):
    """What a proxy asks the other process through."""

    strict: bool

    def call(self, target: Proxy, name: str, /, *args: Any, **kwargs: Any) -> Any: ...

    def operate(self, target: Proxy, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def request(self, operation: str, *args: Any) -> Any: ...


class Proxy:
    """An object of the other process, for one peer that knows it by ``number``.

    ``plain`` is its value if its class derives from a built-in type, such as an enumeration. ``makes`` says that
    the tests know it as a class; ``made`` that they made it by calling one, or computed it from such an object, so they
    mean to use the operators of that class. What a method returns may have to be a plain value.
    """

    __slots__ = ("_made", "_makes", "_methods", "_number", "_peer", "_plain", "_shape")

    def __init__(self, peer: Asks, number: int, shape: str, methods: Iterable[str], plain: tuple[Any, ...]) -> None:
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


def apply(name: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name in REFLECTED:
        return REFLECTED[name](args[0], target)
    return SPECIAL[name](target, *args, **kwargs)
