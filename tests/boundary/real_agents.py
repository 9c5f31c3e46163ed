"""The real ACP agents from npm: how each is run in a clean home against a vendor on loopback."""

import json
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_host.actions.environment import scrubbed
from agent_host.core.model import RuntimeOptions
from agent_host.runtimes.acp import AcpRuntime
from tests.vendors.anthropic import AnthropicVendor
from tests.vendors.chat import ChatVendor
from tests.vendors.gemini import GeminiVendor
from tests.vendors.openai import OpenAIVendor
from tests.vendors.server import Frames, Refused, VendorServer
from tests.vendors.turns import Call, Turn

TESTS = Path(__file__).parents[1]
CLIS = TESTS / "clis" / "node_modules"
MORE = TESTS / "agents" / "node_modules"
MACHINE = {"x86_64": "x64-baseline", "aarch64": "arm64"}[platform.machine()]


class OpencodeVendor(ChatVendor):
    """Takes what opencode sends beside what our own client does."""

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        here(path == "/v1/chat/completions")
        has_key(headers.get("authorization") == f"Bearer {self.KEY}")

    def aside(self, body: dict[str, Any]) -> Turn | None:
        return None if body.get("tools") else Turn("A title")


class GeminiCliVendor(GeminiVendor):
    """Takes what the Gemini CLI sends beside what our own client does."""

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        here(path.endswith(":streamGenerateContent?alt=sse"))
        has_key(headers.get("x-goog-api-key") == self.KEY)

    def error(self, status: int, turn: Turn) -> dict[str, Any]:
        return super().error(400 if status == 401 else status, turn)


class CodexVendor(OpenAIVendor):
    """Takes what Codex sends. `space/name` is a tool in that name space; `exec` runs a script."""

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        here(path == "/v1/responses")
        has_key(headers.get("authorization") == f"Bearer {self.KEY}")

    def frames(self, turn: Turn, body: dict[str, Any]) -> Frames:
        for place, event in super().frames(turn, body):
            item = event.get("item", {})
            if "/" in item.get("name", ""):
                item["namespace"], item["name"] = item["name"].split("/")
            if item.get("name") == "exec":
                item |= {"type": "custom_tool_call", "input": item.pop("arguments")}
            yield place, event


class AdapterVendor(AnthropicVendor):
    """Takes what Claude's adapter sends beside what our own client does."""

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        here(path.startswith("/v1/messages?"))
        has_key(headers.get("x-api-key") == self.KEY)

    def aside(self, body: dict[str, Any]) -> Turn | None:
        return None if body.get("tools") else Turn("A title")


def here(condition: object) -> None:
    if not condition:
        raise Refused("not here", 404)


def has_key(condition: object) -> None:
    if not condition:
        raise Refused("invalid api key", 401)


PATCH = "*** Begin Patch\n*** Add File: made.txt\n+new\n*** End Patch"


@dataclass(frozen=True)
class Real:
    """An agent. `shell`, `tool`, `writes`: calls as its model makes them: of a command, of the tool
    `docs__search` of an MCP server, of a new file `made.txt` that says `new`.

    `key`: the variable that it takes its key from. `quits`: it ends its turn at a denial.
    `reads`: it runs unasked what only reads.
    """

    name: str
    vendor: type[VendorServer]
    command: tuple[str, ...]
    env: Callable[[VendorServer], dict[str, str]]
    key: str
    shell: Callable[[str], Call]
    tool: str
    writes: Callable[[Path], Call]
    quits: bool = False
    reads: bool = False

    def runtime(self, vendor: VendorServer, home: Path, key: str | None = None) -> AcpRuntime:
        """In that home; it has the key only because the settings let it have that variable."""
        host = {
            "PATH": f"{node().parent}:{os.environ['PATH']}",
            "HOME": str(home),
            self.key: key or vendor.KEY,
            "SOME_API_KEY": "not for it",
        }
        chosen = RuntimeOptions(command=self.command, env=self.env(vendor), inherit=(self.key,))
        return AcpRuntime(self.name, lambda also: scrubbed(host, also), lambda: chosen)

    def __str__(self) -> str:
        return self.name


def node() -> Path:
    """That of the tests of VS Code: one of the agents needs a newer one than systems have."""
    found = (TESTS / "editors" / "vscode" / "node_modules").glob("node-linux-*/bin/node")
    return next(found)


def _opencode(vendor: VendorServer) -> dict[str, str]:
    models: dict[str, dict[str, Any]] = {"m": {"name": "M", "tool_call": True, "attachment": True}}
    models["m"]["limit"] = {"context": 9000, "output": 900}
    models["m"]["modalities"] = {"input": ["text", "image"], "output": ["text"]}
    options = {"baseURL": vendor.url, "apiKey": "{env:KEY_OF_THE_TEST}"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    config = {
        "provider": {"loop": provider},
        "enabled_providers": ["loop"],
        "model": "loop/m",
        "small_model": "loop/m",
        "autoupdate": False,
        "share": "disabled",
    }
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _outside(line: str) -> dict[str, str]:
    return {"cmd": line, "sandbox_permissions": "require_escalated", "justification": "a test"}


def _codex(vendor: VendorServer) -> dict[str, str]:
    loop = {"name": "loop", "base_url": vendor.url, "env_key": "CODEX_API_KEY"}
    config = {"model": "gpt-6.1-sol", "model_providers": {"loop": loop}}
    return {"CODEX_CONFIG": json.dumps(config), "MODEL_PROVIDER": "loop"}


OPENCODE = Real(
    name="acp:opencode",
    vendor=OpencodeVendor,
    command=(str(CLIS / f"opencode-linux-{MACHINE}" / "bin" / "opencode"), "acp"),
    env=_opencode,
    key="KEY_OF_THE_TEST",
    shell=lambda line: Call("bash", {"command": line, "description": "d"}),
    tool="agent-host_docs__search",
    writes=lambda cwd: Call("write", {"filePath": str(cwd / "made.txt"), "content": "new\n"}),
    quits=True,
)
GEMINI = Real(
    name="acp:gemini",
    vendor=GeminiCliVendor,
    command=(
        "node",
        str(CLIS / "@google" / "gemini-cli" / "bundle" / "gemini.js"),
        *("--acp", "--model", "gemini-2.5-flash"),
    ),
    env=lambda vendor: {
        "GOOGLE_GEMINI_BASE_URL": vendor.url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",  # else it takes no MCP servers
    },
    key="GEMINI_API_KEY",
    shell=lambda line: Call("run_shell_command", {"command": line, "description": "d"}),
    tool="mcp_agent-host_docs__search",
    writes=lambda cwd: Call("write_file", {"file_path": str(cwd / "made.txt"), "content": "new\n"}),
    reads=True,
)
CODEX = Real(
    name="acp:codex",
    vendor=CodexVendor,
    command=("node", str(MORE / "@agentclientprotocol" / "codex-acp" / "dist" / "index.js")),
    env=_codex,
    key="CODEX_API_KEY",
    # Its newer models call tools by scripts. Without that wish it runs in its own sandbox what only
    # reads, and asks only when that has failed.
    shell=lambda line: Call("exec", f"await tools.exec_command({json.dumps(_outside(line))})"),
    tool="mcp__agent_host/docs__search",
    writes=lambda cwd: Call("exec_command", {"cmd": f"apply_patch <<'E'\n{PATCH}\nE"}),
    quits=True,
)
CLAUDE = Real(
    name="acp:claude",
    vendor=AdapterVendor,
    command=("node", str(MORE / "@agentclientprotocol" / "claude-agent-acp" / "dist" / "index.js")),
    env=lambda vendor: {
        "ANTHROPIC_BASE_URL": vendor.url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    },
    key="ANTHROPIC_API_KEY",
    shell=lambda line: Call("Bash", {"command": line, "description": "d"}),
    tool="mcp__agent-host__docs__search",
    writes=lambda cwd: Call("Write", {"file_path": str(cwd / "made.txt"), "content": "new\n"}),
)
