"""Stdout belongs to the protocol: whatever a library, a child or a thread prints goes elsewhere."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Hosts
from tests.e2e.script import calls, says

NOISE = """
import sys

class Noise:
    '''Prints whenever something is imported, as a talkative library would.'''

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pygls", "agents"):
            import os
            {how}
        return None

sys.meta_path.insert(0, Noise())
"""


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("print('NOISE', name, flush=True)", id="print"),
        pytest.param(
            "sys.__stdout__.write('NOISE\\n'); sys.__stdout__.flush()", id="sys.__stdout__"
        ),
        pytest.param("os.write(1, b'NOISE\\n')", id="descriptor 1"),
        pytest.param("os.system('echo NOISE')", id="child"),
    ],
)
def test_prints_of_others_never_reach_the_stream(hosts: Hosts, tmp_path: Path, how: str) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "sitecustomize.py").write_text(NOISE.format(how=how))
    editor = hosts.start(env={"PYTHONPATH": str(library)})
    run = editor.run(model=hosts.script([calls(("fs_list", {"path": "."})), says("clean")]))
    assert run.result()["output"] == "clean"
    assert editor.faults == []
    assert "NOISE" in editor.stderr()


def test_what_a_command_prints_is_output_and_nothing_else(hosts: Hosts) -> None:
    editor = hosts.start()
    command = {"command": "printf 'Content-Length: 5\\r\\n\\r\\nhello'; echo more >&2"}
    run = editor.run(model=hosts.script([calls(("terminal_run", command)), says("ok")]))
    assert run.result()["status"] == "completed"
    output = "".join(delta["text"] for delta in run.deltas("toolOutput"))
    assert "Content-Length: 5" in output
    assert "more" in output
    assert "more" not in editor.stderr()
