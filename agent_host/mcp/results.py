"""What a server answers to a call, as text for the model. Pure.

Nothing is left out silently: what can't be shown is named with its kind and size.
"""

import json

from agent_host.core.external import ExternalTool
from agent_host.core.model import JsonObject, ToolResult
from agent_host.mcp.transport import as_list, as_object

EMPTY = "The tool answered nothing."


def tool_result(tool: ExternalTool, result: JsonObject) -> ToolResult:
    """The result of a call."""
    parts = [_part(as_object(each)) for each in as_list(result.get("content"))]
    text = "\n".join(part for part in parts if part)
    if not text and "structuredContent" in result:
        text = json.dumps(result["structuredContent"], ensure_ascii=False, indent=1)
    if result.get("isError") is True:
        return ToolResult("failed", f"{tool.title} failed: {text or EMPTY}", f"{tool.title} failed")
    if not isinstance(result.get("content"), list) and not text:
        said = "The server's answer is no result of a tool."
        return ToolResult("failed", said, f"{tool.title}: {said}")
    return ToolResult("ok", text or EMPTY, f"{tool.title} answered")


def _part(part: JsonObject) -> str:
    match part.get("type"):
        case "text":
            return str(part.get("text", ""))
        case "image" | "audio" as kind:
            media = str(part.get("mimeType", "of an unknown type"))[:80]
            return f"[{kind}, {media}, {_size(part.get('data'))}: it can't be shown here]"
        case "resource_link":
            name = str(part.get("name", ""))
            about = f": {part['description']}" if part.get("description") else ""
            return f"[resource {name} <{part.get('uri', '')}>{about}]"
        case "resource":
            return _resource(as_object(part.get("resource")))
        case other:
            return f"[something of the kind {str(other)[:80]!r} that can't be shown here]"


def _resource(resource: JsonObject) -> str:
    uri = str(resource.get("uri", ""))
    if isinstance(resource.get("text"), str):
        return f"[resource <{uri}>]\n{resource['text']}"
    return f"[resource <{uri}>, {_size(resource.get('blob'))}: it can't be shown here]"


def _size(data: object) -> str:
    count = len(data) * 3 // 4 if isinstance(data, str) else 0
    return f"{count} bytes" if count < 10 * 1024 else f"{count // 1024} KiB"
