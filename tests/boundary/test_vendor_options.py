"""How a model is asked: effort, a schema for its answer, documents; each in its vendor's words."""

import base64
from typing import Any

import pytest

from agent_host.core.errors import ModelNotFound
from agent_host.core.model import Effort, ImagePart, ModelOptions
from tests.vendors import (
    AnthropicVendor,
    ChatVendor,
    GeminiVendor,
    OpenAIVendor,
    Turn,
    VendorServer,
)
from tests.vendors.runs import Gate, Sink, request, runtime

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
PDF = ImagePart("application/pdf", base64.b64encode(b"%PDF-1.4 one page").decode())
MODEL = "model-9"
Vendor = type[VendorServer]
each_vendor = pytest.mark.parametrize(
    "vendor", [AnthropicVendor, OpenAIVendor, ChatVendor, GeminiVendor], ids=lambda v: v.vendor
)


async def sent(vendor: Vendor, model: str, *prompt: ImagePart | str, **options: Any) -> Any:
    """The request's body that the vendor got and took."""
    async with vendor(Turn('{"n": 1}')) as server:
        sdk = runtime(server)
        wish = request(f"{server.vendor}/{model}", *prompt, options=ModelOptions(**options))
        result = await sdk.run(wish, Sink(), Gate())
        await sdk.close()
    assert server.refused == []
    assert (result.status, result.output) == ("completed", '{"n": 1}')
    return server.bodies[0]


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "output"),
    [
        ("claude-sonnet-5-5", None, "adaptive", None),
        ("claude-sonnet-5-5", "low", "adaptive", {"effort": "low"}),
        ("claude-sonnet-5-5", "max", "adaptive", {"effort": "max"}),
        ("claude-sonnet-5-5", "none", "disabled", None),
        ("claude-test-4-5", "low", 2048, None),
        ("claude-test-4-5", "max", 28_672, None),
        ("claude-test-4-5", "none", "disabled", None),
        ("claude-3-5-haiku", None, None, None),
        ("claude-3-5-haiku", "none", None, None),
    ],
)
async def test_anthropic_effort(
    model: str, effort: Effort | None, thinking: str | int | None, output: object
) -> None:
    body = await sent(AnthropicVendor, model, effort=effort)
    given = body.get("thinking", {})
    assert given.get("budget_tokens", given.get("type")) == thinking
    assert body.get("output_config") == output


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("gemini-3.8-flash", None, {"include_thoughts": True}),
        ("gemini-3.8-flash", "none", {"include_thoughts": False, "thinking_level": "MINIMAL"}),
        ("gemini-3.8-flash", "max", {"include_thoughts": True, "thinking_level": "XHIGH"}),
        ("gemini-2.5-pro", "low", {"include_thoughts": True, "thinking_budget": 1024}),
        ("gemini-2.5-pro", "none", {"include_thoughts": False, "thinking_budget": 0}),
    ],
)
async def test_gemini_effort(model: str, effort: Effort | None, expected: object) -> None:
    body = await sent(GeminiVendor, model, effort=effort)
    assert body["generationConfig"]["thinkingConfig"] == expected


async def test_openai_and_local_effort() -> None:
    body = await sent(OpenAIVendor, "gpt-5.5", effort="high")
    assert body["reasoning"] == {"summary": "auto", "effort": "high"}
    assert "reasoning" not in await sent(OpenAIVendor, "gpt-4.1")
    # A model that may have none gets what was asked for: it is the vendor that says no.
    assert (await sent(OpenAIVendor, "gpt-4.1", effort="low"))["reasoning"] == {"effort": "low"}
    assert (await sent(ChatVendor, "any", effort="low"))["reasoning_effort"] == "low"
    assert "reasoning_effort" not in await sent(ChatVendor, "any")


@each_vendor
async def test_an_answer_can_have_a_schema(vendor: Vendor) -> None:
    body = await sent(vendor, "test-model", output_schema=SCHEMA)
    places = (
        body.get("output_config", {}).get("format", {}).get("schema"),
        body.get("text", {}).get("format", {}).get("schema"),
        body.get("response_format", {}).get("json_schema", {}).get("schema"),
        body.get("generationConfig", {}).get("responseJsonSchema"),
    )
    assert SCHEMA in places


@each_vendor
async def test_a_document_is_sent_as_one(vendor: Vendor) -> None:
    body = await sent(vendor, "test-model", "Read it.", PDF)
    whole = str(body)
    assert PDF.data in whole
    assert "application/pdf" in whole
    assert not any(word in whole for word in ("'image'", "input_image", "image_url"))


async def refused(vendor: Vendor, model: str, *turns: Turn, **options: Any) -> str:
    """What a person is told of a request that comes to nothing."""
    async with vendor(*turns) as server:
        server.models = (f"{MODEL}-large", f"{MODEL}-small", *map(str, range(20)))
        sdk = runtime(server)
        wish = request(f"{server.vendor}/{model}", options=ModelOptions(**options))
        result = await sdk.run(wish, Sink(), Gate())
        await sdk.close()
    assert result.error is not None
    return result.error.message


@pytest.mark.parametrize(
    ("vendor", "model"),
    [(AnthropicVendor, "claude-3-5-haiku"), (GeminiVendor, "gemini-2.0-flash")],
)
async def test_a_model_that_does_not_think_is_not_silently_asked_to(
    vendor: Vendor, model: str
) -> None:
    told = await refused(vendor, model, effort="high")
    assert f"{model!r}" in told
    assert "leave out `effort`, or use another model" in told


@each_vendor
@pytest.mark.parametrize(
    ("said", "options", "advice"),
    [
        ("'reasoning.effort' is not supported", {"effort": "low"}, "Leave out `effort`"),
        ("thinking: bad value", {"effort": "max"}, "Leave out `effort`"),
        ("json_schema is unknown here", {"output_schema": SCHEMA}, "Leave out `outputSchema`"),
        ("the name is too long", {"effort": "low"}, ""),
    ],
)
async def test_a_setting_that_a_model_does_not_have_is_named(
    vendor: Vendor, said: str, options: Any, advice: str
) -> None:
    told = await refused(vendor, MODEL, *[Turn(status=400, message=said)] * 3, **options)
    assert said in told
    assert advice in told
    assert ("Leave out" in told) == bool(advice)


@each_vendor
async def test_a_model_that_is_not_there_is_told_with_those_like_it(vendor: Vendor) -> None:
    told = await refused(vendor, f"{MODEL}-lrage", Turn(status=404))
    assert f"Much the same are: {MODEL}-large, {MODEL}-small." in told


@each_vendor
@pytest.mark.parametrize(("models", "told"), [((), ""), (("a", "b"), " It has: a, b.")])
async def test_few_models_are_all_told(vendor: Vendor, models: tuple[str, ...], told: str) -> None:
    async with vendor(Turn(status=404)) as server:
        server.models = models
        sdk = runtime(server)
        result = await sdk.run(request(f"{server.vendor}/nothing"), Sink(), Gate())
        await sdk.close()
    assert type(result.error) is ModelNotFound
    assert result.error.message.endswith(f".{told}")
