"""What the editor shows as wrong is told to the model, capped, and never made up."""

from pathlib import Path

from agent_host.session import diagnoses
from agent_host.tools import DIAGNOSTICS
from tests.session.stage import stage, tool
from tests.session.test_gate import results

CALL = tool("editor_diagnostics", path="a.py")
AT = {"start": {"line": 6, "character": 0}, "end": {"line": 6, "character": 1}}


async def test_the_model_reads_the_editors_diagnostics(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files["/w/a.py"] = b"x\n"
        host.editor.shows_wrong["file:///w/a.py"] = [
            {"range": AT, "message": "unused", "severity": 2, "source": "ruff", "code": "F401"},
            {"range": AT, "message": "not\ndefined", "severity": 1},
        ]
        assert await results(host, CALL) == [
            ("ok", "line 7: error: not defined\nline 7: warning: unused [ruff F401]")
        ]
        assert host.editor.questions == []
        assert DIAGNOSTICS in [each.name for each in host.runtime.requests[-1].tools]
        host.editor.shows_wrong.clear()
        await results(host)
        assert DIAGNOSTICS not in [each.name for each in host.runtime.requests[-1].tools]


async def test_an_editor_that_does_not_tell_is_no_clean_bill(tmp_path: Path) -> None:
    async with stage(tmp_path) as host:
        host.actions.files |= {"/w/a.py": b"x\n", "/w/.env": b"KEY=1\n"}
        ((status, text),) = await results(host, CALL)
        assert (status, "did not tell" in text) == ("failed", True)
        await results(host, tool("editor_diagnostics", path=".env"))
        assert len(host.editor.questions) == 1


def test_many_and_odd_ones_are_told_all_the_same() -> None:
    odd = [{"message": 3, "range": None, "severity": 9, "code": {}}]
    assert diagnoses.told(odd) == "line 1: error: 3"
    many = [{"message": f"m{n}", "range": AT, "severity": 2} for n in range(130)]
    assert diagnoses.told(many).splitlines()[-1] == "[30 more are left out.]"
    assert "no diagnostics" in diagnoses.told([])
