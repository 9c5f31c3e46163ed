"""Anthropic's Messages API: its stream, and its rules for turns, tools and thinking."""

import hashlib
import json
import re
from typing import Any

from tests.vendors.server import Frames, Refused, VendorServer, halves, need, only, unique
from tests.vendors.turns import Turn

_TOP = (
    "model max_tokens messages system tools tool_choice thinking stream temperature top_p top_k "
    "stop_sequences metadata cache_control output_config service_tier container"
)
_BLOCKS = {
    "text": "type text cache_control citations",
    "image": "type source cache_control",
    "document": "type source cache_control title context citations",
    "tool_use": "type id name input cache_control",
    "tool_result": "type tool_use_id content is_error cache_control",
    "thinking": "type thinking signature",
    "redacted_thinking": "type data",
}
_TYPES = {
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
    500: "api_error",
}


class AnthropicVendor(VendorServer):
    vendor = "anthropic"

    def __init__(self, *turns: Turn) -> None:
        super().__init__(*turns)
        self.signatures: dict[str, str] = {}
        """Which thinking each signature was made for."""
        self.thought_before: dict[str, str] = {}
        """The signature of the thinking that began the turn of each call, by the call's id."""
        self.reused: list[bool] = []
        """Whether a request began with all that the one before had marked for the cache."""
        self._cached = 0
        self._made = 0

    def error(self, status: int, turn: Turn) -> dict[str, Any]:
        kind = _TYPES.get(status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": turn.message}}

    def stream_error(self, turn: Turn) -> dict[str, Any]:
        return self.error(529, turn)

    # ---- the stream

    def frames(self, turn: Turn, body: dict[str, Any]) -> Frames:
        tokens = turn.tokens
        usage = {
            "input_tokens": tokens.input - tokens.cached - tokens.written,
            "cache_read_input_tokens": tokens.cached,
            "cache_creation_input_tokens": tokens.written,
            "output_tokens": 1,
        }
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        yield None, {"type": "message_start", "message": message}
        yield None, {"type": "ping"}
        index = 0
        signature = ""
        if turn.thinking:
            yield from self._thinking(index, turn.thinking)
            signature = list(self.signatures)[-1]
            yield "thinking", {"type": "content_block_stop", "index": index}
            index += 1
        if turn.text:
            block = {"type": "text", "text": ""}
            yield None, {"type": "content_block_start", "index": index, "content_block": block}
            for text in halves(turn.text):
                yield None, _delta(index, type="text_delta", text=text)
            yield "text", {"type": "content_block_stop", "index": index}
            index += 1
        for call in turn.calls:
            self._made += 1
            call_id = f"toolu_{self._made:04}"
            if signature:
                self.thought_before[call_id] = signature
            block = {"type": "tool_use", "id": call_id, "name": call.name, "input": {}}
            yield None, {"type": "content_block_start", "index": index, "content_block": block}
            raw = call.arguments
            one, other = halves(raw if isinstance(raw, str) else json.dumps(raw))
            yield None, _delta(index, type="input_json_delta", partial_json="")
            yield "half_call", _delta(index, type="input_json_delta", partial_json=one)
            yield None, _delta(index, type="input_json_delta", partial_json=other)
            yield "call", {"type": "content_block_stop", "index": index}
            index += 1
        stop = {"length": "max_tokens", "refused": "refusal"}.get(turn.finish)
        details = {"type": "refusal", "category": None, "explanation": turn.message}
        yield (
            None,
            {
                "type": "message_delta",
                "delta": {
                    "stop_reason": stop or ("tool_use" if turn.calls else "end_turn"),
                    "stop_sequence": None,
                    "stop_details": details if turn.finish == "refused" else None,
                },
                "usage": {
                    "output_tokens": tokens.output,
                    "output_tokens_details": {"thinking_tokens": tokens.reasoning},
                },
            },
        )
        yield None, {"type": "message_stop"}

    def _thinking(self, index: int, text: str) -> Frames:
        self._made += 1
        signature = hashlib.sha256(f"{self._made}{text}".encode()).hexdigest() + "+/="
        self.signatures[signature] = text
        block = {"type": "thinking", "thinking": "", "signature": ""}
        yield None, {"type": "content_block_start", "index": index, "content_block": block}
        for piece in halves(text):
            yield None, _delta(index, type="thinking_delta", thinking=piece)
        yield None, _delta(index, type="signature_delta", signature=signature)

    # ---- the rules

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        if path != "/v1/messages":
            raise Refused(f"no such path {path}", 404)
        if headers.get("authorization") != f"Bearer {self.KEY}":
            raise Refused(f"invalid x-api-key {headers.get('authorization')}", 401)
        need(headers.get("anthropic-version"), "anthropic-version: header is required")
        only(body, _TOP, "request")
        need(body.get("model"), "model: Field required")
        need(isinstance(body.get("max_tokens"), int), "max_tokens: Field required")
        need(body.get("messages"), "messages: at least one message is required")
        thinking = body.get("thinking") or {"type": "disabled"}
        if thinking["type"] == "enabled":
            budget = thinking.get("budget_tokens", 0)
            need(1024 <= budget < body["max_tokens"], "thinking.budget_tokens: out of range")
        marks = json.dumps(body).count('"cache_control"')
        need(marks <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {marks}")
        for tool in body.get("tools", []):
            only(tool, "name description input_schema cache_control type", "tools")
            need(re.fullmatch(r"[A-Za-z0-9_-]{1,128}", tool["name"]), "tools.name: bad name")
            need(tool["input_schema"].get("type") == "object", "tools.input_schema.type: required")
        unique((t["name"] for t in body.get("tools", [])), "tools: Tool names must be unique.")
        for block in body.get("system", []):
            need(block["text"].strip(), "system: text content blocks must be non-empty")
        messages = _combined(body["messages"])
        self._check_messages(messages, bool(body.get("tools")))
        if thinking["type"] != "disabled":
            self._check_thinking(messages)
        self._use_cache(body)

    def _check_thinking(self, messages: list[tuple[str, list[Any]]]) -> None:
        """Since the user's last words, a turn with calls begins with the thinking it began with."""
        last = max(
            number
            for number, (role, blocks) in enumerate(messages)
            if role == "user" and any(block["type"] != "tool_result" for block in blocks)
        )
        for number, (role, blocks) in list(enumerate(messages))[last + 1 :]:
            if role == "user":
                continue
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            wanted = {self.thought_before[each] for each in calls if each in self.thought_before}
            found = [block.get("signature") for block in blocks if block["type"] == "thinking"]
            where = f"messages.{number}.content.0"
            need(
                not wanted or found, f"{where}: Expected `thinking`, but found {blocks[0]['type']}"
            )
            need(
                not wanted or (blocks[0]["type"] == "thinking" and set(found) == wanted),
                f"{where}: `thinking` blocks in the latest assistant message cannot be modified",
            )

    def _use_cache(self, body: dict[str, Any]) -> None:
        """Remember each marked beginning; a later request that begins so is cheaper."""
        begun = hash(json.dumps([body["model"], body.get("thinking"), body.get("tools")]))
        begins: list[int] = []
        marked: list[int] = []
        for block in [
            *body.get("system", []),
            *(b for m in body["messages"] for b in m["content"]),
        ]:
            plain = {key: value for key, value in block.items() if key != "cache_control"}
            begun = hash((begun, json.dumps(plain)))
            begins.append(begun)
            if "cache_control" in block:
                marked.append(begun)
        self.reused.append(self._cached in begins)
        self._cached = marked[-1] if marked else 0

    def _check_messages(self, messages: list[tuple[str, list[Any]]], tools: bool) -> None:
        need(messages[0][0] == "user", "messages: first message must use the user role")
        need(messages[-1][0] == "user", "This model does not support assistant message prefill.")
        wanted: list[str] = []
        seen: set[str] = set()
        for number, (role, blocks) in enumerate(messages):
            where = f"messages.{number}"
            need(blocks, f"{where}: content must not be empty")
            for block in blocks:
                self._check_block(block, role, where)
            results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
            need(
                sorted(results) == sorted(wanted),
                f"{where}: tool_use ids {wanted} need tool_result blocks, found {results}",
            )
            kinds = [block["type"] for block in blocks]
            need(
                all(kind == "tool_result" for kind in kinds[: len(results)]),
                f"{where}: tool_result blocks must come first",
            )
            wanted = [block["id"] for block in blocks if block["type"] == "tool_use"]
            need(tools or not wanted, "tools: required when messages hold tool_use")
            need(not seen.intersection(wanted), f"{where}: tool_use ids must be unique")
            seen.update(wanted)

    def _check_block(self, block: Any, role: str, where: str) -> None:
        kind = block.get("type")
        need(kind in _BLOCKS, f"{where}: unknown block {kind}")
        only(block, _BLOCKS[kind], where)
        users = kind in ("text", "image", "document", "tool_result")
        agents = kind in ("text", "tool_use", "thinking", "redacted_thinking")
        need(users if role == "user" else agents, f"{where}: {kind} may not be in {role} messages")
        match kind:
            case "text":
                need(
                    block["text"].strip(),
                    f"{where}: text content blocks must contain non-whitespace text",
                )
            case "thinking":
                made_for = self.signatures.get(block["signature"])
                need(
                    made_for == block["thinking"],
                    f"{where}: Invalid `signature` in `thinking` block",
                )
            case "tool_use":
                need(re.fullmatch(r"[A-Za-z0-9_-]+", block["id"]), f"{where}: bad id {block['id']}")
                need(re.fullmatch(r"[A-Za-z0-9_-]{1,128}", block["name"]), f"{where}: bad name")
                need(isinstance(block["input"], dict), f"{where}: input must be an object")
            case "image":
                only(block["source"], "type media_type data url", where)
            case "tool_result" if isinstance(block.get("content"), list):
                for part in block["content"]:
                    need(part["type"] in ("text", "image", "document"), f"{where}: bad content")
                    self._check_block(part, "user", where)
            case _:
                pass


def _combined(messages: list[Any]) -> list[tuple[str, list[Any]]]:
    out: list[tuple[str, list[Any]]] = []
    for message in messages:
        only(message, "role content", "messages")
        need(message["role"] in ("user", "assistant"), f"messages: bad role {message['role']}")
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if out and out[-1][0] == message["role"]:
            out[-1][1].extend(blocks)
        else:
            out.append((message["role"], list(blocks)))
    return out


def _delta(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}
