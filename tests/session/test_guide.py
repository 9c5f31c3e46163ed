"""What a run is told of instructions, skills and prompt files, through the real gate."""

from pathlib import Path

import pytest

from agent_host.core.errors import InvalidRequest
from agent_host.core.events import Logged
from agent_host.core.guidance import Guidance, GuidanceProblem, Instructions, PromptFile, Skill
from agent_host.core.model import TextPart, ToolCall
from agent_host.core.permission import Rule
from agent_host.core.ports import RunSink, RuntimeRequest, RuntimeResult, ToolGate
from agent_host.settings import Settings
from tests.fakes import answering
from tests.session.stage import asked, role, stage, tool

PLAN = Skill("plan", "Makes plans.", "/c/skills/plan/SKILL.md", "First think.")
SHIP = Skill("ship", "Ships it.", "/c/skills/ship/SKILL.md", "Then ship.", omitted=7)
BOTH = Guidance(skills={"plan": PLAN, "ship": SHIP})


def uses(name: str, call_id: str = "c1", **more: object) -> ToolCall:
    return ToolCall(call_id, "skill_use", {"name": name, **more})


async def test_the_system_prompt_has_instructions_and_the_names_of_skills(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        mine = Instructions("/c/AGENTS.md", None, "Be kind.")
        theirs = Instructions("/w/AGENTS.md", "/w", "Use tabs.", omitted=12)
        on.guidance.guidance = Guidance((mine, theirs), BOTH.skills)
        await on.run()
        (request,) = on.runtime.requests
        text = request.instructions
        assert text.startswith("Be brief.")
        assert text.index("Be kind.") < text.index("Use tabs.")
        assert "12 more bytes are left out" in text
        assert "- plan: Makes plans." in text
        assert "First think." not in text
        assert "skill_use" in [spec.name for spec in request.tools]


async def test_without_skills_there_is_no_tool_for_them(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.run()
        assert "skill_use" not in [spec.name for spec in on.runtime.requests[0].tools]
        assert "# Skills" not in on.runtime.requests[0].instructions


async def test_a_role_knows_the_skills_that_it_names(tmp_path: Path) -> None:
    async with stage(tmp_path, roles=(role(knows=("ship", "gone")),)) as on:
        on.guidance.guidance = BOTH
        story, results = answering("ok", uses("plan"))
        on.plays(story)
        await on.manager.run(asked())
        assert "- plan:" not in on.runtime.requests[0].instructions
        assert "no skill 'plan'. Known: ship" in results[0].text
        notes = [d.delta.text for d in on.editor.deltas if isinstance(d.delta, Logged)]
        assert "There is no skill gone, which the role coder names." in notes


async def test_a_skill_is_loaded_when_it_is_used_also_without_trust(tmp_path: Path) -> None:
    async with stage(tmp_path, trusted=False) as on:
        on.guidance.guidance = BOTH
        on.guidance.files["more.md"] = "More."
        calls = (
            uses("ship", "c1"),
            uses("ship", "c2", file="more.md"),
            uses("ship", "c3", file="none.md"),
        )
        story, results = answering("ok", *calls)
        on.plays(story)
        await on.manager.run(asked())
        assert [each.status for each in results] == ["ok", "ok", "failed"]
        assert "Then ship." in results[0].text
        assert "7 more bytes of the skill" in results[0].text
        assert "more.md" in results[0].text
        assert results[1].text == "More."
        assert on.editor.questions == []


async def test_a_rule_can_forbid_a_skill(tmp_path: Path) -> None:
    settings = Settings(model="scripted/x", rules=(Rule("deny", "skill.use"),))
    async with stage(tmp_path, settings=settings) as on:
        on.guidance.guidance = BOTH
        _, statuses = await on.run(uses("plan"))
        assert statuses == ["denied"]


async def test_folders_below_give_their_instructions_once_when_they_are_touched(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as on:
        on.actions.files |= {"/w/a/x": b"x\n", "/w/y": b"y\n"}
        on.guidance.nested["/w/a"] = "Only here."
        calls = [tool("fs_read", f"c{n}", path=path) for n, path in enumerate(("y", "a/x", "a/x"))]
        story, results = answering("ok", *calls)
        on.plays(story)
        await on.manager.run(asked(session_id="s"))
        assert ["Only here." in each.text for each in results] == [False, True, False]
        story, again = answering("ok", calls[1])
        on.plays(story)
        await on.manager.run(asked(session_id="s"))
        assert "Only here." not in again[0].text
        on.guidance.nested["/w/a"] = "Changed."
        story, changed = answering("ok", calls[1])
        on.plays(story)
        await on.manager.run(asked(session_id="s"))
        assert "Changed." in changed[0].text


async def test_a_denied_call_tells_nothing_of_the_folder(tmp_path: Path) -> None:
    settings = Settings(model="scripted/x", rules=(Rule("deny", "fs.read", "a/**"),))
    async with stage(tmp_path, settings=settings) as on:
        on.actions.files["/w/a/x"] = b"x\n"
        on.guidance.nested["/w/a"] = "Only here."
        story, results = answering("ok", tool("fs_read", path="a/x"))
        on.plays(story)
        await on.manager.run(asked())
        assert "Only here." not in results[0].text


async def test_a_prompt_file_is_what_the_model_is_given_and_not_what_the_person_said(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as on:
        file = PromptFile("fix", "", "/c/prompts/fix.md", "Fix $1 well.")
        on.guidance.guidance = Guidance(prompts={"fix": file})
        given: list[object] = []

        async def story(request: RuntimeRequest, sink: RunSink, gate: ToolGate) -> RuntimeResult:
            del sink, gate
            given.extend(request.prompt)
            return RuntimeResult("completed", "ok")

        on.plays(story)
        result = await on.manager.run(asked("/fix it"))
        assert given == [TextPart("Fix it well.")]
        assert (await on.store.run(result.run_id)).prompt == (TextPart("/fix it"),)
        assert (await on.store.session(result.session_id)).title == "/fix it"


async def test_a_broken_prompt_file_is_refused(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        broken = GuidanceProblem("prompt", "fix", "/c/prompts/fix.md", 2, "No.")
        on.guidance.guidance = Guidance(problems=(broken,))
        with pytest.raises(InvalidRequest, match=r"fix\.md:2: No\."):
            await on.manager.run(asked("/fix it"))
