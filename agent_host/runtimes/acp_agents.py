"""The agents that speak the Agent Client Protocol, by name: how each is started, where it is.

Starts nothing. Not here: talking to one (acp_talk.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from agent_host.core.errors import RuntimeMissing
from agent_host.core.model import JsonObject, Limits, ModelInfo, RuntimeOptions
from agent_host.runtimes.programs import Wanted, find_program, shown

PREFIX = "acp:"
"""What the names of these runtimes begin with."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A known agent, and what makes it ask before it acts.

    `modes` are those of its session in which it does, the first is set; empty: it has none that
    matter. `confined`: a command that it runs in them without asking can change nothing.
    `unasked`: what it runs without asking whatever it is told, as `only_runs` takes it. `titled`:
    the title of a command that it asks about is the command. `blank`: it makes no new file if it
    hears that there is none. `sdk`: its session takes options of the Claude Agent SDK.
    """

    command: tuple[str, ...] = ()
    package: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    modes: tuple[str, ...] = ()
    confined: bool = False
    unasked: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    titled: bool = False
    blank: bool = False
    sdk: bool = False


_READERS = (
    *("cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "numfmt"),
    *("paste", "pwd", "rev", "seq", "stat", "tac", "tail", "tr", "true", "uname", "wc", "which"),
    "whoami",
)
_FIND_ACTS = (
    *("-exec", "-execdir", "-ok", "-okdir", "-delete"),
    *("-fls", "-fprint", "-fprint0", "-fprintf"),
)
_READING: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(_READERS, frozenset[str]()),
        "find": frozenset(_FIND_ACTS),
        "rg": frozenset(("--pre", "--hostname-bin", "-z", "--search-zip")),
    }
)
_ASKING = '{"edit":"ask","bash":"ask","webfetch":"ask"}'

KNOWN: Mapping[str, Agent] = MappingProxyType(
    {
        "acp:claude": Agent(
            ("claude-agent-acp",),
            "@agentclientprotocol/claude-agent-acp",
            # By itself it may have a model judge in place of a person.
            modes=("default", "plan"),
            sdk=True,
        ),
        "acp:codex": Agent(
            ("codex-acp",),
            "@agentclientprotocol/codex-acp",
            # By itself it writes in the workspace without asking. So it asks for all but what
            # its own sandbox lets it do: to read, without a network.
            MappingProxyType(
                {
                    "INITIAL_AGENT_MODE": "read-only",
                    # Else each turn is followed by a call of the model that nobody counts.
                    "CODEX_ACP_PROMPT_SUGGESTIONS": "false",
                }
            ),
            modes=("read-only",),
            confined=True,
        ),
        "acp:gemini": Agent(
            ("gemini", "--acp"),
            "@google/gemini-cli",
            modes=("default", "plan"),
            unasked=_READING,
            titled=True,
            blank=True,
        ),
        "acp:opencode": Agent(
            ("opencode", "acp"),
            "opencode-ai",
            # By itself it asks for nothing.
            MappingProxyType({"OPENCODE_PERMISSION": _ASKING}),
        ),
    }
)

UNKNOWN = Agent()
"""One that the settings name, of which nothing is known."""

INHERITED = (
    *("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "CODEX_HOME", "CLAUDE_CONFIG_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
)
"""What an agent may see of our environment beside what every child may: no key, no address."""


def names(configured: Iterable[str]) -> tuple[str, ...]:
    """The runtimes of this kind: those known, and those that the settings name."""
    more = (name for name in configured if name.startswith(PREFIX) and name != PREFIX)
    return tuple(sorted({*KNOWN, *more}))


def program_of(
    name: str, options: RuntimeOptions, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The argv of an agent. Raises RuntimeMissing, with what was searched."""
    agent = KNOWN.get(name)
    if agent is None and not options.command:
        raise RuntimeMissing(
            f"The runtime {name!r} is not known: name its program by "
            f'`runtimes: {{"{name}": {{command: ...}}}}` in the settings. '
            f"Known without that: {', '.join(KNOWN)}."
        )
    how = f"Install it (`npm install -g {agent.package}`), or name it" if agent else "Name it"
    remedy = f'{how} by `runtimes: {{"{name}": {{command: ...}}}}` in the settings.'
    wanted = Wanted(name, agent.command if agent else (), remedy)
    return (*find_program(wanted, options.command, environment), *options.args)


def environment_of(name: str, passed: Mapping[str, str], options: RuntimeOptions) -> dict[str, str]:
    """An agent's environment; `passed` is what of ours it may see."""
    nested = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
    kept = {key: value for key, value in passed.items() if key not in nested}
    return {**kept, **KNOWN.get(name, UNKNOWN).env, **options.env}


def session_meta(agent: Agent, limits: Limits) -> JsonObject:
    """What an agent is told besides when a session begins; empty: nothing."""
    if not agent.sdk:
        return {}
    # The user's and the project's own settings and rules decide nothing here.
    given: dict[str, object] = {
        "settingSources": [],
        "allowDangerouslySkipPermissions": False,
        "promptSuggestions": False,
        # Without it, commands that it takes for harmless are run unasked.
        "settings": {"permissions": {"ask": ["Bash"]}},
    }
    if limits.max_turns is not None:
        given["maxTurns"] = limits.max_turns
    if limits.max_cost_usd is not None:
        given["maxBudgetUsd"] = limits.max_cost_usd
    return {"claudeCode": {"options": given}}


def agent_info(name: str, environment: Mapping[str, str], options: RuntimeOptions) -> ModelInfo:
    """Whether an agent is there; `environment` is what it may see. Looks at the disk."""
    try:
        program = program_of(name, options, environment)
    except RuntimeMissing as missing:
        return ModelInfo(name, name, usable=False, reason=missing.message)
    where = shown(program[0], environment.get("HOME", ""))
    keys = [key for key in options.inherit if key in environment]
    login = f"keys {', '.join(keys)}" if keys else "its own login"
    return ModelInfo(name, name, usable=True, source=f"{where}, {login}")
