"""The early answer to `initialize`: the same as the server's, and nothing heavy before it."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from agent_host.lsp.capabilities import METHODS, initialize_result, position_encoding
from agent_host.lsp.early import Opening, answer_initialize
from agent_host.lsp.framing import Framer, frame
from agent_host.lsp.host import Edge, Host
from agent_host.lsp.server import Server
from agent_host.lsp.wire import METHODS as WIRE_METHODS

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "client-capabilities").glob("*.json"))
HEAVY = {"asyncio", "dataclasses", "inspect", "logging", "pydantic", "pygls", "lsprotocol", "attr"}


def initialize(params: object, **more: object) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params, **more}
    return frame(json.dumps(message).encode())


def early(data: bytes) -> tuple[list[Any], Opening]:
    """What the early answer writes when it reads that."""
    source, feed = os.pipe()
    reader, sink = os.pipe()
    os.write(feed, data)
    os.close(feed)
    opening = Opening(source, sink)
    answer_initialize(opening)
    os.close(sink)
    os.close(source)
    with os.fdopen(reader, "rb") as pipe:
        answers = Framer().feed(pipe.read())
    return [json.loads(cast("bytes", answer)) for answer in answers], opening


class Output:
    """Stands for the writer."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


async def server(data: bytes) -> list[Any]:
    """What the server answers when it reads that."""
    made = Server(_no_host, on_editor=lambda _: None, on_failure=lambda _: None)
    output = Output()
    async with asyncio.TaskGroup() as tasks:
        made.edge.tasks = tasks
        made.edge.output = cast("Any", output)
        for item in Framer().feed(data):
            made.edge.receive(item)
    return [json.loads(cast("bytes", answer)) for answer in Framer().feed(output.data)]


def _no_host(edge: Edge) -> Host:
    return cast("Host", edge)


def test_all_real_clients_are_there() -> None:
    assert len(FIXTURES) == 13


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
async def test_both_answers_are_the_same(fixture: Path) -> None:
    data = initialize(json.loads(fixture.read_text()))
    answers, opening = early(data)
    assert opening.answered
    assert opening.received == data
    assert len(answers) == 1
    assert answers == await server(data)


async def test_the_second_answer_is_dropped() -> None:
    made = Server(_no_host, on_editor=lambda _: None, on_failure=lambda _: None)
    output = Output()
    async with asyncio.TaskGroup() as tasks:
        made.edge.tasks = tasks
        made.edge.output = cast("Any", output)
        made.edge.answered_early = True
        for item in Framer().feed(initialize({}) * 2):
            made.edge.receive(item)
    (second,) = Framer().feed(output.data)
    assert json.loads(cast("bytes", second))["error"]["code"] == -32600


@pytest.mark.parametrize(
    "params",
    [
        {},
        None,
        {"capabilities": None},
        {"capabilities": {"general": {"positionEncodings": 5}}},
        {"capabilities": {"general": []}, "processId": "x", "workspaceFolders": {}},
        {"capabilities": {}, "clientInfo": 1, "rootUri": 2, "initializationOptions": [3]},
    ],
)
async def test_odd_params_get_the_same_answer_too(params: object) -> None:
    answers, opening = early(initialize(params))
    assert opening.answered
    assert answers == await server(initialize(params))
    assert "result" in answers[0]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Content-Length: 5\r\n\r\n{",
        frame(b"{"),
        frame(b"[]"),
        frame(b'{"jsonrpc":"2.0","id":1,"method":"agent/ping"}'),
        initialize({}, jsonrpc="1.0"),
        initialize({}, id=None),
        initialize([]),
        b"Content-Length: x\r\n\r\n" + initialize({}),
        b"x" * 20_000 + initialize({}),
    ],
)
def test_everything_else_is_left_to_the_server(data: bytes) -> None:
    answers, opening = early(data)
    assert answers == []
    assert not opening.answered
    assert opening.received == data


def test_messages_behind_it_are_kept() -> None:
    data = initialize({}) + frame(b'{"jsonrpc":"2.0","method":"initialized"}')
    answers, opening = early(data)
    assert len(answers) == 1
    assert opening.received == data


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-7", "utf-32", "utf-8"], "utf-32"),
        (["utf-16"], "utf-16"),
        ([], "utf-16"),
        ([5, None], "utf-16"),
        (["latin-1"], "utf-16"),
    ],
)
def test_the_clients_order_of_encodings_counts(offered: object, chosen: str) -> None:
    params = {"capabilities": {"general": {"positionEncodings": offered}}}
    assert position_encoding(params) == chosen
    capabilities = cast("dict[str, Any]", initialize_result(params)["capabilities"])
    assert capabilities["positionEncoding"] == chosen


def test_the_editor_is_seen_alive() -> None:
    assert early(initialize({"processId": os.getpid()}))[1].editor_seen
    assert not early(initialize({"processId": None}))[1].editor_seen


def test_methods_that_are_told_are_methods_that_exist() -> None:
    assert set(METHODS) == {name for name, of in WIRE_METHODS.items() if of.sender == "editor"}


def test_nothing_heavy_is_imported_before_the_answer() -> None:
    code = "import agent_host.__main__, agent_host.lsp.early, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert HEAVY.isdisjoint(done.stdout.split())
