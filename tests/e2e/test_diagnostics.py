"""The diagnostics tool asks the editor, by the document's own URI, and tells what it shows."""

from tests.e2e.conftest import Hosts
from tests.e2e.rawclient import Message
from tests.e2e.script import calls, says


def test_the_model_reads_what_the_editor_shows_as_wrong(hosts: Hosts) -> None:
    path = hosts.file("a.py", "import x\n")
    editor = hosts.start(experimental={"diagnostics": True})
    asked: list[str] = []
    wrong = {
        "range": {"start": {"line": 0, "character": 7}, "end": {"line": 0, "character": 8}},
        "severity": 1,
        "source": "linter",
        "message": "no module named x",
    }

    def answer(params: Message) -> object:
        asked.append(params["uri"])
        return {"diagnostics": [wrong]}

    editor.handlers["agent/diagnostics"] = answer
    uri = editor.open(path)
    call = ("editor_diagnostics", {"path": "a.py"})
    run = editor.run(model=hosts.script([calls(call), says("ok")]))
    assert run.result()["status"] == "completed"
    assert asked == [uri]
    result = run.tool_result("editor_diagnostics")
    assert (result["status"], "1 diagnostics" in result["summary"]) == ("ok", True)
    assert editor.questions() == []
