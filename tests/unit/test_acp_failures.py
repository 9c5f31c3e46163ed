"""What ACP agents tell of errors."""

from typing import Any

import pytest

from agent_host.runtimes.acp_failures import reported, stop_told, told_by


def message(severity: str, category: str, title: object = "It broke.") -> dict[str, Any]:
    told = {"severity": severity, "category": category, "title": title}
    return {"_meta": {"jetbrains": {"air": {"sessionFailure": told}}}}


@pytest.mark.parametrize(
    ("severity", "category", "over", "again"),
    [
        ("error", "service", True, False),
        ("warning", "service", False, True),
        ("warning", "connection", False, True),
        ("warning", "limit", False, False),
        ("warning", "unknown", False, False),
    ],
)
def test_a_failure_told_by_the_extension(
    severity: str, category: str, over: bool, again: bool
) -> None:
    told = told_by(message(severity, category))
    assert told is not None
    assert (told.title, told.over, told.again) == ("It broke.", over, again)


def test_what_is_no_failure() -> None:
    assert told_by({"_meta": None}) is None
    assert told_by(message("error", "service", title=3)) is None


def test_a_limit_that_is_called_an_error() -> None:
    assert stop_told("Reached maximum number of turns (2)") == "max_turn_requests"
    assert stop_told("Reached maximum budget ($0.01)") == "max_budget"
    assert stop_told("It broke.") is None


@pytest.mark.parametrize(
    ("said", "more", "code", "says"),
    [
        ("No.", {"login": True}, "auth_failed", "(No). Run it once in a terminal and log in"),
        ("API key not valid.", {"status": 400}, "auth_failed", "its key was refused (API key"),
        ("Internal error: invalid api key", {}, "auth_failed", "{inherit: [NAME_OF_THE_KEY]}"),
        ("Forbidden", {"status": 403}, "auth_failed", "acp:x is not logged in"),
        ("slow down", {"status": 429}, "rate_limited", "acp:x's rate limit is reached"),
        ("boom", {"status": 500}, "runtime_failed", "acp:x failed (boom): try again."),
    ],
)
def test_an_error_in_our_words(said: str, more: dict[str, Any], code: str, says: str) -> None:
    error = reported("acp:x", said, **more)
    assert error.code == code
    assert says in error.message
