"""OpenAI's Responses API: its stream, and its rules for items, calls and reasoning."""

import hashlib
import itertools
import json
import re
from typing import Any

from tests.vendors.server import Frames, Refused, VendorServer, halves, need, only, unique
from tests.vendors.turns import Turn

_TOP = (
    "model input instructions tools tool_choice reasoning include store stream prompt_cache_key "
    "parallel_tool_calls max_output_tokens temperature top_p text truncation metadata"
)
_ITEMS = {
    "message": "type id role status content phase",
    "reasoning": "type id summary encrypted_content content status",
    "function_call": "type id call_id name arguments status",
    "function_call_output": "type id call_id output status",
}


class OpenAIVendor(VendorServer):
    vendor = "openai"

    def __init__(self, *turns: Turn) -> None:
        super().__init__(*turns)
        self.encrypted: dict[str, str] = {}
        """The id of the reasoning that each encrypted content belongs to."""
        self.behind: dict[str, str] = {}
        """The id of the reasoning right before which each item was made, by the item's id."""
        self._made = 0

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def stream_error(self, turn: Turn) -> dict[str, Any]:
        return {"type": "error", "code": "server_is_overloaded", "message": turn.message}

    # ---- the stream

    def frames(self, turn: Turn, body: dict[str, Any]) -> Frames:
        events = self._events(turn, body, [])
        for number, (place, kind, fields) in enumerate(events):
            yield place, {"type": kind, "sequence_number": number, **fields}

    def _events(self, turn: Turn, body: dict[str, Any], output: list[dict[str, Any]]) -> Any:
        yield None, "response.created", {"response": self._response(body, "in_progress", [])}
        if turn.thinking:
            yield from self._reasoning(turn.thinking, output)
        if turn.text or turn.finish == "refused":
            yield from self._message(turn, output)
        for call in turn.calls:
            yield from self._call(call.name, call.arguments, output)
        status, details = "completed", None
        if turn.finish == "length":
            status, details = "incomplete", {"reason": "max_output_tokens"}
        response = self._response(body, status, output)
        tokens = turn.tokens
        response["incomplete_details"] = details
        response["usage"] = {
            "input_tokens": tokens.input,
            "input_tokens_details": {
                "cached_tokens": tokens.cached,
                "cache_write_tokens": tokens.written,
            },
            "output_tokens": tokens.output,
            "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
            "total_tokens": tokens.input + tokens.output,
        }
        for thought, item in itertools.pairwise(output):
            if thought["type"] == "reasoning":
                self.behind[item["id"]] = thought["id"]
        yield None, f"response.{status}", {"response": response}

    def _reasoning(self, text: str, output: list[dict[str, Any]]) -> Any:
        item = {"id": self._id("rs"), "type": "reasoning", "summary": []}
        index = {"output_index": len(output), "item_id": item["id"], "summary_index": 0}
        yield None, "response.output_item.added", {"output_index": len(output), "item": dict(item)}
        for piece in halves(text):
            yield None, "response.reasoning_summary_text.delta", {**index, "delta": piece}
        encrypted = hashlib.sha256(f"{item['id']}{text}".encode()).hexdigest() + "=="
        self.encrypted[encrypted] = str(item["id"])
        item["summary"] = [{"type": "summary_text", "text": text}]
        item["encrypted_content"] = encrypted
        yield "thinking", "response.output_item.done", {"output_index": len(output), "item": item}
        output.append(item)

    def _message(self, turn: Turn, output: list[dict[str, Any]]) -> Any:
        item = {"id": self._id("msg"), "type": "message", "role": "assistant", "content": []}
        item |= {"status": "in_progress", "phase": "commentary" if turn.calls else "final_answer"}
        index = {"output_index": len(output), "item_id": item["id"], "content_index": 0}
        yield None, "response.output_item.added", {"output_index": len(output), "item": dict(item)}
        one, other = halves(turn.text)
        yield None, "response.output_text.delta", {**index, "delta": one, "logprobs": []}
        yield "text", "response.output_text.delta", {**index, "delta": other, "logprobs": []}
        content: list[Any] = [{"type": "output_text", "text": turn.text, "annotations": []}]
        if turn.finish == "refused":
            content.append({"type": "refusal", "refusal": turn.message})
        item |= {"status": "completed", "content": content}
        yield None, "response.output_item.done", {"output_index": len(output), "item": item}
        output.append(item)

    def _call(self, name: str, raw: Any, output: list[dict[str, Any]]) -> Any:
        item = {"id": self._id("fc"), "type": "function_call", "call_id": self._id("call")}
        item |= {"name": name, "arguments": "", "status": "in_progress"}
        index = {"output_index": len(output), "item_id": item["id"]}
        yield None, "response.output_item.added", {"output_index": len(output), "item": dict(item)}
        arguments = raw if isinstance(raw, str) else json.dumps(raw)
        one, other = halves(arguments)
        kind = "response.function_call_arguments.delta"
        yield "half_call", kind, {**index, "delta": one}
        yield None, kind, {**index, "delta": other}
        item |= {"arguments": arguments, "status": "completed"}
        yield "call", "response.output_item.done", {"output_index": len(output), "item": item}
        output.append(item)

    def _response(self, body: dict[str, Any], status: str, output: list[Any]) -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": status,
            "model": body["model"],
            "output": list(output),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "usage": None,
        }

    def _id(self, prefix: str) -> str:
        self._made += 1
        return f"{prefix}_{self._made:04}"

    # ---- the rules

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        if path != "/v1/responses":
            raise Refused(f"no such path {path}", 404)
        if headers.get("authorization") != f"Bearer {self.KEY}":
            raise Refused(f"Incorrect API key: {headers.get('authorization')}", 401)
        only(body, _TOP, "request")
        need(body.get("store") is False, "the test wants no state at the vendor's")
        for tool in body.get("tools", []):
            only(tool, "type name description parameters strict", "tools")
            need(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool["name"]), "tools.name: bad name")
        unique((tool["name"] for tool in body.get("tools", [])), "tools: names must be unique")
        ids = [item["id"] for item in body["input"] if "id" in item]
        unique(ids, "Duplicate item found with id")
        calls: set[str] = set()
        results: set[str] = set()
        reasoned = None
        for number, item in enumerate(body["input"]):
            where = f"input[{number}]"
            kind = item.get("type", "message")
            need(kind in _ITEMS, f"{where}: unknown item {kind}")
            only(item, _ITEMS[kind], where)
            if reasoned is not None:
                need(
                    kind in ("reasoning", "function_call")
                    or (kind == "message" and item["role"] == "assistant"),
                    f"Item {reasoned!r} of type 'reasoning' was provided without its required "
                    "following item.",
                )
            behind = self.behind.get(item.get("id", ""))
            need(
                behind is None or behind == reasoned,
                f"{where}: Item of type {kind!r} was provided without its required 'reasoning' "
                f"item: {behind!r}.",
            )
            reasoned = item["id"] if kind == "reasoning" else None
            match kind:
                case "message":
                    _check_message(item, where)
                case "reasoning":
                    hidden = item.get("encrypted_content")
                    need(hidden, f"{where}: Item with id {item['id']!r} not found.")
                    made_for = self.encrypted.get(hidden)
                    need(
                        made_for == item["id"], f"{where}: encrypted content could not be verified"
                    )
                case "function_call":
                    need(item["call_id"] not in calls, f"{where}: call id used twice")
                    need(len(item["call_id"]) <= 64, f"{where}: call id too long")
                    calls.add(item["call_id"])
                case _:
                    need(
                        item["call_id"] in calls,
                        f"No tool call found for function call output {item['call_id']}.",
                    )
                    need(item["call_id"] not in results, f"{where}: two outputs of one call")
                    _check_message({"role": "user", "content": item["output"]}, where)
                    results.add(item["call_id"])
        need(reasoned is None, "reasoning was provided without its required following item")
        need(calls == results, f"No tool output found for function calls {calls - results}.")


def _check_message(item: dict[str, Any], where: str) -> None:
    role, content = item["role"], item["content"]
    need(role in ("user", "assistant", "system", "developer"), f"{where}: bad role {role}")
    if isinstance(content, str):
        return
    known = (
        ("output_text", "refusal")
        if role == "assistant"
        else ("input_text", "input_image", "input_file")
    )
    for part in content:
        need(part["type"] in known, f"{where}: invalid content {part['type']} for role {role}")
