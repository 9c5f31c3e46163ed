"""One run as the client that asked for it sees it, and what every run must keep."""

from typing import Any

from tests.e2e.rawclient import WAIT, Message, Pending, RawClient


class Run:
    """One `agent/run` as the editor sees it."""

    def __init__(self, client: RawClient, run_id: str, pending: Pending, since: int) -> None:
        self.client = client
        self.id = run_id
        self.pending = pending
        self.since = since

    def result(self, timeout: float = WAIT) -> Any:
        return self.pending.result(timeout)

    def deltas(self, kind: str | None = None) -> list[Message]:
        """The `delta` members so far, of one kind or all, in order."""
        return [
            m["params"]["delta"]
            for m in self.client.received(self.since)
            if self._is_mine(m) and kind in (None, m["params"]["delta"]["kind"])
        ]

    def kinds(self) -> list[str]:
        return [delta["kind"] for delta in self.deltas()]

    def text(self) -> str:
        return "".join(delta["text"] for delta in self.deltas("text"))

    def wait(
        self, kind: str, *, count: int = 1, timeout: float = WAIT, **members: object
    ) -> Message:
        """The `count`-th delta of that kind whose members are as given."""

        def wanted(message: Message) -> bool:
            if not self._is_mine(message) or message["params"]["delta"]["kind"] != kind:
                return False
            return all(message["params"]["delta"].get(k) == v for k, v in members.items())

        what = f"delta {kind} {members}"
        return self.client.wait(wanted, timeout, what=what, since=self.since, count=count)[
            "params"
        ]["delta"]

    def tool_result(self, name: str) -> Message:
        """The one `toolResult` of the first call of that tool."""
        call = self.wait("toolCall", name=name)
        return self.wait("toolResult", callId=call["callId"])

    def check(self) -> None:
        """Numbered without gaps; ends once and last; each tool call has one result."""
        mine = [m["params"] for m in self.client.received(self.since) if self._is_mine(m)]
        assert [m["seq"] for m in mine] == list(range(1, len(mine) + 1)), self.client.tell()
        if not mine:
            return
        kinds = self.kinds()
        assert kinds[0] == "started", kinds
        if self.pending.answered() and "result" in self.pending.answer():
            assert kinds.count("ended") == 1, kinds
            assert kinds[-1] == "ended", kinds
            calls = sorted(delta["callId"] for delta in self.deltas("toolCall"))
            assert calls == sorted(delta["callId"] for delta in self.deltas("toolResult"))
            assert self.pending.result()["status"] == self.deltas("ended")[0]["status"]

    def _is_mine(self, message: Message) -> bool:
        return message.get("method") == "agent/delta" and message["params"]["runId"] == self.id
