"""Where the claude CLI is, which version, and whose login it uses: for lists and for the doctor.

Starts it for its version, with a short limit. Not here: running prompts (claude_cli.py).
"""

import subprocess
from collections.abc import Mapping

from agent_host.core.errors import RuntimeMissing
from agent_host.core.model import ModelInfo, RuntimeOptions
from agent_host.runtimes import CLAUDE
from agent_host.runtimes.programs import Wanted, find_program, shown

VERSION_SECONDS = 5.0

PROGRAM = Wanted(
    CLAUDE,
    ("claude",),
    "Install it (`npm install -g @anthropic-ai/claude-code`), or name it by "
    "`runtimes: {claude-code: {command: ...}}` in the settings.",
    ("~/.claude/local", "~/.claude/bin"),
)


def claude_info(environment: Mapping[str, str], options: RuntimeOptions) -> ModelInfo:
    """What there is; `environment` is what the CLI may see. Blocks for a second: use a thread."""
    try:
        program = find_program(PROGRAM, options.command, environment)
    except RuntimeMissing as missing:
        return ModelInfo(CLAUDE, CLAUDE, usable=False, reason=missing.message)
    where = shown(program[0], environment.get("HOME", ""))
    keys = [name for name in options.inherit if name in environment]
    login = f"keys {', '.join(keys)}" if keys else "its own login"
    source = f"{where} {_version(program, environment)}, {login}"
    return ModelInfo(CLAUDE, CLAUDE, usable=True, source=source)


def _version(program: tuple[str, ...], environment: Mapping[str, str]) -> str:
    try:
        asked = subprocess.run(
            (*program, "--version"),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "(it does not tell its version)"
    return asked.stdout.decode("utf-8", "replace").strip()[:60]
