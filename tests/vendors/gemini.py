"""Gemini's streamGenerateContent: its stream, and its rules for turns and thought signatures."""

import base64
import hashlib
import re
from typing import Any

from tests.vendors.server import Frames, Refused, VendorServer, halves, need, only, unique
from tests.vendors.turns import Turn

_TOP = "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent"
_PARTS = "text thought thoughtSignature functionCall functionResponse inlineData"


class GeminiVendor(VendorServer):
    """Signs the first call of a turn, and an empty last part of a turn without calls."""

    vendor = "gemini"

    def __init__(self, *turns: Turn) -> None:
        super().__init__(*turns)
        self.signatures: dict[str, Any] = {}
        """The call or text that each signature was made for."""
        self._made = 0

    def error(self, status: int, turn: Turn) -> dict[str, Any]:
        details: list[Any] = []
        if turn.retry_after is not None:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            details.append({"@type": kind, "retryDelay": f"{turn.retry_after:g}s"})
        code, name = {401: (400, "INVALID_ARGUMENT")}.get(status, (status, "ERROR"))
        error = {"code": code, "message": turn.message, "status": name, "details": details}
        return {"error": error}

    def stream_error(self, turn: Turn) -> dict[str, Any]:
        return self.error(503, turn)

    # ---- the stream

    def frames(self, turn: Turn, body: dict[str, Any]) -> Frames:
        if turn.thinking:
            yield "thinking", _chunk([{"text": turn.thinking, "thought": True}])
        if turn.text:
            one, other = halves(turn.text)
            yield None, _chunk([{"text": one}])
            yield "text", _chunk([{"text": other}])
        for number, call in enumerate(turn.calls):
            wished = {"name": call.name, "args": call.arguments}
            part: dict[str, Any] = {"functionCall": wished}
            if number == 0:
                part["thoughtSignature"] = self._sign(wished)
                yield "half_call", _chunk([])
            yield "call", _chunk([part])
        last: list[Any] = []
        if turn.text and not turn.calls:
            last = [{"text": "", "thoughtSignature": self._sign("")}]
        finish = {"length": "MAX_TOKENS", "refused": "SAFETY"}.get(turn.finish, "STOP")
        tokens = turn.tokens
        end = _chunk(last, finish)
        if turn.finish == "refused":
            end["candidates"][0]["finishMessage"] = turn.message
        end["usageMetadata"] = {
            "promptTokenCount": tokens.input,
            "cachedContentTokenCount": tokens.cached,
            "candidatesTokenCount": tokens.output - tokens.reasoning,
            "thoughtsTokenCount": tokens.reasoning,
            "totalTokenCount": tokens.input + tokens.output,
        }
        yield None, end

    def _sign(self, what: Any) -> str:
        self._made += 1
        digest = hashlib.sha256(f"{self._made}{what}".encode()).digest()
        signature = base64.b64encode(digest).decode()
        self.signatures[signature] = what
        return signature

    def listed(self) -> dict[str, Any]:
        return {"models": [{"name": f"models/{each}"} for each in self.models]}

    # ---- the rules

    def check(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        if not re.fullmatch(r"/v1(beta)?/models/[^/]+:streamGenerateContent\?alt=sse", path):
            raise Refused(f"no such path {path}", 404)
        if headers.get("x-goog-api-key") != self.KEY:
            raise Refused(f"API key not valid: {headers.get('x-goog-api-key')}", 400)
        only(body, _TOP, "request")
        declared = [
            each["name"] for tool in body.get("tools", []) for each in tool["functionDeclarations"]
        ]
        unique(declared, "Duplicate function declaration found")
        for name in declared:
            need(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}", name), "Invalid function name")
        contents = body["contents"]
        need(contents, "contents is not specified")
        called: list[Any] = []
        for number, content in enumerate(contents):
            where = f"contents[{number}]"
            only(content, "role parts", where)
            need(content["role"] in ("user", "model"), f"{where}: bad role")
            need(content["parts"], f"{where}.parts must not be empty")
            for part in content["parts"]:
                only(part, _PARTS, where)
                need(
                    set(part) - {"thought", "thoughtSignature"},
                    f"{where}: data must be initialized",
                )
                self._check_signature(part, where)
            called = _check_turn(content, called, number, contents)
        need(not called, "function calls have no function response")
        need(contents[-1]["role"] == "user", "the last turn must be the user's")
        self._check_current_turn(contents)

    def _check_signature(self, part: dict[str, Any], where: str) -> None:
        signature = part.get("thoughtSignature")
        if signature is None:
            return
        made_for = self.signatures.get(_standard(signature), Refused)
        call = part.get("functionCall")
        shown = {k: v for k, v in call.items() if k != "id"} if call else part.get("text")
        need(made_for == shown, f"{where}: Corrupted thought signature.")

    def _check_current_turn(self, contents: list[Any]) -> None:
        """Since the user's last words, the first call of each step needs its signature."""
        start = max(
            n
            for n, c in enumerate(contents)
            if c["role"] == "user" and any("functionResponse" not in p for p in c["parts"])
        )
        for content in contents[start:]:
            calls = [part for part in content["parts"] if "functionCall" in part]
            need(
                not calls or "thoughtSignature" in calls[0],
                "Function call is missing a thought_signature in functionCall parts.",
            )


def _check_turn(content: Any, called: list[Any], number: int, contents: list[Any]) -> list[Any]:
    """The calls that the next content has to answer."""
    where = f"contents[{number}]"
    answers = [p["functionResponse"] for p in content["parts"] if "functionResponse" in p]
    calls = [p["functionCall"] for p in content["parts"] if "functionCall" in p]
    need(
        len(answers) == len(called),
        f"{where}: the number of function response parts must equal that of the function calls",
    )
    for answer, call in zip(answers, called, strict=True):
        only(answer, "id name response parts", where)
        for part in answer.get("parts", []):
            only(part, "inlineData", where)
        need(answer["name"] == call["name"], f"{where}: function response has another name")
        need(answer.get("id") == call.get("id"), f"{where}: function response has another id")
    need(not calls or content["role"] == "model", f"{where}: calls must be the model's")
    need(not answers or content["role"] == "user", f"{where}: responses must be the user's")
    if calls:
        need(
            number > 0 and contents[number - 1]["role"] == "user",
            f"{where}: function call turn must come after a user turn or a function response turn",
        )
    return calls


def _standard(signature: str) -> str:
    return signature.replace("-", "+").replace("_", "/")


def _chunk(parts: list[Any], finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-test"}
