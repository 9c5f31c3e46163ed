"""What the benchmarks share: a host in a folder of its own, its CPU time and memory, a table."""

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.e2e.conftest import Hosts

TICK = os.sysconf("SC_CLK_TCK")


@contextmanager
def hosts() -> Iterator[Hosts]:
    """A workspace, a state folder and hosts that are ended in good order."""
    with tempfile.TemporaryDirectory(prefix="agent-host-bench-") as folder:
        made = Hosts(Path(folder))
        yield made
        made.finish()


def cpu_seconds(pid: int) -> float:
    """User and system time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_mib(pid: int) -> float:
    """Memory of a process that is in RAM, shared pages included."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def table(unit: str, rows: Sequence[tuple[str, Sequence[float]]]) -> None:
    """Print least, median and most of each row."""
    print(f"{unit:<44}{'least':>10}{'median':>10}{'most':>10}{'rounds':>8}")
    for name, values in rows:
        three = (min(values), statistics.median(values), max(values))
        print(f"{name:<44}" + "".join(f"{value:>10.2f}" for value in three) + f"{len(values):>8}")
