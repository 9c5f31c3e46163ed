"""The editor's text is the truth: what is read, what is edited, and what a command sees."""

import pytest

from tests.e2e.conftest import Hosts, Shared
from tests.e2e.rawclient import Message
from tests.e2e.script import calls, says
from tests.e2e.test_permission import edit, write
from tests.e2e.vendor import Vendor

REAL = ("vscode", "neovim")


@pytest.mark.parametrize("client", [*REAL, "empty"])
def test_the_main_job(hosts: Hosts, client: str) -> None:
    """Read an unsaved buffer, edit it, run a command, answer: by what each editor can do."""
    path = hosts.file("tidy.py", "name = 'disk'\n")
    model = hosts.script(
        [
            calls(("fs_read", {"path": "tidy.py"}), text="I read it first."),
            calls(("fs_edit", edit("tidy.py", "name = 'größe 🐍'", "name = 'agent'"))),
            calls(("terminal_run", {"command": "cat tidy.py && touch ran"})),
            says("All done."),
        ]
    )
    editor = hosts.start(client)
    uri = editor.open(path)
    editor.type(uri, "'disk'", "'größe 🐍'  # unsaved 🐍")
    before = editor.text(uri)
    run = editor.run("tidy up", model=model)
    result = run.result()
    assert (result["status"], result["output"]) == ("completed", "All done.")
    assert run.tool_result("fs_read")["status"] == "ok"
    allowed = client in REAL
    assert run.tool_result("fs_edit")["status"] == ("ok" if allowed else "denied")
    assert run.tool_result("terminal_run")["status"] == ("ok" if allowed else "denied")
    assert (hosts.root / "ran").exists() == allowed
    assert path.read_text() == "name = 'disk'\n"
    if allowed:
        assert editor.text(uri) == "name = 'agent'  # unsaved 🐍\n"
        assert result["edits"] == [{"uri": uri, "kind": "change"}]
        assert len(editor.documents[uri].before) == 1
        editor.undo(uri)
    assert editor.text(uri) == before


def test_reads_and_searches_see_the_unsaved_text(hosts: Hosts, vendor: Vendor) -> None:
    vendor.plays(
        [
            calls(("fs_read", {"path": "a.txt"}), ("fs_search", {"pattern": "only in the \\w+"})),
            says("ok"),
        ]
    )
    editor = hosts.start(env=vendor.environment)
    uri = editor.open(hosts.file("a.txt", "on the disk\nsecond\n"))
    hosts.file("b.txt", "nothing here\n")
    editor.type(uri, "on the disk", "only in the buffer")
    assert editor.run(model="local/any").result()["status"] == "completed"
    read, found = vendor.tool_results()
    assert "only in the buffer" in read
    assert "on the disk" not in read
    assert "a.txt" in found
    assert "only in the buffer" in found


def test_untitled_documents_are_edited_in_the_editor(shared: Shared) -> None:
    editor = shared.editor
    uri = editor.open("untitled:Untitled-1", "draft\n", "plaintext")
    model = shared.script([calls(("fs_edit", edit(uri, "draft", "final"))), says("ok")])
    run = editor.run(model=model)
    assert run.result()["status"] == "completed"
    assert run.tool_result("fs_edit")["status"] == "ok"
    assert editor.text(uri) == "final\n"


@pytest.mark.parametrize("applying", ["refuse", "lie", "never"])
def test_an_edit_that_the_editor_did_not_make_has_failed(hosts: Hosts, applying: str) -> None:
    path = hosts.file("a.txt", "old\n")
    model = hosts.script([calls(("fs_edit", edit("a.txt", "old", "new"))), says("I see.")])
    editor = hosts.start()
    uri = editor.open(path)
    editor.applying = applying
    run = editor.run(model=model)
    result = run.result(60)
    assert (result["status"], result["output"], result["edits"]) == ("completed", "I see.", [])
    assert run.tool_result("fs_edit")["status"] == "failed"
    assert editor.text(uri) == path.read_text() == "old\n"


@pytest.mark.parametrize("answer", ["yes", None, {"applied": "maybe"}, []])
def test_a_malformed_answer_to_an_edit_is_a_no(shared: Shared, answer: object) -> None:
    path = shared.file("a.txt", "old\n")
    model = shared.script([calls(("fs_edit", edit("a.txt", "old", "new"))), says("I see.")])
    editor = shared.editor
    editor.open(path)
    editor.handlers["workspace/applyEdit"] = lambda _: answer
    run = editor.run(model=model)
    assert run.result()["output"] == "I see."
    assert run.tool_result("fs_edit")["status"] == "failed"


def test_edits_carry_the_true_version(shared: Shared) -> None:
    versions: list[int | None] = []
    editor = shared.editor
    uri = editor.open(shared.file("a.txt", "old\n"))
    editor.type(uri, "old", "older")
    apply = editor._apply

    def seen(params: Message) -> object:
        changes = params["edit"]["documentChanges"]
        versions.extend(change["textDocument"]["version"] for change in changes)
        return apply(params["edit"])

    editor.handlers["workspace/applyEdit"] = seen
    model = shared.script([calls(("fs_edit", edit("a.txt", "older", "new"))), says("ok")])
    editor.run(model=model).result()
    assert versions == [2]
    assert editor.text(uri) == "new\n"


def test_typing_while_the_question_is_open_is_kept(shared: Shared) -> None:
    """The user inserts a line above the target; the edit still lands on its own line."""
    editor = shared.editor
    uri = editor.open(shared.file("a.txt", "first\ntarget\nlast\n"))
    typed: list[bool] = []

    def answer(_: Message) -> str:
        if not typed:
            typed.append(True)
            editor.type(uri, "first\n", "first\nby the user\n")
        return "Allow once"

    editor.answers = answer
    model = shared.script([calls(("fs_edit", edit("a.txt", "target", "agent's"))), says("ok")])
    assert editor.run(model=model).result()["status"] == "completed"
    assert editor.text(uri) == "first\nby the user\nagent's\nlast\n"


def test_a_target_that_changed_meanwhile_is_not_overwritten(shared: Shared) -> None:
    editor = shared.editor
    uri = editor.open(shared.file("a.txt", "first\ntarget\n"))
    typed: list[bool] = []

    def answer(_: Message) -> str:
        if not typed:
            typed.append(True)
            editor.type(uri, "target", "the user's own words")
        return "Allow once"

    editor.answers = answer
    model = shared.script([calls(("fs_edit", edit("a.txt", "target", "agent's"))), says("I see.")])
    run = editor.run(model=model)
    assert run.result()["output"] == "I see."
    assert run.tool_result("fs_edit")["status"] == "failed"
    assert editor.text(uri) == "first\nthe user's own words\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\r\nold\r\nb\r\n", "a\r\nnew\r\nb\r\n"),
        ("a\nold\r\nb\rc", "a\nnew\r\nb\rc"),
        ("\ufeffold\n", "\ufeffnew\n"),
        ("form\ffeed\u2028old", "form\ffeed\u2028new"),
        ("old", "new"),
    ],
)
@pytest.mark.parametrize("place", ["open", "closed"])
def test_the_rest_of_a_file_stays_byte_for_byte(
    shared: Shared, before: str, after: str, place: str
) -> None:
    path = shared.file("a.txt", before)
    editor = shared.editor
    uri = editor.open(path) if place == "open" else ""
    model = shared.script([calls(("fs_edit", edit("a.txt", "old", "new"))), says("ok")])
    run = editor.run(model=model)
    assert run.result()["status"] == "completed"
    assert run.tool_result("fs_edit")["status"] == "ok"
    got = editor.text(uri) if place == "open" else path.read_bytes().decode()
    assert got == after


def test_a_closed_file_is_written_after_the_question(shared: Shared) -> None:
    editor = shared.editor
    path = shared.root / "deep" / "new.txt"
    run = editor.run(model=shared.script([calls(write("deep/new.txt", "hello\n")), says("ok")]))
    assert run.result()["edits"] == [{"uri": path.as_uri(), "kind": "create"}]
    assert path.read_text() == "hello\n"
    diff = next(d["diff"] for d in run.deltas("edit"))
    assert "+hello" in diff


def test_the_agent_opens_a_file_in_the_editor(shared: Shared) -> None:
    path = shared.file("a.txt", "text\n")
    editor = shared.editor
    run = editor.run(model=shared.script([calls(("editor_open", {"path": "a.txt"})), says("ok")]))
    assert run.result()["status"] == "completed"
    assert editor.wait_for("window/showDocument")["params"]["uri"] == path.as_uri()
    assert editor.questions() == []


def test_commands_get_the_variables_of_the_settings_and_no_keys(hosts: Hosts) -> None:
    command = {"command": 'echo "$MINE:$MY_API_KEY:" > seen'}
    options = {"env": {"MINE": "from settings"}}
    editor = hosts.start(env={"MY_API_KEY": "secret"}, options=options)
    run = editor.run(model=hosts.script([calls(("terminal_run", command)), says("ok")]))
    assert run.result()["status"] == "completed"
    assert (hosts.root / "seen").read_text() == "from settings::\n"
