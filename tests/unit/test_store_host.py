"""Whether another process that used the store is still alive."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from agent_host.store.host import LAPSE_SECONDS, Host, is_alive, this_host


def test_this_process_lives_while_it_is_heard_of() -> None:
    me = replace(this_host("me"), heartbeat=100.0)
    assert me.pid == os.getpid()
    assert is_alive(me, me.place, 100.0 + LAPSE_SECONDS)
    assert not is_alive(me, me.place, 100.1 + LAPSE_SECONDS)


def test_a_process_of_the_same_number_that_began_at_another_time_is_another() -> None:
    me = replace(this_host("me"), heartbeat=100.0, started="1")
    assert not is_alive(me, me.place, 100.0)


def test_a_dead_process_is_known_at_once_here_and_by_its_silence_elsewhere() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    here = this_host("me").place
    stat = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    there = Host("child", here, child.pid, stat[19], 100.0)
    assert is_alive(there, here, 101.0)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(there, here, 101.0)  # not yet waited for by its parent
    child.communicate()
    assert not is_alive(there, here, 101.0)
    assert is_alive(there, "another machine", 101.0)
    assert not is_alive(there, "another machine", 101.0 + LAPSE_SECONDS)
