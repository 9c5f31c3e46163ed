"""A stand-in for the claude CLI that is really executed, and behaves well or in one bad way.

`fake_claude.py BEHAVIOUR` and the CLI's own arguments. Standard library only.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

SESSION = "11111111-2222-3333-4444-555555555555"
BEHAVIOUR, *ARGUMENTS = sys.argv[1:]
FLAGS = dict(each[2:].partition("=")[::2] for each in ARGUMENTS if each.startswith("--"))


def say(kind: str, **fields: object) -> None:
    print(json.dumps({"type": kind, "session_id": SESSION, **fields}), flush=True)


def hear() -> dict:
    line = sys.stdin.readline()
    if not line:
        print("stdin was closed", file=sys.stderr)
        sys.exit(9)
    return json.loads(line)


def stream(event: dict) -> None:
    say("stream_event", event=event, parent_tool_use_id=None)


def answer(text: str) -> None:
    """One call of the model that says this."""
    usage = {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 1}
    message = {"id": f"m{time.monotonic_ns()}", "model": "claude-opus-4-8"}
    stream({"type": "message_start", "message": {**message, "usage": usage}})
    stream({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}})
    say("assistant", message={**message, "content": [{"type": "text", "text": text}]})
    stream({"type": "message_delta", "usage": {"output_tokens": 20}})
    stream({"type": "message_stop"})


def wish(name: str, call_id: str, parent: str | None = None, **arguments: object) -> None:
    block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    message = {"id": "m", "model": "x", "content": [block]}
    say("assistant", message=message, parent_tool_use_id=parent)


def did(call_id: str, text: str, *, error: bool = False, parent: str | None = None) -> None:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": error}
    say("user", message={"role": "user", "content": [block]}, parent_tool_use_id=parent)


def may(name: str, call_id: str, **arguments: object) -> bool:
    """Ask by the hook, as the CLI does before each tool."""
    hook = {"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": arguments}
    request = {"subtype": "hook_callback", "input": hook, "tool_use_id": call_id}
    say("control_request", request_id=f"q-{call_id}", request=request)
    response = hear()["response"]
    assert response["request_id"] == f"q-{call_id}", response
    return response["response"]["hookSpecificOutput"]["permissionDecision"] == "allow"


def bash(call_id: str, command: str) -> None:
    wish("Bash", call_id, command=command)
    if may("Bash", call_id, command=command):
        subprocess.run(command, shell=True, check=True)
        did(call_id, "done")
    else:
        did(call_id, "denied", error=True)


def hear_more() -> None:
    """Take a message that has come while it works, and say so, as the CLI does."""
    said = hear()
    assert said["type"] == "user", said
    say("user", message=said["message"], uuid=said["uuid"], isReplay=True)
    text = said["message"]["content"][0]["text"]
    answer(f"Heard: {text}")


def call_ours(name: str, call_id: str, **arguments: object) -> str:
    """Call a tool of the server that we were told of."""
    wish(f"mcp__agent-host__{name}", call_id, **arguments)
    server = json.loads(Path(FLAGS["mcp-config"]).read_text())["mcpServers"]["agent-host"]
    params = {"name": name, "arguments": arguments, "_meta": {"claudecode/toolUseId": call_id}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {**server["headers"], "Content-Type": "application/json"}
    asked = urllib.request.Request(server["url"], json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked) as answered:
        data = [line[5:] for line in answered if line.startswith(b"data:")][-1]
    result = json.loads(data)["result"]
    text = result["content"][0]["text"]
    did(call_id, text, error=result["isError"])
    return text


def begin(**changed: object) -> None:
    ours = [] if FLAGS["tools"] else ["mcp__agent-host__fs_read"]
    fields = {
        "subtype": "init",
        "tools": [*filter(None, FLAGS["tools"].split(",")), *ours],
        "mcp_servers": [{"name": "agent-host", "status": "connected"}],
        "permissionMode": "default",
        "model": "claude-opus-4-8",
        "claude_code_version": "9.9.9",
        "apiKeySource": "none",
        **changed,
    }
    say("system", **fields)


def finish(text: str = "Done.", **changed: object) -> None:
    fields = {"subtype": "success", "is_error": False, "result": text, "total_cost_usd": 0.5}
    say("result", **{**fields, **changed})


def main() -> None:
    if BEHAVIOUR == "silent":
        print("waiting for a terminal", file=sys.stderr, flush=True)
        time.sleep(600)
    if BEHAVIOUR == "exits":
        print("error: this CPU is not supported", file=sys.stderr)
        sys.exit(1)
    if BEHAVIOUR == "usage":
        print("Usage: claude [options]\n\nerror: unknown option '--tools'", file=sys.stderr)
        sys.exit(2)
    if BEHAVIOUR == "prints_usage":
        print("Usage: claude [options]  (this one only knows --help)")
        sys.exit(0)
    if BEHAVIOUR == "lost" and "resume" in FLAGS:
        print("No conversation found with session ID: x", file=sys.stderr, flush=True)
        finish(subtype="error_during_execution", is_error=True)
        sys.exit(1)
    asked = hear()
    assert asked["request"]["hooks"]["PreToolUse"], asked
    response = {"subtype": "success", "request_id": asked["request_id"], "response": {}}
    say("control_response", response=response)
    prompt = hear()["message"]["content"]
    if BEHAVIOUR == "more_tools":
        begin(tools=["mcp__agent-host__fs_read", "Bash"])
        did("x", "never reached")
    if BEHAVIOUR == "bypass":
        begin(permissionMode="bypassPermissions")
    if BEHAVIOUR == "no_server":
        begin(mcp_servers=[{"name": "agent-host", "status": "failed"}])
    if BEHAVIOUR in ("begins_early", "never_reaches"):
        begin(mcp_servers=[{"name": "agent-host", "status": "pending"}])
    else:
        begin()
    play(prompt)
    if BEHAVIOUR not in ("overloaded", "turns", "money", "refuses", "is_cut_short"):
        finish()
    # As the real one: it ends once its input is closed.
    assert sys.stdin.readline() == "", "nothing was to come any more"


def play(prompt: list) -> None:
    match BEHAVIOUR:
        case "answers" | "lost" | "never_reaches":
            answer("Hello.")
        case "reflects":
            file = FLAGS.get("system-prompt-file") or FLAGS["append-system-prompt-file"]
            system = Path(file).read_text()
            told = {"env": dict(os.environ), "argv": ARGUMENTS, "prompt": prompt, "system": system}
            answer(json.dumps({**told, "cwd": str(Path.cwd()), "tty": sys.stdout.isatty()}))
        case "calls" | "begins_early":
            answer("It says: " + call_ours("fs_read", "toolu_1", path="a.txt"))
        case "never_ends":
            for number in itertools.count(1):
                answer(f"Step {number}.")
                time.sleep(0.1)
                call_ours("fs_read", f"toolu_{number}", path=f"{number}.txt")
        case "never_ends_behind":
            # Only its results tell what all of it has cost so far.
            say("system", subtype="task_started", task_id="t1")
            for number in itertools.count(1):
                answer(f"Step {number}.")
                finish(total_cost_usd=0.25 * number)
                begin()
        case "calls_external":
            answer("It says: " + call_ours("test__go", "toolu_1", where="home"))
        case "is_steered":
            call_ours("fs_read", "toolu_1", path="a.txt")
            hear_more()
        case "is_steered_late":
            call_ours("fs_read", "toolu_1", path="a.txt")
            finish("The first.")
            begin()
            time.sleep(0.5)
            hear_more()
        case "never_listens":
            call_ours("fs_read", "toolu_1", path="a.txt")
            finish("The first.")
            hear()
        case "secrets":
            ways = (
                ("fs_read", {"path": ".env"}),
                ("fs_read", {"path": "notes"}),
                ("fs_search", {"pattern": "KEY", "path": ".env"}),
                ("terminal_run", {"command": "cat .env"}),
                ("terminal_run", {"command": "cat < notes"}),
            )
            for number, (name, arguments) in enumerate(ways):
                text = call_ours(name, f"toolu_{number}", **arguments)
                answer(f"got {text}" if "hunter" in text else "refused ")
                # Three denials in a row would end the run.
                call_ours("fs_read", f"toolu_{number}b", path="src/plain.py")
        case "runs_on":
            # It passes over that it is to stop; what it runs ignores the signal as well.
            command = "trap '' TERM; (setsid sleep 876543 &); echo begun; sleep 876543"
            call_ours("terminal_run", "toolu_1", command=command)
            time.sleep(600)
        case "hangs_in_call":
            call_ours("fs_read", "toolu_1", path="a.txt")
        case "native":
            bash("b1", "echo made > made.txt")
        case "asks_late":
            bash("b1", "echo one >> made.txt")
            finish("So far.")
            bash("b2", "echo two >> made.txt")
            say("system", subtype="task_started", task_id="t1")
            finish("Something goes on.")
            time.sleep(0.5)
            bash("b3", "echo three >> made.txt")
            say("system", subtype="task_notification", task_id="t1")
        case "never_asks":
            wish("Bash", "b1", command="touch made.txt")
            subprocess.run("touch made.txt", shell=True, check=False)
            did("b1", "")
            time.sleep(600)
        case "ignores_denial":
            wish("Bash", "b1", command="touch made.txt")
            may("Bash", "b1", command="touch made.txt")
            did("b1", "done all the same")
            time.sleep(600)
        case "odd_tool":
            wish("WebFetch", "w1", url="http://x")
            did("w1", "denied" if not may("WebFetch", "w1", url="http://x") else "went", error=True)
        case "grandchild":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if os.fork() == 0:
                os.setsid()
            else:
                answer("working")
            Path(f"pid-{os.getpid()}").touch()
            time.sleep(600)
        case "streams":
            usage = {"input_tokens": 10, "output_tokens": 1}
            stream({"type": "message_start", "message": {"id": "m", "usage": usage}})
            while True:
                delta = {"type": "text_delta", "text": "on and on "}
                stream({"type": "content_block_delta", "delta": delta})
                time.sleep(0.01)
        case "long_line":
            answer("x" * 5_000_000)
        case "too_long_line":
            sys.stdout.write("y" * (101 * 1024 * 1024))
            sys.stdout.flush()
            time.sleep(600)
        case "chatters":
            print("npm warn something")
            print("[1, 2")
            print(json.dumps({"type": "brand_new_kind"}))
            print("told on stderr", file=sys.stderr, flush=True)
            say("control_request", request_id="e1", request={"subtype": "elicitation"})
            assert hear()["response"]["subtype"] == "error"
            answer("Hello.")
        case "ends_without_a_result":
            answer("That was it.")
            sys.exit(0)
        case "ends_after_nothing":
            sys.exit(0)
        case "ends_after_half_call":
            stream({"type": "message_start", "message": {"id": "m", "usage": {}}})
            block = {"type": "tool_use", "id": "toolu_1", "name": "mcp__agent-host__fs_read"}
            stream({"type": "content_block_start", "index": 0, "content_block": block})
            delta = {"type": "input_json_delta", "partial_json": '{"path": "a.'}
            stream({"type": "content_block_delta", "index": 0, "delta": delta})
            sys.exit(0)
        case "ends_after_tool":
            call_ours("fs_read", "toolu_1", path="a.txt")
            sys.exit(0)
        case "is_cut_short":
            answer("That was")
            finish("That was", stop_reason="max_tokens")
        case "echoes_keys":
            print(os.environ["THE_KEY"], "sk-ant-secretsecret", file=sys.stderr)
            print("sk-ant-secretsecret", flush=True)
            finish("broken: sk-ant-secretsecret", is_error=True)
            sys.exit(1)
        case "history_is_refused":
            # What the vendor says to thinking that is not as it was signed.
            said = "API Error: 400 messages.1.content.0: Invalid `signature` in `thinking` block"
            if "resume" in FLAGS or "late" in json.dumps(prompt):
                if "late" in json.dumps(prompt):
                    call_ours("fs_read", "toolu_1", path="a.txt")
                finish(said, is_error=True, api_error_status=400)
                sys.exit(1)
            answer(json.dumps(prompt))
        case "asks_nested":
            # An agent that it has called itself wants to run something.
            wish("Bash", "n1", parent="t1", command="echo made > made.txt")
            if may("Bash", "n1", command="echo made > made.txt"):
                subprocess.run("echo made > made.txt", shell=True, check=True)
                did("n1", "done", parent="t1")
            else:
                did("n1", "denied", error=True, parent="t1")
        case "finishes_twice":
            answer("One.")
            finish("The first.")
            finish("The second.")
        case "cuts_characters":
            text = {"type": "text_delta", "text": "\u00e4\u20ac\U0001f600" * 3}
            event = {"type": "content_block_delta", "delta": text}
            stream({"type": "message_start", "message": {"id": "m"}})
            message = {"type": "stream_event", "session_id": SESSION, "event": event}
            for byte in json.dumps(message, ensure_ascii=False).encode() + b"\n":
                sys.stdout.buffer.write(bytes([byte]))
                sys.stdout.buffer.flush()
        case "closes_stdout":
            answer("Now I fall silent.")
            os.close(1)
            time.sleep(600)
        case "leaves_a_holder":
            if os.fork() == 0:
                os.setsid()
                time.sleep(600)
            Path(f"pid-{os.getpid()}").touch()
            print("I go, it stays", file=sys.stderr, flush=True)
            os._exit(4)
        case "nags":
            print("\x1b[33mA new version is there: 9.9.10. Run claude update.\x1b[0m")
            print("\xef\xbb\xbfWelcome!", file=sys.stderr, flush=True)
            print(json.dumps("just a text"))
            answer("Hello.")
        case "halts":
            answer("Hello, ")
            time.sleep(600)
        case "dies":
            answer("half of")
            os.kill(os.getpid(), signal.SIGKILL)
        case "refused_key":
            for attempt in (1, 2):
                fields = {"attempt": attempt, "retry_delay_ms": 100, "error_status": 401}
                say("system", subtype="api_retry", error="authentication_failed", **fields)
            time.sleep(600)
        case "logged_out":
            finish("Not logged in · Please run /login", is_error=True)
            sys.exit(1)
        case "overloaded":
            finish("API Error: 529 sk-ant-secretsecret", is_error=True, api_error_status=529)
        case "turns":
            finish(subtype="error_max_turns", is_error=True)
        case "money":
            finish(subtype="error_max_budget_usd", is_error=True)
        case "refuses":
            finish("No.", stop_reason="refusal")
        case _:
            pass


if __name__ == "__main__":
    main()
