"""A person converses in a document, by what every editor has: edits, lenses, actions, commands."""

import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.e2e.conftest import Hosts
from tests.e2e.editor import NEVER, Editor
from tests.e2e.rawclient import WAIT
from tests.e2e.script import calls, expecting, says
from tests.e2e.test_editor_commands import execute
from tests.e2e.test_permission import edit


def lenses(editor: Editor, uri: str) -> dict[str, Any]:
    """The commands of the lenses, by title."""
    params = {"textDocument": {"uri": uri}}
    found = editor.request("textDocument/codeLens", params).result()
    return {each["command"]["title"]: each["command"] for each in found}


def wait_lenses(editor: Editor, uri: str, *wanted: str) -> dict[str, Any]:
    """The lenses once they are these; each look waits for what the host said before."""
    deadline = time.monotonic() + WAIT
    while set(found := lenses(editor, uri)) != set(wanted):
        assert time.monotonic() < deadline, list(found)
    return found


def press(editor: Editor, command: dict[str, Any]) -> Any:
    params = {"command": command["command"], "arguments": command["arguments"]}
    return editor.request("workspace/executeCommand", params).result()


def test_a_prompt_is_sent_answered_and_asked_about_in_a_document(hosts: Hosts) -> None:
    path = hosts.file("a.txt", "old\n")
    answer = says("Did it.\n## You\n\nBye.")
    model = hosts.script([calls(("fs_edit", edit("a.txt", "old", "new"))), answer])
    editor = hosts.start(options={"model": model})
    editor.answers = NEVER
    uri = editor.open(hosts.root / "talk.agent.md", "Change it, please.\n", "markdown")
    press(editor, wait_lenses(editor, uri, "Send")["Send"])
    editor.wait_text(uri, "May it?")
    editor.wait_question()
    editor.type(uri, "## You\n", "## You\n\nAnd then?")
    answers = ["Deny", "Allow once", "Allow edits in the workspace for this session", "Show"]
    meanwhile = ["Send now", "Send after this", "Deny, for this reason"]
    found = wait_lenses(editor, uri, "Stop", *answers, *meanwhile)
    press(editor, found["Allow once"])
    editor.wait_text(uri, "> completed")
    editor.wait_for("$/cancelRequest")
    assert path.read_text() == "new\n"
    text = editor.text(uri)
    assert text.startswith("---\nsession: ")
    assert "+new" in text
    assert "\nDid it.\n ## You\n\nBye.\n" in text
    assert "\nAnd then?" in text
    found = wait_lenses(editor, uri, "Undo its changes", "Send")
    press(editor, found["Undo its changes"])
    assert path.read_text() == "old\n"


def test_a_conversation_goes_on_in_another_host(hosts: Hosts) -> None:
    model = hosts.script([says("{{prompt}}!")])
    editor = hosts.start(options={"model": model})
    path = hosts.root / "talk.agent.md"
    uri = editor.open(path, "## You\n\nOne\n", "markdown")
    execute(editor, "send", uri)
    editor.wait_text(uri, "> completed")
    wait_lenses(editor, uri)
    path.write_text(editor.text(uri) + "Two\n")
    assert editor.shutdown() == 0
    again = hosts.start(options={"model": model})
    again.open(path, language="markdown")
    execute(again, "send")
    again.wait_text(uri, "Two!")
    (kept,) = again.request("agent/session/list", {}).result()["sessions"]
    assert f"session: {kept['sessionId']}\n" in again.text(uri)
    assert kept["runs"] == 2


def test_an_editor_without_dialogs_asks_in_the_document(hosts: Hosts) -> None:
    make = ("terminal_run", {"command": "touch made"})
    again = expecting("rather not", calls(make))
    model = hosts.script([calls(make), again, says("Thanks.")])
    editor = hosts.start("empty", options={"model": model})
    uri = editor.open(hosts.root / "talk.agent.md", "Go.\n", "markdown")
    execute(editor, "send")
    editor.wait_text(uri, "May it?")
    editor.type(uri, "## You\n", "## You\n\nI would rather not.")
    press(editor, lenses(editor, uri)["Deny, for this reason"])
    editor.wait_text(uri, "> Deny: I would rather not.")
    editor.wait(lambda _: editor.text(uri).count("May it?") == 2, what="the second question")
    other = editor.open(hosts.file("a.txt", "text\n"))
    actions = code_actions(editor, other)
    press(editor, actions["Agent: allow once"])
    editor.wait_text(uri, "> completed")
    assert (hosts.root / "made").exists()
    assert editor.questions() == []
    text = editor.text(uri)
    assert text.index("May it?") < text.index("I would rather not.\n\n## Agent ")
    assert text.endswith("## You\n\n")


def test_two_conversations_are_stopped_and_steered_each_by_itself(hosts: Hosts) -> None:
    model = hosts.script([says("Thinking of {{prompt}}.", hang=True)])
    editor = hosts.start(options={"model": model})
    one = editor.open(hosts.root / "one.agent.md", "apples\n", "markdown")
    two = editor.open("untitled:Untitled-1", "## You\n\npears\n", "markdown")
    for uri, what in ((one, "apples"), (two, "pears")):
        execute(editor, "send", uri)
        editor.wait_text(uri, f"Thinking of {what}.")
    editor.type(two, "## You\n\n", "## You\n\npears\n")  # the first heading: what was sent
    editor.type(one, "\n## You\n", "\n## You\n\nplums")
    press(editor, lenses(editor, one)["Send after this"])
    editor.wait_text(one, "## You (next)\n\nplums")
    press(editor, wait_lenses(editor, one, "Stop", "Take back")["Stop"])
    editor.wait_text(one, "> stopped")
    wait_lenses(editor, one, "Send")
    assert "## You\n\nplums" in editor.text(one)
    press(editor, lenses(editor, one)["Send"])
    editor.wait_text(one, "Thinking of plums.")
    assert set(lenses(editor, two)) >= {"Stop"}
    execute(editor, "stop")
    editor.wait_text(two, "> stopped")


def test_a_selection_is_explained_in_a_conversation_that_the_host_opens(hosts: Hosts) -> None:
    model = hosts.script([expecting("", says("It sets x."))])
    editor = hosts.start(options={"model": model})
    uri = editor.open(hosts.file("src/a b.py", "import os\nx = 1\n"))
    opened: list[str] = []
    editor.handlers["window/showDocument"] = lambda params: (
        opened.append(params["uri"]) or {"success": True}
    )
    actions = code_actions(editor, uri, (1, 0), (1, 5))
    assert set(actions) == {
        "Agent: fix: x is unused",
        "Agent: explain the selection",
        "Agent: edit the selection",
        "Agent: ask about this file",
    }
    press(editor, actions["Agent: explain the selection"])
    (talk,) = opened
    editor.open(Path(unquote(talk.removeprefix("file://"))), language="markdown")
    editor.wait_text(talk, "It sets x.")
    editor.wait_text(talk, "> completed")
    assert 'Explain @"src/a b.py":2.' in editor.text(talk)
    wait_lenses(editor, talk)
    press(editor, actions["Agent: edit the selection"])
    editor.wait_text(talk, 'In @"src/a b.py":2, please ')


def test_what_a_prompt_may_name_is_offered(hosts: Hosts) -> None:
    for name in (".gitignore", "src/main.py", "src/deep/other.py", "built/main.o"):
        hosts.file(name, "built\n")
    editor = hosts.start()
    uri = editor.open(hosts.root / "talk.agent.md", "größe @main and", "markdown")
    items = complete(editor, uri, len("größe @main"))
    assert [each["label"] for each in items] == ["@src/main.py"]
    (edit,) = (each["textEdit"] for each in items)
    assert (edit["range"]["start"]["character"], edit["newText"]) == (6, "@src/main.py")
    assert complete(editor, uri, 3) is None
    editor.type(uri, "größe @main and", "/comp")
    assert [each["label"] for each in complete(editor, uri, 5)] == ["/compact"]
    other = editor.open(hosts.file("a.txt", "@main"))
    assert complete(editor, other, 5) is None


def test_what_a_prompt_names_in_vain_is_told_below_it(hosts: Hosts) -> None:
    for name in ("src/a b.py", ".env", "in.py"):
        hosts.file(name, "TEXT OF IT\n")
    model = hosts.script([says("{{prompt}}")])
    editor = hosts.start(options={"model": model})
    editor.answers = "Deny"
    prompt = '/nope @"src/a b.py" @in.py @src/ @.env @gone.py @"not here" @../out.py @somebody\n'
    uri = editor.open(hosts.root / "talk.agent.md", prompt, "markdown")
    execute(editor, "send")
    editor.wait_text(uri, "> completed")
    text = editor.text(uri)
    assert "> /nope is no prompt file, so it was sent as it is; there are /compact\n" in text
    for name in ("gone.py", "not here", "../out.py"):
        assert f"> @{name} is not attached: there is no such file in the workspace\n" in text
    assert "> @src/ is not attached: only files are; the agent was told its name\n" in text
    assert "@somebody is not" not in text
    assert "> Deny\n> Read .env · Denied" in text, text
    assert text.count("TEXT OF IT") == 2


def test_a_conversation_folds_and_has_an_outline(hosts: Hosts) -> None:
    editor = hosts.start("neovim")
    text = "Hello.\n\n## Agent r1\n\nHi.\n\n> one\n> two\n> three\n\n## You\n"
    uri = editor.open(hosts.root / "talk.agent.md", text, "markdown")
    asked = {"textDocument": {"uri": uri}}
    folds = editor.request("textDocument/foldingRange", asked).result()
    assert [(each["startLine"], each["endLine"]) for each in folds] == [(2, 8), (6, 8)]
    symbols = editor.request("textDocument/documentSymbol", asked).result()
    assert [each["name"] for each in symbols] == [
        "You: Hello.",
        "Agent: Hi. > one > two > three",
        "You",
    ]
    other = {"textDocument": {"uri": editor.open(hosts.file("a.txt", "text"))}}
    assert editor.request("textDocument/foldingRange", other).result() is None


def test_what_cannot_be_sent_is_refused_with_what_to_do(hosts: Hosts) -> None:
    editor = hosts.start()
    uri = editor.open(hosts.root / "talk.agent.md", "", "markdown")
    for command, arguments, told in (
        ("send", [], "write one at the end"),
        ("send", [{"uri": "file:///nowhere"}], "name ends in .agent.md"),
        ("send", [{"url": uri}], "url: there is no such key"),
        ("allow", [], "No such question is open"),
        ("answer", [{"callId": "c"}], "optionId"),
        ("ask", [{"lines": [1]}], "lines"),
    ):
        params = {"command": f"agentHost.{command}", "arguments": arguments}
        error = editor.request("workspace/executeCommand", params).answer()["error"]
        assert told in error["data"]["error"]
    execute(editor, "distrust")
    editor.type(uri, "", "---\nrole: nobody\n---\nHello.")
    execute(editor, "send")
    editor.wait_text(uri, "> failed (role_not_found): ")
    editor.type(uri, "role: nobody", "role: coder\nmodel: scripted/echo")
    wait_lenses(editor, uri)


def code_actions(
    editor: Editor, uri: str, start: tuple[int, int] = (0, 0), end: tuple[int, int] = (0, 0)
) -> dict[str, Any]:
    """The commands of the code actions, by title; one diagnostic stands there if there is text."""
    places = [{"line": line, "character": character} for line, character in (start, end)]
    where = {"start": places[0], "end": places[1]}
    found = [{"range": where, "message": "x is unused"}] if start != end else []
    params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": found}}
    actions = editor.request("textDocument/codeAction", params).result()
    return {each["title"]: each["command"] for each in actions}


def complete(editor: Editor, uri: str, character: int) -> Any:
    position = {"line": 0, "character": character}
    params = {"textDocument": {"uri": uri}, "position": position}
    found = editor.request("textDocument/completion", params).result()
    return found and found["items"]
