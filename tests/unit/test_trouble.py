"""What a user is told when a vendor fails, and whether asking again may help."""

import pytest

from agent_host.core.errors import (
    AgentHostError,
    AuthFailed,
    ContextOverflow,
    ModelNotFound,
    Overloaded,
    RateLimited,
    RuntimeFailed,
)
from agent_host.runtimes import ProviderConfig
from agent_host.runtimes.trouble import (
    Complaint,
    Vendor,
    retry_after,
    trouble_of_connection,
    trouble_of_status,
)

VENDOR = Vendor("The Vendor", ("ONE_KEY", "OTHER_KEY"))
CONFIG = ProviderConfig("very-secret", "ONE_KEY", "http://user:password@host:1/v1?token=hidden")


@pytest.mark.parametrize(
    ("status", "error", "again"),
    [
        (400, RuntimeFailed, False),
        (401, AuthFailed, False),
        (403, AuthFailed, False),
        (404, ModelNotFound, False),
        (408, RuntimeFailed, True),
        (413, ContextOverflow, False),
        (429, RateLimited, True),
        (500, RuntimeFailed, True),
        (502, RuntimeFailed, True),
        (503, Overloaded, True),
        (529, Overloaded, True),
    ],
)
def test_each_status_has_its_error(status: int, error: type[AgentHostError], again: bool) -> None:
    complaint = Complaint(status, "no, not with very-secret, nor sk-abcdefghijkl")
    trouble = trouble_of_status(VENDOR, CONFIG, "m", complaint)
    assert (type(trouble.error), trouble.again) == (error, again)
    shown = f"{trouble.error.message} {trouble.error.details}"
    assert "very-secret" not in shown
    assert "abcdefghijkl" not in shown


def test_an_address_is_shown_without_its_secrets() -> None:
    told = trouble_of_connection(VENDOR, CONFIG, "refused").error.message
    assert "http://host:1/v1" in told
    assert "password" not in told
    assert "hidden" not in told


def test_a_server_without_a_key_that_wants_one_names_the_variables() -> None:
    trouble = trouble_of_status(VENDOR, ProviderConfig(), "m", Complaint(401, ""))
    assert "set ONE_KEY or OTHER_KEY" in trouble.error.message


@pytest.mark.parametrize(
    "said",
    [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "This model's maximum context length is 8192 tokens.",
        "the request exceeds the available context size",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ],
)
def test_each_vendor_s_way_of_saying_too_long_is_known(said: str) -> None:
    trouble = trouble_of_status(VENDOR, CONFIG, "m", Complaint(400, said))
    assert isinstance(trouble.error, ContextOverflow)
    assert not trouble.again


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT",
                "date": "Wed, 21 Oct 2026 07:27:47 GMT",
            },
            13.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_the_wait_that_a_vendor_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
