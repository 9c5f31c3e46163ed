"""The runtimes by name, each made on first use, and what they are made of."""

import asyncio
from collections.abc import Mapping
from functools import partial

from agent_host import usage
from agent_host.actions.environment import scrubbed
from agent_host.app.workspace import Workspace
from agent_host.core.errors import AgentHostError
from agent_host.core.model import SDK
from agent_host.core.ports import Runtime
from agent_host.credentials import EMBEDDED, KEYRING
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.embedded.server import CONTEXT
from agent_host.runtimes.own_programs import OwnPrograms
from agent_host.runtimes.sdk import Embedded, SdkRuntime


class Runtimes:
    """The runtimes by name, each made on first use."""

    def __init__(
        self, workspace: Workspace, embedded: Embedded, environment: Mapping[str, str]
    ) -> None:
        self.own = OwnPrograms(
            partial(scrubbed, environment), lambda: workspace.settings.runtimes, usage.price
        )
        self._others: dict[str, Runtime] = {}
        self._sdk = SdkRuntime(
            _Keys(workspace),
            price=usage.price,
            embedded=embedded,
            window=lambda model: _window(model, workspace.settings.context_windows),
        )

    async def get(self, name: str) -> Runtime:
        """The runtime of that name. Raises RuntimeMissing."""
        if name == SDK:
            return self._sdk
        if name not in self._others:
            self._others[name] = self.own.make(name)
        return self._others[name]

    def names(self) -> tuple[str, ...]:
        """All runtimes that can be asked for."""
        return (SDK, *self.own.names())

    async def warm(self, workspace: Workspace) -> None:
        """Import what the configured model needs, in a thread; what can't be used waits."""
        try:
            model = workspace.settings.model or workspace.credentials.default_model()
            await asyncio.to_thread(self._sdk.warm, model)
        except AgentHostError:
            return  # whoever runs it is told; nobody has asked for it yet

    async def close(self) -> None:
        """Release what is shared between runs."""
        for runtime in (self._sdk, *self._others.values()):
            await runtime.close()


def _window(model: str, chosen: Mapping[str, int]) -> int | None:
    if model == EMBEDDED:
        return CONTEXT
    return chosen.get(model) or usage.context_window(model)


class _Keys:
    """The vendors' keys as they are when a run needs them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def provider(self, vendor: str) -> ProviderConfig:
        """A vendor's configuration; asks the keyring. Raises KeyringFailed."""
        each = self._workspace.credentials.of(vendor)
        if each is None:
            return ProviderConfig()
        key = each.key
        if each.key_source == KEYRING:
            key = self._workspace.keychain.get(vendor)
        return ProviderConfig(key, each.key_source, each.base_url)
