"""An agent on the Agent Client Protocol's own package, really executed; it behaves well or badly.

`acp_agent.py BEHAVIOUR`. Its sessions are the numbers 1, 2, ...; it can go back to `1` only.
"""

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import acp
from acp import helpers, schema

BEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else "answers"


def post(server: Any, method: str, params: Any) -> Any:
    """One request to an MCP server, and its result."""
    headers = {each.name: each.value for each in server.headers}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    request = urllib.request.Request(server.url, json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        text = reply.read().decode()
    return json.loads(text.rpartition("data: ")[2] if "data: " in text else text)["result"]


class Agent:
    def __init__(self) -> None:
        self.client: Any = None
        self.cancelled = asyncio.Event()
        self.loaded = False

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> acp.InitializeResponse:
        assert kwargs["client_capabilities"].terminal
        version = 7 if BEHAVIOUR == "other_version" else protocol_version
        return acp.InitializeResponse(
            protocol_version=version,
            agent_capabilities=schema.AgentCapabilities(
                load_session=BEHAVIOUR != "forgets",
                mcp_capabilities=schema.McpCapabilities(http=BEHAVIOUR.startswith("calls_")),
            ),
            agent_info=schema.Implementation(name="test-agent", version="1.0"),
            auth_methods=[schema.AuthMethodAgent(id="login", name="Log in with a browser")],
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        if BEHAVIOUR == "wants_login":
            raise acp.RequestError.auth_required()
        self.cwd = cwd
        self.begun = kwargs
        if BEHAVIOUR not in ("acts_in_auto", "stays_in_auto", "confined", "reflects_begin"):
            return acp.NewSessionResponse(session_id="1")
        mode = "read-only" if BEHAVIOUR == "confined" else "auto"
        known = [schema.SessionMode(id=each, name=each) for each in (mode, "default")]
        modes = schema.SessionModeState(current_mode_id=mode, available_modes=known)
        return acp.NewSessionResponse(session_id="1", modes=modes)

    async def set_session_mode(self, mode_id: str, session_id: str, **kwargs: Any) -> Any:
        if BEHAVIOUR == "stays_in_auto":
            raise acp.RequestError.invalid_params({"details": "no such mode"})
        self.mode = mode_id
        return schema.SetSessionModeResponse()

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> Any:
        if BEHAVIOUR == "lost":
            raise acp.RequestError.resource_not_found(session_id)
        self.cwd = cwd
        self.loaded = True
        self.own = session_id
        await self.say("what was said before")
        if BEHAVIOUR == "replays_late":
            told = self.command("c1", "true", asks=False)
            self.replay = asyncio.create_task(told)  # noqa: TID251 - no group is at hand
        return schema.LoadSessionResponse()

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        Path(self.cwd, "cancelled").touch()
        self.cancelled.set()

    async def prompt(self, prompt: Any, session_id: str, **kwargs: Any) -> acp.PromptResponse:
        self.words = [block.text for block in prompt if block.type == "text"]
        reason = await getattr(self, f"do_{BEHAVIOUR}", self.do_answers)()
        usage = schema.Usage(
            total_tokens=130,
            input_tokens=40,
            output_tokens=20,
            cached_read_tokens=60,
            cached_write_tokens=10,
            thought_tokens=5,
        )
        if BEHAVIOUR == "retries":
            told = {"id": "1", "severity": "error", "category": "access", "title": "Who is it?"}
            meta = {"jetbrains": {"air": {"version": 1, "sessionFailure": told}}}
            return acp.PromptResponse(stop_reason="end_turn", field_meta=meta)
        if BEHAVIOUR == "quota":
            # As one that has no other place for it.
            count = {"token_count": {"input_tokens": 7, "output_tokens": 3}}
            return acp.PromptResponse(stop_reason="end_turn", field_meta={"quota": count})
        return acp.PromptResponse(stop_reason=reason or "end_turn", usage=usage)

    async def say(self, text: str) -> None:
        await self.update(helpers.update_agent_message_text(text))

    async def update(self, update: Any) -> None:
        await self.client.session_update(session_id="1", update=update)

    async def ask(self, call_id: str, *, session: str = "1", **fields: Any) -> bool:
        options = [
            schema.PermissionOption(option_id="always", name="Always", kind="allow_always"),
            schema.PermissionOption(option_id="once", name="Once", kind="allow_once"),
            schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        call = schema.ToolCallUpdate(tool_call_id=call_id, **fields)
        answer = await self.client.request_permission(
            session_id=session, tool_call=call, options=options
        )
        if answer.outcome.outcome != "selected":
            return False
        assert answer.outcome.option_id in ("once", "no")
        return answer.outcome.option_id == "once"

    async def command(
        self, call_id: str, line: str, *, asks: bool = True, obeys: bool = True
    ) -> None:
        given = {"command": line}
        await self.update(
            helpers.start_tool_call(call_id, "Run it", kind="execute", raw_input=given)
        )
        allowed = await self.ask(call_id, title="Run it", kind="execute") if asks else True
        if allowed or not obeys:
            subprocess.run(line, shell=True, check=True, cwd=self.cwd)
            await self.update(helpers.update_tool_call(call_id, status="completed"))
        else:
            await self.update(helpers.update_tool_call(call_id, status="failed"))

    # ---- behaviours

    async def do_answers(self) -> None:
        await self.update(helpers.update_agent_thought_text("Hm."))
        await self.update(
            helpers.update_plan(
                [
                    helpers.plan_entry("Look", status="completed"),
                    helpers.plan_entry("Do", status="in_progress"),
                ]
            )
        )
        await self.update(schema.UsageUpdate(session_update="usage_update", used=500, size=1000))
        await self.say("Hello, ")
        await self.say("you.")

    async def do_calls_tool(self) -> None:
        (server,) = self.begun["mcp_servers"]
        allowed = await self.ask("m1", title=f"mcp__{server.name}__docs__find", kind="other")
        other = await self.ask("m2", title=f"mcp__{server.name}__fs_read", kind="other")
        call = {"name": "docs__find", "arguments": {"path": "x"}}
        answer = await asyncio.to_thread(post, server, "tools/call", call)
        listed = await asyncio.to_thread(post, server, "tools/list", {})
        names = [tool["name"] for tool in listed["tools"]]
        await self.say(json.dumps([allowed, other, answer["content"][0]["text"], names]))

    async def do_calls_external(self) -> None:
        (server,) = self.begun["mcp_servers"]
        call = {"name": "test__go", "arguments": {"where": "home"}}
        answer = await asyncio.to_thread(post, server, "tools/call", call)
        await self.say("It says: " + answer["content"][0]["text"])

    async def do_repeats(self) -> None:
        await self.say(json.dumps(self.words))

    do_lost = do_forgets = do_replays_late = do_repeats

    async def do_reflects(self) -> None:
        await self.say(json.dumps({"env": dict(os.environ), "cwd": str(Path.cwd())}))

    async def do_reads(self) -> None:
        read = await self.client.read_text_file(session_id="1", path=str(Path(self.cwd, "a.txt")))
        await self.say(read.content)

    async def do_secrets(self) -> None:
        """Tries to read what it may not, by the host and by commands there."""
        for name in (".env", "notes", "src/../.env"):
            try:
                path = str(Path(self.cwd, name))
                read = await self.client.read_text_file(session_id="1", path=path)
                await self.say(read.content)
            except acp.RequestError:
                await self.say("refused ")
            # Three denials in a row would end the run.
            path = str(Path(self.cwd, "src/plain.py"))
            await self.client.read_text_file(session_id="1", path=path)
        for words in (["cat", ".env"], ["sh", "-c", "cat < .env"]):
            try:
                made = await self.client.create_terminal(
                    session_id="1", command=words[0], args=words[1:], cwd=self.cwd
                )
            except acp.RequestError:
                await self.say("refused ")
                continue
            await self.client.wait_for_terminal_exit(session_id="1", terminal_id=made.terminal_id)
            out = await self.client.terminal_output(session_id="1", terminal_id=made.terminal_id)
            await self.say("refused " if "did not run" in out.output else out.output)

    async def do_writes(self) -> None:
        path = str(Path(self.cwd, "a.txt"))
        start = helpers.start_edit_tool_call("w", "Write it", path=path, content="new\n")
        await self.update(start)
        await self.client.write_text_file(session_id="1", path=path, content="new\n")
        await self.update(helpers.update_tool_call("w", status="completed"))

    async def do_edits(self) -> None:
        """Asks for two files at once, then has the host write them; then one as it likes."""
        texts = {str(Path(self.cwd, name)): f"new {name}\n" for name in ("c.txt", "d.txt")}
        diffs = [helpers.tool_diff_content(path, text, "old\n") for path, text in texts.items()]
        if await self.ask("e", title="Edit them", kind="edit", content=diffs):
            for path, text in texts.items():
                await self.client.write_text_file(session_id="1", path=path, content=text)
            await self.update(helpers.update_tool_call("e", status="completed"))
        path = str(Path(self.cwd, "c.txt"))
        diff = helpers.tool_diff_content(path, "as asked\n", "new c.txt\n")
        if await self.ask("f", title="Edit it", kind="edit", content=[diff]):
            await self.client.write_text_file(session_id="1", path=path, content="otherwise\n")
            await self.update(helpers.update_tool_call("f", status="completed"))

    async def do_terminal(self) -> None:
        made = await self.client.create_terminal(
            session_id="1", command="sh", args=["-c", "echo out; exit 3"], cwd=self.cwd
        )
        ended = await self.client.wait_for_terminal_exit(
            session_id="1", terminal_id=made.terminal_id
        )
        out = await self.client.terminal_output(session_id="1", terminal_id=made.terminal_id)
        await self.client.release_terminal(session_id="1", terminal_id=made.terminal_id)
        await self.say(f"{ended.exit_code} {out.output}")

    async def do_kills(self) -> None:
        made = await self.client.create_terminal(session_id="1", command="sleep 600", cwd=self.cwd)
        await self.client.kill_terminal(session_id="1", terminal_id=made.terminal_id)
        ended = await self.client.wait_for_terminal_exit(
            session_id="1", terminal_id=made.terminal_id
        )
        await self.say(f"{ended.exit_code} {ended.signal}")

    async def do_asks(self) -> None:
        await self.command("c1", "echo made > made.txt")

    async def do_asks_oddly(self) -> None:
        allowed = await self.ask("o1", title="Something", kind="fetch")
        await self.say(f"allowed: {allowed}")

    async def do_stops_when_denied(self) -> str:
        await self.command("c1", "echo made > made.txt")
        return "cancelled"

    async def do_acts_in_auto(self) -> None:
        await self.say(self.mode)
        await self.update(
            schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id="auto")
        )
        await self.cancelled.wait()

    async def do_confined(self) -> None:
        await self.command("n1", "true", asks=False)
        await self.say("looked")

    async def do_reflects_begin(self) -> None:
        await self.say(json.dumps(self.begun, default=str))

    async def do_titled(self) -> None:
        place = helpers.tool_content(helpers.text_block(f"[current working directory {self.cwd}]"))
        allowed = await self.ask("t1", title="echo a > b", kind="execute", content=[place])
        again = await self.ask("t2", title="echo a > b", kind="execute")
        await self.say(f"{allowed} {again}")

    async def do_missing(self) -> None:
        try:
            read = await self.client.read_text_file(session_id="1", path="/no/such")
        except acp.RequestError as error:
            await self.say(str(error.code))
        else:
            await self.say(repr(read.content))

    async def do_costs(self) -> None:
        for amount in (0.25, 0.5, 0.75, 1.0):
            await self.update(helpers.start_tool_call(f"c{amount}", "Look", kind="read"))
            await self.tell_cost(amount)
            await self.update(helpers.update_tool_call(f"c{amount}", status="completed"))
        await self.say("all of it")

    async def do_never_ends(self) -> None:
        for number in itertools.count(1):
            await self.say(f"Step {number}.")
            await self.tell_cost(0.25 * number)
            time.sleep(0.1)
            await self.update(helpers.start_tool_call(f"c{number}", "Look", kind="read"))
            await self.update(helpers.update_tool_call(f"c{number}", status="completed"))

    async def do_is_dear(self) -> None:
        await self.say("Hello.")
        await self.tell_cost(0.5)

    async def tell_cost(self, amount: float) -> None:
        cost = schema.Cost(amount=amount, currency="USD")
        kind = "usage_update"
        await self.update(schema.UsageUpdate(session_update=kind, used=5, size=9, cost=cost))

    async def do_asks_twice(self) -> None:
        first = await self.ask("t1", title="Run", kind="execute", raw_input={"command": "true"})
        again = await self.ask("t1", title="Run", kind="execute", raw_input={"command": "rm x"})
        await self.say(f"{first} {again}")

    async def do_never_asks(self) -> None:
        await self.command("n1", "echo made > made.txt", asks=False)
        await self.cancelled.wait()

    async def do_ignores_denial(self) -> None:
        await self.command("i1", "echo made > made.txt", obeys=False)
        await self.cancelled.wait()

    async def do_hangs(self) -> str:
        child = subprocess.Popen(["sleep", "6543"], cwd=self.cwd)
        (Path(self.cwd) / "child").write_text(str(child.pid))
        await self.say("thinking")
        await self.cancelled.wait()
        return "cancelled"

    async def do_waits_for_permission(self) -> str:
        allowed = await self.ask("p1", title="Run", kind="execute", raw_input={"command": "true"})
        Path(self.cwd, f"answered-{allowed}").touch()
        return "cancelled"

    async def do_dies(self) -> None:
        print("something is broken", file=sys.stderr, flush=True)
        os._exit(3)

    async def do_is_killed(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def do_long_line(self) -> None:
        await self.say("x" * 5 * 1024 * 1024)

    async def do_prints(self) -> None:
        print("a note on stdout", flush=True)
        print("a note on stderr", file=sys.stderr, flush=True)
        await self.say("fine")

    # ---- bad habits of programs

    async def do_ends_after_nothing(self) -> None:
        os._exit(0)

    async def do_ends_after_half_call(self) -> None:
        await self.update(helpers.start_tool_call("h", "Run it", kind="execute"))
        os._exit(0)

    async def do_ends_after_tool(self) -> None:
        await self.update(helpers.start_tool_call("toolu_1", "Read it", kind="read"))
        await self.client.read_text_file(session_id="1", path=str(Path(self.cwd, "a.txt")))
        await self.update(helpers.update_tool_call("toolu_1", status="completed"))
        os._exit(0)

    async def do_is_cut_short(self) -> str:
        await self.say("That was")
        return "max_tokens"

    async def do_echoes_keys(self) -> None:
        print(os.environ["THE_KEY"], "sk-ant-secretsecret", file=sys.stderr, flush=True)
        os.write(1, b"sk-ant-secretsecret\n")
        raise acp.RequestError(-32603, "broken: sk-ant-secretsecret")

    async def do_tells_session(self) -> None:
        update = helpers.update_agent_message_text(json.dumps(self.own))
        await self.client.session_update(session_id=self.own, update=update)

    async def do_login_expires(self) -> None:
        raise acp.RequestError.auth_required()

    async def do_history_is_refused(self) -> None:
        late = "late" in str(self.words)
        if self.loaded or late:
            if late:
                await self.do_reads()
            said = "400 messages.1.content.0: Invalid `signature` in `thinking` block"
            raise acp.RequestError(-32603, said)
        await self.say(json.dumps(self.words))

    async def do_asks_around_end(self) -> None:
        async def ask() -> None:
            await self.command("l1", "echo one >> made.txt")
            time.sleep(0.05)
            await self.command("l2", "echo two >> made.txt")

        self.late = asyncio.create_task(ask())  # noqa: TID251 - no group is at hand

    async def do_asks_nested(self) -> None:
        """An agent that it has called itself, in a session of its own, wants to run something."""
        line = "echo made > made.txt"
        given = {"command": line}
        start = helpers.start_tool_call("n1", "Run it", kind="execute", raw_input=given)
        await self.client.session_update(session_id="child", update=start)
        await self.client.session_update(
            session_id="child", update=helpers.update_agent_message_text("not the answer")
        )
        if await self.ask("n1", session="child", title="Run it", kind="execute", raw_input=given):
            subprocess.run(line, shell=True, check=True, cwd=self.cwd)
            done = helpers.update_tool_call("n1", status="completed")
            await self.client.session_update(session_id="child", update=done)

    async def do_acts_nested(self) -> None:
        done = helpers.start_tool_call("n1", "Run it", kind="execute", status="completed")
        await self.client.session_update(session_id="child", update=done)
        await self.cancelled.wait()

    async def do_runs_on(self) -> None:
        """It passes over that it is to stop; what it runs ignores the signal as well."""
        line = "trap '' TERM; (setsid sleep 876543 &); echo begun; sleep 876543"
        await self.client.create_terminal(session_id="1", command=line, cwd=self.cwd)
        await asyncio.Event().wait()

    async def do_grandchild(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
            Path(self.cwd, f"pid-{os.getpid()}").touch()
            time.sleep(600)
        Path(self.cwd, f"pid-{os.getpid()}").touch()
        await self.say("working")
        time.sleep(600)

    async def do_ends_without_a_result(self) -> None:
        await self.say("That was it.")
        os._exit(0)

    async def do_closes_stdout(self) -> None:
        await self.say("Now I fall silent.")
        os.close(1)
        time.sleep(600)

    async def do_leaves_a_holder(self) -> None:
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        Path(self.cwd, f"pid-{os.getpid()}").touch()
        print("I go, it stays", file=sys.stderr, flush=True)
        os._exit(4)

    async def do_cuts_characters(self) -> None:
        content = {"type": "text", "text": "\u00e4\u20ac\U0001f600" * 3}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        params = {"sessionId": "1", "update": update}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        os.set_blocking(1, True)
        for byte in json.dumps(message, ensure_ascii=False).encode() + b"\n":
            os.write(1, bytes([byte]))

    async def do_too_long_line(self) -> None:
        os.set_blocking(1, True)
        for _ in range(101):
            os.write(1, b"y" * (1024 * 1024))
        time.sleep(600)

    async def do_refuses(self) -> str:
        return "refusal"

    async def do_turns(self) -> str:
        return "max_turn_requests"

    async def do_retries(self) -> None:
        told = {"id": "1", "severity": "warning", "category": "service", "title": "Once more."}
        meta = {"jetbrains": {"air": {"version": 1, "sessionFailure": told}}}
        update = schema.SessionInfoUpdate(session_update="session_info_update", field_meta=meta)
        await self.update(update)

    async def do_fails(self) -> None:
        raise acp.RequestError(-32603, "the model is overloaded")


if __name__ == "__main__":
    if BEHAVIOUR == "silent":
        print("waiting for nothing", file=sys.stderr, flush=True)
        time.sleep(600)
    if BEHAVIOUR == "prints_usage":
        print("Usage: acp_agent.py [options]  (this one only knows --help)")
        sys.exit(0)
    if BEHAVIOUR == "usage":
        sys.exit("usage: acp_agent.py BEHAVIOUR")
    asyncio.run(acp.run_agent(Agent()))
