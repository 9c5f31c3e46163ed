"""Which host owns which session: leases that lapse with their host's heartbeat.

Taking a session over marks the runs of its former owner `interrupted` in the same transaction, and
from then on that owner can't write to them. A lease that was released names who had it last.
"""

import time
from collections.abc import Callable, Iterable
from typing import Literal

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, text, update

from agent_host.core.errors import SessionBusy, SessionNotFound
from agent_host.store.engine import Database
from agent_host.store.host import Host, is_alive
from agent_host.store.schema import changes, hosts, leases, runs, sessions

Clock = Callable[[], float]
Hold = Literal["still", "anew", "refused"]
"""Owned, and nobody else had it since this host did; owned; another host that lives owns it."""

_FORGET_SECONDS = 86_400.0


class Ownership:
    """The leases of the host `me`. Each method works inside the caller's transaction.

    `clock` None: the machine's clock for SQLite, the server's for PostgreSQL, because the clocks of
    several machines differ.
    """

    def __init__(self, database: Database, me: Host, clock: Clock | None) -> None:
        self.me = me
        self._database = database
        self._clock = clock or (time.time if database.is_sqlite else None)

    def now(self, connection: Connection) -> float:
        """Seconds since the epoch by the clock that heartbeats are measured with."""
        if self._clock is not None:
            return self._clock()
        statement = text("SELECT extract(epoch FROM clock_timestamp())::double precision")
        return float(connection.execute(statement).scalar_one())

    def enter(self, connection: Connection) -> None:
        """Make this host known, and put away what hosts that are gone have left."""
        now = self.now(connection)
        entry = {"place": self.me.place, "pid": self.me.pid, "started": self.me.started}
        connection.execute(
            insert(hosts).values(host_id=self.me.host_id, heartbeat=now, batch=0, **entry)
        )
        self._bury(connection, now)

    def beat(self, connection: Connection, *, batch: int | None = None) -> bool:
        """Say that this host lives; False if that `batch` was stored before."""
        values: dict[str, object] = {"heartbeat": self.now(connection)}
        statement = update(hosts).where(hosts.c.host_id == self.me.host_id)
        if batch is not None:
            statement = statement.where(hosts.c.batch < batch)
            values["batch"] = batch
        if connection.execute(statement.values(**values)).rowcount:
            return True
        known = select(hosts.c.host_id).where(hosts.c.host_id == self.me.host_id)
        if connection.execute(known).first() is not None:
            return False
        self.enter(connection)
        return batch is None or self.beat(connection, batch=batch)

    def alive(self, connection: Connection) -> frozenset[str]:
        """The ids of the hosts that must be taken for alive, this one included."""
        now = self.now(connection)
        return frozenset(host.host_id for host in _all(connection) if self._lives(host, now))

    def owned(self, connection: Connection) -> frozenset[str]:
        """The sessions of this host."""
        mine = select(leases.c.session_id).where(leases.c.host_id == self.me.host_id)
        return frozenset(connection.execute(mine).scalars())

    def acquire(self, connection: Connection, session_id: str) -> bool:
        """Own a session; False if another host may have had it since. Raises SessionNotFound,
        SessionBusy.
        """
        exists = select(sessions.c.session_id).where(sessions.c.session_id == session_id)
        if connection.execute(exists).first() is None:
            raise SessionNotFound("There is no session of that id.", sessionId=session_id)
        hold = self.take(connection, session_id)
        if hold == "refused":
            raise SessionBusy(
                "The session is running in another editor. Wait for that run or stop it there; "
                "agent/session/attach shows it here.",
                sessionId=session_id,
                elsewhere=True,
            )
        return hold == "still"

    def take(self, connection: Connection, session_id: str) -> Hold:
        """Own a session that exists, unless another live host owns it."""
        # A lease is worth what its host's heartbeat is: that of an idle host may be old.
        self.beat(connection)
        mine = {"session_id": session_id, "host_id": self.me.host_id}
        if self._database.add_once(connection, leases, mine):
            self._interrupt(connection, [session_id])
            return "anew"
        lease = select(leases.c.host_id).where(leases.c.session_id == session_id)
        owner = connection.execute(lease.with_for_update()).scalar_one()
        if owner == self.me.host_id:
            return "still"
        if owner in self.alive(connection):
            return "refused"
        connection.execute(
            update(leases).where(leases.c.session_id == session_id).values(host_id=self.me.host_id)
        )
        self._interrupt(connection, [session_id])
        return "still" if owner == _free(self.me.host_id) else "anew"

    def release(self, connection: Connection, session_id: str) -> None:
        """Let go of a session."""
        mine = (leases.c.session_id == session_id, leases.c.host_id == self.me.host_id)
        values = {"host_id": _free(self.me.host_id)}
        connection.execute(update(leases).where(*mine).values(values))

    def leave(self, connection: Connection) -> None:
        """Take this host away; runs that it did not end are `interrupted`."""
        _drop_leases(connection, self.me.host_id)
        mine = (runs.c.status == "running", runs.c.host_id == self.me.host_id)
        connection.execute(
            update(runs).where(*mine).values(status="interrupted", ended=self.now(connection))
        )
        connection.execute(delete(hosts).where(hosts.c.host_id == self.me.host_id))

    def note_change(self, connection: Connection, session_ids: Iterable[str]) -> None:
        """Let those who watch know, once this transaction is committed."""
        for session_id in session_ids:
            if self._database.is_sqlite:
                self._stamp(connection, session_id)
            else:
                payload = f"{self.me.host_id} {session_id}"[:7000]
                connection.execute(select(func.pg_notify(CHANNEL, payload)))

    # ---- of others

    def _lives(self, host: Host, now: float) -> bool:
        return host.host_id == self.me.host_id or is_alive(host, self.me.place, now)

    def _bury(self, connection: Connection, now: float) -> None:
        """Interrupt the runs and drop the leases of hosts that are gone."""
        gone = [host for host in _all(connection) if not self._lives(host, now)]
        for host in gone:
            theirs = (runs.c.status == "running", runs.c.host_id == host.host_id)
            touched = connection.execute(select(runs.c.session_id).where(*theirs)).scalars().all()
            connection.execute(
                update(runs).where(*theirs).values(status="interrupted", ended=host.heartbeat)
            )
            _drop_leases(connection, host.host_id)
            self.note_change(connection, set(touched))
        long_ago = hosts.c.heartbeat < now - _FORGET_SECONDS
        connection.execute(delete(hosts).where(long_ago, hosts.c.host_id != self.me.host_id))

    def _interrupt(self, connection: Connection, session_ids: list[str]) -> None:
        others = (
            runs.c.session_id.in_(session_ids),
            runs.c.status == "running",
            runs.c.host_id.is_distinct_from(self.me.host_id),
        )
        connection.execute(
            update(runs).where(*others).values(status="interrupted", ended=self.now(connection))
        )

    def _stamp(self, connection: Connection, session_id: str) -> None:
        following: ColumnElement[int] = select(
            func.coalesce(func.max(changes.c.stamp), 0) + 1
        ).scalar_subquery()
        statement = self._database.insert(changes).values(
            session_id=session_id, stamp=following, host_id=self.me.host_id
        )
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=[changes.c.session_id],
                set_={"stamp": following, "host_id": self.me.host_id},
            )
        )


CHANNEL = "agent_host_sessions"
"""What changes are told on by PostgreSQL: the host's id, a space, the session's id."""


def _free(host_id: str) -> str:
    """What a lease says that this host has released: the id of no host."""
    return f"-{host_id}"


def _drop_leases(connection: Connection, host_id: str) -> None:
    connection.execute(delete(leases).where(leases.c.host_id.in_([host_id, _free(host_id)])))


def _all(connection: Connection) -> list[Host]:
    rows = connection.execute(select(hosts)).all()
    return [Host(r.host_id, r.place, r.pid, r.started, r.heartbeat) for r in rows]
