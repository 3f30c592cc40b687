"""A second, independent solver: it answers from a prompt's text alone and so checks what the task classes claim."""

from tasks_app.solver.reading import Unsolvable
from tasks_app.solver.solving import solve

__all__ = ["Unsolvable", "solve"]
