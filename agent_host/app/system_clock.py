"""The machine's clocks, as session.clock.Clock wants them."""

import time


class SystemClock:
    """Seconds since the epoch, and seconds that never go back."""

    def now(self) -> float:
        """See Clock."""
        return time.time()

    def monotonic(self) -> float:
        """See Clock."""
        return time.monotonic()
