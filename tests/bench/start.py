"""Time from the host's start to the `initialize` answer, and to the first delta of a cold run.

`python tests/bench/start.py [rounds]`; each round is a new process.
"""

import sys
import time

from measure import hosts, table

from tests.e2e.script import says


def main(rounds: int) -> None:
    answered: list[float] = []
    first: list[float] = []
    ended: list[float] = []
    with hosts() as made:
        model = made.script([says("One short answer.")])
        for _ in range(rounds):
            began = time.monotonic()
            editor = made.start(handshake=False)
            editor.initialize()
            answered.append(1000 * (time.monotonic() - began))
            run = editor.run(model=model)
            run.wait("text")
            first.append(1000 * (time.monotonic() - began))
            run.result()
            ended.append(1000 * (time.monotonic() - began))
            editor.shutdown()
    table(
        "milliseconds from the start of the process",
        [
            ("to the answer of initialize", answered),
            ("to the first text delta", first),
            ("to the result of the run", ended),
        ],
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
