"""What an agent deletes comes back whole: larger than what is kept in the store, links as links."""

import os

from tests.e2e.conftest import Hosts
from tests.e2e.script import calls, says

LARGE = b"0123456789abcdef" * (11 * 1024 * 1024 // 16)


def test_a_large_file_and_a_link_come_back(hosts: Hosts) -> None:
    large, target, link = (hosts.root / name for name in ("large.bin", "target.txt", "link.txt"))
    large.write_bytes(LARGE)
    target.write_text("target\n")
    link.symlink_to("target.txt")
    deletes = [calls(("fs_delete", {"path": name})) for name in ("large.bin", "link.txt")]
    editor = hosts.start()
    run = editor.run(model=hosts.script([*deletes, says("ok")]))
    result = run.result()
    assert [each["kind"] for each in result["edits"]] == ["delete", "delete"]
    assert [large.exists(), target.read_text(), os.path.lexists(link)] == [False, "target\n", False]
    assert {each["uri"] for each in result["diff"]["omitted"]} == {large.as_uri(), link.as_uri()}
    files = editor.request("agent/session/revert", {"runId": run.id}).result()["files"]
    assert {each["status"] for each in files} == {"reverted"}, files
    assert large.read_bytes() == LARGE
    assert (link.is_symlink(), str(link.readlink())) == (True, "target.txt")
