"""`mcpServers`: what is taken, what is refused and where, and whose servers are used."""

from functools import partial
from pathlib import Path

import pytest

from agent_host.app.servers import (
    FolderServers,
    misnamed,
    misnamed_in_settings,
    server_list,
)
from agent_host.app.workspace_rules import FILE, WorkspaceRules
from agent_host.core.external import ServerConfig
from agent_host.core.model import Role
from agent_host.permissions.rules import read_rules
from agent_host.settings import SettingProblem, Settings, load_settings, state_dirs

WHERE = "config.yaml"


def load(tmp_path: Path, text: str, *editor: object) -> tuple[Settings, tuple[SettingProblem, ...]]:
    environ = {"AGENT_HOST_HOME": str(tmp_path)}
    file = state_dirs(environ).config_file
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return load_settings(environ, editor, read_rules)


def test_servers_are_read_with_all_that_can_be_said(tmp_path: Path) -> None:
    settings, problems = load(
        tmp_path,
        """
mcpServers:
  docs:
    command: npx
    args: [-y, "@docs/server"]
    env: {MODE: full, TOKEN: "${DOCS}"}
    inherit: [HTTPS_PROXY]
    cwd: /srv
    timeout: 5
    startTimeout: 2.5
  web: {url: "https://mcp.example.com/mcp", headers: {Authorization: "Bearer ${WEB}"}, type: http}
  gone: {command: [a, b], enabled: false}
""",
    )
    assert problems == ()
    docs, web, gone = settings.mcp_servers.values()
    assert docs == ServerConfig(
        "docs",
        "config.yaml:3",
        command=("npx", "-y", "@docs/server"),
        env={"MODE": "full", "TOKEN": "${DOCS}"},
        inherit=("HTTPS_PROXY",),
        cwd="/srv",
        timeout=5.0,
        start_timeout=2.5,
    )
    assert (web.url, web.how) == ("https://mcp.example.com/mcp",) * 2
    assert (gone.command, gone.enabled) == (("a", "b"), False)
    assert "Bearer" not in repr(settings)
    assert "DOCS" not in repr(docs)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{}", "needs either a `command` or a `url`"),
        ("{command: a, url: 'https://x/'}", "needs either a `command` or a `url`"),
        ("{command: a, type: http}", "`mcpServers.x.type` is http, which needs a url."),
        ("{url: 'https://x/', type: stdio}", "is stdio, which needs a command."),
        ("{url: 'https://x/', type: sse}", "must be one of stdio, http"),
        ("{url: 'https://x/', args: [a]}", "`mcpServers.x.args` is for servers with a `command`."),
        ("{command: a, headers: {A: b}}", "is for servers with a `url`."),
        ("{url: nowhere}", "`mcpServers.x.url` must be an address"),
        ("{url: 'ftp://x/'}", "must be an address"),
        ("{url: 'http://[x/'}", "must be an address"),
        ("{url: 'http://example.com/'}", "must begin with `https://`"),
        ("{url: 'https://me:secret@x/'}", "must hold no name or password"),
        ("{url: 'https://x/', headers: {'A b': c}}", "can't be the name of a header"),
        ("{url: 'https://x/', headers: {A: \"b\\r\\nC: d\"}}", "must be one line"),
        ("{command: a, env: {A-B: b}}", "can't be the name of a variable"),
        ("{command: a, env: {A: 1}}", "must be text"),
        ("{command: a, cwd: here}", "must be the full path of a folder"),
        ("{command: a, timeout: 0}", "must be a number above 0"),
        ("{command: a, comand: b}", "is no known key. Did you mean `command`?"),
        ("[a]", "must be a mapping"),
    ],
)
def test_a_server_with_anything_wrong_is_left_out(tmp_path: Path, text: str, wrong: str) -> None:
    settings, problems = load(tmp_path, f"mcpServers:\n  y: {{command: a}}\n  x: {text}\n")
    assert list(settings.mcp_servers) == ["y"]
    assert len(problems) == 1, problems
    assert wrong in problems[0].sentence
    assert problems[0].sentence.startswith("config.yaml:3: `mcpServers.x")
    assert "secret" not in problems[0].sentence


@pytest.mark.parametrize("name", ["1a", "a.b", "a/b", "a b", "\u00e4", "a" * 33, "a*", "\u001b[1m"])
def test_a_name_is_one_that_rules_and_vendors_can_say(tmp_path: Path, name: str) -> None:
    settings, problems = load(tmp_path, "", {"mcpServers": {name: {"command": "a"}}})
    assert settings.mcp_servers == {}
    assert "can't be the name of a server" in problems[0].sentence


def test_loopback_needs_no_encryption(tmp_path: Path) -> None:
    for host in ("localhost", "127.0.0.1:8000", "[::1]:80"):
        settings, problems = load(tmp_path, f"mcpServers: {{x: {{url: 'http://{host}/mcp'}}}}\n")
        assert (list(settings.mcp_servers), problems) == (["x"], ())


def test_a_later_layer_replaces_a_server_and_a_folder_names_none(tmp_path: Path) -> None:
    settings, problems = load(
        tmp_path,
        "mcpServers: {a: {command: one}, b: {command: two}}\n",
        {"mcpServers": {"a": {"command": "three"}}},
        {"mcpServers": {"evil": {"command": "x"}}},
    )
    assert {name: each.command for name, each in settings.mcp_servers.items()} == {
        "a": ("three",),
        "b": ("two",),
    }
    assert [problem.name for problem in problems] == ["mcpServers"]
    assert "may come with the folder" in problems[0].reason


def test_the_digest_stands_for_what_is_run_and_not_for_how_long(tmp_path: Path) -> None:
    def digest(**changed: object) -> str:
        return ServerConfig("a", **{"command": ("x",), **changed}).digest  # type: ignore[arg-type]

    assert digest() == digest(timeout=1.0, where="elsewhere")
    others = [
        digest(command=("x", "y")),
        digest(env={"A": "b"}),
        digest(inherit=("A",)),
        digest(cwd="/"),
        digest(headers={"A": "b"}),
        digest(root="/w"),
    ]
    assert len({digest(), *others}) == 7


def test_an_address_is_shown_without_what_may_be_a_key() -> None:
    server = ServerConfig("a", url="https://u:p@h.example:8/mcp?key=secret#x")
    assert server.how == "https://h.example:8/mcp"


# ---- what a workspace brings


def brought(root: Path, text: str) -> WorkspaceRules:
    path = root / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return WorkspaceRules(partial(read_rules, narrow_only=True))


def test_a_workspaces_file_names_servers_with_their_place(tmp_path: Path) -> None:
    rules = brought(tmp_path, "mcpServers:\n  own: {command: ./serve, cwd: tools, args: ['a b']}\n")
    found = rules.of(str(tmp_path))
    (server,) = found.servers.values()
    assert found.problems == ()
    assert (server.root, server.cwd) == (str(tmp_path), str(tmp_path / "tools"))
    assert server.where == f"{tmp_path / FILE}:2"
    assert rules.names(str(tmp_path)) == (str(FILE), "MCP server own: ./serve 'a b'")
    (problem,) = rules.unused(str(tmp_path))
    assert problem.reason == (
        "The workspace is not trusted yet, so its rules are not used "
        "(nor are its MCP servers: own)."
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{command: a, inherit: [OPENAI_API_KEY]}", "inherit"),
        ("{command: a, env: {A: 'x${OPENAI_API_KEY}'}}", "env"),
        ("{url: 'https://evil/', headers: {A: '${OPENAI_API_KEY}'}}", "headers"),
    ],
)
def test_a_workspace_gets_nothing_of_the_environment(tmp_path: Path, text: str, key: str) -> None:
    found = brought(tmp_path, f"mcpServers:\n  x: {text}\n").of(str(tmp_path))
    assert found.servers == {}
    (problem,) = found.problems
    assert (problem.line, problem.severity) == (2, "error")
    assert problem.reason.startswith(f"`mcpServers.x.{key}`")


def config(name: str, **fields: object) -> ServerConfig:
    return ServerConfig(name, f"{name}.yaml:1", ("run", name), **fields)  # type: ignore[arg-type]


def test_only_a_trusted_workspace_starts_anything() -> None:
    own = {"a": config("a"), "b": config("b", enabled=False)}
    theirs = {"a": config("a", root="/w"), "c": config("c", root="/w")}
    trusted = server_list(own, (FolderServers("/w", True, theirs),))
    assert [each.name for each in trusted.usable] == ["a", "c"]
    assert trusted.usable[0].root is None
    assert [(each.name, each.state) for each in trusted.unused] == [
        ("b", "disabled"),
        ("a", "ignored"),
    ]
    for folders in ((FolderServers("/w", False, theirs),), ()):
        found = server_list(own, folders)
        assert found.usable == ()
        assert {each.state for each in found.unused} == {"disabled", "ignored"}
        assert all(each.reason and each.remedy for each in found.unused)


# ---- rules and roles that name what there is not


def test_a_rule_that_names_an_unknown_server_is_told_with_its_line(tmp_path: Path) -> None:
    settings, _ = load(
        tmp_path,
        "mcpServers: {docs: {command: a}}\nrules:\n  - deny mcp:doc/x\n  - deny mcp:docs\n"
        "  - ask mcp:d*/x\n  - ask mcp\n  - ask mcp:*\n  - deny *\n",
    )
    assert [rule.action for rule in settings.rules] == [
        "mcp:doc/x",
        "mcp:docs/*",
        "mcp:d*/x",
        "mcp:*",
        "mcp:*",
        "*",
    ]
    (wrong,) = misnamed_in_settings(settings.rules, dict.fromkeys(settings.mcp_servers))
    assert wrong.sentence == (
        "config.yaml:3: `deny mcp:doc/x`: there is no MCP server `doc` (known: docs)."
    )


@pytest.mark.parametrize("action", ["mcp.docs", "mcp__docs__x", "mcps:docs/x", "mcp/docs"])
def test_an_action_that_no_tool_has_is_an_error(action: str) -> None:
    found = read_rules([f"deny {action}"], "r")
    assert found.rules == ()
    assert "`mcp:<server>/<tool>`" in found.problems[0].reason


def test_a_role_that_names_an_unknown_server_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "r.md"
    file.write_text("---\ncapabilities:\n  skills: [fs.read, mcp:docs, mcp:gone]\n---\nGo.\n")
    found = read_rules(["allow mcp:lost/x"], str(file), lines=[7])
    role = Role("r", "", "Go.", str(file), "0", skills=frozenset({"mcp:docs", "mcp:gone"}))
    role = Role(**{**{n: getattr(role, n) for n in role.__slots__}, "rules": found.rules})
    problems = list(misnamed([role], (), {"docs": None}))
    assert [(each.line, each.severity) for each in problems] == [(7, "warning"), (3, "warning")]
    assert "`mcp:gone`: there is no MCP server `gone` (known: docs)." in problems[1].reason


def test_a_rule_that_names_an_unknown_tool_is_told_once_the_tools_are_known(tmp_path: Path) -> None:
    settings, _ = load(
        tmp_path,
        "mcpServers: {docs: {command: a}, b: {command: b}}\n"
        "rules:\n  - deny mcp:docs/serch\n  - deny mcp:docs/del*\n  - ask mcp:b/any\n",
    )
    assert misnamed_in_settings(settings.rules, {"docs": None, "b": None}) == ()
    (wrong,) = misnamed_in_settings(settings.rules, {"docs": ("search", "delete"), "b": None})
    assert wrong.sentence == (
        "config.yaml:3: `deny mcp:docs/serch`: the MCP server `docs` has no tool `serch`."
    )
