"""Start and stop the local model from a page, in development mode.

The process belongs to the supervisor of ``make run`` (``codeforge/local_model.py``), so that it ends with it. Page and
supervisor share a folder of the state directory: the file ``wanted`` exists while somebody wants the model, and the
supervisor writes what it does into ``state.json``.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from django.conf import settings

from benchmarks.engine.addresses import address_of
from benchmarks.local_llm import SMALL
from benchmarks.services.access import Caller, record
from benchmarks.services.errors import NotPossible

PROVIDER = "local"
State = Literal["off", "installing", "starting", "running", "failed"]
"""As the supervisor reports it."""
RESTS = ("off", "failed")


@dataclass(frozen=True, slots=True)
class LocalModel:
    """What the supervisor does with the model, or is about to do because somebody asked for it; ``detail`` says why it
    failed."""

    state: State | Literal["stopping"]
    detail: str = ""

    @property
    def hint(self) -> str:
        return SMALL

    @property
    def changes(self) -> bool:
        """Whether the state will change by itself."""
        return self.state in ("installing", "starting", "stopping")

    @property
    def can_stop(self) -> bool:
        return self.state in ("installing", "starting", "running")


def folder() -> Path:
    return Path(settings.STATE_DIR) / "local_model"


def local_port() -> int | None:
    """The port at which the provider ``local`` expects the model; ``None`` if it expects it on another machine."""
    parts = urlsplit(address_of(PROVIDER).base_url or "")
    return parts.port if parts.hostname in ("127.0.0.1", "localhost") else None


def local_model() -> LocalModel | None:
    """The state of the local model; ``None`` where no supervisor of this installation could start it."""
    if not settings.DEV_MODE:
        return None
    try:
        stored = json.loads((folder() / "state.json").read_text())
        os.kill(stored["supervisor"], 0)
    except (OSError, ValueError):
        return None
    state, is_wanted = stored["state"], (folder() / "wanted").exists()
    if is_wanted == (state not in RESTS):
        return LocalModel(state, stored["detail"])
    return LocalModel("starting" if is_wanted else "stopping")


def start_local_model(user: Caller = None) -> None:
    """Have the supervisor install what is missing and start the model. Raises ``NotPossible`` without a supervisor."""
    _require_supervisor()
    (folder() / "wanted").touch()
    record(user, "local_model.start", "local model")


def stop_local_model(user: Caller = None) -> None:
    _require_supervisor()
    (folder() / "wanted").unlink(missing_ok=True)
    record(user, "local_model.stop", "local model")


def _require_supervisor() -> None:
    if local_model() is None:
        raise NotPossible("The local model can be started here only under `make run`. Run `make local-llm` instead.")
