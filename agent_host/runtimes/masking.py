"""Takes keys out of texts that others wrote, before anybody is told of them."""

import re
from collections.abc import Iterable

_LOOKS_LIKE_ONE = re.compile(r"\b(sk|AIza)[-_A-Za-z0-9*]{8,}")
_SHORTEST = 8
"""Characters; what is shorter is no key, and would be in every other word."""


def masked(text: str, known: Iterable[str] = ()) -> str:
    """The text without these keys, and without what looks like one."""
    for key in known:
        if len(key) >= _SHORTEST:
            text = text.replace(key, "***")
    return _LOOKS_LIKE_ONE.sub("***", text)
