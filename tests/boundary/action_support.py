"""A workspace and a real action server for it."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_host.actions.client import ActionClient
from agent_host.actions.probe import bubblewraps
from agent_host.actions.sandbox import Sandbox
from agent_host.core.actions import Command, CommandResult
from agent_host.core.errors import ActionFailed
from agent_host.session.sealing import sealed


@dataclass
class Bench:
    """`root` is the workspace; `log` what the client logged; `live` what commands printed."""

    client: ActionClient
    root: Path
    state: Path
    log: list[str] = field(default_factory=list)
    live: list[tuple[str, str]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def path(self, name: str) -> str:
        return str(self.root / name)

    async def sh(self, script: str, **more: object) -> CommandResult:
        return await self.run(Command(str(self.root), script=script, **more))  # type: ignore[arg-type]

    async def run(self, command: Command) -> CommandResult:
        """Run it as if it had just been allowed."""
        return await self.client.run(await allowed(command, self.client), self.hear)

    def hear(self, stream: str, text: str) -> None:
        self.live.append((stream, text))
        self.news.set()

    async def heard(self, text: str) -> None:
        """Wait until a command has printed `text`."""
        async with asyncio.timeout(30):
            while not any(text in each for _, each in self.live):
                self.news.clear()
                await self.news.wait()

    async def fails(self, what, *codes: str) -> ActionFailed:
        """`what` must fail with one of the codes."""
        with pytest.raises(ActionFailed) as caught:
            await what
        assert caught.value.code in codes, (caught.value.code, caught.value.reason)
        return caught.value


@asynccontextmanager
async def action_bench(
    folder: Path, state: Path | None = None, **more: object
) -> AsyncIterator[Bench]:
    root = folder / "workspace"
    root.mkdir(exist_ok=True)
    state = state or folder / "state"
    log: list[str] = []
    client = ActionClient(state_dir=state, roots=[str(root)], log=log.append, **more)  # type: ignore[arg-type]
    async with client.serving():
        yield Bench(client, root, state, log)


async def allowed(command: Command, client: ActionClient) -> Command:
    """The command as it is once it was allowed."""
    await client.start()
    return sealed(command, client.status().sandbox, uuid.uuid4().hex)


def sandbox_of(kind: str) -> Sandbox:
    """The sandbox of that kind, whether or not a better one works here."""
    return Sandbox(kind, bubblewraps()[0] if kind == "bubblewrap" else None)  # type: ignore[arg-type]


def processes(matches: Callable[[str], bool]) -> set[int]:
    """The live processes whose command line matches."""
    found = set()
    for each in Path("/proc").iterdir():
        if not each.name.isdecimal() or int(each.name) == os.getpid():
            continue
        try:
            words = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            state = (each / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z" and matches(words):
            found.add(int(each.name))
    return found


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something that nobody tells: the state of other processes."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
