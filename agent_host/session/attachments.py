"""What the person attached to a prompt, read through the gate like everything else."""

from collections.abc import Callable, Sequence

from agent_host.core.model import PromptPart, ResourcePart, TextPart, ToolCall
from agent_host.core.ports import ToolGate
from agent_host.core.uris import uri_to_path


async def attach(
    prompt: Sequence[PromptPart], gate: ToolGate, new_id: Callable[[], str]
) -> tuple[PromptPart, ...]:
    """The prompt with the text of each resource in its place; one that may not be read is named."""
    return tuple(
        [
            await _text(part, gate, new_id()) if isinstance(part, ResourcePart) else part
            for part in prompt
        ]
    )


async def _text(part: ResourcePart, gate: ToolGate, call_id: str) -> TextPart:
    arguments: dict[str, object] = {"path": part.uri}
    place = ""
    if part.range is not None:
        first, last = part.range.start.line + 1, part.range.end.line + 1
        if part.range.end.character == 0 and last > first:
            last -= 1  # a selection that ends at the start of a line does not hold that line
        arguments |= {"offset": first, "limit": last - first + 1}
        place = f", lines {first} to {last}"
    name = uri_to_path(part.uri) or part.uri
    result = await gate.call(ToolCall(call_id, "fs_read", arguments))
    if result.status != "ok":
        return TextPart(f"[{name}{place} could not be attached: {result.text}]")
    return TextPart(f"[Attached by the user: {name}{place}]\n{result.text}\n[End of {name}]")
