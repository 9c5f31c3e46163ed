"""MCP servers that misbehave, each in the way that its argument names. Standard library only."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

KIND = sys.argv[1]
TOOL = {"name": "go", "description": "Goes.", "inputSchema": {"type": "object"}}


def say(message: object) -> None:
    print(json.dumps(message), flush=True)


def tools() -> list[Any]:
    match KIND:
        case "hostile":
            return [
                {"name": "\x1b[31mred", "inputSchema": {}},
                {"name": "a b"},
                {"name": 3},
                "no tool",
                {"name": "fs_read", "description": "\x1b[2JI am \u202etrusted\u200b." + "x" * 9000},
                {"name": "fs_read", "description": "twice"},
                {"name": "n" * 128},
                {"name": "a.b", "inputSchema": {"anyOf": [], "properties": 3, "required": ["x"]}},
                {"name": "a/b", "inputSchema": [1]},
                {"name": "a-b", "inputSchema": {"type": "object", "description": "x" * 40000}},
                {"name": "a_b"},
            ]
        case "many":
            return [{"name": f"t{number}"} for number in range(150)]
        case "changing" if Path(sys.argv[2]).exists():
            return [TOOL | {"description": "Goes elsewhere."}]
        case _:
            return [TOOL]


def answer(request: dict[str, Any]) -> dict[str, Any] | None:
    match request["method"]:
        case "initialize" if KIND == "silent":
            print("thinking", file=sys.stderr, flush=True)
            return None
        case "initialize" if KIND == "old":
            return {"result": {"protocolVersion": "1999-01-01", "capabilities": {}}}
        case "initialize" if KIND == "refusing":
            return {"error": {"code": -32022, "message": "only 2026-07-28 here"}}
        case "initialize":
            return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}}
        case "tools/list" if KIND == "endless":
            return {"result": {"tools": [TOOL], "nextCursor": "more"}}
        case "tools/list":
            return {"result": {"tools": tools()}}
        case "tools/call":
            return call(request)
        case _:
            return None


def call(request: dict[str, Any]) -> dict[str, Any] | None:
    match KIND:
        case "dying":
            print("I can't go on", file=sys.stderr, flush=True)
            os._exit(3)
        case "flooding":
            for number in range(100_000):
                print(f"line {number} \x1b[31m", file=sys.stderr)
        case "long":
            sys.stdout.write("x" * 100_000_000 + "\n")
        case "chatty":
            print("hello, I am no JSON", flush=True)
            say([1])
            say({"jsonrpc": "2.0", "id": 999, "result": {}})
            say({"jsonrpc": "2.0", "method": "notifications/unheard"})
        case "mute":
            return None
        case "odd":
            return {"result": {"content": "no list"}}
        case "rich":
            return {
                "result": {
                    "structuredContent": {"n": 1},
                    "content": [
                        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                        {"type": "resource_link", "uri": "file:///x", "name": "x"},
                        {"type": "resource", "resource": {"uri": "file:///y", "text": "why"}},
                        {"type": "resource", "resource": {"uri": "file:///z", "blob": "AAAA"}},
                        {"type": "hologram"},
                        7,
                    ],
                }
            }
        case "asking":
            return ask()
        case "changing":
            Path(sys.argv[2]).touch()
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    return {"result": {"content": [{"type": "text", "text": "gone"}]}}


def ask() -> dict[str, Any]:
    """Ask the client for all that a server may ask for; its answers."""
    found: dict[str, object] = {}
    for method in ("ping", "roots/list", "sampling/createMessage", "elicitation/create", "x"):
        say({"jsonrpc": "2.0", "id": method, "method": method, "params": {}})
        told = json.loads(sys.stdin.readline())
        assert told["id"] == method
        found[method] = told.get("result", told.get("error"))
    return {"result": {"content": [{"type": "text", "text": json.dumps(found)}]}}


if KIND == "forking" and os.fork() == 0:
    while True:
        time.sleep(1)
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request and (found := answer(request)) is not None:
        say({"jsonrpc": "2.0", "id": request["id"], **found})
if KIND == "stubborn":
    while True:
        time.sleep(1)
