"""Where the child begins: as the action server, as its file worker, or as a command's launcher."""

import os
import signal
import sys


def main() -> int:
    """argv: a role (`serve`, `files`, `launch`), the parent's pid, and what the role wants."""
    # It runs isolated and without site-packages; what it imports lies beside it, and the standard
    # library comes first.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120
    role, *arguments = sys.argv[1:]
    if role == "launch":
        from agent_host.action_server.launch import main as launch

        return launch(arguments)
    from agent_host.action_server.linux import die_with_parent

    die_with_parent(int(arguments[0]))
    # The host stops us by closing the pipe; a Ctrl-C in its terminal is not for us.
    # (Not SIG_IGN: every command would inherit that.)
    signal.signal(signal.SIGINT, _ignore)
    stdin, stdout = _take_pipes()
    if role == "files":
        from agent_host.action_server.file_worker import serve as serve_files

        serve_files(stdin, stdout)
        return 0
    _serve(stdin, stdout)
    return 0


def _serve(stdin: int, stdout: int) -> None:
    import asyncio

    from agent_host.action_server.limits import limit_this_process
    from agent_host.action_server.linux import become_subreaper
    from agent_host.action_server.server import serve
    from agent_host.action_server.spawn import python_call

    become_subreaper()
    limit_this_process()
    asyncio.run(serve(python_call(), stdin, stdout))


def _ignore(number: int, frame: object) -> None:
    pass


def _take_pipes() -> tuple[int, int]:
    # What prints by mistake goes to stderr, not between the messages.
    stdin, stdout = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return stdin, stdout


if __name__ == "__main__":
    sys.exit(main())
