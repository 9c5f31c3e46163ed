"""The child that acts on the user's machine. Standard library only, no secrets, no policy.

It is only ever spawned (`__main__.py`). server.py routes; the file worker (file_worker.py) does
all that concerns files; commands.py runs commands. What may be done was decided by the host.
"""
