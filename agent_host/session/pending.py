"""What the person has said while a run was going on, and that no run has taken yet."""

from dataclasses import dataclass, field
from typing import Literal

from agent_host.core.model import PromptPart

When = Literal["now", "next"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A prompt that waits. "now": for the next call of the model; "next": for a run of its own."""

    id: str
    prompt: tuple[PromptPart, ...]
    when: When


@dataclass(frozen=True, slots=True)
class Steered:
    """What became of a prompt; `run_id` of the run that it started."""

    accepted: Literal["steered", "queued", "started"]
    id: str
    run_id: str | None = None


@dataclass(slots=True)
class Pending:
    """The prompts that wait in one session, in their order."""

    prompts: list[Waiting] = field(default_factory=list[Waiting])

    def add(self, waiting: Waiting) -> None:
        """Put it at the end."""
        self.prompts.append(waiting)

    def remove(self, waiting_id: str) -> bool:
        """Take a prompt back; False if it is not waiting any more."""
        kept = [each for each in self.prompts if each.id != waiting_id]
        removed = len(kept) < len(self.prompts)
        self.prompts = kept
        return removed

    def take_now(self) -> tuple[PromptPart, ...]:
        """What is for the run that goes on, as one prompt."""
        taken = [each for each in self.prompts if each.when == "now"]
        self.prompts = [each for each in self.prompts if each.when != "now"]
        return tuple(part for each in taken for part in each.prompt)

    def take_first(self) -> Waiting | None:
        """The prompt for the next run: what was for the last one, then what was queued."""
        self.prompts.sort(key=lambda each: each.when != "now")
        return self.prompts.pop(0) if self.prompts else None

    def take_all(self) -> tuple[Waiting, ...]:
        """Everything, to be handed back."""
        taken, self.prompts = tuple(self.prompts), []
        return taken
