"""A system under test that is a program. It runs with the worker's rights, so only codeforge.yaml configures one."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.providers.base import ChatReply, ChatRequest, Provider, ProviderError, ProviderSpec
from benchmarks.providers.clean_text import shortened, without_secrets
from benchmarks.providers.systems.options import SystemOptions
from benchmarks.providers.systems.processes import Processes, Program
from benchmarks.providers.systems.replies import system_reply
from benchmarks.providers.systems.tasks import task_line


class CommandSystem(Provider):
    is_system = True

    def __init__(self, spec: ProviderSpec) -> None:
        """Starts nothing yet. Raises ``ValueError`` if the spec has no program."""
        super().__init__(spec)
        options = spec.system or SystemOptions()
        self._program, self._most = self.program(options), options.processes
        self._timeout = spec.timeouts.whole
        self._processes: Processes | None = None

    def program(self, options: SystemOptions) -> Program:
        """What is started. Raises ``ValueError`` if the options name nothing."""
        if not options.command:
            raise ValueError(f"provider {self.name}: command is missing")
        return Program(tuple(options.command), options.folder, options.parallel, options.reuse)

    async def complete(self, request: ChatRequest) -> ChatReply:
        if self._processes is None:  # belongs to the loop on which it is created
            self._processes = Processes(self._program, self._most)
        try:
            line, took = await self._processes.answer(task_line(request), self._timeout)
            return system_reply(_fields(line), duration_ms=took)
        except ProviderError as error:
            # What a program says of its end may have a key of its environment.
            raise replace(error, message=f"{self.name}: {without_secrets(error.message, ())}") from None

    async def close(self) -> None:
        if self._processes is not None:
            processes, self._processes = self._processes, None
            await processes.close()


def _fields(line: object) -> dict[str, object]:
    """The fields of a reply, which may be the text of the answer alone."""
    if isinstance(line, str):
        return {"answer": line}
    if isinstance(line, dict):
        return line
    raise ProviderError("bad_response", f"The reply is {shortened(repr(line), 60)}, not a text or an object.")
