"""The README tells what is so: commands, settings, variables, files, and scripts that parse."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from agent_host.cli import COMMANDS
from agent_host.core.permission import Rule
from agent_host.credentials import VENDORS
from agent_host.lsp.wire import METHODS
from agent_host.permissions.rules import read_rules
from agent_host.roles import SKILLS, RoleFolder, read_roles
from agent_host.settings import VARIABLES, load_settings, state_dirs

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCKS if found == language]


def test_each_method_says_who_sends_it() -> None:
    rows = re.findall(r"^\| `(agent/[\w/]+)` \| (\w+) \|", README, re.MULTILINE)
    assert dict(rows) == {name: method.sender for name, method in METHODS.items()}


def test_each_command_that_it_names_exists() -> None:
    named = re.findall(
        r"agent-host ([a-z]+)", "\n".join([*blocks("sh"), *re.findall(r"`.*?`", README)])
    )
    assert named
    assert set(named) <= set(COMMANDS)


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:agent_host|tests)/[\w./]+)`", README)))
)
def test_each_file_that_it_names_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_settings_example_is_right(tmp_path: Path) -> None:
    environ = {"AGENT_HOST_HOME": str(tmp_path)}
    file = state_dirs(environ).config_file
    file.parent.mkdir()
    file.write_text(blocks("yaml")[0])
    settings, problems = load_settings(environ, parse_rules=read_rules)
    assert problems == ()
    assert settings.env == {"PIP_INDEX_URL": "http://localhost"}
    assert settings.rules


def test_the_role_example_is_right(tmp_path: Path) -> None:
    (tmp_path / "tester.md").write_text(blocks("markdown")[0])
    shelf = read_roles([RoleFolder(tmp_path, read_rules)])
    assert shelf.problems == ()
    tester = shelf.get("tester")
    assert tester.programs == {"pytest"}
    assert [(rule.effect, rule.action) for rule in tester.rules] == [("deny", "fs.write")]


def test_the_rules_in_the_text_are_rules() -> None:
    written = re.findall(r"`((?:allow|ask|deny) [a-z]+\.[^`]+)`", README)
    found = read_rules(written, "README.md")
    assert found.problems == ()
    assert all(isinstance(rule, Rule) for rule in found.rules)
    assert len(found.rules) == 3


def test_all_variables_and_skills_are_named() -> None:
    variables = [*VARIABLES, "AGENT_HOST_HOME"]
    for vendor in VENDORS:
        variables += [*vendor.key_variables, vendor.url_variable]
    assert [name for name in [*variables, *SKILLS] if name not in README] == []


def test_the_order_of_vendors_is_the_one_of_the_table() -> None:
    rows = re.findall(r"^\| `(\w+)/\.\.\.` \|", README, re.MULTILINE)
    assert rows == [*(vendor.name for vendor in VENDORS), "scripted"]


def test_the_examples_parse() -> None:
    for code in blocks("python"):
        ast.parse(code)
    for text in blocks("yaml"):
        yaml.safe_load(text)
