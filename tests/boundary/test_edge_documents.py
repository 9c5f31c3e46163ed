"""What the editor tells reaches the application as it is, and pygls' own mirror stays out of it."""

import json

from tests.boundary.edge_client import EdgeClient, edge

URI = "file:///workspace/%C3%A9.py"
LINE = {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 2}}


async def events(client: EdgeClient) -> list[object]:
    return json.loads((await client.result(client.run("events")))["output"])


async def test_documents_are_told_in_order_and_unchanged() -> None:
    async with edge() as client:
        await client.initialize()
        item = {"uri": URI, "languageId": None, "version": 0, "text": "a\x0bb\u2028c\ud800"}
        client.notify("textDocument/didOpen", {"textDocument": item})
        client.notify("textDocument/didOpen", {"textDocument": {**item, "languageId": "python"}})
        client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": URI, "version": None},
                "contentChanges": [{"range": LINE, "rangeLength": 1, "text": "x"}, {"text": "y"}],
            },
        )
        client.notify("textDocument/didSave", {"textDocument": {"uri": URI}, "text": "y"})
        client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        client.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": URI, "version": 9}, "contentChanges": [{"text": "z"}]},
        )
        assert await events(client) == [
            ["open", URI, "", 0, "a\x0bb\u2028c\ud800"],
            ["open", URI, "python", 0, "a\x0bb\u2028c\ud800"],
            ["change", URI, 0, ["x", "y"]],
            ["save", URI],
            ["close", URI],
            ["change", URI, 9, ["z"]],
        ]
        await client.check_unharmed()
        assert client.stderr == ""


async def test_the_workspace_is_told() -> None:
    async with edge() as client:
        await client.initialize()
        folder = {"uri": "file:///other", "name": "other"}
        client.notify(
            "workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}}
        )
        client.notify("workspace/didChangeConfiguration", {"settings": {"agentHost": {"a": 1}}})
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        own = client.request("agent/settings", {"settings": {"trust": "always"}})
        assert await client.result(own) == {"problems": ["`x` is no known key."]}
        client.notify(
            "workspace/didChangeWatchedFiles", {"changes": [{"uri": "file:///r.md", "type": 2}]}
        )
        client.notify("window/workDoneProgress/cancel", {"token": "t"})
        assert await events(client) == [
            ["folders", ["file:///other"], []],
            ["settings", {"agentHost": {"a": 1}}],
            ["settings", {}],
            ["own settings", {"trust": "always"}],
            ["files", ["file:///r.md"]],
            ["progress", "t"],
        ]


async def test_actions_and_lenses() -> None:
    async with edge() as client:
        await client.initialize()
        where = {"textDocument": {"uri": URI}, "range": LINE, "context": {"diagnostics": []}}
        actions = await client.result(client.request("textDocument/codeAction", where))
        assert actions[0]["command"]["command"] == URI
        lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        assert await client.result(lenses) == []
