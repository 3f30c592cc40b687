"""What a generator is: kinds of tasks, each made from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

Task = dict[str, Any]


class Generator:
    """Base of all generators; ``name`` is the registry key."""

    name: ClassVar[str]
    kinds: ClassVar[Mapping[str, Callable[..., Task]]]
    """Name → ``make(random, level)``, or ``make(random, level, tokens)``, which returns the fields of one task."""
    shared: ClassVar[Mapping[str, Any]]
    """What all its datasets have beside their tasks, such as metrics, unless a dataset says otherwise."""
    composed: ClassVar[bool] = False
    """Whether each task is put together from drawn parts; otherwise the tasks of a kind and level come from one
    template and are one cluster."""
    takes_tokens: ClassVar[bool] = False
    """Whether its tasks have a context, of a length in tokens that a dataset must give."""
