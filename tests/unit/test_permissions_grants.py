"""Grants and trust in the state directory: what they survive, and what they never trust."""

import json
import os
import stat
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from agent_host.core.errors import AgentHostError, InvalidRequest
from agent_host.permissions.grants import LIFETIME, GrantBook, described
from agent_host.permissions.statefile import exclusive, identify, load, save
from agent_host.permissions.subject import GrantKey
from agent_host.permissions.trust import TrustBook, trust_question

KEY = GrantKey("terminal.run", "git push", "r" * 64, "/w/app", "bubblewrap")
OTHER = GrantKey("terminal.run", "git pull", "r" * 64, "/w/app", "bubblewrap")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def names(prefix: str = "g") -> Iterator[str]:
    return (f"{prefix}{number}" for number in count(1))


def book(tmp_path: Path, clock: Clock, prefix: str = "g") -> GrantBook:
    return GrantBook(tmp_path / "state", clock, names(prefix).__next__)


def add(grants: GrantBook, root: Path, scope: str = "workspace", key: GrantKey = KEY) -> str:
    grant = grants.add(key, scope, session_id="s1", root=str(root), role="coder")  # type: ignore[arg-type]
    return grant.id


def file_of(tmp_path: Path, root: Path) -> Path:
    return tmp_path / "state" / "grants" / f"{identify(str(root)).digest}.json"


def test_session_grants_hold_for_their_session(tmp_path: Path, clock: Clock, root: Path) -> None:
    grants = book(tmp_path, clock)
    add(grants, root, "session")
    assert grants.view("s1", [str(root)]).find(KEY)
    assert grants.view("s1", [str(root)]).find(OTHER) is None
    assert grants.view("s2", [str(root)]).find(KEY) is None
    assert not (tmp_path / "state").exists()
    clock.now += 10 * LIFETIME
    assert grants.view("s1", []).find(KEY)
    grants.end_session("s1")
    assert grants.view("s1", []).find(KEY) is None


def test_workspace_grants_survive_and_end(tmp_path: Path, clock: Clock, root: Path) -> None:
    add(book(tmp_path, clock), root)
    again = book(tmp_path, clock)
    assert again.view("s9", [str(root)]).find(KEY)
    assert again.problems == []
    clock.now += LIFETIME - 1
    assert again.view("s9", [str(root)]).find(KEY)
    clock.now += 1
    assert again.view("s9", [str(root)]).find(KEY) is None
    assert again.list() == ()


def test_a_clock_that_was_set_back_makes_nothing_last_longer(
    tmp_path: Path, clock: Clock, root: Path
) -> None:
    add(book(tmp_path, clock), root)
    clock.now -= 3600
    assert book(tmp_path, clock).view("s", [str(root)]).find(KEY) is None


def test_the_files_are_private_and_not_in_the_workspace(
    tmp_path: Path, clock: Clock, root: Path
) -> None:
    add(book(tmp_path, clock), root)
    path = file_of(tmp_path, root)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(root.iterdir()) == []
    assert [
        each.name for each in path.parent.iterdir() if each.suffix not in {".json", ".lock"}
    ] == []


def test_another_folder_under_the_same_path_has_no_grants(
    tmp_path: Path, clock: Clock, root: Path
) -> None:
    grants = book(tmp_path, clock)
    add(grants, root)
    root.rename(tmp_path / "moved")
    root.mkdir()
    assert grants.view("s", [str(root)]).find(KEY) is None
    assert grants.view("s", [str(tmp_path / "moved")]).find(KEY) is None


def test_a_link_to_the_workspace_is_the_workspace(tmp_path: Path, clock: Clock, root: Path) -> None:
    grants = book(tmp_path, clock)
    add(grants, root)
    link = tmp_path / "link"
    link.symlink_to(root)
    assert grants.view("s", [str(link)]).find(KEY)


def test_revoked_grants_are_gone_everywhere(tmp_path: Path, clock: Clock, root: Path) -> None:
    grants = book(tmp_path, clock)
    lasting = add(grants, root)
    kept = add(grants, root, key=OTHER)
    short = add(grants, root, "session")
    assert {grant.id for grant in grants.list()} == {lasting, kept, short}
    elsewhere = book(tmp_path, clock, "h")
    assert elsewhere.revoke(lasting).key == KEY
    assert {grant.id for grant in grants.list()} == {kept, short}
    grants.revoke(short)
    assert grants.view("s1", [str(root)]).find(KEY) is None
    assert grants.view("s1", [str(root)]).find(OTHER)
    with pytest.raises(InvalidRequest):
        grants.revoke(lasting)


def test_the_same_answer_is_kept_once(tmp_path: Path, clock: Clock, root: Path) -> None:
    grants = book(tmp_path, clock)
    add(grants, root)
    clock.now += 5
    newer = add(grants, root)
    assert [grant.id for grant in grants.list()] == [newer]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"grants": {}}',
        '{"grants": [1, {}, {"key": 1}]}',
        "[" * 100_000,
        '{"path": "/elsewhere", "grants": []}',
        "\0\xff",
    ],
)
def test_a_broken_file_counts_as_empty(tmp_path: Path, clock: Clock, root: Path, text: str) -> None:
    grants = book(tmp_path, clock)
    add(grants, root)
    path = file_of(tmp_path, root)
    path.write_text(text, "latin-1")
    assert grants.view("s", [str(root)]).find(KEY) is None
    assert grants.problems
    add(grants, root)
    assert grants.view("s", [str(root)]).find(KEY)
    assert grants.problems == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("expires", None),
        ("expires", "never"),
        ("expires", 1e18),
        ("expires", True),
        ("scope", "session"),
        ("scope", "always"),
        ("id", 5),
        ("key", None),
        ("key", {"action": "terminal.run", "target": "x"}),
        ("key", {"action": "terminal.run", "target": "x", "role_sha256": "r", "cwd": 7}),
        ("created", None),
    ],
)
def test_a_broken_grant_does_not_hold(
    tmp_path: Path, clock: Clock, root: Path, field: str, value: object
) -> None:
    grants = book(tmp_path, clock)
    add(grants, root)
    add(grants, root, key=OTHER)
    path = file_of(tmp_path, root)
    data = json.loads(path.read_text())
    data["grants"][0][field] = value
    path.write_text(json.dumps(data))
    view = grants.view("s", [str(root)])
    assert view.find(KEY) is None
    assert view.find(OTHER)


def test_files_that_others_can_write_are_not_used(tmp_path: Path, clock: Clock, root: Path) -> None:
    grants = book(tmp_path, clock)
    add(grants, root)
    path = file_of(tmp_path, root)
    path.chmod(0o666)
    assert grants.view("s", [str(root)]).find(KEY) is None
    assert "others can write" in grants.problems[0]


def test_links_and_odd_files_are_not_used(tmp_path: Path, clock: Clock, root: Path) -> None:
    grants = book(tmp_path, clock)
    add(grants, root)
    path = file_of(tmp_path, root)
    path.rename(root / "theirs.json")
    path.symlink_to(root / "theirs.json")
    assert grants.view("s", [str(root)]).find(KEY) is None
    assert grants.problems
    path.unlink()
    os.mkfifo(path)
    assert grants.view("s", [str(root)]).find(KEY) is None
    assert grants.problems


def test_a_root_that_is_gone_has_no_grants(tmp_path: Path, clock: Clock, root: Path) -> None:
    grants = book(tmp_path, clock)
    add(grants, root)
    root.rmdir()
    assert grants.view("s", [str(root)]).grants == ()
    with pytest.raises(OSError, match="No such file"):
        add(grants, root)


def test_two_processes_do_not_overwrite_each_other(
    tmp_path: Path, clock: Clock, root: Path
) -> None:
    grants = book(tmp_path, clock)
    first = add(grants, root)
    with exclusive(file_of(tmp_path, root)):
        with pytest.raises(AgentHostError, match="try again"):
            add(grants, root, key=OTHER)
        with pytest.raises(AgentHostError, match="try again"):
            grants.revoke(first)
    assert [grant.id for grant in grants.list()] == [first]


def test_an_edits_grant_covers_a_folder(tmp_path: Path, clock: Clock, root: Path) -> None:
    grants = book(tmp_path, clock)
    folder = GrantKey("fs.write", "/w/src/", "r")
    add(grants, root, "session", folder)
    view = grants.view("s1", [])
    assert view.find(GrantKey("fs.write", "/w/src/deep/", "r"))
    assert view.find(GrantKey("fs.write", "/w/srcx/", "r")) is None
    assert view.find(GrantKey("fs.write", "/w/", "r")) is None
    assert view.find(GrantKey("fs.delete", "/w/src/a", "r")) is None
    assert view.find(GrantKey("fs.write", "/w/src/", "other")) is None


def test_only_a_folder_covers_what_is_below(tmp_path: Path, clock: Clock, root: Path) -> None:
    grants = book(tmp_path, clock)
    add(grants, root, "session", GrantKey("fs.write", "/w/src", "r"))
    assert grants.view("s1", []).find(GrantKey("fs.write", "/w/src/a/", "r")) is None


def test_a_directory_in_a_command_grant_covers_nothing_else(
    tmp_path: Path, clock: Clock, root: Path
) -> None:
    grants = book(tmp_path, clock)
    add(grants, root, "session", GrantKey("terminal.run", "/bin/x /", "r", "/w", "b"))
    view = grants.view("s1", [])
    assert view.find(GrantKey("terminal.run", "/bin/x /etc", "r", "/w", "b")) is None


def test_grants_are_described_on_one_line(tmp_path: Path, clock: Clock, root: Path) -> None:
    grants = book(tmp_path, clock)
    add(grants, root)
    add(grants, root, key=GrantKey("fs.read", "/w/a\n\u202eb", "r"))
    texts = [described(grant) for grant in grants.list()]
    assert texts[0] == "coder: run git push in /w/app"
    assert "\n" not in texts[1]
    assert "\u202e" not in texts[1]


# ---- the files themselves


def test_a_file_that_can_not_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    save(path, {"a": 1})
    with pytest.raises(TypeError):
        save(path, {"a": object()})
    assert load(path).data == {"a": 1}
    assert [each.name for each in tmp_path.iterdir()] == ["x.json"]


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": "' + "x" * (5 << 20) + '"}')
    path.chmod(0o600)
    assert "too large" in (load(path).problem or "")


# ---- trust


def trust_book(tmp_path: Path, clock: Clock) -> TrustBook:
    return TrustBook(tmp_path / "state", clock, lambda _: ())


def test_trust_is_remembered_by_what_the_folder_is(
    tmp_path: Path, clock: Clock, root: Path
) -> None:
    trust = trust_book(tmp_path, clock)
    assert not trust.trusted(str(root))
    trust.trust(str(root), ())
    again = trust_book(tmp_path, clock)
    assert again.trusted(str(root))
    assert again.list() == (str(root.resolve()),)
    assert not again.trusted(str(root.parent))
    root.rename(tmp_path / "moved")
    root.mkdir()
    assert not again.trusted(str(root))
    assert not again.trusted(str(tmp_path / "moved"))


def test_a_folder_inside_is_not_trusted_by_itself(tmp_path: Path, clock: Clock, root: Path) -> None:
    trust = trust_book(tmp_path, clock)
    trust.trust(str(root), ())
    (root / "sub").mkdir()
    assert not trust.trusted(str(root / "sub"))


def test_trust_can_be_taken_back(tmp_path: Path, clock: Clock, root: Path) -> None:
    trust = trust_book(tmp_path, clock)
    trust.trust(str(root), ())
    assert trust.forget(str(root))
    assert not trust.trusted(str(root))
    assert not trust.forget(str(root))


@pytest.mark.parametrize(
    "text", ["{", '{"trusted": []}', '{"trusted": {"x": 1}}', '{"trusted": 1}']
)
def test_a_broken_trust_file_trusts_nothing(
    tmp_path: Path, clock: Clock, root: Path, text: str
) -> None:
    trust = trust_book(tmp_path, clock)
    trust.trust(str(root), ())
    (tmp_path / "state" / "trust.json").write_text(text)
    assert not trust.trusted(str(root))
    trust.trust(str(root), ())
    assert trust.trusted(str(root))


def test_an_entry_must_tell_of_the_very_folder(tmp_path: Path, clock: Clock, root: Path) -> None:
    trust = trust_book(tmp_path, clock)
    trust.trust(str(root), ())
    path = tmp_path / "state" / "trust.json"
    for name, value in (("inode", 1), ("device", "x"), ("path", "/")):
        data = json.loads(path.read_text())
        (entry,) = data["trusted"].values()
        entry[name] = value
        path.write_text(json.dumps(data))
        assert not trust.trusted(str(root))
        trust.trust(str(root), ())


def test_trust_holds_for_the_programs_that_were_shown(
    tmp_path: Path, clock: Clock, root: Path
) -> None:
    starts = {"docs"}
    trust = TrustBook(tmp_path / "state", clock, lambda _: starts)
    trust.trust(str(root), trust.starts(str(root)))
    assert trust.trusted(str(root))
    starts.clear()
    assert trust.trusted(str(root))  # fewer than were shown
    starts.update({"docs", "swapped"})
    assert not trust.trusted(str(root))
    trust.trust(str(root), {"docs"})  # it changed while the question was open
    assert not trust.trusted(str(root))
    trust.trust(str(root), starts)
    assert trust.trusted(str(root))


def test_the_trust_question_says_what_trust_means() -> None:
    question = trust_question(
        "/w/app", [".agent/rules/roles/x.md", "a`\nb"], session_id="s", run_id="r", call_id="c"
    )
    assert len(question.title) <= 600
    assert "/w/app" in question.title
    for word in ("change files", "run commands", "roles", "tool servers"):
        assert word in question.title
    assert ".agent/rules/roles/x.md" in question.detail
    assert "scripts, tests and build files" in question.detail
    assert question.options[0].kind == "deny"
    assert not question.options[0].title.startswith("Allow")
    assert question.options[1].title.startswith("Allow")


def test_the_trust_question_shows_whole_what_would_be_started() -> None:
    long = "MCP server docs: docs " + "x" * 2000 + "; touch evil " + "y" * 2000
    last = "MCP server last: sh -c 'a\u202eb'"
    many = [f".agent/rules/roles/{number}.md" for number in range(50)]
    question = trust_question("/w", [*many, long, last], session_id="s", run_id="r", call_id="c")
    assert long in question.detail
    assert "MCP server last: sh -c 'a\u2039U+202E\u203ab'" in question.detail
    assert "and 30 more" in question.detail
    assert [each.kind for each in question.options[2:]] == ["show", "stop"]


def test_a_tools_grant_holds_for_what_the_tool_was(
    tmp_path: Path, clock: Clock, root: Path
) -> None:
    was = GrantKey("mcp:docs/find", "docs/find", "r" * 64, content="c1")
    grants = book(tmp_path, clock)
    grants.add(was, "workspace", session_id="s1", root=str(root), role="coder")
    view = book(tmp_path, clock).view("s2", [str(root)])
    assert view.find(was) is not None
    for now in ("c2", None):
        changed = GrantKey("mcp:docs/find", "docs/find", "r" * 64, content=now)
        assert view.find(changed) is None
