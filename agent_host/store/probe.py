"""Whether the place of a store can be reached, for those who look for a fault. Changes nothing."""

from pathlib import Path
from urllib.parse import urlsplit

from agent_host.store.failure import DatabaseFailed


def shown(where: str | Path) -> str:
    """The place for a person to read: without user, password and options."""
    if isinstance(where, Path):
        return str(where)
    try:
        parts = urlsplit(where)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    except ValueError:
        return "an address that is not understood"


def trouble(where: str | Path) -> str | None:
    """Why a database can't be reached; None if it can. A file is not looked at."""
    from agent_host.store.engine import Database

    if isinstance(where, Path):
        return None
    try:
        database = Database(where)
        with database.read():
            pass
        database.close()
    except DatabaseFailed as failure:
        return failure.for_user().message
    return None
