"""Runtimes: what turns a prompt into events and tool calls, loaded by name.

Importing this package (or `sdk.py`) imports no vendor's SDK: those come with `SdkRuntime.warm`.
Not here: reading the environment; keys and endpoints are passed in as `RuntimeSettings`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

CLAUDE = "claude-code"
"""The runtime that is the claude CLI."""

Environment = Callable[[Sequence[str]], Mapping[str, str]]
"""What a child may see of the host's environment; the names are those it may see besides."""

VENDORS = ("openai", "anthropic", "gemini", "local", "scripted")
"""What may stand before the slash of a model's name for the runtime `sdk`."""


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """How to reach a vendor. `key_source` names where the key came from, never the key.

    `base_url` None is the vendor's own endpoint.
    """

    key: str | None = field(default=None, repr=False)
    key_source: str | None = None
    base_url: str | None = None


class ProviderConfigs(Protocol):
    """Who knows the vendors' keys and addresses, as they are now."""

    def provider(self, vendor: str) -> ProviderConfig:
        """A vendor's configuration; may block. Raises AgentHostError when a key can't be had."""
        ...


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """What the runtimes need to know, by vendor; a vendor that is not named has no key."""

    providers: Mapping[str, ProviderConfig] = field(default_factory=lambda: MappingProxyType({}))

    def provider(self, vendor: str) -> ProviderConfig:
        """The vendor's configuration, empty when there is none."""
        return self.providers.get(vendor, ProviderConfig())
