"""What a server answers to a call, as text and images for the model. Pure.

Nothing is left out silently: images and documents are named with their kind and size, and
what can't be shown says why.
"""

import base64
import binascii
import json

from agent_host.core.external import ExternalTool
from agent_host.core.model import ImagePart, JsonObject, ToolResult
from agent_host.mcp.transport import as_list, as_object

EMPTY = "The tool answered nothing."
SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
"""What all vendors' models can look at."""
LARGEST = 3840 * 1024
"""Bytes of an image: in base64 these are the 5 MiB that the strictest vendor takes."""
MOST = 10
"""Images of one result."""


def tool_result(tool: ExternalTool, result: JsonObject) -> ToolResult:
    """The result of a call."""
    answer = _Answer()
    parts = [answer.part(as_object(each)) for each in as_list(result.get("content"))]
    text = "\n".join(part for part in parts if part)
    images = tuple(answer.images)
    if not text and "structuredContent" in result:
        text = json.dumps(result["structuredContent"], ensure_ascii=False, indent=1)
    if result.get("isError") is True:
        said = f"{tool.title} failed: {text or EMPTY}"
        return ToolResult("failed", said, f"{tool.title} failed", images=images)
    if not isinstance(result.get("content"), list) and not text:
        said = "The server's answer is no result of a tool."
        return ToolResult("failed", said, f"{tool.title}: {said}")
    return ToolResult("ok", text or EMPTY, f"{tool.title} answered", images=images)


class _Answer:
    """Takes the parts of one result apart; `images` are those that the model is shown."""

    def __init__(self) -> None:
        self.images: list[ImagePart] = []

    def part(self, part: JsonObject) -> str:
        """What the model reads of a part."""
        match part.get("type"):
            case "text":
                return str(part.get("text", ""))
            case "image" | "audio" as kind:
                return self._shown(str(kind), part.get("mimeType"), part.get("data"))
            case "resource_link":
                name = str(part.get("name", ""))
                about = f": {part['description']}" if part.get("description") else ""
                return f"[resource {name} <{part.get('uri', '')}>{about}]"
            case "resource":
                return self._resource(as_object(part.get("resource")))
            case other:
                return f"[something of the kind {str(other)[:80]!r} that can't be shown here]"

    def _resource(self, resource: JsonObject) -> str:
        uri = str(resource.get("uri", ""))
        if isinstance(resource.get("text"), str):
            return f"[resource <{uri}>]\n{resource['text']}"
        return self._shown(f"resource <{uri}>", resource.get("mimeType"), resource.get("blob"))

    def _shown(self, what: str, kind: object, data: object) -> str:
        media = str(kind or "of an unknown type")[:80].partition(";")[0].strip().lower()
        media = "image/jpeg" if media == "image/jpg" else media
        size = _bytes(data)
        if size is None:
            return f"[{what}, {media}: its data can't be read]"
        named = f"{what}, {media}, {_told(size)}"
        if media not in SHOWN:
            return f"[{named}: it can't be shown here]"
        if size > LARGEST:
            return f"[{named}: it is too large to be shown, {_told(LARGEST)} are the most]"
        if len(self.images) == MOST:
            return f"[{named}: it is not shown, {MOST} are the most at once]"
        self.images.append(ImagePart(media, str(data)))
        return f"[{named}: shown as number {len(self.images)}]"


def _bytes(data: object) -> int | None:
    try:
        return len(base64.b64decode(data, validate=True)) if isinstance(data, str) else None
    except (binascii.Error, ValueError):
        return None


def _told(count: int) -> str:
    return f"{count} bytes" if count < 10 * 1024 else f"{count // 1024:,} KiB"
