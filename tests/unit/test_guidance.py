"""Instructions, skills and prompt files: found, read fresh, and never silently left out."""

import os
from pathlib import Path

import pytest

from agent_host.core.errors import ActionFailed, InvalidRequest
from agent_host.core.guidance import Guidance, GuidanceProblem, PromptFile
from agent_host.core.model import TextPart
from agent_host.guidance.parsing import parse_prompt, parse_skill
from agent_host.guidance.reader import (
    MAX_FILES,
    MAX_INSTRUCTIONS,
    GuidanceReader,
    Place,
    brought,
    kind_of,
)
from agent_host.permissions.paths import is_secret
from agent_host.session.slash import expanded

SKILL = "---\nname: {name}\ndescription: {about}\n---\nHow to {name}.\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def skill(folder: Path, name: str, about: str = "When it is needed.") -> Path:
    return write(folder / "skills" / name / "SKILL.md", SKILL.format(name=name, about=about))


class Machine:
    """A configuration folder and one workspace."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "config"
        self.root = folder / "w"
        self.root.mkdir()
        self.trusted = True
        self.reader = GuidanceReader(self.places)

    def places(self) -> tuple[Place, ...]:
        folders = (self.root / ".agents", self.root / ".agent-host")
        return (
            Place(None, (self.config,), trusted=True, may_read=is_secret),
            Place(str(self.root), folders, trusted=self.trusted, may_read=self._refuses),
        )

    def _refuses(self, true_path: str) -> str | None:
        outside = not Path(true_path).is_relative_to(self.root)
        return "it is outside the workspace" if outside else is_secret(true_path)

    def read(self, below: str = "") -> Guidance:
        return self.reader.read_now(str(self.root / below))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


# ---- instructions


def test_instructions_come_from_the_user_the_root_and_down_to_the_folder(machine: Machine) -> None:
    write(machine.config / "AGENTS.md", "Mine.")
    write(machine.root / "AGENTS.md", "Root.")
    write(machine.root / "a" / "AGENTS.md", "A.")
    write(machine.root / "a" / "b" / "AGENTS.md", "B.")
    write(machine.root / "c" / "AGENTS.md", "C.")
    found = machine.read("a/b")
    assert [each.text for each in found.instructions] == ["Mine.", "Root.", "A.", "B."]
    assert found.instructions[0].folder is None
    assert found.instructions[2].folder == str(machine.root / "a")
    assert [each.text for each in machine.read().instructions] == ["Mine.", "Root."]


async def test_the_instructions_beside_a_file_are_those_of_its_folders(machine: Machine) -> None:
    root = write(machine.root / "AGENTS.md", "Root.")
    write(machine.root / "a" / "AGENTS.md", "A.")
    path = str(machine.root / "a" / "b" / "file.py")
    found = await machine.reader.beside(path, {str(root)})
    assert [each.text for each in found] == ["A."]
    assert await machine.reader.beside("/elsewhere/file.py", set()) == ()
    machine.trusted = False
    assert await machine.reader.beside(path, set()) == ()


def test_a_changed_file_counts_at_once(machine: Machine) -> None:
    path = write(machine.root / "AGENTS.md", "One.")
    skill(machine.config, "plan", "First.")
    assert machine.read().instructions[0].text == "One."
    path.write_text("Two.")
    skill(machine.config, "plan", "Other.")
    assert machine.read().instructions[0].text == "Two."
    assert machine.read().skills["plan"].description == "Other."


def test_instructions_that_are_too_long_are_cut_at_a_line_and_that_is_said(
    machine: Machine,
) -> None:
    line = "é" * 49 + "\n"
    write(machine.root / "AGENTS.md", line * 1000)
    (found,) = machine.read().instructions
    assert found.text.endswith("é")
    kept = len(found.text.encode()) + 1
    assert kept <= MAX_INSTRUCTIONS
    assert kept + found.omitted == len(line.encode()) * 1000


@pytest.mark.parametrize("target", ["../secret.txt", ".env"])
def test_a_link_leads_to_no_secret_and_nowhere_outside(machine: Machine, target: str) -> None:
    write(machine.root.parent / "secret.txt", "key")
    write(machine.root / ".env", "KEY=1")
    (machine.root / "AGENTS.md").symlink_to(target)
    found = machine.read()
    assert found.instructions == ()
    (problem,) = found.problems
    assert problem.kind == "instructions"
    assert "It is not read" in problem.reason


def test_what_is_no_regular_file_does_not_hang_and_is_listed(machine: Machine) -> None:
    os.mkfifo(machine.root / "AGENTS.md")
    (machine.root / "a").mkdir()
    (machine.root / "a" / "AGENTS.md").write_bytes(b"fine\n\xff\n")
    found = machine.read("a")
    assert [(each.line, each.reason) for each in found.problems] == [
        (1, "It is no regular file."),
        (2, "The file is not UTF-8."),
    ]


# ---- skills and prompt files


def test_a_later_place_replaces_a_skill_and_a_broken_one_hides_it(machine: Machine) -> None:
    skill(machine.config, "plan", "Mine.")
    skill(machine.root / ".agents", "plan", "Theirs.")
    skill(machine.root / ".agents", "ship", "Ship it.")
    skill(machine.config, "ship", "Mine.")
    write(machine.root / ".agent-host" / "skills" / "ship" / "SKILL.md", "no front matter")
    found = machine.read()
    assert found.skills["plan"].description == "Theirs."
    assert "ship" not in found.skills
    (problem,) = found.problems
    assert (problem.kind, problem.name, problem.line) == ("skill", "ship", 1)


def test_an_untrusted_workspace_brings_nothing_but_is_listed(machine: Machine) -> None:
    skill(machine.root / ".agents", "plan")
    write(machine.root / ".agents" / "prompts" / "go.md", "---\ndescription: Go.\n---\nGo.")
    write(machine.root / "AGENTS.md", "Root.")
    machine.trusted = False
    found = machine.read()
    assert (found.instructions, dict(found.skills), dict(found.prompts)) == ((), {}, {})
    assert {each.name for each in found.problems} == {"AGENTS.md", "plan", "go"}
    assert all("not trusted" in each.reason for each in found.problems)
    assert brought(str(machine.root)) == (
        "AGENTS.md",
        ".agents/skills/plan/SKILL.md",
        ".agents/prompts/go.md",
    )


async def test_files_of_a_skill_are_read_from_its_folder_only(machine: Machine) -> None:
    path = skill(machine.root / ".agents", "plan")
    write(path.parent / "notes" / "more.md", "More.")
    write(machine.root / "other.txt", "Other.")
    (path.parent / "out.md").symlink_to(machine.root / "other.txt")
    made = machine.read().skills["plan"]
    assert await machine.reader.skill_files(made) == ("notes/more.md", "out.md")
    assert await machine.reader.skill_file(made, "notes/more.md") == "More."
    for name in ("../../../other.txt", "out.md", "/etc/passwd", "none.md"):
        with pytest.raises(ActionFailed):
            await machine.reader.skill_file(made, name)


def test_too_many_skills_are_said_to_be_too_many(machine: Machine) -> None:
    for number in range(MAX_FILES + 2):
        skill(machine.config, f"s{number:03}")
    found = machine.read()
    assert len(found.skills) == MAX_FILES
    assert "200 of 202" in found.problems[0].reason


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("---\ndescription: a: b\n---\nText", 2, "in quotes"),
        ("---\nname: x\n---\nText", 2, "is missing"),
        ("---\ndescription: x\nname: a b\n---\nText", 3, "letters, digits"),
        ("---\ndescription: [1]\n---\nText", 2, "must be text"),
        ("---\ndescription: x\n---\n", 4, "is empty"),
        ("---\ndescription: x\nText", 1, "has no end"),
    ],
)
def test_a_broken_skill_says_where_and_why(text: str, line: int, reason: str) -> None:
    name, made, problems = parse_skill("/w/.agents/skills/plan/SKILL.md", text)
    assert made is None
    assert name in ("plan", "x")
    assert any(each.line == line and reason in each.reason for each in problems)
    assert all(each.severity == "error" for each in problems)


def test_keys_of_other_programs_are_odd_at_most() -> None:
    text = "---\ndescription: x\nlicense: MIT\nallowed-tools: Bash\nhooks: {}\n---\nText"
    _, made, problems = parse_skill("/w/.agents/skills/plan/SKILL.md", text)
    assert made is not None
    assert [(each.line, each.severity) for each in problems] == [(5, "warning")]


def test_a_file_is_known_by_its_place(machine: Machine) -> None:
    places = [folder for place in machine.places() for folder in place.folders]
    assert kind_of(str(machine.root / ".agents/skills/a/SKILL.md"), places) == "skill"
    assert kind_of(str(machine.config / "prompts/a.md"), places) == "prompt"
    for other in (".agents/skills/SKILL.md", "prompts/a.md", ".agents/prompts/a.txt"):
        assert kind_of(str(machine.root / other), places) is None


# ---- slash commands


def guidance(body: str, *problems: GuidanceProblem) -> Guidance:
    file = PromptFile("fix", "Fixes.", "/c/prompts/fix.md", body)
    return Guidance(prompts={"fix": file}, problems=problems)


@pytest.mark.parametrize(
    ("said", "body", "given"),
    [
        ("/fix it all", "Fix: $ARGUMENTS!", "Fix: it all!"),
        ("/fix 'a b' c", "$1 and $2 and $3.", "a b and c and ."),
        ("/fix a\nb", "Fix.", "Fix.\n\na\nb"),
        ("/fix", "Fix $ARGUMENTS.", "Fix ."),
        ("/fix", "Fix.", "Fix."),
        ("  /fix x", "$1", "x"),
        ("/fix 'x", "$1", "'x"),
        ("/other x", "Fix.", "/other x"),
        ("fix /fix", "Fix.", "fix /fix"),
        ("/fix/it", "Fix.", "/fix/it"),
    ],
)
def test_a_prompt_file_takes_the_place_of_its_name(said: str, body: str, given: str) -> None:
    prompt, _ = expanded((TextPart(said), TextPart("more")), guidance(body))
    assert prompt == (TextPart(given), TextPart("more"))


def test_a_broken_prompt_file_is_refused_with_its_place() -> None:
    source = "/c/prompts/go.md"
    name, made, problems = parse_prompt(source, "---\ndescription: a: b\n---\nGo.")
    assert (name, made) == ("go", None)
    with pytest.raises(InvalidRequest, match=r"/c/prompts/go.md:2: .* in quotes"):
        expanded((TextPart("/go now"),), guidance("Fix.", *problems))


def test_the_names_of_the_program_itself_are_taken() -> None:
    _, made, problems = parse_prompt("/c/prompts/compact.md", "---\ndescription: x\n---\nGo.")
    assert made is None
    assert "command of the program itself" in problems[0].reason


def test_a_prompt_file_may_say_little() -> None:
    text = "---\nargument-hint: <what>\n---\nGo there.\nAnd back."
    _, made, problems = parse_prompt("/c/prompts/go.md", text)
    assert made == PromptFile(
        "go", "Go there.", "/c/prompts/go.md", "Go there.\nAnd back.", "<what>"
    )
    assert problems == ()
