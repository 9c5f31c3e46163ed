"""What the OpenAI SDK raises, as Trouble; for OpenAI itself and for servers that speak like it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import cast

import httpx2
import openai

from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.provider import Trouble
from agent_host.runtimes.trouble import (
    Complaint,
    Vendor,
    retry_after,
    too_long,
    trouble_of_connection,
    trouble_of_status,
    trouble_of_stream,
)

_STATUS_OF_CODE = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "model_not_found": 404,
    "not_found_error": 404,
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "server_error": 500,
    "server_is_overloaded": 503,
    "slow_down": 503,
    "context_length_exceeded": 400,
    "invalid_prompt": 400,
    "invalid_request_error": 400,
}


@asynccontextmanager
async def as_trouble(vendor: Vendor, config: ProviderConfig, model: str) -> AsyncGenerator[None]:
    """Whatever goes wrong inside with the SDK or the network becomes Trouble."""
    try:
        yield
    except openai.APIStatusError as error:
        complaint = Complaint(error.status_code, _said(error), retry_after(error.response.headers))
        raise _of_complaint(vendor, config, model, complaint, error.code) from error
    except (openai.APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        reason = f"{type(cause or error).__name__}: {cause or error}"
        raise trouble_of_connection(vendor, config, reason) from error
    except openai.APIError as error:
        raise trouble_of_stream(vendor, error.message) from error


def trouble_of_event(vendor: Vendor, config: ProviderConfig, model: str, error: object) -> Trouble:
    """An error in mid-stream, after the status 200 of the stream: an object or a sentence."""
    if not isinstance(error, Mapping):
        return trouble_of_code(vendor, config, model, None, str(error))
    fields = cast("Mapping[str, object]", error)
    code = fields.get("code") or fields.get("type")
    message = fields.get("message") or "no reason given"
    return trouble_of_code(vendor, config, model, str(code) if code else None, str(message))


def trouble_of_code(
    vendor: Vendor, config: ProviderConfig, model: str, code: str | None, message: str
) -> Trouble:
    """An error that the stream itself told."""
    status = int(code) if code and code.isdecimal() else _STATUS_OF_CODE.get(code or "", 500)
    return _of_complaint(vendor, config, model, Complaint(status, message), code)


def _of_complaint(
    vendor: Vendor, config: ProviderConfig, model: str, complaint: Complaint, code: str | None
) -> Trouble:
    if code in ("context_length_exceeded", "exceed_context_size_error"):
        return Trouble(too_long(vendor, model))
    trouble = trouble_of_status(vendor, config, model, complaint)
    # A used-up quota does not come back by waiting.
    trouble.again = trouble.again and code != "insufficient_quota"
    return trouble


def _said(error: openai.APIError) -> str:
    """The vendor's sentence; the SDK's own may hold the whole body."""
    body = error.body
    if isinstance(body, Mapping):
        message = cast("Mapping[str, object]", body).get("message")
        if isinstance(message, str):
            return message
    return body if isinstance(body, str) and body else error.message
