"""Whether a person trusts a workspace, and the question that says what it means.

Remembered by true path and inode in the state directory, never in the repository: a folder that
was swapped for another is not trusted, nor one that would start a program that was not shown.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import cast

from agent_host.core.permission import Option, Question
from agent_host.permissions.statefile import Identity, exclusive, identify, load, save
from agent_host.permissions.visible import line, visible, visible_block

_PATH_LENGTH = 300
_MAX_LISTED = 20
_STARTED = "MCP server "


class TrustBook:
    """The workspaces that are trusted. `clock` gives seconds since the epoch.

    `starts` gives the digests of the programs that a folder has started, as its files are now.
    """

    def __init__(
        self, state_dir: Path, clock: Callable[[], float], starts: Callable[[str], Collection[str]]
    ) -> None:
        self._file = state_dir / "trust.json"
        self._clock = clock
        self.starts = starts
        self.problems: list[str] = []

    def trusted(self, root: str) -> bool:
        """Whether this very directory is trusted; False whenever that can't be known."""
        try:
            where = identify(root)
        except OSError:
            return False
        entry = self._entries().get(where.digest)
        return _is_same(entry, where) and _known(entry).issuperset(self.starts(root))

    def trust(self, root: str, starts: Collection[str]) -> None:
        """Trust a directory, and that it starts these programs: those that the person was shown.

        Raises OSError or AgentHostError if it can't be remembered.
        """
        where = identify(root)
        entry: Mapping[str, object] = {
            "path": where.path,
            "device": where.device,
            "inode": where.inode,
            "starts": sorted(starts),
        }
        with exclusive(self._file):
            self._save({**self._entries(), where.digest: {**entry, "since": self._clock()}})

    def forget(self, root: str) -> bool:
        """Trust a directory no longer, nor what was there under this path; False: it was not."""
        try:
            path = identify(root).path
        except OSError:
            path = root
        with exclusive(self._file):
            entries = self._entries()
            kept = {name: entry for name, entry in entries.items() if entry.get("path") != path}
            self._save(kept)
        return len(kept) < len(entries)

    def list(self) -> tuple[str, ...]:
        """The paths that are trusted."""
        return tuple(sorted(str(entry.get("path")) for entry in self._entries().values()))

    def _entries(self) -> dict[str, Mapping[str, object]]:
        self.problems.clear()
        stored = load(self._file)
        if stored.problem is not None:
            self.problems.append(stored.problem)
        trusted = stored.data.get("trusted", {})
        if not isinstance(trusted, Mapping):
            self.problems.append(f"{self._file.name} is not used: it is broken")
            return {}
        return {
            str(name): cast("Mapping[str, object]", entry)
            for name, entry in cast("Mapping[object, object]", trusted).items()
            if isinstance(entry, Mapping)
        }

    def _save(self, entries: Mapping[str, Mapping[str, object]]) -> None:
        save(self._file, {"version": 1, "trusted": entries})


def _is_same(entry: Mapping[str, object] | None, where: Identity) -> bool:
    if entry is None:
        return False
    known = (entry.get("path"), entry.get("device"), entry.get("inode"))
    return known == (where.path, where.device, where.inode)


def _known(entry: Mapping[str, object] | None) -> set[object]:
    """The programs that were shown when the folder was trusted."""
    starts = entry.get("starts") if entry else None
    return set(cast("list[object]", starts)) if isinstance(starts, list) else set()


def trust_question(
    root: str, ignored: Sequence[str], *, session_id: str, run_id: str, call_id: str
) -> Question:
    """The question whether to trust a workspace; `ignored` names what it would bring in."""
    place = line(root, _PATH_LENGTH)
    title = (
        f"Do you trust {place}? Agents may then change files and run commands there"
        " (each is still asked for), and its own roles, rules and tool servers are used."
    )
    return Question(
        session_id,
        run_id,
        call_id,
        title,
        _detail(root, ignored),
        (
            Option("deny", "Don't trust", "deny"),
            Option("trust", f"Allow: trust {line(root, 60)}", "allowWorkspace"),
            # Editors that show the title alone would hide what the folder brings.
            *((Option("show", "Show", "show"),) if ignored else ()),
            Option("stop", "Stop", "stop"),
        ),
    )


def _detail(root: str, ignored: Sequence[str]) -> str:
    # What would be started is shown whole, however long: what is cut out may be the point of it.
    started = [name for name in ignored if name.startswith(_STARTED)]
    read = [name for name in ignored if not name.startswith(_STARTED)]
    shown = [*map(visible, started), *(line(name, 120) for name in read[:_MAX_LISTED])]
    listed = [f"- `{name.replace('`', '')}`" for name in shown]
    if len(read) > _MAX_LISTED:
        listed.append(f"- and {len(read) - _MAX_LISTED} more")
    brings = "\n".join(listed) or "- nothing that was found"
    return (
        f"Trust this folder?\n\n```\n{visible_block(root)}\n```\n\n"
        "Until you do, agents can only read, list, search and open files in it.\n\n"
        "If you trust it:\n"
        "- agents may change files and run commands there, as far as you allow each;\n"
        "- commands run what the folder holds: its scripts, tests and build files;\n"
        "- what it brings for agents is used: its rules can be stricter, never looser, and\n"
        "  its MCP servers are programs that are started:\n\n"
        f"{brings}\n\n"
        "Trust only folders whose authors you trust. It is remembered for this very folder, and "
        "asked again before it starts another program."
    )
