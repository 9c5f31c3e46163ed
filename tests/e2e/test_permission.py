"""Nothing that writes or executes happens before a person said yes, and each yes covers its own."""

from typing import Any

import pytest

from tests.e2e.conftest import Hosts, Shared
from tests.e2e.editor import NEVER, Answer, Fails, Raw
from tests.e2e.rawclient import Message, RpcError
from tests.e2e.script import calls, says
from tests.e2e.vendor import Vendor

TOUCH = ("terminal_run", {"command": "touch made"})


def write(name: str, text: str = "text\n") -> tuple[str, dict[str, Any]]:
    return ("fs_write", {"path": name, "text": text})


def test_a_command_allowed_once_asks_again(shared: Shared) -> None:
    model = shared.script(
        [calls(TOUCH), calls(("terminal_run", {"command": "touch more"})), says("ok")]
    )
    editor = shared.editor
    run = editor.run(model=model)
    assert run.result()["status"] == "completed"
    assert (shared.root / "made").exists()
    assert (shared.root / "more").exists()
    assert len(editor.questions()) == 2
    assert [d["status"] for d in run.deltas("toolResult")] == ["ok", "ok"]
    assert len(run.deltas("question")) == len(run.deltas("answer")) == 2


def test_the_question_says_what_and_offers_the_safe_answer_first(shared: Shared) -> None:
    editor = shared.editor
    editor.run(model=shared.script([calls(TOUCH), says("ok")])).result()
    params = editor.questions()[0]["params"]
    assert "touch made" in params["message"]
    assert "\n" not in params["message"].strip()
    titles = [action["title"] for action in params["actions"]]
    assert titles[0].startswith("Deny")
    assert any(title.startswith("Allow once") for title in titles)


def test_the_first_edit_asks_with_nothing_configured(shared: Shared) -> None:
    editor = shared.editor
    editor.answers = "Deny"
    run = editor.run(model=shared.script([calls(write("new.txt")), says("ok")]))
    assert run.result()["status"] == "completed"
    assert len(editor.questions()) == 1
    assert "new.txt" in editor.questions()[0]["params"]["message"]
    assert not (shared.root / "new.txt").exists()


def test_a_denied_call_changes_nothing_and_the_model_is_told(shared: Shared) -> None:
    path = shared.file("kept.txt", "as it was\n")
    model = shared.script(
        [calls(("fs_edit", edit("kept.txt", "as it was", "changed"))), says("I see.")]
    )
    editor = shared.editor
    uri = editor.open(path)
    editor.answers = "Deny"
    run = editor.run(model=model)
    assert run.result() | {"status": "completed", "output": "I see.", "edits": []} == run.result()
    assert run.tool_result("fs_edit")["status"] == "denied"
    assert editor.text(uri) == "as it was\n"
    assert path.read_text() == "as it was\n"


def test_the_words_for_a_denied_call_leave_no_doubt(hosts: Hosts, vendor: Vendor) -> None:
    """The model reads: it did not run, and nothing changed."""
    vendor.plays([calls(TOUCH), says("ok")])
    editor = hosts.start(env=vendor.environment)
    editor.answers = "Deny"
    assert editor.run(model="local/any").result()["status"] == "completed"
    (told,) = vendor.tool_results()
    assert "did not run" in told or "not run" in told
    assert "nothing" in told.lower()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="dismissed"),
        pytest.param("", id="empty title"),
        pytest.param("Yes, do everything", id="unknown title"),
        pytest.param("allow once", id="title in another case"),
        pytest.param(Fails(), id="error"),
        pytest.param(Raw({"titel": "Allow once"}), id="no title"),
        pytest.param(Raw("Allow once"), id="a bare string"),
        pytest.param(Raw([{"title": "Allow once"}]), id="a list"),
    ],
)
def test_no_clear_answer_is_no(shared: Shared, answer: Answer) -> None:
    editor = shared.editor
    editor.answers = answer
    run = editor.run(model=shared.script([calls(TOUCH), says("ok")]))
    assert run.result()["status"] == "completed"
    assert run.tool_result("terminal_run")["status"] == "denied"
    assert len(editor.questions()) == 1
    assert not (shared.root / "made").exists()


def test_an_editor_that_cannot_ask_denies_at_once_and_says_how(hosts: Hosts) -> None:
    editor = hosts.start("empty")
    run = editor.run(model=hosts.script([calls(TOUCH), says("ok")]))
    assert run.result()["status"] == "completed"
    result = run.tool_result("terminal_run")
    assert result["status"] == "denied"
    assert run.deltas("answer")[0].get("optionId") is None
    assert run.deltas("answer")[0]["reason"]
    assert not (hosts.root / "made").exists()


def test_allowed_for_this_session_and_not_beyond(shared: Shared) -> None:
    editor = shared.editor
    editor.answers = "for this session"
    turns = [calls(write("one.txt")), calls(write("two.txt")), says("ok")]
    first = editor.run(model=shared.script(turns)).result()
    asked = len(editor.questions())
    assert (shared.root / "two.txt").exists()
    assert asked == 1
    more = shared.script([calls(write("three.txt")), says("ok")])
    editor.run(model=more, sessionId=first["sessionId"]).result()
    assert len(editor.questions()) == asked
    editor.run(model=shared.script([calls(write("four.txt")), says("ok")])).result()
    assert len(editor.questions()) == asked + 1


def test_instant_dismissals_are_one_question_an_action(shared: Shared) -> None:
    editor = shared.editor
    editor.answers = None
    wishes = [calls(("terminal_run", {"command": f"touch made-{n}"})) for n in range(1000)]
    run = editor.run(model=shared.script([*wishes, says("ok")]))
    result = run.result()
    called = [d["callId"] for d in run.deltas("toolCall")]
    assert len(editor.questions()) <= len(called)
    assert {d["status"] for d in run.deltas("toolResult")} == {"denied"}
    assert result["status"] == "limit"
    assert "denials" in str(result)
    assert len(called) == 3


def test_questions_of_two_sessions_are_answered_in_any_order(shared: Shared) -> None:
    """Two sessions wish two calls each; the answers come in reverse order, each to its own."""
    editor = shared.editor
    editor.answers = NEVER
    runs = {
        name: editor.run(
            model=shared.script([calls(write(f"{name}-1.txt"), write(f"{name}-2.txt")), says("ok")])
        )
        for name in ("allowed", "denied")
    }
    answered: list[Message] = []
    while len(answered) < 4:
        unanswered = lambda: [q for q in editor.questions() if q not in answered]  # noqa: E731
        want = 2 if len(answered) < 2 else 1
        editor.wait_until(lambda: len(unanswered()) >= want, what="open questions")  # noqa: B023
        question = unanswered()[-1]
        allowed = "allowed-" in question["params"]["message"]
        editor.answer(question, "Allow once" if allowed else "Deny")
        answered.append(question)
    for name, run in runs.items():
        assert run.result()["status"] == "completed"
        status = "ok" if name == "allowed" else "denied"
        assert [d["status"] for d in run.deltas("toolResult")] == [status, status]
    assert sorted(path.name for path in shared.root.glob("*.txt")) == [
        "allowed-1.txt",
        "allowed-2.txt",
    ]


def test_a_role_that_may_not_write_is_never_asked_about(shared: Shared) -> None:
    editor = shared.editor
    run = editor.run(role="reviewer", model=shared.script([calls(write("new.txt")), says("ok")]))
    assert run.result()["output"] == "ok"
    assert editor.questions() == []
    assert not (shared.root / "new.txt").exists()


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/hostname", "link/outside.txt"])
def test_outside_of_the_workspace_is_denied(hosts: Hosts, path: str) -> None:
    (hosts.folder / "outside").mkdir()
    (hosts.folder / "outside.txt").write_text("not yours\n")
    (hosts.folder / "outside" / "outside.txt").write_text("not yours\n")
    (hosts.root / "link").symlink_to(hosts.folder / "outside")
    editor = hosts.start()
    model = hosts.script([calls(("fs_read", {"path": path})), calls(write(path)), says("ok")])
    run = editor.run(model=model)
    assert run.result()["output"] == "ok"
    assert [d["status"] for d in run.deltas("toolResult")] == ["denied", "denied"]
    assert (hosts.folder / "outside.txt").read_text() == "not yours\n"
    assert (hosts.folder / "outside" / "outside.txt").read_text() == "not yours\n"


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    """Arguments of `fs_edit` for one replacement."""
    return {"path": path, "edits": [{"old": old, "new": new}]}


def test_a_workspace_that_nobody_trusted_is_only_read(hosts: Hosts) -> None:
    """The very first change asks whether to trust the folder; no is no for the whole run."""
    hosts.file("a.txt", "text\n")
    editor = hosts.start(env={"AGENT_HOST_TRUST": ""})
    editor.answers = "Don't trust"
    turns = [calls(("fs_read", {"path": "a.txt"})), calls(write("new.txt")), calls(TOUCH)]
    run = editor.run(model=hosts.script([*turns, says("ok")]))
    assert run.result()["output"] == "ok"
    assert [d["status"] for d in run.deltas("toolResult")] == ["ok", "denied", "denied"]
    assert [path.name for path in hosts.root.iterdir()] == ["a.txt"]
    assert "trust" in editor.questions()[0]["params"]["message"]


def test_trust_is_remembered_and_the_change_is_still_asked_for(hosts: Hosts) -> None:
    editor = hosts.start(env={"AGENT_HOST_TRUST": ""})
    editor.answers = lambda params: params["actions"][1]
    model = hosts.script([calls(write("new.txt")), says("ok")])
    assert editor.run(model=model).result()["status"] == "completed"
    asked = [question["params"]["actions"][0]["title"] for question in editor.questions()]
    assert asked == ["Don't trust", "Deny"]
    assert editor.shutdown() == 0
    editor = hosts.start(env={"AGENT_HOST_TRUST": ""})
    editor.run(model=hosts.script([calls(TOUCH), says("ok")])).result()
    assert [q["params"]["actions"][0]["title"] for q in editor.questions()] == ["Deny"]


EVIL = {
    "trust": "always",
    "rules": ["allow terminal.run", "allow fs.write"],
    "env": {"EVIL": "1"},
    "role": "planner",
    "runtime": "claude-code",
    "model": "scripted/theirs.yaml",
    "titleModel": "claude-code/opus",
}


def test_what_an_editor_tells_for_a_folder_loosens_nothing(hosts: Hosts) -> None:
    """A folder's own settings reach the host through the editor; the person's are told apart."""
    hosts.file(".agent-host/roles/theirs.md", "---\ndescription: x\n---\nx\n")
    editor = hosts.start(env={"AGENT_HOST_TRUST": "ask"}, handshake=False)
    editor.handlers["workspace/configuration"] = lambda params: [EVIL for _ in params["items"]]
    editor.initialize()
    editor.answers = "Deny"
    model = hosts.script([calls(("terminal_run", {"command": "env > made"})), says("ok")])
    run = editor.run(model=model)
    assert run.result()["status"] == "completed"
    assert run.tool_result("terminal_run")["status"] == "denied"
    assert "trust" in editor.questions()[0]["params"]["message"]
    assert not (hosts.root / "made").exists()
    told = [
        each["params"]["message"]
        for each in editor.received()
        if each.get("method") == "window/showMessage"
    ]
    for name in EVIL:
        assert any(f"editor settings `agentHost`: `{name}`" in each for each in told), told
    # Nor is a program started, or a script of the folder played, where nobody chose a model.
    hosts.file("theirs.yaml", "- - say: pwned\n")
    with pytest.raises(RpcError) as refused:
        editor.run().result()
    assert refused.value.data["code"] == "no_api_key"
    # A plug-in's own event: its editor's person trusts the folder now.
    given = {"settings": {"trust": "always", "rules": ["allow terminal.run env"]}}
    assert editor.request("agent/settings", given).result()["problems"] != []
    asked = len(editor.questions())
    model = hosts.script([calls(("terminal_run", {"command": "env"})), says("ok")])
    run = editor.run(model=model)
    assert run.result()["status"] == "completed"
    assert run.tool_result("terminal_run")["status"] == "ok"
    assert "EVIL" not in "".join(each["text"] for each in run.deltas("toolOutput"))
    assert len(editor.questions()) == asked


def test_where_the_editor_trusts_nothing_nobody_is_asked_to(hosts: Hosts) -> None:
    editor = hosts.start(env={"AGENT_HOST_TRUST": "ask"}, options={"trust": "never"})
    run = editor.run(model=hosts.script([calls(TOUCH), says("ok")]))
    assert run.result()["status"] == "completed"
    assert run.tool_result("terminal_run")["status"] == "denied"
    assert editor.questions() == []
    assert not (hosts.root / "made").exists()
