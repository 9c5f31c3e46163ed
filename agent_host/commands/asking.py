"""Puts the host's questions to the person at the terminal.

Nobody there means no: end of input, no terminal, a closed question. Not here: drawing (view.py).
"""

from agent_host.client import Answer, Option, Question
from agent_host.commands.terminal import Keyboard, Screen
from agent_host.commands.view import show_diff

_KEYS = {
    "deny": "n",
    "allowOnce": "y",
    "allowSession": "a",
    "allowWorkspace": "w",
    "show": "s",
    "stop": "q",
}
_SHOW = Option("", "Show", "show")


class Asking:
    """How a run's questions are answered. `always`: `allow` (once) or None, to ask."""

    def __init__(
        self, screen: Screen, keyboard: Keyboard, *, always: str | None, from_pipe: bool = False
    ) -> None:
        self._screen = screen
        self._keyboard = keyboard
        self._always = always
        self._can_ask = keyboard.attached or from_pipe

    async def __call__(self, question: Question) -> Answer:
        """Answer one question."""
        self._screen.line(f"? {question.title}", "yellow")
        if self._always == "allow":
            allowed = question.of_kind("allowOnce")
            self._screen.line(
                "  allowed (--yes)" if allowed else "  denied: it can't be allowed once"
            )
            return Answer(allowed)
        if not self._can_ask:
            self._screen.line("  denied: there is no terminal to ask at (--yes allows)")
            return Answer(None, "nobody is at the terminal")
        return await self._ask(question)

    async def _ask(self, question: Question) -> Answer:
        options = {_KEYS[each.kind]: each for each in question.options if each.kind in _KEYS}
        if question.detail or question.diff:
            options.setdefault("s", _SHOW)
        offered = "  ".join(f"[{key}] {option.title}" for key, option in options.items())
        self._keyboard.forget()
        while True:
            self._screen.line(f"  {offered}")
            self._screen.write("  > ")
            typed = await self._keyboard.line()
            if typed is None:
                self._screen.line("  denied: the input has ended")
                return Answer(None, "nobody is at the terminal")
            key, _, reason = typed.strip().partition(" ")
            option = options.get(key[:1].lower())
            if option is _SHOW:
                self._show(question)
            elif option is not None:
                return Answer(option, reason.strip() or None if question.allows_reason else None)

    def _show(self, question: Question) -> None:
        if question.detail:
            self._screen.line(question.detail)
        if question.diff:
            show_diff(self._screen, question.diff)
