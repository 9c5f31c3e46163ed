"""The scripted client follows a session of another host, and goes on when it is over."""

from pathlib import Path

import pytest

from agent_host.client import HostError
from tests.boundary.scripted_peer import start


async def test_what_is_followed_comes_in_order_until_it_is_followed_no_more(
    tmp_path: Path,
) -> None:
    script = """
        request = expect("agent/session/attach")
        assert request["params"] == {"sessionId": "s", "cursor": "c"}
        delta("theirs", 4, "text", text="one")
        write(id=request["id"], result={"cursor": "d", "runId": "theirs"})
        delta("theirs", 5, "text", text="two")
        gone = {"sessionId": "s", "reason": "It was deleted."}
        write(method="agent/session/detached", params=gone)
        delta("theirs", 6, "text", text="nobody hears it")
        request = expect("agent/session/detach")
        write(id=request["id"], result={"detached": False})
        request = expect("agent/session/attach")
        assert request["params"]["after"] == {"runId": "theirs", "seq": 5}
        write(id=request["id"], error={"code": -32011, "message": "no session", "data": {
            "error": "There is no session of that id.", "code": "session_not_found"}})
        request = expect("agent/session/detach")
        write(id=request["id"], result={"detached": False})
    """
    async with start(tmp_path, script) as client:
        async with client.follow("s", cursor="c") as following:
            assert following.run_id == "theirs"
            told = [delta async for delta in following.deltas]
        assert [(delta.seq, delta.data["text"]) for delta in told] == [(4, "one"), (5, "two")]
        assert following.reason == "It was deleted."
        with pytest.raises(HostError, match="no session"):
            async with client.follow("s", after=told[-1]):
                raise AssertionError("it is not followed")
