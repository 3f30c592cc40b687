"""A system under test that is a Python function, in processes of its own: its packages need not be the worker's."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.providers.systems.command import CommandSystem
from benchmarks.providers.systems.options import SystemOptions
from benchmarks.providers.systems.processes import Program

RUNNER = Path(__file__).with_name("runner.py")


class PythonSystem(CommandSystem):
    def program(self, options: SystemOptions) -> Program:
        if not options.function:
            raise ValueError(f"provider {self.name}: function is missing")
        interpreter = options.interpreter or sys.executable
        arguments = (interpreter, str(RUNNER), options.function, str(options.parallel))
        return Program(arguments, options.folder, options.parallel)
