"""What is told of the runtimes that are programs of their own. Blocks: use a thread."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from agent_host.core.model import ModelInfo, RuntimeOptions
from agent_host.runtimes import CLAUDE
from agent_host.runtimes.acp_agents import PREFIX, agent_info
from agent_host.runtimes.claude_info import claude_info


def programs(
    names: Iterable[str],
    environment: Callable[[Sequence[str]], Mapping[str, str]],
    options: Callable[[str], RuntimeOptions],
) -> tuple[ModelInfo, ...]:
    """Where each is; `environment` gives what it may see, the names being those it may besides."""
    found: list[ModelInfo] = []
    for name in names:
        wanted = options(name)
        sees = environment(wanted.inherit)
        if name == CLAUDE:
            found.append(claude_info(sees, wanted))
        elif name.startswith(PREFIX):
            found.append(agent_info(name, sees, wanted))
    return tuple(found)
