"""CPU time of the host for each delta, and deltas a second, with an editor that keeps up.

`python tests/bench/deltas.py [rounds]`; each round streams 20,000 words.
"""

import sys
import time

from measure import cpu_seconds, hosts, table

from tests.e2e.script import says

WORDS = 20_000


def main(rounds: int) -> None:
    cost: list[float] = []
    cost_of_words: list[float] = []
    speed: list[float] = []
    with hosts() as made:
        model = made.script([says(" ".join(["word"] * WORDS))])
        editor = made.start()
        editor.run(model=made.script([says("warm")])).result()
        for _ in range(rounds):
            began, used = time.monotonic(), cpu_seconds(editor.process.pid)
            run = editor.run(model=model)
            run.result(60)
            seconds, used = time.monotonic() - began, cpu_seconds(editor.process.pid) - used
            count = len(run.deltas())
            cost.append(1e6 * used / count)
            cost_of_words.append(1e6 * used / WORDS)
            speed.append(WORDS / seconds / 1000)
    table(
        "one run after another",
        [
            ("CPU microseconds a delta sent", cost),
            ("CPU microseconds a word of the model", cost_of_words),
            ("thousand words a second", speed),
        ],
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
