"""What MemoryStores keep, and which of them lives and owns what."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agent_host.core.model import JsonObject
from agent_host.core.permission import Question
from agent_host.core.records import (
    EditRecord,
    RunRecord,
    SessionQuery,
    SessionRecord,
    StoredDelta,
)
from agent_host.store.transfer import Exported, HistoryItem

LAPSE_SECONDS = 15.0


@dataclass
class Shelf:
    """What is stored."""

    sessions: dict[str, SessionRecord] = field(default_factory=dict)
    runs: dict[str, RunRecord] = field(default_factory=dict)
    runners: dict[str, str] = field(default_factory=dict)
    deltas: dict[str, list[StoredDelta]] = field(default_factory=dict)
    history: dict[str, list[HistoryItem]] = field(default_factory=dict)
    questions: dict[tuple[str, str], Question] = field(default_factory=dict)
    grants: dict[str, list[JsonObject]] = field(default_factory=dict)
    edits: dict[str, EditRecord] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    leases: dict[str, str] = field(default_factory=dict)
    heartbeats: dict[str, float] = field(default_factory=dict)
    watchers: list[tuple[str, asyncio.Queue[str]]] = field(default_factory=list)

    def lives(self, host: str | None, now: float) -> bool:
        heard = self.heartbeats.get(host or "")
        return heard is not None and now - heard <= LAPSE_SECONDS

    def elsewhere(self, session_id: str, host: str, now: float) -> bool:
        owner = self.leases.get(session_id)
        return owner is not None and owner != host and self.lives(owner, now)

    def take(self, session_id: str, host: str, now: float) -> str:
        if self.elsewhere(session_id, host, now):
            return "refused"
        still = self.leases.get(session_id) in (host, f"-{host}")
        self.leases[session_id] = host
        for run in self.runs_of(session_id):
            if self.runners.get(run.run_id) != host:
                self._interrupt(run.run_id, now)
        return "still" if still else "anew"

    def bury(self, now: float) -> None:
        """Drop what hosts that are gone own, and interrupt what they ran."""
        live = {key: host for key, host in self.leases.items() if self.lives(host.lstrip("-"), now)}
        self.leases = live
        for run_id, host in self.runners.items():
            if not self.lives(host, now):
                self._interrupt(run_id, now)

    def runs_of(self, session_id: str) -> list[RunRecord]:
        return [run for run in self.runs.values() if run.session_id == session_id]

    def fits(self, session: SessionRecord, query: SessionQuery) -> bool:
        if query.workspace not in (None, session.workspace):
            return False
        prompts = [part for run in self.runs_of(session.session_id) for part in run.prompt]
        texts = [session.title, *(getattr(part, "text", "") for part in prompts)]
        words = query.text.casefold().split()
        return all(any(word in text.casefold() for text in texts) for word in words)

    def page(
        self, session_id: str, begin: tuple[int, int], limit: int
    ) -> tuple[list[StoredDelta], list[RunRecord], tuple[int, int], bool]:
        """Deltas after number `begin[1]` of run number `begin[0]`, and the place after them."""
        run_number, number = begin
        deltas: list[StoredDelta] = []
        begun: list[RunRecord] = []
        for index, run in enumerate(self.runs_of(session_id), 1):
            if index < run_number:
                continue
            if len(deltas) >= limit or len(begun) >= limit:
                return deltas, begun, (run_number, number), True
            if index > run_number:
                begun.append(run)
                run_number, number = index, 0
            rest = self.deltas[run.run_id][number:]
            fitting = rest[: limit - len(deltas)]
            deltas += fitting
            number += len(fitting)
            if len(fitting) < len(rest):
                return deltas, begun, (run_number, number), True
        return deltas, begun, (run_number, number), False

    def remove(self, session_id: str) -> None:
        for run in self.runs_of(session_id):
            del self.runs[run.run_id], self.deltas[run.run_id]
        self.questions = {k: q for k, q in self.questions.items() if q.session_id != session_id}
        self.edits = {k: e for k, e in self.edits.items() if e.session_id != session_id}
        named = {e.before_sha256 for e in self.edits.values()}
        named |= {e.after_sha256 for e in self.edits.values()}
        self.blobs = {key: data for key, data in self.blobs.items() if key in named}
        for of_session in (self.sessions, self.history, self.grants, self.leases):
            of_session.pop(session_id, None)

    def copy_runs(
        self, runs: list[RunRecord], forked: SessionRecord, new_id: Callable[[], str]
    ) -> None:
        """Put copies of the parent's runs into its fork, with what was remembered by then."""
        ids = {run.run_id: new_id() for run in runs}
        for run in runs:
            copy_id = ids[run.run_id]
            self.runs[copy_id] = replace(run, run_id=copy_id, session_id=forked.session_id)
            self.deltas[copy_id] = [
                replace(delta, run_id=copy_id, session_id=forked.session_id)
                for delta in self.deltas[run.run_id]
            ]
        kept = self.history.setdefault(forked.session_id, [])
        for item in self.history.get(forked.parent_session or "", []):
            if item.run_id is not None and item.run_id not in ids:
                break
            kept.append(replace(item, run_id=ids.get(item.run_id or "")))

    def add_exported(self, exported: Exported, new_id: Callable[[], str]) -> SessionRecord:
        session = exported.session
        if session.session_id in self.sessions:
            session = replace(session, session_id=new_id())
        self.sessions[session.session_id] = session
        ids = {r.run_id: new_id() if r.run_id in self.runs else r.run_id for r in exported.runs}
        for run in exported.runs:
            copy_id = ids[run.run_id]
            self.runs[copy_id] = replace(run, run_id=copy_id, session_id=session.session_id)
            self.deltas[copy_id] = []
        for run_id, row in exported.events:
            self.deltas[ids[run_id]].append(
                StoredDelta(
                    session_id=session.session_id,
                    run_id=ids[run_id],
                    seq=row.seq,
                    through=row.through,
                    origin=row.origin,
                    delta=row.delta,
                    at=row.at,
                )
            )
        self.history[session.session_id] = [
            replace(item, run_id=ids.get(item.run_id or "")) for item in exported.history
        ]
        return session

    def _interrupt(self, run_id: str, now: float) -> None:
        run = self.runs.get(run_id)
        if run is not None and run.status == "running":
            self.runs[run_id] = replace(run, status="interrupted", ended=now)


class Ids:
    def __init__(self, queue: "asyncio.Queue[str]") -> None:
        self._queue = queue

    def __aiter__(self) -> "Ids":
        return self

    async def __anext__(self) -> str:
        return await self._queue.get()
