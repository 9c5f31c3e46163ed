"""The main job by pytest-lsp's client, which is built on pygls and the typed messages of LSP."""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcMethodNotFound
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

from tests.e2e.conftest import Hosts
from tests.e2e.script import calls, expecting, says

DISK = "name = 'disk'\n"
UNSAVED = "# not saved\nname = 'disk'\n"


class State:
    """What the client saw, and the one document that it holds."""

    def __init__(self) -> None:
        self.deltas: asyncio.Queue[Any] = asyncio.Queue()
        self.questions: list[types.ShowMessageRequestParams] = []
        self.edits: list[types.TextDocumentEdit] = []
        self.text = UNSAVED
        self.version = 1


def make_client() -> LanguageClient:
    client = make_test_lsp_client()
    state = client.state = State()

    @client.feature("agent/delta")
    def on_delta(params: Any) -> None:
        state.deltas.put_nowait(params)

    @client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def on_question(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        state.questions.append(params)
        return next(a for a in params.actions or [] if a.title.startswith("Allow once"))

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def on_edit(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        for change in params.edit.document_changes or []:
            assert isinstance(change, types.TextDocumentEdit)
            state.edits.append(change)
            asyncio.get_running_loop().call_soon(apply, client, change)
        return types.ApplyWorkspaceEditResult(applied=True)

    return client


def apply(client: LanguageClient, change: types.TextDocumentEdit) -> None:
    """Apply an edit of ASCII text and tell the host."""
    state = client.state
    lines = state.text.splitlines(keepends=True)

    def offset(at: types.Position) -> int:
        return sum(map(len, lines[: at.line])) + at.character

    for edit in reversed(change.edits):
        start, end = offset(edit.range.start), offset(edit.range.end)
        state.text = state.text[:start] + edit.new_text + state.text[end:]
    state.version += 1
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(state.version, change.text_document.uri),
            [types.TextDocumentContentChangeWholeDocument(state.text)],
        )
    )


@pytest_asyncio.fixture
async def client(hosts: Hosts) -> AsyncIterator[LanguageClient]:
    command = [sys.executable, "-m", "agent_host", "serve", "--stdio"]
    client = await ClientServerConfig(command, make_client, hosts.environment()).start()
    await client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities("visual-studio-code"),
            workspace_folders=[types.WorkspaceFolder(hosts.root.as_uri(), "workspace")],
        )
    )
    yield client
    await client.shutdown_session()
    await client.stop()


def main_job(hosts: Hosts) -> str:
    return hosts.script(
        [
            calls(("fs_read", {"path": "tidy.py"})),
            expecting(
                "not saved",
                calls(("fs_edit", {"path": "tidy.py", "edits": [{"old": "disk", "new": "agent"}]})),
            ),
            calls(("terminal_run", {"command": "touch ran"})),
            says("All done."),
        ]
    )


async def test_the_main_job(client: LanguageClient, hosts: Hosts) -> None:
    path = hosts.file("tidy.py", DISK)
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(path.as_uri(), "python", 1, UNSAVED))
    )
    params = {"prompt": "tidy up", "model": main_job(hosts)}
    result = await client.protocol.send_request_async("agent/run", params)
    assert (result.status, result.output) == ("completed", "All done.")
    assert client.state.text == UNSAVED.replace("disk", "agent")
    assert len(client.state.edits) == 1
    assert len(client.state.questions) == 2
    assert (hosts.root / "ran").exists()
    deltas = [client.state.deltas.get_nowait() for _ in range(client.state.deltas.qsize())]
    assert [delta.seq for delta in deltas] == list(range(1, len(deltas) + 1))
    assert deltas[-1].delta.kind == "ended"


async def test_a_cancelled_request(client: LanguageClient) -> None:
    run = client.protocol.send_request(
        "agent/run", {"prompt": "go", "model": "scripted/hang"}, msg_id="mine"
    )
    while (await client.state.deltas.get()).delta.kind != "text":
        pass
    client.cancel_request(types.CancelParams("mine"))
    outcome = await asyncio.wait_for(
        asyncio.gather(asyncio.wrap_future(run), return_exceptions=True), 20
    )
    assert "stopped" in str(outcome) or "-32800" in str(outcome) or "ancel" in str(outcome)


async def test_requests_of_the_protocol_itself(client: LanguageClient) -> None:
    pong = await client.protocol.send_request_async("agent/ping", {})
    assert pong.pong is True
    with pytest.raises(JsonRpcMethodNotFound, match=r"agent/nonsense|not found"):
        await client.protocol.send_request_async("agent/nonsense", {})
