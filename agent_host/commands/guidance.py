"""`agent-host guidance`: instructions, skills and prompt files, and what is wrong with them."""

import argparse
import json
import os
from pathlib import Path

from agent_host.commands.folder import existing_folder
from agent_host.commands.terminal import Screen, screen_and_side
from agent_host.core.guidance import Guidance
from agent_host.lsp.convert_guidance import guidance_answer, prompts_answer


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cwd", type=existing_folder, default=Path(), help="the workspace")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = "Ends with 1 if a file is broken. A workspace's files count once it is trusted."


def execute(options: argparse.Namespace) -> int:
    from agent_host.compose.inquiry import guidance_of

    guidance = guidance_of(options.cwd.resolve())
    screen, _ = screen_and_side(os.environ)
    if options.json:
        answers = {
            "guidance": guidance_answer(guidance).json_object(),
            "prompts": prompts_answer(guidance).json_object(),
        }
        screen.write(json.dumps(answers, indent=2) + "\n")
    else:
        _show(guidance, screen)
    return 1 if any(problem.severity == "error" for problem in guidance.problems) else 0


def _show(guidance: Guidance, screen: Screen) -> None:
    for instructions in guidance.instructions:
        screen.line(f"{instructions.source}", "bold")
        if instructions.omitted:
            screen.line(f"  its last {instructions.omitted:,} bytes are not used", "yellow")
    for skill in guidance.skills.values():
        screen.line(f"skill {skill.name}", "bold")
        screen.line(f"  {skill.description}")
        screen.line(f"  {skill.source}", "dim")
    for prompt in guidance.prompts.values():
        screen.line(f"/{prompt.name} {prompt.argument_hint}".rstrip(), "bold")
        screen.line(f"  {prompt.description}")
        screen.line(f"  {prompt.source}", "dim")
    for problem in guidance.problems:
        screen.line(problem.sentence, "red" if problem.severity == "error" else "yellow")
    if guidance == Guidance():
        screen.line("There is none: write an AGENTS.md, or see README.md for skills and prompts.")
