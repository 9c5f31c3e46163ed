"""What an MCP server answers, as text and images: what is not shown is named, with the reason."""

import base64
from typing import Any

import pytest

from agent_host.core.external import ExternalTool
from agent_host.core.model import ToolResult
from agent_host.mcp.results import LARGEST, MOST, tool_result

TOOL = ExternalTool("s", "t", "s__t", "", {}, "", "")
PNG = base64.b64encode(b"\x89PNG" + bytes(100)).decode()


def image(data: object = PNG, kind: str = "image/png") -> dict[str, object]:
    return {"type": "image", "data": data, "mimeType": kind}


def blob(kind: str) -> dict[str, object]:
    resource = {"uri": "file:///a", "mimeType": kind, "blob": PNG}
    return {"type": "resource", "resource": resource}


def told(*content: dict[str, object], **more: Any) -> ToolResult:
    return tool_result(TOOL, {"content": list(content), **more})


@pytest.mark.parametrize(
    ("part", "text", "kind"),
    [
        (image(), "[image, image/png, 104 bytes: shown as number 1]", "image/png"),
        (image(kind="image/JPG; q=1"), "[image, image/jpeg, 104 bytes: sho", "image/jpeg"),
        (blob("application/pdf"), "[resource <file:///a>, application/pdf, 1", "application/pdf"),
        (image(kind="image/tiff"), "[image, image/tiff, 104 bytes: it can't be shown here]", None),
        (blob("application/zip"), "[resource <file:///a>, application/zip, 104 bytes: it ca", None),
        (image(data="not base64!"), "[image, image/png: its data can't be read]", None),
        (image(data=5), "[image, image/png: its data can't be read]", None),
        (
            image(base64.b64encode(bytes(LARGEST + 1)).decode()),
            "[image, image/png, 3,840 KiB: it is too large to be shown, 3,840 KiB are the most]",
            None,
        ),
        ({"type": "audio", "data": PNG}, "[audio, of an unknown type, 104 bytes: it can't", None),
        ({"type": "hologram"}, "[something of the kind 'hologram' that can't be shown here]", None),
    ],
)
def test_a_part_is_shown_or_named(part: dict[str, object], text: str, kind: str | None) -> None:
    result = told(part)
    assert result.text.startswith(text)
    assert [each.media_type for each in result.images] == ([kind] if kind else [])


def test_images_stand_between_their_words_and_no_more_than_some() -> None:
    result = told({"type": "text", "text": "Before."}, *[image()] * (MOST + 1))
    lines = result.text.splitlines()
    assert (lines[0], lines[MOST][-12:]) == ("Before.", "as number 10]"[-12:])
    assert lines[-1] == "[image, image/png, 104 bytes: it is not shown, 10 are the most at once]"
    assert len(result.images) == MOST


def test_a_failure_may_show_something() -> None:
    result = told(image(), isError=True)
    assert (result.status, len(result.images)) == ("failed", 1)
