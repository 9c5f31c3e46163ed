"""The person's own settings as a plug-in tells them while the host runs."""

from pydantic import Field, JsonValue

from agent_host.lsp.wire_base import Params, Told


class SettingsParams(Params):
    """All of them, in place of initializationOptions; keys that are not told stay as they are.

    Never what a file of the workspace says: that is for workspace/configuration, and only narrows.
    """

    settings: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class SettingsAnswer(Told):
    """What was left out and why, a sentence each, from whatever layer of the settings."""

    problems: list[str]
