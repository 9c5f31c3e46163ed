"""What a run came to for each file and directory, from the edits that were written down. Pure.

Edits of one file are one step when each began where the one before had ended; where somebody else
changed the file in between, there are several. What was done before a move and after it stays
apart, since the names mean other files then.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from agent_host.core.records import EditRecord
from agent_host.core.uris import beneath


@dataclass(frozen=True, slots=True)
class Step:
    """From one content to another; a hash is None where there was no file."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class FileNet:
    """`steps` oldest first. `trash_id`: where the first content lies in the trash."""

    uri: str
    steps: tuple[Step, ...]
    trash_id: str | None = None

    @property
    def before(self) -> str | None:
        """The content before the run."""
        return self.steps[0].before

    @property
    def after(self) -> str | None:
        """The content after the run."""
        return self.steps[-1].after


@dataclass(frozen=True, slots=True)
class DirectoryNet:
    """A directory that was made, or (with `trash_id`) put into the trash with all in it.

    `restored`: it was not made empty, but taken out of the trash.
    """

    uri: str
    trash_id: str | None = None
    restored: bool = False


@dataclass(frozen=True, slots=True)
class MoveNet:
    """What was at `uri` and is at `to`; `sha256` of a file's content as it was moved."""

    uri: str
    to: str
    sha256: str | None = None


Net = FileNet | DirectoryNet | MoveNet


def nets_of(edits: Sequence[EditRecord]) -> list[Net]:
    """The nets in the order of the first edits; what failed does not count."""
    found: list[Net] = []
    between: list[EditRecord] = []
    for edit in edits:
        if edit.state == "failed":
            continue
        if edit.moved_to is None:
            between.append(edit)
            continue
        found += _nets(between)
        between = []
        found.append(MoveNet(edit.uri, edit.moved_to, edit.before_sha256))
    return found + _nets(between)


def chosen(nets: Sequence[Net], uris: Collection[str]) -> list[Net]:
    """The nets of these files and directories, under all the names that they have had.

    What lies in a directory that was moved, and is not to be moved back, is found where it is now.
    """
    names = set(uris)
    moves = [net for net in nets if isinstance(net, MoveNet)]
    while True:
        more = {name for move in moves if {move.uri, move.to} & names for name in _of(move)}
        if more <= names:
            break
        names |= more
    return [
        _as_named_since(net, nets[n + 1 :], names)
        for n, net in enumerate(nets)
        if not names.isdisjoint(_of(net))
    ]


def is_within(net: Net, folder: str) -> bool:
    """Whether that is about what is, or was, at a URI or beneath it."""
    return any(beneath(name, folder) is not None for name in _of(net))


def _of(net: Net) -> tuple[str, ...]:
    return (net.uri, net.to) if isinstance(net, MoveNet) else (net.uri,)


def _as_named_since(net: Net, later: Sequence[Net], names: set[str]) -> Net:
    """The net under the name that it has now if the moves of its directories are kept."""
    for move in later:
        if isinstance(move, MoveNet) and names.isdisjoint(_of(move)) and is_within(net, move.uri):
            net = _within(net, move)
    return net


def _within(net: Net, move: MoveNet) -> Net:
    def name(uri: str) -> str:
        rest = beneath(uri, move.uri)
        return uri if rest is None else move.to + rest

    match net:
        case FileNet():
            # The trash gives back under the old name only: the kept bytes are put under the new.
            return replace(net, uri=name(net.uri), trash_id=None)
        case DirectoryNet():
            return net if net.trash_id is not None else replace(net, uri=name(net.uri))
        case MoveNet():
            return replace(net, uri=name(net.uri), to=name(net.to))
        case _:
            assert_never(net)


def moved(uri: str, edits: Sequence[EditRecord]) -> str:
    """Where something is after these edits."""
    for edit in edits:
        rest = None if edit.moved_to is None else beneath(uri, edit.uri)
        if edit.moved_to is not None and rest is not None and edit.state != "failed":
            uri = edit.moved_to + rest
    return uri


def _nets(edits: Sequence[EditRecord]) -> list[Net]:
    by_uri: dict[str, list[EditRecord]] = {}
    for edit in edits:
        by_uri.setdefault(edit.uri, []).append(edit)
    found = [_net(of_one) for of_one in by_uri.values()]
    return [net for net in found if net is not None]


def _net(edits: Sequence[EditRecord]) -> Net | None:
    first, last = edits[0], edits[-1]
    is_directory = all(e.before_sha256 is None and e.after_sha256 is None for e in edits)
    if not is_directory:
        return FileNet(first.uri, _steps(edits), _trash(edits))
    if first.kind == "delete":
        return DirectoryNet(first.uri, first.trash_id)
    restored = first.trash_id is not None
    return DirectoryNet(first.uri, restored=restored) if last.kind == "create" else None


def _steps(edits: Sequence[EditRecord]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for edit in edits:
        if steps and steps[-1].after == edit.before_sha256:
            steps[-1] = Step(steps[-1].before, edit.after_sha256)
        else:
            steps.append(Step(edit.before_sha256, edit.after_sha256))
    return tuple(steps)


def _trash(edits: Sequence[EditRecord]) -> str | None:
    """The entry with what was there before the run."""
    wanted = edits[0].before_sha256
    if wanted is None:
        return None
    deleted = (e for e in edits if e.kind == "delete" and e.before_sha256 == wanted)
    return next((edit.trash_id for edit in deleted), None)
