"""Where the child begins: the action server, its file worker, or the guard of some program."""

import os
import signal
import sys


def main() -> int:
    """argv: `serve`, `files`, `launch` or `guard`, the parent's pid, and what that role wants."""
    # It runs isolated and without site-packages; what it imports lies beside it, and the standard
    # library comes first.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120
    role, *arguments = sys.argv[1:]
    if role == "launch":
        from agent_host.action_server.launch import main as launch

        return launch(arguments)
    if role == "guard":
        from agent_host.action_server.own_program import main as guard

        return guard(arguments)
    parent = int(arguments[0])
    if role == "serve":
        return _guarded(parent)
    _prepare(parent)
    from agent_host.action_server.file_worker import serve as serve_files

    serve_files(*_take_pipes())
    return 0


def _guarded(parent: int) -> int:
    """The action server, below a guard that leaves nothing of it when either of them ends.

    (Bubblewrap alone does not: one that is still setting up may outlive its parent.)
    """
    if sys.platform != "linux":
        _prepare(parent)
        return _serve()
    from agent_host.action_server.guard import fork_guarded, kill_all, wait_for

    child = fork_guarded(parent)
    if child == 0:
        _prepare(os.getppid())
        return _serve()
    # The pipes are the server's; held open here they would hide its end.
    _take_pipes(keep=False)
    code = wait_for(child)
    kill_all()
    return 1 if code is None else code if code >= 0 else 128 - code


def _prepare(parent: int) -> None:
    from agent_host.action_server.linux import die_with_parent

    die_with_parent(parent)
    # The host stops us by closing the pipe; a Ctrl-C in its terminal is not for us.
    # (Not SIG_IGN: every command would inherit that.)
    signal.signal(signal.SIGINT, _ignore)


def _serve() -> int:
    import asyncio

    from agent_host.action_server.limits import limit_this_process
    from agent_host.action_server.server import serve
    from agent_host.action_server.spawn import python_call

    limit_this_process()
    asyncio.run(serve(python_call(), *_take_pipes()))
    return 0


def _ignore(number: int, frame: object) -> None:
    pass


def _take_pipes(*, keep: bool = True) -> tuple[int, int]:
    # What prints by mistake goes to stderr, not between the messages.
    stdin, stdout = (os.dup(0), os.dup(1)) if keep else (-1, -1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return stdin, stdout


if __name__ == "__main__":
    sys.exit(main())
