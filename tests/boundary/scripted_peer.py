"""A host of a few lines that plays a script, and the client that talks to it."""

import sys
import textwrap
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent_host.client import AgentHostClient, OnQuestion

PEER = """
import json, sys, time
source, sink = sys.stdin.buffer, sys.stdout.buffer
log = []
ids = iter(range(1000, 2000))

def read():
    length = 0
    while (line := source.readline()) not in (b"\\r\\n", b""):
        length = int(line.split(b":")[1])
    if not line:
        sys.exit(3)
    message = json.loads(source.read(length))
    log.append(message)
    return message

def write(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sink.write(b"content-length:%d\\r\\n\\r\\n" % len(body) + body)
    sink.flush()

def ask(method, params):
    asked = f"q{next(ids)}"
    write(id=asked, method=method, params=params)
    return asked

def answer_of(asked):
    while True:
        for message in log:
            if message.get("id") == asked and "method" not in message:
                return message.get("result", message.get("error"))
        read()

def delta(run, seq, kind, **data):
    where = {"sessionId": "s", "runId": run, "seq": seq, "origin": {"kind": "agent"}}
    write(method="agent/delta", params={**where, "delta": {"kind": kind, **data}})

def result(request, status="completed", **more):
    run = request["params"]["runId"]
    write(id=request["id"], result={"sessionId": "s", "runId": run, "status": status, **more})

def expect(method):
    for message in log:
        if message.get("method") == method and not message.get("seen"):
            message["seen"] = True
            return message
    while True:
        message = read()
        if message.get("method") == method:
            message["seen"] = True
            return message

hello = expect("initialize")
write(id=hello["id"], result={"capabilities": {"positionEncoding": ENCODING, "x": 1}})
expect("initialized")
exec(SCRIPT)
bye = expect("shutdown")
write(id=bye["id"], result=None)
expect("exit")
"""


@asynccontextmanager
async def start(
    folder: Path,
    script: str,
    on_question: OnQuestion = "deny",
    encoding: str = "utf-16",
    **more: Any,
) -> AsyncGenerator[AgentHostClient]:
    """A client whose host plays `script` between the handshake and `shutdown`."""
    peer = folder / "peer.py"
    peer.write_text(f"SCRIPT = {textwrap.dedent(script)!r}\nENCODING = {encoding!r}\n{PEER}")
    command = (sys.executable, str(peer))
    async with AgentHostClient.start(
        workspace=folder, command=command, on_question=on_question, **more
    ) as client:
        yield client


async def result_of_what(client: AgentHostClient) -> Any:
    """What the script answers to the request `what`."""
    return await client.request("what")
