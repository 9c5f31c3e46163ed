"""Reads `mcpServers`, the same in the settings and in a workspace's file.

A server with anything wrong is left out whole: half of a configuration is another program. Not
here: whether a workspace's servers are used (app/workspace_rules.py).
"""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from agent_host.core.external import CALL_SECONDS, START_SECONDS, VARIABLE, ServerConfig
from agent_host.fields.reader import Fields
from agent_host.settings.values import environment_of, words_of

KEY = "mcpServers"
KINDS = ("stdio", "http", "streamable-http")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NOT_THEIRS = (
    "is not for a workspace's file: a folder must not be given what is in your environment."
)


def servers_of(
    source: Fields, where: str, *, root: str | None = None
) -> Mapping[str, ServerConfig]:
    """The servers by name. `root`: the workspace folder whose file it is; None: the user's own."""
    block = source.mapping(KEY)
    found: dict[str, ServerConfig] = {}
    for name, value in block.rest().items():
        before = len(block.problems)
        if not _NAME.fullmatch(name):
            block.report(
                name,
                "can't be the name of a server: up to 32 letters, digits, `-` and `_`, the first"
                " of them a letter.",
            )
            continue
        place = f"{where}:{value.line}" if value.line else where
        server = _server(name, block.mapping(name), place, root)
        if len(block.problems) == before:
            found[name] = server
    return MappingProxyType(found)


def _server(name: str, source: Fields, where: str, root: str | None) -> ServerConfig:
    kind = source.choice("type", KINDS)
    command = words_of(source, "command")
    args = tuple(str(word.value) for word in source.texts("args"))
    url = source.text("url")
    enabled = source.flag("enabled")
    server = ServerConfig(
        name,
        where,
        command=(*command, *args),
        env=MappingProxyType(environment_of(source.mapping("env"))),
        inherit=words_of(source, "inherit"),
        cwd=_folder(source, root),
        url=url,
        headers=MappingProxyType(_headers(source.mapping("headers"))),
        timeout=source.positive("timeout") or CALL_SECONDS,
        start_timeout=source.positive("startTimeout") or START_SECONDS,
        enabled=True if enabled is None else enabled,
        root=root,
    )
    if source.source.fields is not None:  # else that is reported
        _check(source, server, kind, has_command=bool(command))
    source.finish()
    return server


def _check(source: Fields, server: ServerConfig, kind: str | None, *, has_command: bool) -> None:
    if has_command == (server.url is not None):
        source.report(None, "needs either a `command` or a `url`, and not both.")
    elif kind is not None and (kind == "stdio") != has_command:
        source.report(
            "type", f"is {kind}, which needs a {'command' if kind == 'stdio' else 'url'}."
        )
    if server.url is not None:
        _check_address(source, server.url)
        for key in ("args", "env", "inherit", "cwd"):
            if source.get(key) is not None:
                source.report(key, "is for servers with a `command`.")
    elif server.headers:
        source.report("headers", "is for servers with a `url`.")
    if server.root is not None:
        _check_theirs(source, server)


def _check_theirs(source: Fields, server: ServerConfig) -> None:
    if server.inherit:
        source.report("inherit", _NOT_THEIRS)
    for key, texts in (("env", server.env), ("headers", server.headers)):
        if any(VARIABLE.search(text) for text in texts.values()):
            source.report(key, f"holds `${{...}}`, which {_NOT_THEIRS}")


def _check_address(source: Fields, url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        good, parts = False, urlsplit("")
    if not good:
        source.report("url", "must be an address such as `https://mcp.example.com/mcp`.")
    elif parts.username or parts.password:
        source.report("url", "must hold no name or password; use `headers`.")
    elif parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        source.report(
            "url", "must begin with `https://`: what is sent must not be read on the way."
        )


def _folder(source: Fields, root: str | None) -> str | None:
    given = source.text("cwd")
    if given is None:
        return None
    path = Path(given).expanduser()
    if not path.is_absolute():
        if root is None:
            return source.report("cwd", "must be the full path of a folder.")
        path = Path(root, path)
    return str(path)


def _headers(source: Fields) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in source.rest().items():
        text = value.value
        if not _HEADER.fullmatch(name):
            source.report(name, "can't be the name of a header.")
        elif isinstance(text, str) and text.isprintable() and text.isascii():
            headers[name] = text
        else:
            source.report(name, "must be one line of plain text (put it in quotes).")
    return headers
