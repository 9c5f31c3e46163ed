"""Chat completions as local servers speak them, and their rules for roles and tool calls."""

import json
import re
from typing import Any

from tests.vendors.server import Frames, Refused, VendorServer, halves, need, only
from tests.vendors.turns import Turn

_TOP = (
    "model messages tools tool_choice stream stream_options temperature top_p max_tokens stop "
    "parallel_tool_calls seed reasoning_effort response_format"
)


class ChatVendor(VendorServer):
    vendor = "local"

    def __init__(self, *turns: Turn) -> None:
        super().__init__(*turns)
        self.thought: dict[str, str] = {}
        """What was thought before each call, by the call's id."""
        self.ids: set[str] = set()
        """All that it has sent."""
        self._made = 0

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def encode(self, data: Any) -> bytes:
        text = data if isinstance(data, str) else json.dumps(data)
        self.ids |= {json.loads(each) for each in re.findall(r'"id": ("[^"]+")', text)}
        return f"data: {text}\n\n".encode()

    # ---- the stream

    def frames(self, turn: Turn, body: dict[str, Any]) -> Frames:
        yield None, _chunk(body, {"role": "assistant", "content": ""})
        if turn.thinking:
            yield "thinking", _chunk(body, {"reasoning_content": turn.thinking})
        if turn.text:
            one, other = halves(turn.text)
            yield None, _chunk(body, {"content": one})
            yield "text", _chunk(body, {"content": other})
        for index, call in enumerate(turn.calls):
            self._made += 1
            self.thought[f"call_{self._made}"] = turn.thinking
            raw = call.arguments
            one, other = halves(raw if isinstance(raw, str) else json.dumps(raw))
            head = {"index": index, "id": f"call_{self._made}", "type": "function"}
            head["function"] = {"name": call.name, "arguments": ""}
            yield None, _chunk(body, {"tool_calls": [head]})
            for place, piece in (("half_call", one), ("call", other)):
                rest = {"index": index, "function": {"arguments": piece}}
                yield place, _chunk(body, {"tool_calls": [rest]})  # type: ignore[misc]
        finish = {"length": "length", "refused": "content_filter"}.get(turn.finish)
        yield None, _chunk(body, {}, finish or ("tool_calls" if turn.calls else "stop"))
        if (body.get("stream_options") or {}).get("include_usage"):
            tokens = turn.tokens
            usage = {
                "prompt_tokens": tokens.input,
                "completion_tokens": tokens.output,
                "total_tokens": tokens.input + tokens.output,
                "prompt_tokens_details": {"cached_tokens": tokens.cached},
                "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
            }
            yield None, _chunk(body, None) | {"usage": usage}
        yield None, "[DONE]"

    # ---- the rules

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        if path != "/v1/chat/completions":
            raise Refused(f"no such path {path}", 404)
        if headers.get("authorization") not in (f"Bearer {self.KEY}", "Bearer none"):
            raise Refused(f"invalid api key {headers.get('authorization')}", 401)
        only(body, _TOP, "request")
        need(body.get("messages"), "messages: required")
        waiting: list[str] = []
        before = "start"
        last = max(n for n, m in enumerate(body["messages"]) if m["role"] == "user")
        for number, message in enumerate(body["messages"]):
            role = message["role"]
            where = f"messages[{number}]"
            need(role in ("system", "user", "assistant", "tool"), f"{where}: bad role {role}")
            need(role != "system" or number == 0, f"{where}: system message must come first")
            if role == "tool":
                only(message, "role content tool_call_id", where)
                need(isinstance(message["content"], str), f"{where}: a tool's message is text")
                need(message["tool_call_id"] in waiting, f"{where}: tool result without a call")
                waiting.remove(message["tool_call_id"])
            else:
                need(not waiting, f"{where}: tool calls {waiting} have no result before it")
                need(
                    role != before or role == "system",
                    f"{where}: roles must alternate user and assistant",
                )
            if role == "assistant":
                only(message, "role content tool_calls reasoning_content", where)
                calls = message.get("tool_calls", [])
                self._check_thought(message, number > last, where)
                need(message.get("content") or calls, f"{where}: empty assistant message")
                for call in calls:
                    arguments = json.loads(call["function"]["arguments"])
                    need(isinstance(arguments, dict), f"{where}: arguments are no object")
                    # Its own, in whatever form they are, or what the strictest server takes.
                    good = call["id"] in self.ids or re.fullmatch("[A-Za-z0-9]{9}", call["id"])
                    need(good, f"{where}: Tool call id {call['id']!r} must be 9 letters or digits")
                waiting = [call["id"] for call in calls]
            before = role
        need(not waiting, f"tool calls {waiting} have no result")
        names = [tool["function"]["name"] for tool in body.get("tools", [])]
        need(len(names) == len(set(names)), "tools: names must be unique")
        need(before in ("user", "tool"), "the last message must be the user's or a tool's")

    def _check_thought(self, message: dict[str, Any], now: bool, where: str) -> None:
        """Since the user's last words, calls go back with what was thought before them."""
        given = message.get("reasoning_content", "")
        need(now or not given, f"{where}.reasoning_content: only of the current turn")
        made = {self.thought.get(call["id"], "") for call in message.get("tool_calls", [])}
        need(
            not now or not made or given in made,
            f"{where}: Missing `reasoning_content` field in the assistant message",
        )


def _chunk(
    body: dict[str, Any], delta: dict[str, Any] | None, finish: str | None = None
) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": body["model"],
        "choices": choices,
    }
