"""What time it is, as a parameter: real in the program, scripted in tests."""

from typing import Protocol


class Clock(Protocol):
    """Seconds, twice: for people and for measuring."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump."""
        ...
