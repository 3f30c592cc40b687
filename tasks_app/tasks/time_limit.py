"""A limit for what a task class may take, because the classes that users add can loop without end."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

CANVAS_SECONDS = 20.0
"""For the questions about one canvas; the classes here need milliseconds."""
SCORE_SECONDS = 5.0
"""For the score of one answer."""
STOPPING_SECONDS = 0.5
"""How long an interrupted thread may take to end before it is interrupted again…"""
STOPPING_ATTEMPTS = 4
"""…and how often, before it is left alone."""

_METHODS = ("generate_questions", "select_expected_answer", "score")


class TookTooLong(Exception):
    """A task class was interrupted. The message names the class, its method and the limit."""


class _Interrupted(BaseException):
    """Not an ``Exception``, which a task class may catch to go on."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """What ``work`` returns or raises. Raises ``TookTooLong`` if it takes longer, and ends it.

    It runs in a thread of its own: signals reach only the main thread, and an exception that is set from outside may
    be raised a moment later, where it must not hit anything else. A single call into C, such as a long sleep, is
    interrupted when it returns, and what catches every interruption goes on without anybody waiting for it.
    """
    returned: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            returned.append(work())
        except BaseException as error:  # raised again below
            raised.append(error)

    thread = threading.Thread(target=run, name="task class", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        place = _place(sys._current_frames().get(thread.ident or 0))
        for _ in range(STOPPING_ATTEMPTS):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Interrupted)
            )
            thread.join(STOPPING_SECONDS)
            if not thread.is_alive():
                break
        raise TookTooLong(f"{place} did not end within {seconds:g} s. Check its loops")
    if raised:
        raise raised[0]
    return returned[0]


def _place(frame: FrameType | None) -> str:
    """The method of a task class in which a thread is: ``Chain.generate_questions``."""
    while frame is not None:
        if frame.f_code.co_name in _METHODS and "self" in frame.f_locals:
            return f"{type(frame.f_locals['self']).__name__}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "A task class"
