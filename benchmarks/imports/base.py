"""What an importer is: it recognizes the logs of one tool among files, and reads the runs in them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from benchmarks.imports.reading import ForeignFile
from benchmarks.imports.runs import ImportedRun

Files = Sequence[ForeignFile]


class Importer(ABC):
    """Base of all importers. ``name`` is the registry key; runs and the names of their metrics keep it."""

    name: ClassVar[str]
    """Lowercase letters, digits and hyphens, at most 20."""
    title: ClassVar[str]
    """The tool's name."""
    files: ClassVar[str]
    """What it reads, with the extensions, for people: ``logs (.eval or .json)``."""

    made_with: ClassVar[str] = ""
    """The command that writes them, if it is not obvious."""

    @property
    def extensions(self) -> list[str]:
        return re.findall(r"\.\w+", self.files)

    @abstractmethod
    def detect(self, files: Files) -> Sequence[Files]:
        """The logs of the tool among the files: each log is the file that has the results, and then what belongs to it.

        Reads as little as it can: names, the members of archives, outlines. Raises nothing.
        """

    @abstractmethod
    def read(self, log: Files) -> Sequence[ImportedRun]:
        """The runs in a log. Raises ``ImportProblem`` with the place of what is wrong, and ``OSError``."""
