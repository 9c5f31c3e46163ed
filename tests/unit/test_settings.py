"""Settings in layers: which wins, what is reported, and that a wrong one never stops the rest."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from agent_host.core.errors import ModelNotFound, NoApiKey
from agent_host.core.model import JsonObject, Limits, RuntimeOptions
from agent_host.credentials import EDITOR, KEYRING, SECRET_VARIABLES, VENDORS, read_credentials
from agent_host.permissions.rules import read_rules
from agent_host.settings import (
    DEFAULT_LIMITS,
    Settings,
    load_settings,
    log_folder,
    session_store,
    split_keys,
    state_dirs,
)


def load(
    home: Path, config: str | None = None, environ: dict[str, str] | None = None, *editor: object
) -> tuple[Settings, list[str]]:
    given = {"AGENT_HOST_HOME": str(home), **(environ or {})}
    if config is not None:
        file = state_dirs(given).config_file
        file.parent.mkdir(parents=True)
        file.write_text(config)
    settings, problems = load_settings(given, editor, read_rules)
    return settings, [problem.sentence for problem in problems]


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    assert load(tmp_path) == (Settings(), [])


def test_each_layer_wins_over_the_one_below(tmp_path: Path) -> None:
    config = "model: openai/file\nrole: file\nruntime: file\ntrust: never\nlimits: {maxTurns: 1}\n"
    environ = {"AGENT_HOST_MODEL": "openai/environment", "AGENT_HOST_ROLE": "environment"}
    options = {"model": "openai/options", "limits": {"maxCostUsd": 2}}
    section = {"model": "openai/section", "save": "never"}
    settings, problems = load(tmp_path, config, environ, options, section)
    assert problems == []
    assert settings.model == "openai/section"
    assert settings.role == "environment"
    assert settings.runtime == "file"
    assert (settings.trust, settings.save) == ("never", "never")
    assert settings.limits == replace(DEFAULT_LIMITS, max_turns=1, max_cost_usd=2.0)


def test_rules_and_variables_add_up(tmp_path: Path) -> None:
    config = "rules:\n  - deny fs.delete\nenv: {A: file, B: file}\n"
    settings, problems = load(
        tmp_path, config, None, {"rules": ["deny terminal.run"], "env": {"B": "x"}}
    )
    assert problems == []
    assert [(rule.action, rule.where) for rule in settings.rules] == [
        ("fs.delete", "config.yaml:2"),
        ("terminal.run", "initializationOptions, rule 1"),
    ]
    assert settings.env == {"A": "file", "B": "x"}


def test_how_runtimes_are_started_never_comes_with_a_folder(tmp_path: Path) -> None:
    config = """\
runtimes:
  claude-code:
    command: [claude, --debug]
    inherit: [ANTHROPIC_API_KEY]
    env: {ANTHROPIC_BASE_URL: "http://localhost"}
    tools: native
    pty: true
  odd: {command: 3, tools: all, pty: 1, colour: red}
"""
    settings, problems = load(tmp_path, config, None, {}, {"runtimes": {"claude-code": {}}})
    assert settings.runtimes["claude-code"] == RuntimeOptions(
        command=("claude", "--debug"),
        env={"ANTHROPIC_BASE_URL": "http://localhost"},
        inherit=("ANTHROPIC_API_KEY",),
        tools="native",
        pty=True,
    )
    assert settings.runtimes["odd"] == RuntimeOptions()
    wrong = ("odd.command", "odd.tools", "odd.pty", "odd.colour", "`runtimes` counts in")
    assert len(problems) == len(wrong)
    assert all(any(word in problem for problem in problems) for word in wrong)


def test_the_environment_sets_limits(tmp_path: Path) -> None:
    environ = {
        "AGENT_HOST_MAX_TURNS": "9",
        "AGENT_HOST_MAX_COST_USD": "1.5",
        "AGENT_HOST_WALL_SECONDS": "60",
        "AGENT_HOST_INACTIVITY_SECONDS": "30",
        "AGENT_HOST_TRUST": "always",
    }
    settings, problems = load(tmp_path, None, environ)
    assert problems == []
    assert settings.limits == Limits(9, 1.5, 60.0, 30.0)
    assert settings.trust == "always"


def test_sessions_go_where_the_user_says(tmp_path: Path) -> None:
    dirs = state_dirs({"AGENT_HOST_HOME": str(tmp_path)})
    plain, _ = load(tmp_path)
    assert session_store(plain, dirs) == dirs.state / "sessions.sqlite"
    assert log_folder(plain, dirs) is None
    environ = {"AGENT_HOST_STORE": "postgresql://me:s3cret@db/team", "AGENT_HOST_LOGS": "true"}
    settings, problems = load(tmp_path, "store: /a/file\nlogs: /a/folder\n", environ)
    assert problems == []
    assert session_store(settings, dirs) == "postgresql://me:s3cret@db/team"
    assert log_folder(settings, dirs) == dirs.state / "logs"
    assert "s3cret" not in repr(settings)
    settings, problems = load(tmp_path / "b", "store: /a/file\nlogs: /a/folder\n")
    assert session_store(settings, dirs) == Path("/a/file")
    assert log_folder(settings, dirs) == Path("/a/folder")


def test_a_folder_that_brings_editor_settings_can_t_take_sessions_away(tmp_path: Path) -> None:
    evil = {"store": "postgresql://me:s3cret@evil/x", "logs": "/evil"}
    settings, problems = load(tmp_path, None, None, {}, evil)
    assert (settings.store, settings.logs) == (None, False)
    assert [each.split("`")[3] for each in problems] == ["store", "logs"]
    assert not any("s3cret" in each for each in problems)
    settings, problems = load(tmp_path, None, None, {"store": "postgresql://db/team"}, {})
    assert (settings.store, problems) == ("postgresql://db/team", [])


OWN: JsonObject = {
    "trust": "ask",
    "save": "never",
    "role": "reviewer",
    "rules": ["allow terminal.run make", "deny fs.delete"],
    "env": {"A": "1"},
    "limits": {"maxTurns": 20},
    "store": "/a/file",
    "logs": "/a/folder",
    "runtimes": {"claude-code": {"command": ["claude"], "env": {"B": "1"}}},
    "mcpServers": {"docs": {"command": ["docs"]}},
}
"""What a person has set, of all kinds that a folder may not loosen."""

LOOSER: tuple[tuple[JsonObject, str], ...] = (
    ({"trust": "always"}, "trust"),
    ({"trust": True}, "trust"),
    ({"save": "clean"}, "save"),
    ({"role": "coder"}, "role"),
    ({"rules": ["allow terminal.run"]}, "rules"),
    ({"rules": ["allow terminal.run pytest ..."]}, "rules"),
    ({"rules": [{"allow": {"action": "terminal.run", "network": True}}]}, "rules"),
    ({"env": {"A": "2"}}, "env"),
    ({"env": {"PATH": "/evil"}}, "env"),
    ({"limits": {"maxTurns": 21}}, "limits.maxTurns"),
    ({"limits": {"inactivitySeconds": 9999}}, "limits.inactivitySeconds"),
    ({"store": "/evil"}, "store"),
    ({"logs": True}, "logs"),
    ({"runtimes": {"claude-code": {"command": ["claude"], "tools": "native"}}}, "runtimes"),
    ({"runtimes": {"acp:evil": {"command": ["evil"]}}}, "runtimes"),
    ({"mcpServers": {"evil": {"command": ["evil"]}}}, "mcpServers"),
    ({"mcpServers": {"docs": {"command": ["docs", "--evil"]}}}, "mcpServers"),
    *(({"runtime": name}, "runtime") for name in ("claude-code", "acp:gemini", "acp:mine", "SDK")),
    *(
        ({key: model}, key)
        for key in ("model", "titleModel")
        for model in (
            *("claude-code/opus", "acp:gemini/x", "acp:mine/openai/x", "sdk/claude-code/opus"),
            *("scripted/evil.yaml", "scripted/demo", "local/embedded", "OpenAI/x", "evil/x"),
        )
    ),
    ({"model": "none/x"}, "model"),
)


@pytest.mark.parametrize(("told", "name"), LOOSER)
@pytest.mark.parametrize("own", ["options", "file"])
def test_what_comes_with_a_folder_loosens_nothing(
    tmp_path: Path, own: str, told: JsonObject, name: str
) -> None:
    config = json.dumps(OWN) if own == "file" else None
    options = OWN if own == "options" else {}
    before, problems = load(tmp_path, config, None, options, {})
    assert problems == []
    after, problems = load(tmp_path, None, None, options, told)
    assert after == before
    (said,) = problems
    assert f"editor settings `agentHost`: `{name}`" in said
    assert "initializationOptions" in said


def test_what_comes_with_a_folder_may_narrow(tmp_path: Path) -> None:
    told = {
        "trust": "never",
        "rules": ["deny terminal.run", "ask fs.write", "deny fs.delete"],
        "limits": {"maxTurns": 3, "maxCostUsd": 1, "inactivitySeconds": 5},
    }
    settings, problems = load(tmp_path, None, None, {**OWN, "save": "clean"}, told)
    assert problems == []
    assert settings.trust == "never"
    assert settings.limits == Limits(3, 1.0, None, 5.0)
    shown = [(rule.effect, rule.action) for rule in settings.rules]
    assert shown[2:] == [("deny", "terminal.run"), ("ask", "fs.write")]
    assert len(shown) == 4
    settings, problems = load(tmp_path, None, None, {}, {"save": "never"})
    assert (settings.save, problems) == ("never", [])


@pytest.mark.parametrize("model", ["openai/x", "anthropic/a/b", "gemini/x", "local/qwen3"])
def test_what_comes_with_a_folder_may_choose_among_vendors(tmp_path: Path, model: str) -> None:
    own = {"model": "claude-code/opus", "runtime": "claude-code", "titleModel": "local/embedded"}
    told = {"model": model, "runtime": "sdk", "titleModel": model, "effort": "low"}
    settings, problems = load(tmp_path, None, None, own, {**told, "contextWindows": {model: 9}})
    assert problems == []
    assert (settings.model, settings.runtime, settings.title_model) == (model, "sdk", model)
    assert (settings.effort, settings.context_windows) == ("low", {model: 9})
    settings, problems = load(tmp_path, None, None, own, {"titleModel": "none"})
    assert (settings.title_model, problems) == ("none", [])
    # What the person has set themselves may stand in the answer too.
    same, problems = load(tmp_path, None, None, own, own)
    assert (same.runtime, same.model, problems) == ("claude-code", "claude-code/opus", [])


def test_an_editor_that_tells_the_same_twice_hears_nothing_of_it(tmp_path: Path) -> None:
    once, _ = load(tmp_path, None, None, OWN)
    twice, problems = load(tmp_path, None, None, OWN, {"agentHost": OWN})
    assert problems == []
    assert twice == once


def test_every_setting_is_a_preference_or_only_narrows() -> None:
    """A new setting must be looked at: is it one that a folder may change?"""
    names = {each.name for each in fields(Settings)}
    assert names == {
        *("effort", "context_windows"),
        *("model", "title_model", "runtime"),  # as long as no program or script is named
        *("trust", "save", "limits", "rules"),
        *("role", "env", "store", "logs", "runtimes", "mcp_servers"),
    }


@pytest.mark.parametrize("options", [None, {}, {"model": None}, {"model": ""}, {"agentHost": {}}])
def test_what_editors_send_for_nothing_is_nothing(tmp_path: Path, options: object) -> None:
    assert load(tmp_path, None, None, options) == (Settings(), [])


def test_options_may_come_in_their_section(tmp_path: Path) -> None:
    settings, problems = load(tmp_path, None, None, {"agentHost": {"role": "planner"}})
    assert (settings.role, problems) == ("planner", [])


@pytest.mark.parametrize(("given", "trust"), [(True, "always"), (False, "never"), ("ask", "ask")])
def test_trust_may_be_yes_or_no(tmp_path: Path, given: object, trust: str) -> None:
    assert load(tmp_path, None, None, {"trust": given})[0].trust == trust


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("modle: a/b", "config.yaml:1: `modle` is no known key. Did you mean `model`?"),
        ("role: x\nmodel: gpt", "config.yaml:2: `model` must be `vendor/name`"),
        ("model: /x", "`model` must be `vendor/name`"),
        ("role: 3", "`role` must be text, not a number."),
        ("trust: maybe", "`trust` must be one of ask, always, never; it is 'maybe'."),
        ("save: true", "`save` must be one of clean, never"),
        ("store: sessions.db", "`store` must be `postgresql://...` or the full path of a file."),
        ("store: mysql://a:b@c/d", "`store` must be `postgresql://...` or the full path"),
        ("logs: 3", "`logs` must be true, false or the full path of a folder."),
        ("logs: here", "`logs` must be true, false or the full path of a folder."),
        ("limits: {maxTurns: 0}", "`limits.maxTurns` must be a whole number, 1 or more; it is 0."),
        ("limits: {turns: 1}", "`limits.turns` is no known key. Did you mean `maxTurns`?"),
        ("env: {A: 1}", "`env.A` must be text (put it in quotes)."),
        ("env: {'A B': x}", "`env.A B` can't be the name of a variable."),
        ("- a", "config.yaml:1: must be a mapping"),
        ("role: x\nmodel: a: b", "config.yaml:2: Not valid YAML"),
    ],
)
def test_what_is_wrong_is_told_and_the_rest_counts(tmp_path: Path, config: str, said: str) -> None:
    settings, problems = load(tmp_path, config, None, {"runtime": "sdk"})
    assert [said in each for each in problems] == [True]
    assert settings.runtime == "sdk"
    assert settings.limits == DEFAULT_LIMITS


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"AGENT_HOST_MAX_TURNS": "lots"}, "environment: `limits.maxTurns` must be a whole number"),
        ({"AGENT_HOST_MODLE": "a/b"}, "Did you mean `AGENT_HOST_MODEL`?"),
    ],
)
def test_wrong_variables_are_told(tmp_path: Path, environ: dict[str, str], said: str) -> None:
    _, problems = load(tmp_path, None, environ)
    assert [said in each for each in problems] == [True]


@pytest.mark.parametrize("options", [["model"], "model", 3, True])
def test_options_that_are_no_object_are_told(tmp_path: Path, options: object) -> None:
    settings, problems = load(tmp_path, None, None, options)
    assert settings == Settings()
    assert "initializationOptions: must be a mapping" in problems[0]


def test_a_file_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "config" / "config.yaml").mkdir(parents=True)
    settings, problems = load(tmp_path)
    assert settings == Settings()
    assert "config.yaml: It can't be read" in problems[0]


def test_one_variable_moves_everything(tmp_path: Path) -> None:
    dirs = state_dirs({"AGENT_HOST_HOME": str(tmp_path)})
    assert {dirs.config.parent, dirs.state.parent, dirs.cache.parent} == {tmp_path}
    assert dirs.roles == tmp_path / "config" / "roles"
    assert state_dirs({}).config.name == "agent-host"


# ---- credentials


def test_a_key_is_never_shown() -> None:
    found = read_credentials(
        {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": "http://u:pw@h/v1?k=s"}
    )
    assert "secret" not in repr(found)
    assert "pw" not in repr(found)
    openai = found.of("openai")
    assert openai is not None
    assert openai.key == "sk-secret"
    assert openai.source == "OPENAI_API_KEY, OPENAI_BASE_URL"
    assert openai.shown_url == "http://h/v1"


@pytest.mark.parametrize(
    ("environ", "model"),
    [
        ({"OPENAI_API_KEY": "k"}, "openai/"),
        ({"ANTHROPIC_API_KEY": " k\n"}, "anthropic/"),
        ({"GEMINI_API_KEY": "k"}, "gemini/"),
        ({"GOOGLE_API_KEY": "k"}, "gemini/"),
        ({"LOCAL_BASE_URL": "http://127.0.0.1:1"}, "local/"),
        ({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, "anthropic/"),
        ({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": " "}, "openai/"),
    ],
)
def test_the_first_vendor_with_a_key_is_the_default(environ: dict[str, str], model: str) -> None:
    assert read_credentials(environ).default_model().startswith(model)


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_BASE_URL": "http://x"}])
def test_without_a_key_nothing_is_picked_silently(environ: dict[str, str]) -> None:
    with pytest.raises(NoApiKey, match="ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, LOCAL_"):
        read_credentials(environ).default_model()


def test_what_a_model_needs() -> None:
    found = read_credentials({"GOOGLE_API_KEY": "one", "GEMINI_API_KEY": "two"})
    gemini = found.require("gemini/any/name")
    assert gemini is not None
    assert (gemini.key, gemini.key_source) == ("two", "GEMINI_API_KEY")
    assert found.require("scripted/demo") is None
    with pytest.raises(NoApiKey, match="Set OPENAI_API_KEY"):
        found.require("openai/x")
    for wrong in ("gpt", "openia/x", "openai/", "/x", "scripted/"):
        with pytest.raises(ModelNotFound):
            found.require(wrong)


def test_the_editors_key_comes_before_the_environments_and_that_before_the_keyrings() -> None:
    environ = {"OPENAI_API_KEY": "from-environment"}
    found = read_credentials(environ, {"openai": "from-editor"}, ["openai", "gemini"])
    openai, gemini = found.of("openai"), found.of("gemini")
    assert openai is not None
    assert gemini is not None
    assert (openai.key, openai.key_source) == ("from-editor", EDITOR)
    assert openai.unused == ("OPENAI_API_KEY", KEYRING)
    assert (gemini.key, gemini.key_source, gemini.usable) == (None, KEYRING, True)
    assert read_credentials({}, stored=["gemini"]).default_model().startswith("gemini/")


GIVEN: JsonObject = {"role": "coder", "keys": {"openai": "sk-1", "opnai": "sk-2", "gemini": 3}}


@pytest.mark.parametrize("options", [GIVEN, {"agentHost": GIVEN}])
def test_keys_are_taken_out_of_the_editors_options(options: JsonObject) -> None:
    keys, rest = split_keys(options)
    assert keys == {"openai": "sk-1"}
    assert "sk-" not in str(rest)
    settings, problems = load_settings({}, [rest])
    assert settings.role == "coder"
    assert [problem.name for problem in problems] == ["keys", "keys"]
    assert "'opnai', which is not used" in problems[0].reason


def test_a_key_in_a_settings_file_is_reported_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text("keys:\n  openai: sk-secret\n")
    _, (problem,) = load_settings({"AGENT_HOST_HOME": str(tmp_path)})
    assert "agent-host auth set" in problem.sentence
    assert "sk-secret" not in problem.sentence


def test_each_vendor_is_listed_with_its_source_or_what_to_do() -> None:
    models = read_credentials({"LOCAL_BASE_URL": "http://127.0.0.1:1"}).models()
    assert [model.provider for model in models] == [vendor.name for vendor in VENDORS]
    usable = [(model.provider, model.source) for model in models if model.usable]
    assert usable == [("local", "LOCAL_BASE_URL")]
    assert all(model.reason for model in models if not model.usable)
    assert {"OPENAI_API_KEY", "GOOGLE_API_KEY"} <= set(SECRET_VARIABLES)
