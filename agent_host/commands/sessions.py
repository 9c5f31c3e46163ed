"""`agent-host sessions`: kept sessions: listed, shown, followed, exported, renamed, deleted..."""

import argparse
import asyncio
import os
import sys
import uuid
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path

from agent_host.commands import session_host
from agent_host.commands.terminal import Screen, screen_and_side
from agent_host.core.events import Delta, Ended, Text, ToolFinished
from agent_host.core.model import TextPart
from agent_host.core.records import SessionQuery, SessionStore, StoreProblem
from agent_host.session.trail import Trail
from agent_host.settings import load_settings, session_store, state_dirs

Work = Callable[[SessionStore, Screen, argparse.Namespace], Awaitable[None]]


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the sessions, newest first")
    listing.add_argument("words", nargs="*", help="words of the title or of a prompt")
    listing.add_argument("--limit", type=int, default=50, help="how many at most")
    listing.set_defaults(work=_list)
    for name, purpose, work in (
        ("show", "print what was said and done", _show),
        ("follow", "print its last run, also while it goes on elsewhere, until it ends", _follow),
        ("export", "print a session as JSON lines", _export),
        ("delete", "remove a session and everything of it", _delete),
    ):
        action = actions.add_parser(name, help=purpose)
        action.add_argument("session", metavar="ID")
        action.set_defaults(work=work)
    importing = actions.add_parser("import", help="add a session that was exported")
    importing.add_argument("file", type=Path, help="a file of JSON lines")
    importing.set_defaults(work=_import)
    renaming = actions.add_parser("rename", help="give a session another title")
    renaming.add_argument("session", metavar="ID")
    renaming.add_argument("title")
    renaming.set_defaults(work=_rename)
    session_host.configure(actions.add_parser)


def execute(options: argparse.Namespace) -> int:
    if "hosted" in options:
        return asyncio.run(session_host.execute(options.hosted, options))
    return asyncio.run(_execute(options.work, options))


async def _execute(work: Work, options: argparse.Namespace) -> int:
    from agent_host.store import SqlStore

    screen, side = screen_and_side(os.environ)

    def tell(problem: StoreProblem) -> None:
        side.line(problem.message, "red")

    settings, problems = load_settings(os.environ)
    for wrong in problems:
        if wrong.name == "store":
            side.line(wrong.sentence, "red")
    place = session_store(settings, state_dirs(os.environ))
    store = SqlStore(place, new_id=lambda: uuid.uuid4().hex, on_problem=tell)
    try:
        await work(store, screen, options)
    finally:
        await store.close()
    return 0


async def _list(store: SessionStore, screen: Screen, options: argparse.Namespace) -> None:
    query = SessionQuery(text=" ".join(options.words), limit=options.limit)
    page = await store.sessions(query)
    for entry in page.entries:
        when = datetime.fromtimestamp(entry.session.updated, UTC).astimezone()
        screen.line(f"{entry.session.session_id}  {entry.session.title}", "bold")
        state = "runs elsewhere" if entry.elsewhere else entry.status or "empty"
        screen.line(
            f"  {when:%Y-%m-%d %H:%M}  {entry.session.model}  {_count(entry.runs)}  {state}"
        )
    if not page.entries:
        screen.line("There are no sessions.")
    elif page.cursor is not None:
        screen.line("There are more; raise --limit.", "dim")


async def _show(store: SessionStore, screen: Screen, options: argparse.Namespace) -> None:
    cursor = None
    while True:
        page = await store.load(options.session, cursor=cursor)
        prompts = {run.run_id: run.prompt for run in page.runs}
        for stored in page.deltas:
            if stored.seq == 1:
                said = prompts.get(stored.run_id, ())
                words = "\n".join(part.text for part in said if isinstance(part, TextPart))
                screen.line(f"> {words}", "cyan")
                screen.line(f"  run {stored.run_id}", "dim")
            _print(screen, stored.delta)
        if not page.more:
            return
        cursor = page.cursor


async def _follow(store: SessionStore, screen: Screen, options: argparse.Namespace) -> None:
    runs = await store.runs(options.session)
    cursor = await store.place(options.session, runs[-1].run_id, 0) if runs else None
    async with aclosing(Trail(store, options.session, cursor=cursor).follow()) as hearing:
        async for heard in hearing:
            for stored in heard.deltas:
                _print(screen, stored.delta)
            if heard.all and heard.run_id is None:
                return


def _print(screen: Screen, delta: Delta) -> None:
    match delta:
        case Text(text):
            screen.write(text)
        case ToolFinished(_, status, summary):
            screen.line(f"  {status}: {summary}", "dim")
        case Ended(status, reason):
            screen.line(f"[{status}{f': {reason}' if reason else ''}]", "dim")
        case _:
            pass


async def _export(store: SessionStore, screen: Screen, options: argparse.Namespace) -> None:
    del screen
    async for line in store.export(options.session):
        sys.stdout.write(line.rstrip("\n") + "\n")


async def _import(store: SessionStore, screen: Screen, options: argparse.Namespace) -> None:
    with options.file.open(encoding="utf-8") as lines:
        record = await store.import_session(lines)
    screen.line(f"imported as {record.session_id}")


async def _delete(store: SessionStore, screen: Screen, options: argparse.Namespace) -> None:
    from agent_host.store.results import ResultFiles

    await store.delete(options.session)
    await ResultFiles(state_dirs(os.environ).state, lambda: "").forget(options.session)
    screen.line("deleted")


async def _rename(store: SessionStore, screen: Screen, options: argparse.Namespace) -> None:
    await store.rename(options.session, options.title)
    screen.line("renamed")


def _count(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"
