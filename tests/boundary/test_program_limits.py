"""Programs that do not keep to the limits that they were given: the host ends them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_host.core.events import Ended
from agent_host.core.model import Limits
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from tests.boundary.claude_support import fake
from tests.boundary.test_acp import NAME as ACP
from tests.boundary.test_acp import agent
from tests.fakes import Story
from tests.session.stage import asked, role, stage
from tests.session.test_agents import call, calling, cast, doing

TURNS, MONEY = Limits(max_turns=3), Limits(max_cost_usd=0.4)


def program(plays: Callable[..., Any], behaviour: str, cwd: Path) -> Story:
    """A runtime's story that is played by a real process in `cwd`."""
    which = plays(behaviour, end_seconds=0.5)
    model = ACP if plays is agent else "claude-code"

    async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
        return await which.run(replace(request, cwd=str(cwd), model=model), sink, gate)

    return story


@pytest.mark.parametrize(
    ("plays", "behaviour", "most", "name", "said"),
    [
        (fake, "never_ends", TURNS, "maxTurns", "Step 4."),
        (fake, "never_ends_behind", MONEY, "maxCostUsd", "Step 1.Step 2."),
        (fake, "answers", MONEY, "maxCostUsd", "Hello."),
        (agent, "never_ends", TURNS, "maxTurns", "Step 4."),
        (agent, "never_ends", MONEY, "maxCostUsd", "Step 2."),
        (agent, "is_dear", MONEY, "maxCostUsd", "Hello."),
    ],
)
async def test_one_that_passes_over_its_limit_ends_with_what_it_has(
    tmp_path: Path, plays: Callable[..., Any], behaviour: str, most: Limits, name: str, said: str
) -> None:
    async with stage(tmp_path / "state") as host:
        host.plays(program(plays, behaviour, tmp_path))
        result = await host.manager.run(asked(limits=most))
        assert (result.status, result.limit) == ("limit", name)
        assert result.output.startswith(said)
        ended = host.told()[-1]
        assert isinstance(ended, Ended)
        assert ended.status == "limit"
        assert (ended.exit_code, ended.signal) != (None, None), "it is gone"


@pytest.mark.parametrize(("plays", "behaviour"), [(fake, "answers"), (agent, "is_dear")])
async def test_one_that_was_called_and_has_overspent_is_no_success(
    tmp_path: Path, plays: Callable[..., Any], behaviour: str
) -> None:
    roles = (calling("helper"), role("helper", limits=MONEY))
    async with stage(tmp_path / "state", roles=roles) as host:
        lead, results = doing(call("helper"))
        cast(host, lead=lead, helper=program(plays, behaviour, tmp_path))
        result = await host.manager.run(asked(role="lead"))
        assert result.status == "completed"
        assert [each.status for each in results] == ["failed"]
        assert "limit maxCostUsd" in results[0].text
        assert "So far it said:\nHello." in results[0].text
