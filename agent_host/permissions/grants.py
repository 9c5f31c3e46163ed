"""Answers that last: for a session in memory, for a workspace 30 days in the state directory.

Bound to the exact target, directory, role file and sandbox; never kept in the repository. What may
be remembered at all is the engine's decision, not this book's.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import cast

from agent_host.core.errors import InvalidRequest
from agent_host.permissions import paths
from agent_host.permissions.statefile import Identity, exclusive, identify, load, save
from agent_host.permissions.subject import Grant, GrantKey, Scope

LIFETIME = 30 * 24 * 3600.0
_MAX_GRANTS = 1000


@dataclass(frozen=True, slots=True)
class HeldGrants:
    """The grants that hold at one moment."""

    grants: tuple[Grant, ...] = ()

    def find(self, key: GrantKey) -> Grant | None:
        """The grant that covers the key: the same key, or a directory above its target."""
        return next((grant for grant in self.grants if _covers(grant.key, key)), None)


def _covers(granted: GrantKey, wanted: GrantKey) -> bool:
    if granted == wanted:
        return True
    if granted.action != "fs.write" or replace(granted, target=wanted.target) != wanted:
        return False
    return granted.target.endswith(("/", "\\")) and paths.beneath(granted.target, wanted.target)


class GrantBook:
    """The grants of all sessions and workspaces. `clock` gives seconds since the epoch.

    Nothing of the disk is cached, so that what another process revokes is gone at once.
    """

    def __init__(
        self, state_dir: Path, clock: Callable[[], float], new_id: Callable[[], str]
    ) -> None:
        self._directory = state_dir / "grants"
        self._clock = clock
        self._new_id = new_id
        self._of_sessions: dict[str, list[Grant]] = {}
        self.problems: list[str] = []

    def view(self, session_id: str, roots: Sequence[str]) -> HeldGrants:
        """The grants that hold for a session in workspace roots, right now."""
        held = list(self._of_sessions.get(session_id, ()))
        self.problems.clear()
        for root in roots:
            try:
                where = identify(root)
            except OSError:
                continue
            held += self._valid(where)
        return HeldGrants(tuple(held))

    def add(self, key: GrantKey, scope: Scope, *, session_id: str, root: str, role: str) -> Grant:
        """Remember an answer; `root` is the workspace root that it was given in.

        Raises OSError or AgentHostError if it can't be kept; then nothing is remembered.
        """
        now = self._clock()
        grant = Grant(self._new_id(), key, scope, role, now)
        if scope == "session":
            self._of_sessions.setdefault(session_id, []).append(grant)
            return grant
        grant = replace(grant, expires=now + LIFETIME)
        where = identify(root)
        with exclusive(self._file(where)):
            kept = [old for old in self._valid(where) if old.key != key]
            self._save(where.path, self._file(where), [*kept[1 - _MAX_GRANTS :], grant])
        return grant

    def list(self) -> tuple[Grant, ...]:
        """All grants that hold: of every session, and of every workspace."""
        held = [grant for grants in self._of_sessions.values() for grant in grants]
        for path in self._files():
            held += self._read(path, None)
        return tuple(held)

    def revoke(self, grant_id: str) -> Grant:
        """Forget a grant; raises InvalidRequest if there is none with that id."""
        for session_id, grants in self._of_sessions.items():
            for grant in grants:
                if grant.id == grant_id:
                    self._of_sessions[session_id] = [old for old in grants if old != grant]
                    return grant
        for path in self._files():
            with exclusive(path):
                grants = self._read(path, None)
                for grant in grants:
                    if grant.id == grant_id:
                        place = str(load(path).data.get("path", ""))
                        self._save(place, path, [old for old in grants if old != grant])
                        return grant
        raise InvalidRequest(f"There is no grant {grant_id!r}; `agent-host grants` lists them.")

    def end_session(self, session_id: str) -> None:
        """Forget what was allowed for a session."""
        self._of_sessions.pop(session_id, None)

    def _file(self, where: Identity) -> Path:
        return self._directory / f"{where.digest}.json"

    def _files(self) -> Iterable[Path]:
        return sorted(self._directory.glob("*.json"))

    def _valid(self, where: Identity) -> Sequence[Grant]:
        return self._read(self._file(where), where)

    def _read(self, path: Path, where: Identity | None) -> Sequence[Grant]:
        stored = load(path)
        if stored.problem is not None:
            self.problems.append(stored.problem)
            return []
        if not stored.data:
            return []
        items = stored.data.get("grants")
        if not isinstance(items, list) or (where and stored.data.get("path") != where.path):
            self.problems.append(f"{path.name} is not used: it is broken")
            return []
        read = [_grant_from(item) for item in cast("list[object]", items)]
        if None in read:
            self.problems.append(f"{path.name}: a grant in it is broken and not used")
        now = self._clock()
        return [grant for grant in read if grant and grant.expires and _is_now(grant, now)]

    def _save(self, place: str, path: Path, grants: Sequence[Grant]) -> None:
        save(path, {"version": 1, "path": place, "grants": [asdict(grant) for grant in grants]})


def _is_now(grant: Grant, now: float) -> bool:
    """Whether the grant holds: a clock that was set back does not make it last longer."""
    return grant.expires is not None and now < grant.expires <= now + LIFETIME


def _grant_from(item: object) -> Grant | None:
    if not isinstance(item, Mapping):
        return None
    fields = cast("Mapping[str, object]", item)
    key = fields.get("key")
    if not isinstance(key, Mapping) or fields.get("scope") != "workspace":
        return None
    texts = cast("Mapping[str, object]", key)
    names = ("action", "target", "role_sha256")
    required = [texts.get(name) for name in names]
    optional = [texts.get(name) for name in ("cwd", "sandbox", "content")]
    times = [fields.get(name) for name in ("created", "expires")]
    labels = [fields.get(name) for name in ("id", "role")]
    action, target, role_sha256 = _texts(required)
    grant_id, role = _texts(labels)
    cwd, sandbox, content = _texts(optional)
    created, expires = (
        float(time) if isinstance(time, int | float) and not isinstance(time, bool) else None
        for time in times
    )
    if not (action and target and role_sha256 and grant_id and created and expires):
        return None
    if any(value is not None and not isinstance(value, str) for value in optional):
        return None
    found = GrantKey(action, target, role_sha256, cwd, sandbox, content)
    return Grant(grant_id, found, "workspace", role or "", created, expires)


def _texts(values: Sequence[object]) -> list[str | None]:
    return [value if isinstance(value, str) else None for value in values]


def described(grant: Grant) -> str:
    """A grant on one line, for people who decide whether to keep it."""
    place = f" in {grant.key.cwd}" if grant.key.cwd else ""
    target = grant.key.target
    match grant.key.action:
        case "terminal.run":
            what = f"run {target}{place}"
        case "fs.write":
            what = f"change files in {target}"
        case action:
            what = f"{action} {target}"
    return json.dumps(f"{grant.role}: {what}", ensure_ascii=True)[1:-1]
