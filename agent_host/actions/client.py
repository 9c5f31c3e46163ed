"""The port `Actions` over an action server that is started when needed and again when it dies.

A crash costs the calls that were in it; nothing is ever done twice by itself. `supervise` owns
the child and must run in somebody's TaskGroup (or `serving` around everything).
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from agent_host import action_wire as wire
from agent_host.actions.commands import Commands, Surroundings
from agent_host.actions.environment import scrubbed
from agent_host.actions.policy import ActionPolicy
from agent_host.actions.probe import probe
from agent_host.actions.ripgrep import find_ripgrep
from agent_host.actions.sandbox import Sandbox
from agent_host.actions.supervisor import Supervisor
from agent_host.core.actions import (
    ActionServerStatus,
    Command,
    CommandResult,
    FileBytes,
    Listing,
    Match,
    OutputStream,
    PathFacts,
    SearchFound,
    SearchQuery,
)


class ActionClient:
    """See core.ports.Actions. Belongs to one event loop, that of the main thread."""

    def __init__(
        self,
        *,
        state_dir: Path,
        roots: Sequence[str] = (),
        policy: ActionPolicy | None = None,
        environment: Mapping[str, str] | None = None,
        sandbox: Sandbox | None = None,
        clock: Callable[[], float] = time.monotonic,
        log: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`state_dir` takes the trash; `environment` is the host's own (os.environ if None).

        `sandbox` None: the best that works here, tried at the first start.
        """
        self._state_dir = state_dir
        self._roots = tuple(roots)
        self._policy = policy or ActionPolicy()
        self._environment = scrubbed(
            os.environ if environment is None else environment, self._policy.environment
        )
        self._sandbox = sandbox
        self._log = log
        self._supervisor = Supervisor(
            environment=self._environment,
            prepare=self._prepare,
            start=self._start_message,
            clock=clock,
            log=log,
        )
        self._commands = Commands(self._supervisor)

    # ---- life

    async def supervise(self) -> None:
        """Keep an action server alive from the first use to `close`; then nothing of it is left."""
        await self._supervisor.run()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["ActionClient"]:
        """Supervise around a block of code."""
        failure: Exception | None = None
        async with asyncio.TaskGroup() as group:
            group.create_task(self.supervise())
            try:
                yield self
            except Exception as error:  # noqa: BLE001 - raised again outside of the group
                failure = error
            finally:
                await self.close()
        if failure is not None:
            raise failure

    async def start(self) -> None:
        """Have it ready before its first use. Raises ActionFailed if it can't be."""
        await self._supervisor.link()

    async def close(self) -> None:
        """End the action server and everything that it runs; later calls are refused."""
        await self._supervisor.close()

    def status(self) -> ActionServerStatus:
        """How it is right now; `pid` None: not running. The sandbox is unknown before a start."""
        kind = self._sandbox.kind if self._sandbox is not None else "unknown"
        return ActionServerStatus(self._supervisor.pid, self._supervisor.restarts, kind)

    async def set_roots(self, roots: Sequence[str]) -> None:
        """Calls made before end with the old roots. A root that can't be used fails its calls."""
        self._roots = tuple(roots)
        await self._supervisor.restate()

    # ---- files

    async def inspect(self, path: str) -> PathFacts:
        facts = await self._supervisor.call(wire.Inspect(path), wire.Facts)
        return PathFacts(
            path=facts.path,
            true_path=facts.true_path,
            kind=facts.kind,
            size=facts.size,
            sha256=facts.sha256,
            links=facts.links,
            through_link=facts.through_link,
            count=facts.count,
            first_names=facts.first_names,
            identity=facts.identity,
        )

    async def read(self, path: str) -> FileBytes:
        """Follows links that stay inside; compare `true_path` with the one that was judged."""
        content = await self._supervisor.call(wire.Read(path), wire.Content)
        return FileBytes(content.data, content.sha256, len(content.data), content.true_path)

    async def list(self, path: str, *, depth: int = 1, limit: int = 1000) -> Listing:
        found = await self._supervisor.call(wire.ListDirectory(path, depth, limit), wire.Entries)
        return Listing(found.entries, found.omitted)

    async def search(self, query: SearchQuery) -> SearchFound:
        call = wire.Search(
            query.pattern, query.path, query.glob, query.ignore_case, query.limit, query.overlay
        )
        found = await self._supervisor.call(call, wire.Found)
        matches = tuple(Match(hit.path, hit.line, hit.text) for hit in found.hits)
        return SearchFound(matches, found.omitted, found.skipped_secret)

    async def write(self, path: str, data: bytes, *, expected_sha256: str | None) -> str:
        """Refuses links anywhere in `path`: give the true path that was approved.

        Mode and owner are kept; missing directories of a new file are made.
        """
        call = wire.Write(path, data, expected_sha256)
        return (await self._supervisor.call(call, wire.Name, settle=True)).value

    async def create_directory(self, path: str) -> None:
        await self._supervisor.call(wire.CreateDirectory(path), wire.Name, settle=True)

    async def delete(self, path: str, *, identity: str, trash_id: str | None = None) -> str:
        """A link itself is moved, not what it leads to. A root, or what holds one, never is."""
        call = wire.Delete(path, identity, trash_id)
        return (await self._supervisor.call(call, wire.Name, settle=True)).value

    async def restore(self, trash_id: str) -> None:
        await self._supervisor.call(wire.Restore(trash_id), wire.Name, settle=True)

    async def move(self, path: str, to: str, *, identity: str) -> None:
        """A link itself is moved. Refuses a `to` that is taken, and links in the way to it."""
        await self._supervisor.call(wire.Move(path, identity, to), wire.Name, settle=True)

    # ---- commands

    async def run(
        self, command: Command, on_output: Callable[[OutputStream, str], None]
    ) -> CommandResult:
        """`on_output` hears the first MiB as it comes; the result holds head and tail of all."""
        await self.start()
        around = Surroundings(
            self._sandbox or Sandbox("none"),
            self._policy,
            self._roots,
            self._environment,
            self._state_dir,
        )
        return await self._commands.run(command, around, on_output)

    async def _prepare(self) -> None:
        self._sandbox = self._sandbox or await probe(self._environment)
        if self._sandbox.why:
            self._log(f"sandbox: {self._sandbox.kind}: {self._sandbox.why}")

    def _start_message(self) -> wire.Start:
        folders = {name: self._state_dir / name for name in ("trash", "scratch")}
        for folder in folders.values():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return wire.Start(
            roots=self._roots,
            trash=str(folders["trash"]),
            scratch=str(folders["scratch"]),
            rg=find_ripgrep(),
            secret=self._policy.secret,
        )
