"""Errors by who must act: the user (AgentHostError) or the model (ActionFailed).

Each AgentHostError has a code for programs and one sentence that says what to do. Everything else
that is raised is a bug of ours and rises to the edge.
"""

from collections.abc import Mapping


class AgentHostError(Exception):
    """Something that the user or their editor must act on. Never holds a key or a home path."""

    code = "internal_error"
    number = -32603

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, object] = details


class RunNotFound(AgentHostError):
    code, number = "run_not_found", -32010


class SessionNotFound(AgentHostError):
    code, number = "session_not_found", -32011


class SessionBusy(AgentHostError):
    code, number = "session_busy", -32012


class RoleBroken(AgentHostError):
    code, number = "role_broken", -32013


class RoleNotFound(AgentHostError):
    code, number = "role_not_found", -32014


class ModelNotFound(AgentHostError):
    code, number = "model_not_found", -32015


class NoApiKey(AgentHostError):
    code, number = "no_api_key", -32016


class AuthFailed(AgentHostError):
    code, number = "auth_failed", -32017


class RateLimited(AgentHostError):
    code, number = "rate_limited", -32018


class RuntimeMissing(AgentHostError):
    code, number = "runtime_missing", -32019


class RuntimeFailed(AgentHostError):
    code, number = "runtime_failed", -32020


class Overloaded(AgentHostError):
    code, number = "overloaded", -32021


class InvalidRequest(AgentHostError):
    """The request is well-formed but its values can't be used; `message` names the field."""

    code, number = "invalid_params", -32602


class ShuttingDown(AgentHostError):
    code, number = "shutting_down", -32022


class StoreFailed(AgentHostError):
    """The session store can't be read or changed."""

    code, number = "store_failed", -32023


class KeyringFailed(AgentHostError):
    """The OS keyring can't be used, or has not what is asked."""

    code, number = "keyring_failed", -32024


class ContextOverflow(AgentHostError):
    """The conversation does not fit into the model's context."""

    code, number = "context_overflow", -32030


class ActionFailed(Exception):
    """An action could not be done; `reason` is for the model, `code` for the program.

    Codes: not_found, outside, not_regular, too_large, binary, stale, exists, denied, timeout,
    crashed, unavailable, invalid, io.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
