"""What the name of a model says: its provider, its own name there, and whether it is a built-in baseline."""

from __future__ import annotations

BASELINE = "baseline"
"""The provider that every installation has, and its kind."""


def is_baseline(model: str) -> bool:
    """Whether a model of this name is built in. Imported runs may have such a name, too; see ``Run.is_baseline``."""
    return model.startswith(f"{BASELINE}/")


def split_model(model: str) -> tuple[str, str]:
    """``openai/gpt-4o`` → ``("openai", "gpt-4o")``. The model's own name may contain further slashes.

    A system under test may be named by its provider alone: ``bot`` → ``("bot", "")``. Raises ``ValueError``.
    """
    provider, slash, name = model.partition("/")
    if not provider or bool(slash) != bool(name) or model != model.strip() or name.startswith("/"):
        raise ValueError(f"{model!r} is not a valid model name. Use provider/model, for example, openai/gpt-4o.")
    return provider, name
