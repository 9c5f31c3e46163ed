"""Runtime `sdk`: a prompt is answered by a vendor's model, driven by openai-agents.

Importing this module imports no SDK; `warm` does, in a thread. Not here: the loop over turns
(sdk_loop.py), the asking of a model (sdk_turn.py), the vendors (providers/).
"""

import asyncio
import gc
import importlib
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_host.core.errors import AgentHostError, ModelNotFound
from agent_host.core.model import Usage
from agent_host.core.ports import (
    RunSink,
    RuntimeRequest,
    RuntimeResult,
    RuntimeStatus,
    ToolGate,
)
from agent_host.credentials import EMBEDDED
from agent_host.runtimes import VENDORS, ProviderConfig, ProviderConfigs
from agent_host.runtimes.context import Gauge, Ratios, fixed_size
from agent_host.runtimes.embedded.model import ModelFile
from agent_host.runtimes.provider import Provider
from agent_host.runtimes.statuses import Statuses

if TYPE_CHECKING:
    import httpx2

    from agent_host.runtimes.embedded.host import EmbeddedProvider


@dataclass(frozen=True, slots=True)
class Embedded:
    """The model of `local/embedded`, and the environment of the process that runs it."""

    file: ModelFile
    environment: Mapping[str, str]


Price = Callable[[str, Usage], float | None]
"""The cost in US dollars of a model's usage; None is unknown. May be called in any thread."""


def _unknown_price(model: str, usage: Usage) -> float | None:  # noqa: ARG001
    return None


Window = Callable[[str], int | None]
"""How many tokens a model's context holds; None is unknown. May be called in any thread."""


def _unknown_window(model: str) -> int | None:  # noqa: ARG001
    return None


class SdkRuntime:
    """The Runtime port over the vendors' SDKs; runs share one HTTP client.

    `pause` waits for a number of seconds before a model is asked again.
    """

    def __init__(
        self,
        configs: ProviderConfigs,
        *,
        embedded: Embedded | None = None,
        price: Price = _unknown_price,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        window: Window = _unknown_window,
    ) -> None:
        self._configs = configs
        self._price = price
        self._pause = pause
        self._window = window
        self._ratios = Ratios()
        self._embedded = embedded
        self._own: EmbeddedProvider | None = None
        self._lock = threading.Lock()
        self._statuses = Statuses()
        self._http: httpx2.AsyncClient | None = None
        self._warm: set[str] = set()
        self._providers: dict[str, tuple[ProviderConfig, Provider]] = {}

    def warm(self, model: str) -> None:
        """Import what `model` needs. Blocks for seconds: use a thread.

        Raises ModelNotFound for a vendor that does not exist. No key is needed yet.
        """
        vendor = _vendor(model)
        with self._lock:
            if vendor in self._warm:
                return
            with _smooth_import():
                from agent_host.runtimes.sdk_loop import prepare

                prepare()
                # The HTTP client would import it within its first request, on the loop's thread.
                importlib.import_module("anyio._backends._asyncio")
                self._price(model, Usage())
                self._window(model)
                importlib.import_module(f"agent_host.runtimes.providers.{vendor}")
            self._warm.add(vendor)

    async def run(self, request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        """Run one prompt; see the port."""
        return await self._statuses.follow(request.session_id, self._run(request, sink, gate))

    @property
    def steers(self) -> bool:
        """Whether it takes what the user says meanwhile; see the port."""
        return True

    def status(self, session_id: str) -> RuntimeStatus:
        """What goes on for a session; see the port."""
        return self._statuses.of(session_id)

    async def _run(self, request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        try:
            provider = await self._provider(request.model)
        except AgentHostError as error:
            return RuntimeResult(status="failed", output="", error=error)
        from agent_host.runtimes.sdk_loop import RunLoop
        from agent_host.runtimes.sdk_turn import Asker

        fixed = fixed_size(request.instructions, request.tools)
        gauge = Gauge(request.model, self._window(request.model), self._ratios, fixed)
        asker = Asker(provider, request, sink, self._price, self._pause, gauge)
        loop = RunLoop(asker, request, sink, gate, gauge)
        return await (loop.compact() if request.purpose == "compact" else loop.run())

    async def close(self) -> None:
        """Close the shared connections."""
        own, self._own = self._own, None
        if own is not None:
            await own.close()
        http, self._http = self._http, None
        self._providers.clear()
        if http is not None:
            await http.aclose()

    async def _provider(self, model: str) -> Provider:
        # An import on the loop's thread would block it, also while another thread imports; and
        # a keyring may have to be unlocked first.
        return await asyncio.to_thread(self._current, model)

    def _current(self, model: str) -> Provider:
        """The vendor's provider, made anew when its key or address is another one by now."""
        self.warm(model)
        vendor = _vendor(model)
        if model == EMBEDDED and self._embedded is not None:
            with self._lock:
                return self._embedded_provider(self._embedded)
        config = self._configs.provider(vendor)
        with self._lock:
            if vendor not in self._providers or self._providers[vendor][0] != config:
                self._providers[vendor] = (config, self._load(vendor, config))
            return self._providers[vendor][1]

    def _embedded_provider(self, embedded: Embedded) -> Provider:
        if self._own is None:
            from agent_host.runtimes.embedded.host import EmbeddedProvider

            self._http = self._http or _shared()
            self._own = EmbeddedProvider(embedded.file, embedded.environment, self._http)
        return self._own

    def _load(self, vendor: str, config: ProviderConfig) -> Provider:
        if vendor == "scripted":
            from agent_host.runtimes.providers.scripted import ScriptedProvider

            return ScriptedProvider()
        self._http = self._http or _shared()
        _check(vendor, config)
        if vendor == "anthropic":
            from agent_host.runtimes.providers.anthropic import AnthropicProvider

            return AnthropicProvider(config, self._http)
        if vendor == "gemini":
            from agent_host.runtimes.providers.gemini import GeminiProvider

            return GeminiProvider(config, self._http)
        if vendor == "openai":
            from agent_host.runtimes.providers.openai import OpenAIProvider

            return OpenAIProvider(config, self._http)
        from agent_host.runtimes.providers.local import LocalProvider

        return LocalProvider(config, self._http)


def _vendor(model: str) -> str:
    vendor, slash, name = model.partition("/")
    if not slash or not name or vendor not in VENDORS:
        raise ModelNotFound(
            f"{model!r} is not a model's name: write vendor/name, the vendor being one of "
            f"{', '.join(VENDORS)}."
        )
    return vendor


def _shared() -> "httpx2.AsyncClient":
    from agent_host.runtimes.http_client import shared_client

    return shared_client()


def _check(vendor: str, config: ProviderConfig) -> None:
    from agent_host.runtimes.http_client import check_address

    check_address(vendor, config)


@contextmanager
def _smooth_import() -> Generator[None]:
    """Import in a thread without stalls of the event loop.

    Full collections over the half-built modules stall it for up to 0.4 s, and so would one after
    the import: what was imported is frozen instead, because it never becomes garbage.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        sys.setswitchinterval(interval)
