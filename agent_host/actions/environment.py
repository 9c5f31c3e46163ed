"""Which of the host's environment variables children may see. Pure.

An allow-list, minus everything that looks like a secret or would make a program run other code.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from agent_host.core.secret_names import is_secret_name

_PASSED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "VIRTUAL_ENV",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "SYSTEMROOT",
)
_STEERING = ("LD_*", "DYLD_*", "PYTHON*", "NODE_OPTIONS", "BASH_ENV", "ENV", "GIT_*")

_FOR_COMMANDS = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
    "GIT_OPTIONAL_LOCKS": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}


def scrubbed(environment: Mapping[str, str], also: Sequence[str] = ()) -> dict[str, str]:
    """What a child may see of `environment`; `also` are further names that the user wants.

    Only absolute folders of PATH are kept: a relative one would look into the workspace.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if name in also
        or (_matches(name, _PASSED) and not is_secret_name(name) and not _matches(name, _STEERING))
    }
    if "PATH" in kept:
        folders = [each for each in kept["PATH"].split(":") if each.startswith("/")]
        kept["PATH"] = ":".join(folders)
    return kept


def for_commands(environment: Mapping[str, str]) -> dict[str, str]:
    """A scrubbed environment, set so that programs neither ask, nor page, nor paint."""
    return {**environment, **_FOR_COMMANDS}


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name.upper(), pattern) for pattern in patterns)
