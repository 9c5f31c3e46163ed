"""What a command can't do in the bubblewrap sandbox, tried by commands that try to."""

import asyncio
import http.server
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from agent_host.actions.policy import ActionPolicy
from agent_host.actions.probe import bubblewraps, probe
from agent_host.actions.sandbox import Sandbox
from tests.boundary.action_support import Bench, action_bench, sandbox_of


@pytest.fixture
def home():
    """A home directory that is not in /tmp, where commands see nothing of it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture
async def bench(tmp_path: Path, home: Path):
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text("hush")
    (home / ".netrc").write_text("hush")
    (home / "plain").write_text("visible")
    environment = {**os.environ, "HOME": str(home), "SOME_API_KEY": "hush"}
    sandbox = sandbox_of("bubblewrap")
    async with action_bench(tmp_path, environment=environment, sandbox=sandbox) as bench:
        subprocess.run(
            ["git", "init", "-q", str(bench.root)], check=True, env={**environment, "LC_ALL": "C"}
        )
        (bench.root / ".vscode").mkdir()
        (bench.root / ".vscode/settings.json").write_text("{}")
        (bench.root / "sub/deep/.idea").mkdir(parents=True)
        (bench.root / "sub/deep/.idea/workspace.xml").touch()
        (bench.root / "file").write_text("text")
        yield bench


async def test_the_probe_finds_what_works_here() -> None:
    found = await probe(os.environ)
    assert (found.kind, found.why) == ("bubblewrap", "")
    assert found.program in bubblewraps()


ATTACKS = [
    "echo x > .git/hooks/post-checkout",
    "echo x >> .git/config",
    "rm -f .git/config",
    "mv .git g2 && mkdir -p .git/hooks && echo x > .git/hooks/evil",
    "mv .git/hooks .git/h2 && mkdir .git/hooks && echo x > .git/hooks/evil",
    "rm -rf .git/hooks && mkdir -p .git/hooks && echo x > .git/hooks/evil",
    "rmdir .git; mkdir -p .git/hooks && echo x > .git/hooks/evil",
    "echo x > .vscode/tasks.json",
    "echo x > .vscode/settings.json",
    "rm -rf .vscode",
    "mv .vscode v2",
    "mv sub s2",
    "mv sub/deep sub/d2",
    "echo x > sub/deep/.idea/workspace.xml",
    "rm -rf sub",
    "mkdir .cursor",
    "touch .cursor/rules",
    "echo x > .mcp.json",
    "rm -f .mcp.json; echo x > .mcp.json",
    "chmod 666 .mcp.json && echo x > .mcp.json",
    "mv .mcp.json m2; echo x > .mcp.json",
    "ln -sf file .mcp.json",
    "ln -s .git/hooks h && echo x > h/evil",
    "umount .vscode && echo x > .vscode/tasks.json",
    "mount -o remount,rw .vscode && echo x > .vscode/tasks.json",
    "unshare -Urm sh -c 'umount .vscode; echo x > .vscode/tasks.json'",
]


def snapshot(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b"/"
        for path in sorted(root.rglob("*"))
        if path.name != "h"
    }


async def test_what_is_protected_stays_as_it_is(bench: Bench) -> None:
    before = snapshot(bench.root)
    result = await bench.sh("\n".join(f"({attack}) >&2; echo $?" for attack in ATTACKS))
    assert snapshot(bench.root) == before
    codes = "".join(text for stream, text in bench.live if stream == "stdout").split()
    assert [attack for attack, code in zip(ATTACKS, codes, strict=True) if code == "0"] == []
    assert result.tampered == ()


async def test_ordinary_work_goes_on(bench: Bench) -> None:
    result = await bench.sh(
        "set -e; echo new > made; mkdir -p a/b; mv made a/b/; echo more >> file; rm -f sub/none;"
        "git add -A; git -c user.name=n -c user.email=e@x commit -qm first; git log --format=%s;"
        "git branch other; git status --short; touch /tmp/x; echo > /dev/null"
    )
    assert (result.output, result.exit_code) == ("first\n", 0)
    assert result.tampered == ()
    assert (bench.root / "a/b/made").read_text() == "new\n"
    assert (bench.root / "file").read_text() == "textmore\n"


@pytest.mark.parametrize(
    ("script", "path"),
    [
        ("mkdir -p new/.vscode && echo x > new/.vscode/tasks.json", "new/.vscode"),
        ("mkdir -p new/.github/workflows && echo x > new/.github/workflows/ci.yml", None),
        ("echo x > sub/.ENVRC", "sub/.ENVRC"),
        ("echo x > evil.pth", "evil.pth"),
        ("echo gitdir: /x > sub/.git", "sub/.git"),
        ("echo x > .git/config.worktree", ".git/config.worktree"),
        ("echo x > .git/commondir", ".git/commondir"),
        ("git init -q sub/inner", "sub/inner/.git"),
        ("git init -q --bare bare", "bare/config"),
        ("mkdir -p a/b && git init -q --bare a/b/c", "a/b/c/hooks"),
    ],
)
async def test_what_can_only_be_seen_afterwards_is_told(
    bench: Bench, script: str, path: str | None
) -> None:
    result = await bench.sh(script)
    assert result.exit_code == 0, result
    wanted = bench.path(path or "new/.github/workflows")
    assert wanted in result.tampered
    assert (await bench.sh("true")).tampered == ()


async def test_nothing_is_left_of_our_mount_points(bench: Bench) -> None:
    async with asyncio.TaskGroup() as group:
        long = group.create_task(bench.sh("echo up; until [ -e go ]; do sleep 0.05; done"))
        await bench.heard("up")
        short = await bench.sh("ls -a; echo x > .mcp.json")
        assert short.exit_code != 0
        # The other command still needs its mount points.
        assert (bench.root / ".mcp.json").exists()
        assert (await bench.sh("echo x > .claude")).exit_code != 0
        (bench.root / "go").touch()
    assert long.result().tampered == ()
    assert not (bench.root / ".mcp.json").exists()
    assert not (bench.root / ".claude").exists()


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("cat ~/.ssh/id_rsa ~/.netrc 2>/dev/null; cat ~/plain; ls -A ~/.ssh", "visible"),
        ("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'", None),
        ("ls /tmp | head; ls -A /run", ""),
        ("echo x > /etc/evil; echo x > ~/evil; echo x > ../evil; ls ~/evil; exit 0", ""),
        ("ls /proc | grep -c '^[0-9]'", None),
        ("ls -d STATE/* 2>/dev/null", ""),
    ],
)
async def test_what_it_sees_of_the_machine(bench: Bench, script: str, output: object) -> None:
    result = await bench.sh(f"exec 2>/dev/null; {script.replace('STATE', str(bench.state))}")
    assert "hush" not in result.output
    if output is not None:
        said = result.output.replace(str(bench.root).split("/")[2], "").strip()
        assert said == output
    if "grep -c" in script:
        assert int(result.output) <= 6
    assert not (bench.root.parent / "evil").exists()
    assert not Path(os.environ["HOME"], "evil").exists()


async def test_it_has_no_network_unless_it_was_granted(bench: Bench) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        script = f"exec 3<>/dev/tcp/127.0.0.1/{server.server_port} && echo reached"
        assert "reached" not in (await bench.sh(script)).output
        assert (await bench.sh(script, network=True)).output == "reached\n"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_sockets_of_the_file_system_cannot_be_reached(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.root / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        # The path of a socket may be no longer than 107 bytes.
        monkeypatch.chdir(bench.root)
        listener.bind("socket")
        listener.listen()
        code = "import socket; socket.socket(socket.AF_UNIX).connect('socket'); print('reached')"
        result = await bench.sh(f'python3 -c "{code}" 2>&1')
    path.unlink()
    assert "reached" not in result.output
    assert "PermissionError" in result.output
    pair = 'import socket; a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))'
    assert (await bench.sh(f"python3 -c '{pair}'")).output == "b'x'\n"


async def test_processes_outside_cannot_be_reached(bench: Bench) -> None:
    result = await bench.sh(f"kill -9 {os.getpid()} {bench.client.status().pid}; kill -9 -1; true")
    assert result.signal in (None, "SIGKILL")
    assert (await bench.sh("echo on")).output == "on\n"
    assert bench.client.status().restarts == 0


async def test_unsaved_text_is_seen_by_the_command_alone(bench: Bench) -> None:
    script = bench.root / "run.sh"
    script.write_text("echo saved\n")
    script.chmod(0o755)
    overlay = {
        bench.path("file"): b"unsaved\n",
        str(script): b"#!/bin/sh\necho unsaved script\n",
        bench.path("fresh"): b"not on disk\n",
        bench.path("none/fresh"): b"nowhere to put it\n",
    }
    result = await bench.sh("cat file; ./run.sh; cat fresh; echo changed > file", overlay=overlay)
    assert result.output == "unsaved\nunsaved script\nnot on disk\n"
    assert result.changed == {bench.path("file"): b"changed\n"}
    assert (bench.root / "file").read_text() == "text"
    assert script.read_text() == "echo saved\n"
    assert not (bench.root / "fresh").exists()
    assert result.note is not None
    assert "none/fresh" in result.note
    assert list((bench.state / "scratch").iterdir()) == []


async def test_an_overlay_is_for_the_workspace_only(bench: Bench) -> None:
    await bench.fails(bench.sh("cat /etc/hostname", overlay={"/etc/hostname": b"x"}), "outside")


async def test_secret_looking_files_read_as_empty_when_asked_so(bench: Bench) -> None:
    (bench.root / "sub/.env").write_text("KEY=hush")
    (bench.root / "sub/.env.example").write_text("KEY=")
    seen = await bench.sh("grep -r KEY sub")
    assert "hush" in seen.output
    hidden = await bench.sh("grep -r KEY sub; mv sub/.env x; cat sub/.env", hide_secrets=True)
    assert "hush" not in hidden.output
    assert "sub/.env.example" in hidden.output
    assert (bench.root / "sub/.env").read_text() == "KEY=hush"


async def test_a_root_inside_a_root_cannot_be_moved_away(bench: Bench) -> None:
    inner = bench.root / "x/inner"
    (inner / ".vscode").mkdir(parents=True)
    (inner / ".vscode/t").write_text("kept")
    await bench.client.set_roots([str(bench.root), str(inner)])
    result = await bench.sh("mv x y; mkdir -p x/inner/.vscode && echo x > x/inner/.vscode/t")
    assert result.exit_code != 0
    assert (inner / ".vscode/t").read_text() == "kept"


async def test_without_a_sandbox_that_is_required_nothing_runs(tmp_path: Path) -> None:
    policy = ActionPolicy(required=True)
    async with action_bench(tmp_path, sandbox=Sandbox("none", why="x"), policy=policy) as bench:
        error = await bench.fails(bench.sh("touch ran"), "denied")
        assert "sandbox" in error.reason
        assert not (bench.root / "ran").exists()


@pytest.mark.parametrize("kind", ["landlock-only", "none"])
async def test_weaker_sandboxes_still_tell_what_was_changed(tmp_path: Path, kind: str) -> None:
    async with action_bench(tmp_path, sandbox=sandbox_of(kind)) as bench:
        (bench.root / ".vscode").mkdir()
        result = await bench.sh("echo x > .vscode/tasks.json", overlay={bench.path("f"): b"x"})
        assert result.tampered == (bench.path(".vscode"),)
        assert "without unsaved changes" in (result.note or "")


async def test_landlock_alone_keeps_writing_in_the_workspace(tmp_path: Path, home: Path) -> None:
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/key").write_text("hush")
    (home / "plain").write_text("visible\n")
    environment = {**os.environ, "HOME": str(home)}
    sandbox = sandbox_of("landlock-only")
    outside = Path(f"/var/agent-host-test-{os.getpid()}")
    async with action_bench(tmp_path, environment=environment, sandbox=sandbox) as bench:
        result = await bench.sh(f"echo x > made; cat ~/.ssh/key; cat ~/plain; echo x > {outside}")
        assert (bench.root / "made").exists()
        assert "hush" not in result.output
        assert "visible" in result.output
        assert "Permission denied" in result.output
    assert not outside.exists()


async def test_a_sandbox_that_stopped_working_is_not_left_out(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    async with action_bench(tmp_path, sandbox=Sandbox("bubblewrap", str(broken))) as bench:
        result = await bench.sh("touch ran")
        assert result.exit_code == 1
        assert not (bench.root / "ran").exists()


def test_it_works_for_an_ordinary_user(tmp_path: Path) -> None:
    """The whole way as nobody, with the system's interpreter."""
    project = Path(__file__).parents[2]
    code = f"""
import asyncio, sys, tempfile, os
sys.path.insert(0, {str(project)!r})
from pathlib import Path
from agent_host.actions.client import ActionClient
from agent_host.actions.sandbox import Sandbox
from agent_host.core.actions import Command
from agent_host.session.sealing import sealed
async def main():
    base = Path(tempfile.mkdtemp())
    root = base / "workspace"
    root.mkdir()
    (root / ".vscode").mkdir()
    client = ActionClient(
        state_dir=base / "state",
        roots=[str(root)],
        sandbox=Sandbox("bubblewrap", {bubblewraps()[0]!r}),
    )
    async with client.serving():
        sha = await client.write(str(root / "a"), b"one", expected_sha256=None)
        await client.write(str(root / "a"), b"two", expected_sha256=sha)
        facts = await client.inspect(str(root / "a"))
        await client.restore(await client.delete(str(root / "a"), identity=facts.identity))
        script = "id -u; cat a /etc/shadow; echo x > .vscode/t; echo x > .mcp.json; sleep 600 &"
        command = sealed(Command(str(root), script=script), "bubblewrap", "once")
        result = await client.run(command, lambda s, t: None)
        print(result.output, result.tampered, sorted(os.listdir(root)))
asyncio.run(main())
"""
    python = "/usr/bin/python3" if os.geteuid() == 0 else sys.executable
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = subprocess.run(
        [*(user if os.geteuid() == 0 else []), python, "-c", code],
        capture_output=True,
        text=True,
        cwd="/",
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("65534\ntwo" if os.geteuid() == 0 else "")
    assert "/etc/shadow: Permission denied" in done.stdout
    assert done.stdout.endswith("() ['.vscode', 'a']\n")
