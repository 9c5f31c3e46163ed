"""Sessions kept in SQLite or PostgreSQL: see sql_store.py first, then target.py.

Importing this costs nothing: the database's library is imported with the first use, on a thread.
"""

from agent_host.store.sql_store import SqlStore

__all__ = ["SqlStore"]
