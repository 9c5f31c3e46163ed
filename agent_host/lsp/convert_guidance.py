"""Instructions, skills and prompt files as the wire tells them; pure."""

from collections.abc import Iterable

from agent_host.core.guidance import Guidance, GuidanceKind, GuidanceProblem
from agent_host.lsp import wire_guidance as wg

_COMPACT = wg.PromptFileWire(
    name="compact",
    description="Have the model summarise the conversation, so that it takes less room.",
    argument_hint="[what matters]",
)


def guidance_answer(guidance: Guidance) -> wg.GuidanceAnswer:
    return wg.GuidanceAnswer(
        instructions=[
            wg.InstructionsWire(
                source=each.source, folder=each.folder, omitted=each.omitted or None
            )
            for each in guidance.instructions
        ],
        skills=[
            wg.SkillWire(name=skill.name, description=skill.description, source=skill.source)
            for skill in guidance.skills.values()
        ],
        problems=_problems(guidance.problems, "instructions", "skill"),
    )


def prompts_answer(guidance: Guidance) -> wg.PromptsAnswer:
    return wg.PromptsAnswer(
        prompts=[
            wg.PromptFileWire(
                name=prompt.name,
                description=prompt.description,
                argument_hint=prompt.argument_hint or None,
                source=prompt.source,
            )
            for prompt in guidance.prompts.values()
        ]
        + [_COMPACT],
        problems=_problems(guidance.problems, "prompt"),
    )


def _problems(
    problems: Iterable[GuidanceProblem], *kinds: GuidanceKind
) -> list[wg.GuidanceProblemWire]:
    return [
        wg.GuidanceProblemWire(
            kind=problem.kind,
            name=problem.name,
            source=problem.source,
            line=problem.line,
            reason=problem.reason,
            severity=problem.severity,
        )
        for problem in problems
        if problem.kind in kinds
    ]
