"""Messages no well-behaved client sends: each request has exactly one answer, and no popup."""

import json
from typing import Any

import pytest

from tests.e2e.conftest import Hosts, Shared
from tests.e2e.editor import Editor
from tests.e2e.rawclient import OMIT, Message, RpcError

POPUPS = ("window/showMessage", "window/showMessageRequest")


@pytest.fixture
def editor(shared: Shared) -> Editor:
    return shared.editor


def check_unharmed(editor: Editor) -> None:
    """The stream is in step, nothing popped up, and no answer tells about our insides."""
    assert editor.request("agent/ping").result() == {"pong": True}
    assert [m for m in editor.received() if m.get("method") in POPUPS] == []
    told = json.dumps(editor.received())
    assert "Traceback" not in told
    assert str(editor.root.parent / "home") not in told


def error_of(editor: Editor, method: str, params: Any = OMIT) -> RpcError:
    with pytest.raises(RpcError) as caught:
        editor.request(method, params).result()
    return caught.value


@pytest.mark.parametrize(
    ("params", "field"),
    [
        (OMIT, "prompt"),
        ({}, "prompt"),
        ({"prompt": 5}, "prompt"),
        ({"prompt": [{"type": "nonsense"}]}, "prompt"),
        ({"prompt": "hi", "limits": {"maxTurns": "many"}}, "maxTurns"),
        ({"prompt": "hi", "role": {}}, "role"),
    ],
)
def test_bad_params_name_the_field(editor: Editor, params: Any, field: str) -> None:
    error = error_of(editor, "agent/run", params)
    assert error.code == -32602
    assert field in error.message + str(error.data)
    check_unharmed(editor)


@pytest.mark.parametrize("params", [None, [], "text", 7, [1, 2]])
def test_params_that_are_no_object(editor: Editor, params: Any) -> None:
    assert error_of(editor, "agent/run", params).code in (-32602, -32600)
    check_unharmed(editor)


@pytest.mark.parametrize(
    "params",
    [
        {"tool": {"jsonrpc": "2.0", "method": "tools/call", "id": 7, "params": {}}},
        {"class": 1, "_private": 2, "type_name": "X", "": 3, "größe": 4},
        {"deep": [[[[[[[[{"jsonrpc": "2.0"}]]]]]]]]},
    ],
)
def test_odd_keys_are_just_data(editor: Editor, params: Any) -> None:
    assert editor.request("agent/ping", params).result() == {"pong": True}
    check_unharmed(editor)


def test_unknown_methods(editor: Editor) -> None:
    assert error_of(editor, "agent/nonsense", {}).code == -32601
    assert error_of(editor, "textDocument/nonsense").code == -32601
    editor.notify("agent/nonsense", {"a": 1})
    editor.notify("$/nonsense")
    check_unharmed(editor)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{not json", -32700),
        (b"\xff\xfe", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":9,"method":"agent/ping"}]', -32600),
        (b'"text"', -32600),
        (b'{"jsonrpc":"1.0","id":9,"method":"agent/ping"}', -32600),
        (b'{"id":9,"method":"agent/ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":9,"method":5}', -32600),
    ],
)
def test_what_is_no_message_gets_an_error(editor: Editor, body: bytes, code: int) -> None:
    editor.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    answer = editor.wait(lambda m: "error" in m, what="an error")
    assert answer["error"]["code"] == code
    check_unharmed(editor)


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: %d\r\n\r\n",
        b"Content-Length:%d\r\n\r\n",
        b"CONTENT-LENGTH:   %d  \r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nX-Other: 1\r\n\r\n",
        b"Content-Length: %d\n\n",
    ],
)
def test_headers_as_others_write_them(editor: Editor, header: bytes) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": "odd", "method": "agent/ping"}).encode()
    editor.send_bytes(header % len(body) + body)
    answer = editor.wait(lambda m: m.get("id") == "odd", what="the answer")
    assert answer["result"] == {"pong": True}
    check_unharmed(editor)


def test_a_message_over_the_cap_is_refused_in_words(editor: Editor) -> None:
    """Its body is skipped, and the stream stays in step."""
    size = 65 * 2**20
    editor.send_bytes(b"Content-Length: %d\r\n\r\n" % size)
    answer = editor.wait(lambda m: "error" in m, what="an error")
    assert "64 MiB" in answer["error"]["message"]
    editor.send_bytes(b"x" * size)
    check_unharmed(editor)


def test_a_message_cut_anywhere_arrives_whole(editor: Editor) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": "cut", "method": "agent/ping"}).encode()
    for byte in b"Content-Length: %d\r\n\r\n%b" % (len(body), body):
        editor.send_bytes(bytes([byte]))
    assert editor.wait(lambda m: m.get("id") == "cut")["result"] == {"pong": True}


def test_large_params_arrive(editor: Editor) -> None:
    assert editor.request("agent/ping", {"blob": "x" * 5_000_000}).result() == {"pong": True}


def test_before_initialize(hosts: Hosts) -> None:
    editor = hosts.start(handshake=False)
    editor.notify("textDocument/didOpen", {})
    assert error_of(editor, "agent/run", {"prompt": "hi"}).code == -32002
    assert error_of(editor, "workspace/executeCommand", {"command": "x"}).code == -32002
    editor.initialize()
    check_unharmed(editor)


def test_after_shutdown(hosts: Hosts) -> None:
    editor = hosts.start()
    assert editor.request("shutdown").result() is None
    assert error_of(editor, "agent/run", {"prompt": "hi"}).code == -32600
    editor.notify("textDocument/didClose", {})
    editor.notify("exit")
    assert editor.wait_exit() == 0


@pytest.mark.parametrize(
    "answer",
    [
        {"id": "never-asked", "result": None},
        {"id": 12345, "error": {"code": -1, "message": "no"}},
        {"id": None, "result": {}},
        {"id": "never-asked"},
    ],
)
def test_answers_to_nothing_are_ignored(editor: Editor, answer: Message) -> None:
    editor.send({"jsonrpc": "2.0", **answer})
    editor.notify("$/cancelRequest", {"id": "never-asked"})
    check_unharmed(editor)


def test_documents_out_of_step_are_no_popup(editor: Editor) -> None:
    uri = (editor.root / "nowhere.py").as_uri()
    item = {"uri": uri, "version": 3}
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    editor.notify(
        "textDocument/didChange", {"textDocument": item, "contentChanges": [{"text": "x"}]}
    )
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    for language in (None, "python"):
        opened = {"uri": uri, "version": 0, "languageId": language, "text": "x"}
        editor.notify("textDocument/didOpen", {"textDocument": opened})
    editor.notify("textDocument/didOpen", {"textDocument": 5})
    check_unharmed(editor)


def test_many_requests_at_once_have_one_answer_each(editor: Editor) -> None:
    pendings = [editor.request("agent/ping") for _ in range(200)]
    for pending in pendings:
        assert pending.result() == {"pong": True}
    ids = [m["id"] for m in editor.received() if "method" not in m and "id" in m]
    assert len(ids) == len(set(ids))
