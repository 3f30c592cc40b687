"""The importers, in the order in which they are asked whose files these are. A new importer is a file, a line here and
a test; a package adds one with an entry point (``benchmarks.plugins``), and is asked after those here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dataset_format.problems import printable
from benchmarks.imports.assembly import assembled
from benchmarks.imports.atif_file import AtifImporter
from benchmarks.imports.base import Files, Importer
from benchmarks.imports.deepeval_run import DeepEvalImporter
from benchmarks.imports.inspect_log import InspectImporter
from benchmarks.imports.lm_eval import LmEvalImporter
from benchmarks.imports.promptfoo import PromptfooImporter
from benchmarks.imports.reading import MAX_ZIP_BYTES, ForeignFile
from benchmarks.imports.runs import ImportedRun, ImportProblem
from benchmarks.plugins import Plugins
from benchmarks.presentation.ranks import listed

_IMPORTERS: tuple[Importer, ...] = (
    InspectImporter(),
    PromptfooImporter(),
    LmEvalImporter(),
    DeepEvalImporter(),
    AtifImporter(),
)
IMPORTERS: Plugins[Importer] = Plugins(
    "importers", "importer", Importer, {each.name: each for each in _IMPORTERS}, make=lambda kind: kind()
)


def tools() -> str:
    """The names of all tools whose runs can be imported, in words."""
    return listed([importer.title for importer in IMPORTERS.values()])


def files_of_tools() -> list[str]:
    """The files of each tool, with its name."""
    return [f"{importer.title} {importer.files}" for importer in IMPORTERS.values()]


def files_of(folder: Path, tool: str | None = None) -> list[Path]:
    """The files in a folder and those below it that may be logs of the tool, or of any, by their extensions."""
    importers = IMPORTERS.values() if tool is None else [IMPORTERS[tool]]
    extensions = {extension for importer in importers for extension in importer.extensions}
    below = (path for path in folder.rglob("*") if path.suffix.lower() in extensions and path.is_file())
    return sorted(path for path in below if not any(part.startswith(".") for part in path.relative_to(folder).parts))


@dataclass(frozen=True, slots=True)
class Log:
    """Files that are imported together, the one with the results first. Without an importer no tool is known."""

    files: Files
    importer: Importer | None

    @property
    def name(self) -> str:
        return self.files[0].name

    def runs(self) -> list[ImportedRun]:
        """The runs in it. Raises ``ImportProblem`` with the place of the error, and ``OSError``; nothing else."""
        try:
            if self.importer is None:
                raise _unknown(self.files[0])
            return assembled(self.importer.name, self.importer.read(self.files))
        except ImportProblem as problem:
            raise ImportProblem(f"{self.name}: {problem}") from None
        except Exception as error:
            if isinstance(error, OSError) or self.importer is None or self.importer.name in IMPORTERS.ours:
                raise
            # Whatever the code of a package raises.
            why = f"{type(error).__name__}: {printable(str(error))}"
            raise ImportProblem(f"{self.name}: the importer {self.importer.name} failed: {why}") from error


def logs_in(files: Sequence[tuple[Path, str]], tool: str | None = None, max_bytes: int = MAX_ZIP_BYTES) -> list[Log]:
    """The logs that the files make up, in their order. Each file comes with its original name.

    ``tool`` is the name of an importer, by default detected. At most ``max_bytes`` of a file are read, counted after
    decompression. What cannot be read is a log too, which says so when it is.
    """
    foreign = [ForeignFile(path, name, max_bytes, keeps=len(files) == 1) for path, name in files]
    left, logs = foreign, []
    for importer in IMPORTERS.values() if tool is None else [IMPORTERS[tool]]:
        found = [Log(log, importer) for log in _detected(importer, left)]
        used = [file for log in found for file in log.files]
        left = [file for file in left if file not in used]
        logs += found
    logs += [Log([file], None if tool is None else IMPORTERS[tool]) for file in left]
    return sorted(logs, key=lambda log: foreign.index(log.files[0]))


def _detected(importer: Importer, files: Files) -> Iterable[Files]:
    try:
        return [*importer.detect(files)]
    except Exception:
        if importer.name in IMPORTERS.ours:
            raise
        return []  # of a package, which stops no other


def _unknown(file: ForeignFile) -> ImportProblem:
    """What is wrong with a file that no importer knows: it cannot be read, or is of another tool."""
    if not file.is_archive:
        try:
            _ = file.rows() if file.has_rows else file.document()
        except ImportProblem as problem:
            return problem
    return ImportProblem(f"none of {listed(files_of_tools())}. Specify the format: {', '.join(IMPORTERS)}")
