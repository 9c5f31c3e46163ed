"""Images that a tool's result shows: each vendor gets them, and memory is bounded."""

import base64
import json
from typing import Any

import pytest

from agent_host.core.model import ImagePart, ToolCall, ToolResult
from agent_host.runtimes.conversation import MOST_KEPT
from tests.vendors import (
    AnthropicVendor,
    Call,
    ChatVendor,
    GeminiVendor,
    OpenAIVendor,
    Turn,
    VendorServer,
)
from tests.vendors.runs import Gate, Pauses, Sink, request, run, runtime

Vendor = type[VendorServer]
ALL = [AnthropicVendor, OpenAIVendor, ChatVendor, GeminiVendor]
each_vendor = pytest.mark.parametrize("vendor", ALL, ids=lambda vendor: vendor.vendor)
PIXEL = ImagePart("image/png", base64.b64encode(b"\x89PNG pixel").decode())
LARGE = ImagePart("image/png", "A" * (MOST_KEPT + 4))
PDF = ImagePart("application/pdf", base64.b64encode(b"%PDF-1.4 one page").decode())
CALLS = (Call("fs_read", {"path": "a"}), Call("fs_list", {"path": "b"}))


def showing(*images: ImagePart) -> Gate:
    """A gate through which the first tool's results have these images."""

    async def call(wish: ToolCall) -> ToolResult:
        shown = images if wish.name == "fs_read" else ()
        return ToolResult("ok", f"It is {wish.arguments['path']}.", "done", images=shown)

    return Gate(call)


@each_vendor
async def test_a_vendor_gets_the_images_of_a_result(vendor: Vendor) -> None:
    turns = (Turn(thinking="Look.", calls=CALLS), Turn("Seen."), Turn("Still."))
    async with vendor(*turns) as server:
        result, sink = await run(server, gate=showing(PIXEL, PDF))
        later, _ = await run(server, "and?", history=tuple(json.loads(json.dumps(sink.memory))))
    assert server.refused == []
    assert (result.output, later.output) == ("Seen.", "Still.")
    for body in server.bodies[1:]:
        sent = json.dumps(body)
        for words in (PIXEL.data, PDF.data, "It is a.", "It is b."):
            assert sent.count(words) == 1


@pytest.mark.parametrize(("model", "inside"), [("gemini-2.5-pro", False), ("gemini-4", True)])
async def test_an_older_gemini_gets_them_beside_the_result(model: str, *, inside: bool) -> None:
    async with GeminiVendor(Turn(calls=CALLS), Turn("Seen.")) as server:
        sdk = runtime(server)
        await sdk.run(request(f"gemini/{model}"), Sink(), showing(PIXEL))
        await sdk.close()
    parts: list[Any] = server.bodies[-1]["contents"][-1]["parts"]
    nested = [p for p in parts if p.get("functionResponse", {}).get("parts")]
    assert (len(nested), len(parts)) == ((1, 2) if inside else (0, 3))


@each_vendor
async def test_a_large_image_is_shown_in_its_run_and_only_named_later(vendor: Vendor) -> None:
    async with vendor(Turn(calls=CALLS), Turn("Seen."), Turn("Gone.")) as server:
        _, sink = await run(server, gate=showing(LARGE))
        await run(server, "and?", history=tuple(sink.memory))
    assert server.refused == []
    assert LARGE.data in json.dumps(server.bodies[1])
    assert len(json.dumps(sink.memory)) < MOST_KEPT
    assert "call the tool again to see it" in json.dumps(server.bodies[2])


BLIND = (
    "image input is not supported - hint: you may need to provide the mmproj",
    "m is not a multimodal model",
    "this model is missing data required for image input",
    "At most 0 image(s) may be provided in one prompt.",
    "unknown variant `image_url`, expected `text`",
    "No endpoints found that support image input",
)


@pytest.mark.parametrize("said", BLIND)
@pytest.mark.parametrize("status", [400, 500])
async def test_a_model_that_sees_nothing_is_told_so(said: str, status: int) -> None:
    turns = (Turn(calls=CALLS), Turn(status=status, message=said), Turn("Blind."))
    pauses = Pauses()
    async with ChatVendor(*turns) as server:
        result, _ = await run(server, gate=showing(PIXEL), pauses=pauses)
    assert (result.output, pauses.seconds) == ("Blind.", [])
    assert PIXEL.data in json.dumps(server.bodies[1])
    assert PIXEL.data not in json.dumps(server.bodies[2])
    assert "sees no images" in json.dumps(server.bodies[2])


async def test_who_sends_an_image_to_a_model_that_sees_nothing_is_told_and_goes_on() -> None:
    turns = (Turn(status=400, message=BLIND[0]), Turn(status=400, message=BLIND[0]), Turn("Blind."))
    async with ChatVendor(*turns) as server:
        result, sink = await run(server, "What is it?", PIXEL)
        assert result.error is not None
        assert "Leave out the image, or use a model that sees." in result.error.message
        assert len(server.bodies) == 1
        later, _ = await run(server, "Then tell me a joke.", history=tuple(sink.memory))
    assert later.output == "Blind."
    assert PIXEL.data not in json.dumps(server.bodies[-1])


async def test_an_image_that_is_too_large_makes_no_model_blind() -> None:
    refusal = Turn(status=400, message="image exceeds the maximum size")
    async with ChatVendor(Turn(calls=CALLS), refusal) as server:
        result, _ = await run(server, gate=showing(PIXEL))
    assert result.error is not None
    assert "Leave out" not in result.error.message
    assert len(server.bodies) == 2
