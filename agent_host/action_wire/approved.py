"""A command as it was allowed, in a form that both sides hash for themselves.

The host hashes what it judged, the action server what it was sent: a command that was changed in
between, or is sent a second time, is not run. Not here: who allowed it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Approved:
    """What was judged: `argv` or `script`, the true path `cwd`, the person's own variables `env`.

    `sandbox` is the kind that confines it. `nonce` is used once; `digest` is what `digest_of`
    gave for all of it when it was judged.
    """

    argv: tuple[str, ...] | None
    script: str | None
    cwd: str
    env: Mapping[str, str]
    network: bool
    timeout: float
    hide_secrets: bool
    sandbox: str
    nonce: str
    digest: str


def digest_of(approved: Approved) -> str:
    """The sha256 of everything but the digest itself, in hex."""
    plain = {name: value for name, value in asdict(approved).items() if name != "digest"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
