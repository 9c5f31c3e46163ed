"""`local/embedded`: a small model in a child process streams real tokens without a server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_host.core.errors import RuntimeMissing
from agent_host.runtimes.embedded.model import NAME, ModelFile, model_file
from tests.e2e.conftest import Hosts
from tests.e2e.processes import descendants, wait_gone


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the model was installed as a user would."""
    folder = tmp_path_factory.mktemp("home")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "agent_host", "models", "--install-embedded"],
        env=environment | {"AGENT_HOST_HOME": str(folder)},
        check=False,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    assert f"local/embedded: from {NAME}" in done.stdout
    return folder


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    made = Hosts(tmp_path)
    yield made
    made.finish()


def test_real_tokens_stream_and_nothing_is_left_behind(home: Path, hosts: Hosts) -> None:
    model = home / "cache" / "models" / NAME
    editor = hosts.start(env={"AGENT_HOST_EMBEDDED_MODEL": str(model)})
    run = editor.run("Say hello.", model="local/embedded", role="reviewer")
    assert run.wait("text", timeout=60)["text"]
    children = descendants(editor.process.pid)
    editor.stop()
    assert run.result(20)["status"] == "stopped"
    editor.shutdown()
    assert wait_gone(children, 5.0) == []


def test_a_file_that_is_no_model_ends_the_run_with_what_to_do(tmp_path: Path, hosts: Hosts) -> None:
    (tmp_path / "no.gguf").write_text("this is no model")
    editor = hosts.start(env={"AGENT_HOST_EMBEDDED_MODEL": str(tmp_path / "no.gguf")})
    result = editor.run("hi", model="local/embedded").result(60)
    assert (result["status"], result["error"]["code"]) == ("failed", "runtime_failed")
    assert "did not start" in result["error"]["error"]
    assert "check that no.gguf" in result["error"]["error"]


@pytest.mark.parametrize(
    ("environ", "told"),
    [({}, "--install-embedded"), ({"AGENT_HOST_EMBEDDED_MODEL": "/no/x.gguf"}, "x.gguf, which is")],
)
def test_a_missing_model_says_what_to_do(
    tmp_path: Path, environ: dict[str, str], told: str
) -> None:
    file: ModelFile = model_file(environ, tmp_path)
    assert not file.info().usable
    with pytest.raises(RuntimeMissing, match=told):
        file.require()
