"""What an editor is told of sessions that it follows: nothing twice, nothing after it has left."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_host.core.errors import InvalidRequest, SessionNotFound
from agent_host.core.events import Ended, Started
from agent_host.core.records import StoredDelta
from agent_host.session.follows import Follows
from tests.fakes_shelf import Shelf
from tests.session.stage import Stage, asked, stage
from tests.session.test_steer import Turns, begun


class Outlet:
    """An editor that keeps what it is told; it reads as much as it is let."""

    def __init__(self, host: Stage) -> None:
        self.host = host
        self.told: list[StoredDelta] = []
        self.gone: list[tuple[str, str]] = []
        self.changed = asyncio.Event()

    def tell(self, stored: StoredDelta) -> None:
        self.told.append(stored)
        self.changed.set()

    def left(self, session_id: str, reason: str) -> None:
        self.gone.append((session_id, reason))
        self.changed.set()

    def is_told(self, run_id: str) -> bool:
        return self.host.manager.has_begun(run_id)

    def backlog(self) -> int:
        return 0

    def on_drained(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    def kinds(self) -> list[type]:
        return [type(each.delta) for each in self.told]


async def test_runs_elsewhere_are_told_and_own_ones_left_out(tmp_path: Path) -> None:
    shelf = Shelf()
    async with (
        stage(tmp_path / "1", shelf=shelf, name="x") as one,
        stage(tmp_path / "2", shelf=shelf, name="y") as two,
        asyncio.TaskGroup() as tasks,
    ):
        outlet = Outlet(two)
        follows = Follows(two.store, tasks, outlet)
        await two.manager.run(asked(session_id="s", run_id="own"))
        turns = Turns()
        one.plays(turns)
        run = tasks.create_task(one.manager.run(asked(session_id="s", run_id="theirs")))
        await begun(one, 1)
        attached = await follows.attach("s", None, None)
        assert attached.run_id == "theirs"
        assert {each.run_id for each in outlet.told} == {"theirs"}
        assert outlet.kinds()[0] is Started
        turns.go.put_nowait("end")
        await run
        await outlet.until(lambda: Ended in outlet.kinds())
        assert [each.seq for each in outlet.told] == list(range(1, len(outlet.told) + 1))
        assert follows.detach("s")
        assert not follows.detach("s")
        count = len(outlet.told)
        await one.run(session_id="s")
        again = await follows.attach("s", attached.cursor, None)
        assert again.run_id is None
        assert len({(each.run_id, each.seq) for each in outlet.told}) > count
        with pytest.raises(SessionNotFound):
            await follows.attach("nope", None, None)
        with pytest.raises(InvalidRequest):
            await follows.attach("s", "no cursor of ours", None)
        await follows.attach("s", again.cursor, None)
        await one.store.delete("s")
        await outlet.until(lambda: bool(outlet.gone))
        assert outlet.gone[0][0] == "s"
        follows.close()
