"""Questions to the editor and cancelled requests: every one of them has an end."""

from typing import Any

from tests.boundary.edge_client import edge

ANSWERS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"jsonrpc": "2.0", "result": {"title": "Yes"}}, '{"title": "Yes"}'),
    ({"jsonrpc": "2.0", "result": None}, "null"),
    ({"jsonrpc": "2.0", "result": None, "error": None}, "null"),
    ({"jsonrpc": "2.0", "result": [{"jsonrpc": "2.0", "id": 1}]}, '[{"jsonrpc": "2.0", "id": 1}]'),
    ({"jsonrpc": "2.0", "error": {"code": -32601, "message": "no"}}, "error -32601 no"),
    ({"jsonrpc": "2.0", "error": {"code": -32601.0, "message": "no"}}, "error -32601 no"),
    ({"jsonrpc": "2.0"}, "error -32600 The editor's answer is no JSON-RPC answer."),
    ({"result": None}, "error -32600 The editor's answer is no JSON-RPC answer."),
    (
        {"jsonrpc": "2.0", "error": "no"},
        "error -32600 The editor's answer is no JSON-RPC answer.",
    ),
    (
        {"jsonrpc": "2.0", "error": {"message": "no"}},
        "error -32600 The editor's answer is no JSON-RPC answer.",
    ),
)


async def test_every_answer_settles_the_question() -> None:
    async with edge() as client:
        await client.initialize()
        for answer, told in ANSWERS:
            client.received.clear()
            run = client.run("ask")
            asked = await client.asked()
            client.send({"id": asked["id"], **answer})
            assert (await client.result(run))["output"] == told
        await client.check_unharmed()


async def test_a_question_is_withdrawn_in_time_and_a_late_answer_is_nobodys() -> None:
    async with edge() as client:
        await client.initialize()
        run = client.run("ask 0.01")
        asked = await client.asked()
        withdrawn = await client.wait(lambda m: m.get("method") == "$/cancelRequest")
        assert withdrawn["params"] == {"id": asked["id"]}
        assert (await client.result(run))["output"] == "nobody answered"
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "Yes"}})
        await client.check_unharmed()
        assert client.stderr == ""


async def test_cancelling_a_run_withdraws_its_question() -> None:
    async with edge() as client:
        await client.initialize()
        run = client.run("ask")
        asked = await client.asked()
        client.notify("$/cancelRequest", {"id": run})
        assert (await client.error(run))["code"] == -32800
        withdrawn = await client.wait(lambda m: m.get("method") == "$/cancelRequest")
        assert withdrawn["params"] == {"id": asked["id"]}
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": None})
        await client.check_unharmed()
        assert client.stderr == ""


async def test_an_answered_question_is_not_withdrawn() -> None:
    async with edge() as client:
        await client.initialize()
        run = client.run("ask")
        asked = await client.asked()
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": None})
        await client.result(run)
        client.notify("$/cancelRequest", {"id": run})
        await client.check_unharmed()
        assert [m for m in client.received if m.get("method") == "$/cancelRequest"] == []


async def test_cancelling_reaches_the_work_itself() -> None:
    async with edge() as client:
        await client.initialize()
        for method, params in (
            ("agent/run", {"prompt": "wait", "runId": "a"}),
            (
                "workspace/executeCommand",
                {"command": "agentHost.run", "arguments": [{"prompt": "wait", "runId": "b"}]},
            ),
        ):
            client.received.clear()
            run = client.request(method, params)
            await client.delta("started")
            client.notify("$/cancelRequest", {"id": run})
            error = await client.error(run)
            assert (error["code"], error["data"]["code"]) == (-32800, "cancelled")
            await client.wait(lambda m: m.get("method") == "test/cancelled")
        await client.check_unharmed()


async def test_a_request_cancelled_at_once_is_not_carried_out() -> None:
    async with edge() as client:
        await client.initialize()
        run = client.run("wait")
        client.notify("$/cancelRequest", {"id": run})
        assert (await client.error(run))["code"] == -32800
        await client.check_unharmed()
        assert [m for m in client.received if m.get("method") == "agent/delta"] == []


async def test_a_cancelled_run_that_has_a_result_is_cancelled_all_the_same() -> None:
    async with edge() as client:
        await client.initialize()
        run = client.run("stubborn")
        await client.delta("started")
        client.notify("$/cancelRequest", {"id": run})
        assert (await client.error(run))["code"] == -32800


async def test_stop_is_a_result() -> None:
    async with edge() as client:
        await client.initialize()
        for method, params in (
            ("agent/stop", {"runId": "a"}),
            ("agent/stop", {}),
            ("workspace/executeCommand", {"command": "agentHost.stop"}),
            ("workspace/executeCommand", {"command": "agentHost.stop", "arguments": ["a"]}),
            ("workspace/executeCommand", {"command": "agentHost.stop", "arguments": [{}]}),
        ):
            client.received.clear()
            run = client.run("wait", runId="a")
            await client.delta("started")
            assert await client.result(client.request(method, params)) == {"stopped": ["a"]}
            assert (await client.result(run))["status"] == "stopped"


async def test_ping_is_answered_while_runs_are_busy() -> None:
    async with edge() as client:
        await client.initialize()
        for _ in range(50):
            client.run("wait")
        client.run("ask")
        await client.check_unharmed()


async def test_commands() -> None:
    async with edge() as client:
        await client.initialize()

        async def execute(command: str, *arguments: object) -> dict[str, Any]:
            params = {"command": command, "arguments": list(arguments)}
            return await client.answer(client.request("workspace/executeCommand", params))

        assert (await execute("agentHost.run", "text"))["result"]["output"] == "text"
        assert (await execute("agentHost.run", {"prompt": "text"}))["result"]["output"] == "text"
        assert (await execute("agentHost.run"))["error"]["data"]["field"] == "prompt"
        assert (await execute("agentHost.run", "a", "b"))["error"]["data"]["field"] == "arguments"
        assert (await execute("agentHost.trust", 1))["result"]["arguments"] == [1]
        assert (await execute("other"))["error"]["code"] == -32602
