"""One tool: what a model is shown of it, and how its wish becomes an Action."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent_host.core.actions import Action, Risk
from agent_host.core.model import JsonObject, ToolSpec
from agent_host.tools.arguments import Arguments


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: `action` is the name that rules and roles use for what it does."""

    name: str
    action: str
    risk: Risk
    description: str
    properties: Mapping[str, JsonObject]
    required: tuple[str, ...]
    build: Callable[[Arguments], Action]

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return ToolSpec(
            self.name,
            self.description,
            {
                "type": "object",
                "properties": dict(self.properties),
                "required": list(self.required),
                "additionalProperties": False,
            },
        )
