"""Datasets from the Hugging Face Hub: public benchmarks by preset, and other tables by their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from benchmarks.exports import parquet_file
from benchmarks.imports.hub import Hub, HubAddress, Repository, hub_address, matching, table_files
from benchmarks.imports.presets import REGISTERED_PRESETS
from benchmarks.imports.presets.base import Preset, PresetReport, PresetRequest, dataset_of_preset
from benchmarks.imports.runs import ImportProblem
from benchmarks.imports.table_tasks import TableReport, TableRequest, dataset_of_rows
from benchmarks.imports.tables import Row, read_rows
from benchmarks.providers.clean_text import full_sentence
from benchmarks.services.errors import NotPossible


def configured_hub(total_s: float = 300.0) -> Hub:
    """The hub at ``HF_ENDPOINT``. ``total_s`` bounds each of the two or three requests for files."""
    return Hub(settings.STATE_DIR / "hub", settings.HUB_ENDPOINT, settings.HUB_TOKEN, total_s, settings.OUTBOUND)


def preset_named(name: str) -> Preset:
    """Raises ``NotPossible`` for a name that no preset has."""
    preset = REGISTERED_PRESETS.get(name)
    if preset is None:
        raise NotPossible(f"There is no preset {name}. Choose from: {', '.join(sorted(REGISTERED_PRESETS))}.")
    return preset


def why_not_importable(preset: Preset) -> str:
    """What is missing on this machine, or nothing."""
    return parquet_file.MISSING if preset.needs_parquet and not parquet_file.has_parquet() else ""


def preset_at(address: HubAddress) -> Preset | None:
    """The preset that reads this config of this repository, for it alone. Raises ``NotPossible`` if several do."""
    fitting = [
        preset
        for preset in REGISTERED_PRESETS.values()
        if preset.repository.lower() == address.repository.lower()
        and (
            not address.config
            or address.config in preset.configs
            or preset.path.startswith((f"{address.config}/", f"{address.config}."))
        )
    ]
    if len(fitting) > 1:
        names = ", ".join(f"preset:{preset.name}" for preset in fitting)
        raise NotPossible(f"{address.repository} holds several benchmarks. Choose from: {names}.")
    if fitting and address.config in fitting[0].configs:
        return replace(fitting[0], configs=(address.config,))
    return fitting[0] if fitting else None


def address_of(text: str) -> HubAddress:
    """Read ``hf:OWNER/NAME[:CONFIG][/SPLIT][@REVISION]``. Raises ``NotPossible``."""
    try:
        return hub_address(text)
    except ImportProblem as problem:
        raise NotPossible(full_sentence(problem)) from None


def read_preset(preset: Preset, request: PresetRequest, hub: Hub, revision: str = "") -> PresetReport:
    """The dataset of a preset, fetched where it is not stored already. Raises ``NotPossible``."""
    if missing := why_not_importable(preset):
        raise NotPossible(f"{preset.title}: {missing}")
    split = request.split or preset.split
    if "{split}" not in preset.path and split != preset.split:
        raise NotPossible(f"{preset.title} has no split {split}, only {preset.split}.")
    try:
        if preset.generate is not None:
            return dataset_of_preset(preset, (), (), request, "")
        repository = hub.repository(preset.repository, revision or preset.revision)
        shots = preset.shots if request.shots is None else request.shots
        rows = _preset_rows(preset, split, hub, repository)
        examples = _preset_rows(preset, preset.shot_split, hub, repository) if shots and preset.shot_split else ()
        origin = f"From {preset.repository} on the Hugging Face Hub, split {split} of commit {repository.commit[:12]}."
        return dataset_of_preset(preset, rows, examples, request, origin)
    except ImportProblem as problem:
        raise NotPossible(f"{preset.title}: {full_sentence(problem)}") from None
    except OSError as error:
        raise NotPossible(f"{preset.title}: cannot read a file: {error.strerror}.") from None


def read_hub_table(address: HubAddress, request: TableRequest, hub: Hub) -> TableReport:
    """The dataset in a table of the hub by its columns, or its problems. Raises ``NotPossible``."""
    try:
        repository = hub.repository(address.repository, address.revision or "main")
        config, split, paths = table_files(repository, address.config, address.split)
        files = hub.files(repository, paths)
        origin = (
            f"From {repository.name} on the Hugging Face Hub, split {split} of {config} at commit "
            f"{repository.commit[:12]}. License: {repository.license or 'none stated'}."
        )
        described = request if request.description else replace(request, description=origin)
        return dataset_of_rows(_numbered(files), paths[0], described)
    except ImportProblem as problem:
        raise NotPossible(f"{address.repository}: {full_sentence(problem)}") from None
    except OSError as error:
        raise NotPossible(f"{address.repository}: cannot read a file: {error.strerror}.") from None


def _preset_rows(preset: Preset, split: str, hub: Hub, repository: Repository) -> list[tuple[str, Row]]:
    """All rows of a split with their config."""
    paths: dict[str, list[str]] = {}
    for config in preset.configs:
        for pattern in filter(None, (preset.path, preset.answers_path)):
            place = pattern.format(config=config, split=split)
            if not (files := matching(repository, place)):
                raise ImportProblem(
                    f"{repository.name} has no files {place} at {repository.commit[:12]}. "
                    "Leave the split and the revision out, or check their names"
                )
            paths.setdefault(pattern.format(config=config, split=split), files)
    wanted = list(dict.fromkeys(path for files in paths.values() for path in files))
    places = dict(zip(wanted, hub.files(repository, wanted), strict=True))

    def rows(pattern: str, config: str) -> Iterator[Row]:
        return _numbered([places[path] for path in paths[pattern.format(config=config, split=split)]])

    return [
        (config, row)
        for config in preset.configs
        for row in _completed(rows(preset.path, config), preset.answers_path and rows(preset.answers_path, config))
    ]


def _completed(rows: Iterable[Row], answers: Iterable[Row] | str) -> Iterator[Row]:
    """The rows, each with the columns of the row of answers that has its ``id``."""
    if isinstance(answers, str):
        yield from rows
        return
    by_id = {str(row.values.get("id")): row.values for row in answers}
    for row in rows:
        yield row._replace(values={**by_id.get(str(row.values.get("id")), {}), **row.values})


def _numbered(files: Iterable[Path]) -> Iterator[Row]:
    """The rows of a table in several files. Those of the first keep their lines; later rows are numbered on."""
    last = 0
    for file in files:
        before = last
        for row in read_rows(file):
            last = before + row.line
            yield row._replace(line=last)
