"""A run from its request to its one end."""

import pytest

from tests.e2e.conftest import Hosts, Shared
from tests.e2e.editor import CLIENTS, Editor
from tests.e2e.rawclient import RpcError
from tests.e2e.script import calls, says


@pytest.mark.parametrize("client", CLIENTS)
def test_a_plain_answer_with_deltas_in_order(hosts: Hosts, client: str) -> None:
    model = hosts.script([says("Hello, editor.")])
    editor = hosts.start(client)
    run = editor.run("say hello", model=model, role="coder")
    result = run.result()
    assert result["status"] == "completed"
    assert result["runId"] == run.id
    assert result["output"] == "Hello, editor."
    assert result["edits"] == []
    assert result["usage"]["requests"] == 1
    assert run.text() == "Hello, editor."
    started = run.deltas("started")[0]
    assert (started["role"], started["model"]) == ("coder", model)
    run.check()


def test_without_streaming_only_the_text_deltas_are_missing(shared: Shared) -> None:
    model = shared.script([calls(("fs_list", {"path": "."}), text="Looking."), says("Done.")])
    editor = shared.editor
    run = editor.run(model=model, stream=False)
    assert run.result()["output"] == "Done."
    assert run.deltas("text") == []
    assert [d["name"] for d in run.deltas("toolCall")] == ["fs_list"]


def test_many_runs_at_once_are_kept_apart(shared: Shared) -> None:
    editor = shared.editor
    runs = [
        editor.run(model=shared.script([calls(("fs_list", {"path": "."})), says(f"answer {n}")]))
        for n in range(8)
    ]
    assert [run.result()["output"] for run in runs] == [f"answer {n}" for n in range(8)]
    assert [run.text() for run in runs] == [f"answer {n}" for n in range(8)]
    assert len({run.result()["sessionId"] for run in runs}) == 8


def test_the_same_run_id_is_the_same_run(shared: Shared) -> None:
    model = shared.script([says("once")])
    editor = shared.editor
    first = editor.run(model=model, runId="mine").result()
    again = editor.request("agent/run", {"prompt": "go", "model": model, "runId": "mine"})
    assert again.result() == first
    ended = [
        m for m in editor.received() if m.get("params", {}).get("delta", {}).get("kind") == "ended"
    ]
    assert len(ended) == 1


def test_progress_is_shown_and_taken_away(shared: Shared) -> None:
    editor = shared.editor
    run = editor.run(model=shared.script([says("hi")]), workDoneToken="token-1")
    run.result()
    shown = [m["params"] for m in editor.received() if m.get("method") == "$/progress"]
    kinds = [p["value"]["kind"] for p in shown if p["token"] == "token-1"]
    assert kinds[0] == "begin"
    assert kinds[-1] == "end"


def test_progress_has_a_token_of_the_host_when_the_editor_gives_none(shared: Shared) -> None:
    editor = shared.editor
    editor.run(model=shared.script([says("hi")])).result()
    created = editor.wait_for("window/workDoneProgress/create")["params"]["token"]
    ended = editor.wait(
        lambda m: m.get("method") == "$/progress" and m["params"]["value"]["kind"] == "end"
    )
    assert ended["params"]["token"] == created


def test_a_plain_command_runs_it_too(hosts: Hosts) -> None:
    editor = hosts.start("neovim")
    argument = {"prompt": "go", "model": hosts.script([says("by command")])}
    params = {"command": "agentHost.run", "arguments": [argument]}
    result = editor.request("workspace/executeCommand", params).result()
    assert (result["status"], result["output"]) == ("completed", "by command")


def test_the_turn_limit_ends_a_run_with_its_name(shared: Shared) -> None:
    model = shared.script([calls(("fs_list", {"path": "."}))] * 5 + [says("never")])
    run = shared.editor.run(model=model, limits={"maxTurns": 2})
    result = run.result()
    assert result["status"] == "limit"
    assert "maxTurns" in str(result)


@pytest.mark.parametrize("text", ["", "Half an answer"])
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("auth_failed", "auth_failed"),
        ("model_not_found", "model_not_found"),
        ("rate_limited", "rate_limited"),
        ("overloaded", "overloaded"),
        ("runtime_failed", "runtime_failed"),
        ("cut", "runtime_failed"),
    ],
)
def test_a_model_that_fails_ends_the_run_with_one_sentence(
    shared: Shared, kind: str, code: str, text: str
) -> None:
    run = shared.editor.run(model=shared.script([says(text, error=kind)]))
    result = run.result(50)
    assert result["status"] == "failed"
    assert result["error"]["code"] == code
    assert result["error"]["error"]
    assert run.deltas("ended")[0]["status"] == "failed"


def test_a_model_that_ends_silently_ends_the_run(shared: Shared) -> None:
    result = shared.editor.run(model=shared.script([says("")])).result()
    assert result["status"] in ("completed", "failed")


def test_a_script_that_is_too_short_ends_the_run(shared: Shared) -> None:
    run = shared.editor.run(model=shared.script([calls(("fs_list", {"path": "."}))]))
    assert run.result()["status"] in ("completed", "failed")


def test_a_model_that_hangs_is_ended_by_the_inactivity_limit(shared: Shared) -> None:
    run = shared.editor.run(
        model=shared.script([says("The last thing.", hang=True)]), limits={"inactivitySeconds": 0.3}
    )
    result = run.result()
    assert result["status"] == "limit"
    assert "inactivitySeconds" in str(result)
    assert run.text() == "The last thing."


def test_a_tool_that_does_not_exist_is_told_to_the_model(shared: Shared) -> None:
    model = shared.script([calls(("no_such_tool", {"a": 1})), says("went on")])
    run = shared.editor.run(model=model)
    assert run.result()["output"] == "went on"


@pytest.mark.parametrize("arguments", [{}, {"path": 5}, {"path": "a", "surprise": True}])
def test_wrong_tool_arguments_are_told_to_the_model(
    shared: Shared, arguments: dict[str, object]
) -> None:
    model = shared.script([calls(("fs_read", arguments)), says("went on")])
    run = shared.editor.run(model=model)
    assert run.result()["output"] == "went on"
    assert run.tool_result("fs_read")["status"] == "failed"


def refusal(editor: Editor, **params: object) -> RpcError:
    with pytest.raises(RpcError) as caught:
        editor.request("agent/run", {"prompt": "go", **params}).result()
    return caught.value


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"model": "anthropic/claude-sonnet-4-5"}, "no_api_key"),
        ({"model": "openai/gpt-5"}, "no_api_key"),
        ({"model": "gemini/gemini-3-pro"}, "no_api_key"),
        ({"model": "nobody/nothing"}, "model_not_found"),
        ({"role": "nobody"}, "role_not_found"),
        ({"runtime": "nonsense"}, "runtime_missing"),
        ({"sessionId": "no-such-session", "model": "scripted/echo"}, "session_not_found"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(
    shared: Shared, params: dict[str, object], code: str
) -> None:
    error = refusal(shared.editor, **params)
    assert error.data["code"] == code
    sentence = error.data["error"]
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert str(shared.folder / "home") not in str(error.data)


def test_a_script_that_is_not_there_fails_the_run(shared: Shared) -> None:
    result = shared.editor.run(model="scripted//no/such/file.yaml").result()
    assert (result["status"], result["error"]["code"]) == ("failed", "model_not_found")


def test_without_any_model_the_user_is_told_what_to_set(shared: Shared) -> None:
    error = refusal(shared.editor)
    assert error.data["code"] in ("no_api_key", "model_not_found")
    assert "ANTHROPIC_API_KEY" in error.data["error"] or "model" in error.data["error"]
