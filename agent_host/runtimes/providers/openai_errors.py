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
)

_STATUS_OF_CODE = {
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
    except (openai.APIConnectionError, httpx2.TransportError) as error:
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        reason = f"{type(cause or error).__name__}: {cause or error}"
        raise trouble_of_connection(vendor, config, reason) from error
    except openai.APIError as error:
        # An error in mid-stream, after the status 200 of the stream.
        raise trouble_of_code(
            vendor, config, model, error.code or error.type, _said(error)
        ) from error


def trouble_of_code(
    vendor: Vendor, config: ProviderConfig, model: str, code: str | None, message: str
) -> Trouble:
    """An error that the stream itself told."""
    status = int(code) if code and code.isdecimal() else _STATUS_OF_CODE.get(code or "", 500)
    return _of_complaint(vendor, config, model, Complaint(status, message), code)


def _of_complaint(
    vendor: Vendor, config: ProviderConfig, model: str, complaint: Complaint, code: str | None
) -> Trouble:
    if code == "context_length_exceeded":
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
    return error.message
