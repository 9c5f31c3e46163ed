"""A pseudo-terminal for programs that print as they should only into one: no echo, no editing."""

import io
import os
import sys

COLUMNS, ROWS = 200, 50


def open_terminal() -> tuple[io.FileIO, io.FileIO]:
    """Our end, and the child's. Raises OSError where there are none."""
    import fcntl
    import struct
    import termios
    import tty

    ours, theirs = os.openpty()
    tty.setraw(theirs)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    if sys.platform == "linux":
        os.set_inheritable(ours, False)  # noqa: FBT003
    return io.FileIO(ours, "rb"), io.FileIO(theirs, "wb")
