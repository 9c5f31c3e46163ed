"""What is said to the claude CLI: its command line, its environment, and our lines to it. Pure."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_host.core.model import (
    ImagePart,
    JsonObject,
    Limits,
    PromptPart,
    ResourcePart,
    RuntimeOptions,
    TextPart,
)
from agent_host.runtimes.claude_tools import NATIVE
from agent_host.runtimes.loopback import Address
from agent_host.runtimes.mcp_tools import SERVER_NAME
from agent_host.runtimes.resume import OwnSession

OUR_PREFIX = f"mcp__{SERVER_NAME}__"
"""How the CLI calls our tools."""

INHERITED = (
    *("CLAUDE_CONFIG_DIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
)
"""What it may see of our environment beside what every child may: no key, no address of ours."""

_A_DAY = str(24 * 3600 * 1000)
_OWN: Mapping[str, str] = {
    "DISABLE_AUTOUPDATER": "1",
    # A person may take their time to answer the question that a call leads to.
    "MCP_TOOL_TIMEOUT": _A_DAY,
    "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT": _A_DAY,
}

INITIALIZE = "initialize"
INTERRUPT = "interrupt"
_HOOK = "before-each-tool"


def environment(passed: Mapping[str, str], options: RuntimeOptions) -> dict[str, str]:
    """The CLI's environment; `passed` is what of ours it may see. A CLI in a CLI is never told."""
    nested = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
    kept = {name: value for name, value in passed.items() if name not in nested}
    return {**kept, **_OWN, **options.env}


def arguments(
    options: RuntimeOptions, model: str | None, limits: Limits, own: OwnSession | None, folder: Path
) -> tuple[str, ...]:
    """The arguments; values are joined to their flags, so that none is taken for a flag.

    `folder` holds what `write_files` has written.
    """
    native = options.tools == "native"
    prompt = "append-system-prompt-file" if native else "system-prompt-file"
    wished = [
        *("-p", "--verbose", "--include-partial-messages"),
        *("--input-format=stream-json", "--output-format=stream-json", "--replay-user-messages"),
        # The user's and the project's own settings, hooks and servers decide nothing here.
        *("--setting-sources=", "--strict-mcp-config", "--disable-slash-commands"),
        *("--permission-mode=default", "--permission-prompt-tool=stdio"),
        f"--mcp-config={folder / _CONFIG}",
        f"--{prompt}={folder / _PROMPT}",
        f"--tools={','.join(NATIVE) if native else ''}",
    ]
    if model is not None:
        wished.append(f"--model={model}")
    if limits.max_turns is not None:
        wished.append(f"--max-turns={limits.max_turns}")
    if limits.max_cost_usd is not None:
        wished.append(f"--max-budget-usd={limits.max_cost_usd:.6f}")
    if own is not None:
        wished += [f"--resume={own.id}", *(["--fork-session"] if own.fork else [])]
    return (*wished, *options.args)


_CONFIG, _PROMPT = "mcp.json", "instructions.md"


def write_files(folder: Path, instructions: str, address: Address | None) -> None:
    """What the arguments name; the token is in a file that nobody else can read."""
    servers: dict[str, object] = {}
    if address is not None:
        headers = {"Authorization": f"Bearer {address.token}"}
        servers[SERVER_NAME] = {"type": "http", "url": address.url, "headers": headers}
    config = json.dumps({"mcpServers": servers})
    for name, text in ((_CONFIG, config), (_PROMPT, instructions or " ")):
        file = folder / name
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8", errors="replace")


# ---- our lines


def initialize() -> bytes:
    """The first line: a hook before each tool, so that no rule of the CLI's decides without us."""
    hooks = {"PreToolUse": [{"matcher": None, "hookCallbackIds": [_HOOK]}]}
    return _asked(INITIALIZE, {"subtype": "initialize", "hooks": hooks})


def interrupt() -> bytes:
    """Stop the turn, so that the CLI's own session knows it was stopped."""
    return _asked(INTERRUPT, {"subtype": "interrupt"})


def prompt(parts: Sequence[PromptPart], missed: str, name: str | None = None) -> bytes:
    """The user's message; `missed` is what was said without this runtime.

    `name`, a UUID, is what the CLI calls it when it takes it.
    """
    content: list[JsonObject] = []
    if missed:
        content.append(_text(f"What was said earlier in this conversation:\n\n{missed}\n\n---\n"))
    for part in parts:
        match part:
            case TextPart(text):
                # A leading slash would be a command to the CLI itself.
                content.append(_text(f"The user says: {text}" if text[:1] == "/" else text))
            case ImagePart(media_type, data):
                source = {"type": "base64", "media_type": media_type, "data": data}
                content.append({"type": "image", "source": source})
            case ResourcePart(uri):
                content.append(_text(uri))
    message = {"role": "user", "content": content}
    named = {} if name is None else {"uuid": name}
    return _line({"type": "user", "message": message, "parent_tool_use_id": None, **named})


def hook_answer(request_id: str, reason: str | None) -> bytes:
    """Whether a tool may run; `reason` None: yes."""
    decision = "allow" if reason is None else "deny"
    output = {"hookEventName": "PreToolUse", "permissionDecision": decision}
    told = {**output, "permissionDecisionReason": reason or "allowed by agent-host"}
    return _answered(request_id, {"hookSpecificOutput": told})


def permission_answer(request_id: str, given: JsonObject, reason: str | None) -> bytes:
    """The same, to its own question; `given` is the input, which is not changed."""
    if reason is None:
        return _answered(request_id, {"behavior": "allow", "updatedInput": given})
    return _answered(request_id, {"behavior": "deny", "message": reason})


def refusal(request_id: str, reason: str) -> bytes:
    """A request that can't be served."""
    response = {"subtype": "error", "request_id": request_id, "error": reason}
    return _line({"type": "control_response", "response": response})


def _asked(request_id: str, request: JsonObject) -> bytes:
    return _line({"type": "control_request", "request_id": request_id, "request": request})


def _answered(request_id: str, response: JsonObject) -> bytes:
    told = {"subtype": "success", "request_id": request_id, "response": response}
    return _line({"type": "control_response", "response": told})


def _text(text: str) -> JsonObject:
    # The vendor refuses empty text.
    return {"type": "text", "text": text if text.strip() else "(nothing)"}


def _line(message: JsonObject) -> bytes:
    return json.dumps(message).encode() + b"\n"
