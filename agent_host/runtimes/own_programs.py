"""The runtimes that are programs of their own, by name; each is imported on first use.

Not here: the runtime `sdk`, and how a program is found (programs.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent_host.core.errors import RuntimeMissing
from agent_host.core.model import ModelInfo, RuntimeOptions, Usage
from agent_host.core.ports import Runtime
from agent_host.runtimes import CLAUDE, Environment, acp_agents


@dataclass(frozen=True, slots=True)
class OwnPrograms:
    """What there is by the user's settings. `price` gives the cost of a call of a model."""

    environment: Environment
    configured: Callable[[], Mapping[str, RuntimeOptions]]
    price: Callable[[str, Usage], float | None]

    def names(self) -> tuple[str, ...]:
        """All that can be asked for."""
        return (CLAUDE, *acp_agents.names(self.configured()))

    def make(self, name: str) -> Runtime:
        """The runtime of that name. Raises RuntimeMissing."""

        def options() -> RuntimeOptions:
            return self._options(name)

        if name == CLAUDE:
            from agent_host.runtimes.claude_cli import ClaudeRuntime

            return ClaudeRuntime(self.environment, options, price=self.price)
        if name in self.names():
            from agent_host.runtimes.acp import AcpRuntime

            return AcpRuntime(name, self.environment, options)
        known = ", ".join(self.names())
        raise RuntimeMissing(f"There is no runtime {name!r}. Known: sdk, {known}.")

    def infos(self) -> tuple[ModelInfo, ...]:
        """Where each is. Blocks: use a thread."""
        return tuple(self._info(name) for name in self.names())

    def _info(self, name: str) -> ModelInfo:
        options = self._options(name)
        sees = self.environment(options.inherit)
        if name == CLAUDE:
            from agent_host.runtimes.claude_info import claude_info

            return claude_info(sees, options)
        return acp_agents.agent_info(name, sees, options)

    def _options(self, name: str) -> RuntimeOptions:
        return self.configured().get(name, RuntimeOptions())
